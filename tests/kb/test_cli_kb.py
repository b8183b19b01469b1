from __future__ import annotations

from pathlib import Path

import pytest

from nomina.cli.main import main
from nomina.kb.store import KnowledgeBase

DATA = Path(__file__).parent / "data"


@pytest.fixture
def nomina(capsys: pytest.CaptureFixture[str]):
    def run(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def tiny(nomina, tmp_path: Path) -> Path:
    path = tmp_path / "tiny.kb"
    assert nomina("kb", "build", DATA / "tiny.obo", "-o", path) == (
        0,
        "",
        f"{path}: 4 concepts, 10 names, 10 distinct\n",
    )
    return path


def test_show_without_more_is_a_summary(nomina, tiny: Path) -> None:
    assert nomina("kb", "show", tiny) == (
        0,
        "tiny, release tiny/2024-02-29: 4 concepts, 10 names\n"
        "  T:1  Disease\n"
        "  T:2  Heart disease\n"
        "  T:3  nameless, but not quite\n"
        "  T:4  half of a cycle\n",
        "",
    )


SHOWN = """\
T:2  Heart disease
  definition  Called "heart trouble". See T:1.
  name        Heart disease  (exact, preferred)
  name        Heart diseases  (exact, plural)
  name        bad heart  (broad, layperson)
  name        Cardiac "thing"  (related)
  name        Morbus cordis  (narrow)
  name        Cardiopathy  (exact)
  name        heart illness  (exact)
  type        cardiology
  xref        UMLS:C0018799
  xref        MESH:D006331
  retired id  T:20
  parent      T:1  Disease
  parent      T:404  (not in this KB)
"""


def test_show_by_id_and_by_name(nomina, tiny: Path) -> None:
    assert nomina("kb", "show", tiny, "T:2") == (0, SHOWN, "")
    assert nomina("kb", "show", tiny, "HEART illness") == (0, SHOWN, "")
    assert nomina("kb", "show", tiny, "T:1")[1].endswith("  child       T:2  Heart disease\n")


def test_show_all_concepts_of_a_homonym(nomina, heart: KnowledgeBase) -> None:
    code, shown, _ = nomina("kb", "show", heart.path, "mi")
    assert code == 0
    assert [block.partition("\n")[0] for block in shown.split("\n\n")] == [
        "T:3  Mitral insufficiency",
        "T:2  Heart disease",
    ]


@pytest.mark.parametrize(
    ("id", "line"),
    [
        ("T:20", "T:20 is retired: use T:2  Heart disease"),
        ("T:30", "T:30 is retired: use T:2  Heart disease"),
        ("T:31", "T:31 is retired, with no replacement"),
    ],
)
def test_show_a_retired_id(nomina, heart: KnowledgeBase, id: str, line: str) -> None:
    assert nomina("kb", "show", heart.path, id) == (0, f"{line}\n", "")


def test_show_a_retired_id_whose_replacement_is_not_here(nomina, tmp_path: Path) -> None:
    source, path = tmp_path / "a.jsonl", tmp_path / "a.kb"
    source.write_text('{"id": "X:1", "names": ["a"]}\n{"id": "X:2", "replaced_by": ["Y:1"]}\n', encoding="utf-8")
    assert nomina("kb", "build", source, "-o", path)[0] == 0
    assert nomina("kb", "show", path, "X:2")[1] == "X:2 is retired: replaced by Y:1, which this KB does not have\n"


def test_show_of_many_is_cut(nomina, tmp_path: Path) -> None:
    source, path = tmp_path / "a.tsv", tmp_path / "a.kb"
    rows = "".join(f"X:{i}\tname {i}\tX:0\n" for i in range(1, 31))
    source.write_text(f"id\tname\tparents\nX:0\tall\t\n{rows}", encoding="utf-8")
    assert nomina("kb", "build", source, "-o", path)[0] == 0
    assert nomina("kb", "show", path)[1].splitlines()[-2:] == ["  X:19  name 19", "  ... and 11 more"]
    assert nomina("kb", "show", path, "X:0")[1].splitlines()[-2:] == [
        "  child       X:20  name 20",
        "  child       ... and 10 more",
    ]


def test_info(nomina, tiny: Path) -> None:
    code, shown, _ = nomina("kb", "info", tiny)
    said = dict(line.split(maxsplit=1) for line in shown.splitlines() if not line.startswith(("missing", "built")))
    kb = KnowledgeBase.open(tiny)
    assert code == 0
    assert said["file"] == str(tiny)
    assert said["source"] == f"tiny.obo (obo, sha256 {kb.manifest.sources[0].sha256})"
    assert (said["release"], said["licence"]) == ("tiny/2024-02-29", "https://example.org/licence")
    assert (said["imports"], said["concepts"], said["names"]) == ("1, not followed", "4", "10")
    assert (said["types"], said["fingerprint"]) == ("cardiology 1, tiny 3", kb.fingerprint)
    assert "missing parents 1\n" in shown


def test_info_of_the_default_kb_shows_licence_and_release(nomina, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path))
    code, shown, _ = nomina("kb", "info", "hpo")
    assert code == 0
    assert "release         hp/releases/2025-01-16\n" in shown
    assert "licence         https://hpo.jax.org/app/license\n" in shown
    assert "only under      HP:0000118\n" in shown


