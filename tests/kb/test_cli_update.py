from __future__ import annotations

from pathlib import Path

import pytest

from nomina.cli.main import main
from nomina.kb.store import KnowledgeBase


@pytest.fixture
def nomina(capsys: pytest.CaptureFixture[str]):
    def run(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def extra(tmp_path: Path) -> Path:
    path = tmp_path / "extra.tsv"
    path.write_text("id\tname\tparents\nT:7\tAngina\tT:2\nT:2\tcardiopathy\t\n", encoding="utf-8")
    return path


def test_add_then_retire(nomina, heart: KnowledgeBase, extra: Path, tmp_path: Path) -> None:
    second, third = tmp_path / "2.kb", tmp_path / "3.kb"
    assert nomina("kb", "add", heart.path, extra, "-o", second) == (
        0,
        "",
        f"{second}: 7 concepts, 11 names, 8 distinct\n1 concept added, 1 extended, 0 retired\n",
    )
    assert nomina("kb", "show", second, "angina")[1].startswith("T:7  Angina\n")
    assert nomina("kb", "retire", second, "T:2", "T:4", "-o", third, "--replaced-by", "T:3") == (
        0,
        "",
        f"{third}: 5 concepts, 5 names, 5 distinct\n2 concepts retired\n",
    )
    assert nomina("kb", "show", third, "T:20") == (0, "T:20 is retired: use T:3  Mitral insufficiency\n", "")
    assert "versions        3\n" in nomina("kb", "info", third)[1]


def test_options_of_the_format(nomina, heart: KnowledgeBase, tmp_path: Path) -> None:
    words, path = tmp_path / "words.txt", tmp_path / "2.kb"
    words.write_text("T:8|T:2||both\n", encoding="utf-8")
    assert nomina("kb", "add", heart.path, words, "-o", path, "--option", "split-ids=yes")[0] == 0
    assert KnowledgeBase.open(path).owners(6) == ("T:2", "T:8")
    code, _, said = nomina("kb", "add", heart.path, words, "-o", path, "--option", "lenient=yes")
    assert (code, said.count("\n")) == (2, 1)
    assert said.startswith("nomina: the format biosyn has no option lenient; there are: ")
    code, _, said = nomina("kb", "build", words, "-o", path, "--option", "progress=yes")
    assert (code, said.count("\n")) == (2, 1)


def test_lenient_says_what_it_dropped(nomina, heart: KnowledgeBase, extra: Path, tmp_path: Path) -> None:
    extra.write_bytes(extra.read_bytes() + b"T:8\n")
    path = tmp_path / "2.kb"
    code, _, said = nomina("kb", "add", heart.path, extra, "-o", path)
    assert (code, said.count("\n"), path.exists()) == (2, 1, False)
    code, _, said = nomina("kb", "add", heart.path, extra, "-o", path, "--lenient", "--format", "table")
    assert code == 0
    assert "nomina: 1 fault in the sources was dropped or mended\n" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["add", "{tmp}/no.kb", "{tmp}/extra.tsv", "-o", "{tmp}/a.kb"], "no KB at {tmp}/no.kb"),
        (["add", "{kb}", "{tmp}/no.tsv", "-o", "{tmp}/a.kb"], "{tmp}/no.tsv: cannot be read"),
        (["add", "{kb}", "{tmp}/extra.tsv", "-o", "{tmp}/extra.tsv"], "{tmp}/extra.tsv exists and is not a KB"),
        (["add", "{kb}", "-o", "{tmp}/a.kb"], "Missing argument 'FILES...'"),
        (["retire", "{kb}", "T:9", "-o", "{tmp}/a.kb"], "'T:9' is not a concept of the KB heart"),
        (["retire", "{kb}", "T:30", "-o", "{tmp}/a.kb"], "'T:30' is retired: use 'T:2'"),
        (["retire", "{kb}", "T:1"], "Missing option '-o'"),
    ],
)
def test_a_users_mistake_is_one_line_and_exit_2(nomina, heart, extra, tmp_path: Path, arguments, said: str) -> None:
    places = {"tmp": tmp_path, "kb": heart.path}
    code, shown, line = nomina("kb", *(argument.format(**places) for argument in arguments))
    assert (code, shown, line.count("\n")) == (2, "", 1)
    assert line.startswith(f"nomina: {said.format(**places)}")


def test_help_lists_all_commands(nomina) -> None:
    code, shown, _ = nomina("kb", "--help")
    assert code == 0
    assert [line.split()[0] for line in shown.partition("Commands:\n")[2].splitlines()][:3] == ["build", "info", "show"]
    assert "  add " in shown
    assert "  retire " in shown
