from __future__ import annotations

from pathlib import Path

import pytest

from nomina.errors import FormatError
from nomina.kb import biosyn, medic, reader_for
from nomina.kb.build import build_from_files
from nomina.types import Entity, Name

DATA = Path(__file__).parent / "data"
REAL = Path(__file__).parents[3] / "shared" / "benchmarks" / "medic" / "medic_06Jul2012.txt"


def preferred(text: str) -> Name:
    return Name(text, kind="preferred")


def test_tiny_file_whole() -> None:
    assert list(medic.read(DATA / "medic.txt")) == [
        Entity("T:1", (preferred("Disease"),)),
        Entity(
            "T:2",
            (preferred("Heart disease"), Name("Heart diseases"), Name("bad heart")),
            xrefs=("OMIM:100100",),
            retired_ids=("100100", "T:20"),
        ),
        Entity("T:3", (preferred("Round"),)),
    ]


@pytest.mark.parametrize(
    ("text", "reader"),
    [
        ("D1||a|b\nD2||c\n", medic),
        ("D1||a|b", medic),
        ("D1||a\nD2||b\n", biosyn),
        ("D1||a\nD1||b|c\n", biosyn),
        ("D1||a || b\n", biosyn),
    ],
)
def test_told_from_a_dictionary(tmp_path: Path, text: str, reader: object) -> None:
    path = tmp_path / "source"
    path.write_text(text, encoding="utf-8")
    assert reader_for(path)[1] is reader


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("D1||a|b\nD2|b\n", 2, "expected 'id.other id..name.synonym', found 'D2.b'"),
        ("D1||a|b\nD1||c\n", 2, "a second line of the id D1"),
        ("D1||a||b\n", 1, "name must not be empty"),
        ("||a|b\n", 1, "id must be non-empty"),
    ],
)
def test_faults(tmp_path: Path, text: str, line: int, why: str) -> None:
    path = tmp_path / "source"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=why) as caught:
        list(medic.read(path))
    assert caught.value.line == line


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="the benchmark data are not beside the checkout")
def test_the_real_file(tmp_path: Path) -> None:
    assert reader_for(REAL)[0] == "medic"
    kb = build_from_files(tmp_path / "medic.kb", [REAL])
    assert (len(kb), kb.manifest.counts.merged) == (11_915, 0)
    assert sum(len(entity.names) for entity in medic.read(REAL)) == 76_237
    assert kb["C567755"] == Entity(
        "C567755",
        (preferred("Tooth Agenesis, Selective, 6"), Name("STHAG6")),
        xrefs=("OMIM:613097",),
        retired_ids=("613097",),
    )
    assert kb.resolve("613097") == "C567755"