def test_one_is_one(nomina, tmp_path: Path) -> None:
    source, path = tmp_path / "a.jsonl", tmp_path / "a.kb"
    source.write_text('{"id": "X:1", "names": ["a"]}\n{"id": "X:2"}\n{"names": ["b"]}\n', encoding="utf-8")
    said = nomina("kb", "build", source, "-o", path, "--lenient")[2].splitlines()
    assert said[1:] == [
        "nomina: 1 fault in the sources was dropped or mended",
        f"{path}: 2 concepts, 1 name, 1 distinct",
    ]


def test_build_options(nomina, tmp_path: Path) -> None:
    path = tmp_path / "a.kb"
    assert nomina("kb", "build", DATA / "tiny.obo", "-o", path, "--root", "T:1", "--name", "sub")[0] == 0
    assert (list(KnowledgeBase.open(path)), KnowledgeBase.open(path).manifest.name) == (["T:1", "T:2"], "sub")
    assert nomina("kb", "build", DATA / "tiny.obo", "-o", path, "--types", "cardiology")[0] == 0
    assert list(KnowledgeBase.open(path)) == ["T:2"]
    words = tmp_path / "words.txt"
    words.write_text("D1|D2||a\n", encoding="utf-8")
    assert nomina("kb", "build", words, "-o", path, "--split-ids", "--format", "biosyn")[0] == 0
    assert list(KnowledgeBase.open(path)) == ["D1", "D2"]


def test_lenient_says_what_it_dropped(nomina, tmp_path: Path) -> None:
    source, path = tmp_path / "a.tsv", tmp_path / "a.kb"
    source.write_bytes(b"id\tname\nX:1\tFluorouracil\x00\n" + b"X:2\n" * 25)
    code, _, said = nomina("kb", "build", source, "-o", path)
    assert (code, said.count("\n")) == (2, 1)
    assert said.startswith(f"nomina: {source}:2: control character U+0000 in column 17: remove it, or use --lenient")
    assert not path.exists()
    code, _, said = nomina("kb", "build", source, "-o", path, "--lenient")
    lines = said.splitlines()
    assert code == 0
    assert lines[20] == "nomina: ... and 6 more"
    assert lines[21] == "nomina: 26 faults in the sources were dropped or mended"
    assert lines[22] == f"{path}: 1 concept, 1 name, 1 distinct"
    assert nomina("kb", "show", path, "fluorouracil")[1].startswith("X:1  Fluorouracil\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "{tmp}/no.kb"], "no KB at {tmp}/no.kb"),
        (["info", "mash"], "no KB file 'mash', and no KB of that name; by name there can be: hpo, mesh"),
        (["info", "unii"], "the KB 'unii' is not here yet: nomina kb get unii"),
        (["show", "{tiny}", "xyz"], "tiny has no concept with the id or name 'xyz'"),
        (["show", "{data}/tiny.obo"], "{data}/tiny.obo is not a KB: build one from it"),
        (["build", "{tmp}/no.obo", "-o", "{tmp}/a.kb"], "{tmp}/no.obo: cannot be read (No such file or directory)"),
        (["build", "{data}/tiny.obo", "-o", "{tmp}/a.kb", "--format", "docx"], "no format 'docx'; there are: obo"),
        (["build", "{data}/tiny.obo", "-o", "{tmp}/a.kb", "--root", "T:9"], "the root 'T:9' is not a concept"),
        (
            ["build", "{data}/tiny.obo", "-o", "{tmp}/a.kb", "--types", "x"],
            "the input has no type 'x'; it has: cardiology",
        ),
        (["build", "{data}/tiny.obo", "-o", "{tmp}/a.kb", "--split-ids"], "the format obo has no option split_ids"),
        (["build", "{data}/tiny.obo"], "Missing option '-o'"),
        (["build", "-o", "{tmp}/a.kb"], "Missing argument 'SOURCES...'"),
        (["build", "{data}/tiny.obo", "-o", "{data}/tiny.obo"], "{data}/tiny.obo exists and is not a KB"),
    ],
)
def test_a_users_mistake_is_one_line_and_exit_2(nomina, tiny: Path, tmp_path: Path, arguments, said: str) -> None:
    places = {"tmp": tmp_path, "tiny": tiny, "data": DATA}
    code, shown, line = nomina("kb", *(argument.format(**places) for argument in arguments))
    assert (code, shown, line.count("\n")) == (2, "", 1)
    assert line.startswith(f"nomina: {said.format(**places)}")
