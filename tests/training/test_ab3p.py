"""Abbreviations by a program that writes as Ab3P does."""

import sys
from pathlib import Path

import pytest
from ab3p_cases import program, save_ab3p

from nomina.abbreviations import expander
from nomina.errors import RecipeError
from nomina.training.ab3p import expanders, program_of

TEXTS = [
    "heart attack = HA,\nand HA again",
    "",
    " \n",
    "no HA here",
    "short stature = HA; gait loss = HA: HAs",
    "a|b|c HA",
]


def test_texts_are_written_out_by_what_the_program_finds(tmp_path: Path) -> None:
    found = expanders(save_ab3p(tmp_path), TEXTS)
    written = [found(text)("HA and HAs") for text in TEXTS]
    assert written == ["heart attack and HAs", *["HA and HAs"] * 3, "short stature and HAs", "HA and HAs"]
    assert expander(TEXTS[0])("HA") == "HA"


def test_a_definition_may_hold_a_bar_and_the_first_counts(tmp_path: Path) -> None:
    fake = program(tmp_path, "#!/bin/sh\ncat $1\necho '  A|b|c|0.9'\necho '  A|d|0.8'\n")
    assert expanders(fake, ["any"])("any")("A") == "b|c"


def test_where_no_text_says_anything_nothing_runs(tmp_path: Path) -> None:
    assert expanders(tmp_path / "none", ["", " "])(" ")("HA") == "HA"


def test_a_program_is_found_by_name_or_path_and_where_it_lies(tmp_path: Path, monkeypatch) -> None:
    path = save_ab3p(tmp_path / "ab3p")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "identify_abbr").symlink_to(path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert program_of("identify_abbr") == program_of(str(path)) == path
    assert program_of("") is None
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RecipeError, match="no program identify_abbr: name"):
        program_of("identify_abbr")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#!/bin/sh\nexit 3\n", "exit code 3"),
        ("#!/bin/sh\necho something else\n", "does not write what"),
        ("#!/bin/sh\nhead -n 1 $1\n", "does not write what"),
        ("#!/none/such\n", "cannot be run"),
        (f"#!{sys.executable}\nopen('path_Ab3P')\n", "path_Ab3P"),
    ],
)
def test_a_program_that_is_no_ab3p_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(RecipeError, match=said) as error:
        expanders(program(tmp_path, text), ["one text", "the other"])
    assert "\n" not in str(error.value)
    assert "text" not in str(error.value).replace("identify_abbr", "")
