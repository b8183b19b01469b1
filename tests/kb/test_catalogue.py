"""The table of open terminologies."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from nomina.errors import FormatError
from nomina.kb import catalogue

ROOT = Path(__file__).parents[2]


def test_ids_of_the_table_are_those_of_the_real_terminologies() -> None:
    recorded = json.loads((ROOT / "experiments" / "kb_counts.json").read_text(encoding="utf-8"))["kbs"]
    for name, source in catalogue.catalogue().items():
        assert source.ids, name
        # The first of ICD-10-CM is a chapter.
        assert re.match(source.ids, recorded[name]["first"]["id"]) or name == "icd10cm", name
    assert re.match(catalogue.find("icd10cm").ids, "I21.0")


def test_every_entry_of_the_table_is_complete_and_in_the_docs() -> None:
    page = (ROOT / "docs" / "howto-get-a-kb.md").read_text(encoding="utf-8")
    for name, source in catalogue.catalogue().items():
        assert f"| `{name}` |" in page
        assert source.title
        assert source.licence
        assert source.page.startswith("https://")
        assert source.owner.urls
        assert all(url.startswith("https://") for url in source.owner.urls)
        if source.snapshot:
            assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in source.snapshot.sha256)
            assert source.snapshot.members
            assert str(source.snapshot) in page
    asked = "mesh mesh-diseases mesh-chemicals mondo hpo doid go efo cl uberon chebi hgnc icd10cm unii".split()
    assert set(asked) <= set(catalogue.catalogue())


def test_hgnc_of_its_owner_knows_the_withdrawn_ids() -> None:
    assert [url.rpartition("/")[2] for url in catalogue.find("hgnc").owner.urls] == [
        "hgnc_complete_set.txt",
        "withdrawn.txt",
    ]


def test_a_misspelt_field_is_refused(monkeypatch, tmp_path: Path) -> None:
    broken = tmp_path / "sources.toml"
    monkeypatch.setattr(catalogue, "_TABLE", broken)
    for text, why in (
        ('[a]\ntitel = "A"\n', r"\[a\] has no field 'titel'"),
        ('[a]\ntitle = "A"\n[a.owner]\nurl = "x"\n', r"\[a.owner\] has no field 'url'"),
        ('[a]\ntitle = "A"\n[a.owner]\nurls = ["x"]\n', r"\[a\]: .*'licence'"),
    ):
        broken.write_text(text, encoding="utf-8")
        with pytest.raises(FormatError, match=why):
            catalogue.catalogue.__wrapped__()
