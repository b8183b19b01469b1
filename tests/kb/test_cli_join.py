from __future__ import annotations

import json
from pathlib import Path

import pytest

from nomina.cli.main import main
from nomina.kb.store import KnowledgeBase
from nomina.types import Entity, Name


@pytest.fixture
def nomina(capsys: pytest.CaptureFixture[str]):
    def run(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def other(made) -> KnowledgeBase:
    return made(
        Entity("O:1", (Name("cardiopathy"),), xrefs=("T:2",)),
        Entity("O:2", (Name("x"),), xrefs=("T:3",)),
        Entity("O:3", (Name("Mi"),), xrefs=("T:3",)),
        name="other",
    )


def test_merge(nomina, heart: KnowledgeBase, other: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "all.kb"
    assert nomina("kb", "merge", heart.path, other.path, "--by", "xref", "-o", path) == (
        0,
        "",
        f"{path}: 8 concepts, 12 names, 8 distinct\n1 concept is in both\n"
        "2 are linked with several, or share the one they are linked with: left out\n",
    )
    assert nomina("kb", "show", path, "O:1")[1] == "O:1 is retired: use T:2  Heart disease\n"


def test_expand(nomina, heart: KnowledgeBase, other: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "more.kb"
    code, _, said = nomina("kb", "expand", heart.path, "--with", other.path, "-o", path, "--dedup", "genbioel")
    assert (code, said.splitlines()[0]) == (0, f"{path}: 6 concepts, 9 names, 7 distinct")
    assert "  name        cardiopathy  (exact, other)\n" in nomina("kb", "show", path, "T:2")[1]
    assert "shared names    left to one concept (rule genbioel)\n" in nomina("kb", "info", path)[1]
    assert nomina("kb", "expand", heart.path, "--with", other.path, "--many", "-o", path)[2].splitlines() == [
        f"{path}: 6 concepts, 11 names, 8 distinct",
        "3 concepts are in both",
    ]


def test_subset(nomina, heart: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "part.kb"
    said = f"{path}: 1 concept, 4 names, 2 distinct\n"
    arguments = ["--under", "T:2", "--under", "T:4", "--types", "cardiology", "-o", path]
    assert nomina("kb", "subset", heart.path, *arguments) == (0, "", said)
    assert nomina("kb", "subset", heart.path, "--source", "talk", "-o", path)[2] == said.replace(
        "4 names", "1 name"
    ).replace("2 dis", "1 dis")


def test_diff_for_programs_and_for_people(nomina, heart: KnowledgeBase, tmp_path: Path) -> None:
    new = tmp_path / "new.kb"
    assert nomina("kb", "retire", heart.path, "T:3", "--replaced-by", "T:2", "-o", new)[0] == 0
    code, shown, said = nomina("kb", "diff", heart.path, new)
    assert (code, said) == (0, "0 added, 0 renamed, 0 retired, 1 merged\n")
    assert json.loads(shown) == {"change": "merged", "id": "T:3", "name": "Mitral insufficiency", "into": "T:2"}
    assert nomina("kb", "diff", new, heart.path, "--format", "table")[1] == (
        "added     T:3               Mitral insufficiency\n"
    )
    assert nomina("kb", "diff", heart.path, heart.path)[1] == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["merge", "{kb}", "--by", "id", "-o", "{tmp}/a.kb"], "give two KBs or more to merge"),
        (["merge", "{kb}", "{kb}", "-o", "{tmp}/a.kb"], "Missing option '--by'"),
        (["merge", "{kb}", "{kb}", "--by", "id", "-o", "{tmp}/a.kb"], "nothing new for {kb}"),
        (["expand", "{kb}", "-o", "{tmp}/a.kb"], "Missing option '--with'"),
        (["expand", "{kb}", "--with", "nothing", "-o", "{tmp}/a.kb"], "no KB file 'nothing'"),
        (["subset", "{kb}", "-o", "{tmp}/a.kb"], "say what to keep"),
        (["diff", "{kb}", "{tmp}/no.kb"], "no KB at {tmp}/no.kb"),
    ],
)
def test_a_users_mistake_is_one_line_and_exit_2(nomina, heart, tmp_path: Path, arguments, said: str) -> None:
    places = {"tmp": tmp_path, "kb": heart.path}
    code, shown, line = nomina("kb", *(argument.format(**places) for argument in arguments))
    assert (code, shown, line.count("\n")) == (2, "", 1)
    assert line.startswith(f"nomina: {said.format(**places)}")
