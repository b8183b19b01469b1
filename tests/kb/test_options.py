from __future__ import annotations

from pathlib import Path

import pytest

from nomina.errors import UsageError
from nomina.kb.build import build_from_files
from nomina.kb.options import as_text, fitting, parsed


def read(path, *, skip=None, languages=("ENG",), parents: bool = False, dialect="us"):
    raise NotImplementedError


def other(path, *, skip=None, split_ids: bool = False):
    raise NotImplementedError


def test_texts_of_the_command_line_become_values_of_the_defaults_types() -> None:
    texts = parsed(["languages=ENG, SPA", "parents=yes", "dialect=gb=x"])
    assert fitting({"a": read}, texts) == {"a": {"languages": ("ENG", "SPA"), "parents": True, "dialect": "gb=x"}}
    assert fitting({"a": read}, parsed(["parents=FALSE"])) == {"a": {"parents": False}}
    assert parsed(["split-ids=true"]) == {"split_ids": "true"}


def test_values_of_programs_pass_as_they_are() -> None:
    values = {"languages": ["ENG"], "parents": True}
    assert fitting({"a": read}, values) == {"a": {"languages": ("ENG",), "parents": True}}


def test_an_option_goes_to_the_formats_that_know_it() -> None:
    assert fitting({"a": read, "b": other}, {"parents": "true", "split_ids": True}) == {
        "a": {"parents": True},
        "b": {"split_ids": True},
    }


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"langauges": "ENG"}, "the format a has no option langauges; there are: languages, parents, dialect"),
        ({"skip": "x"}, "no option skip"),
        ({"path": "x"}, "no option path"),
        ({"parents": "perhaps"}, "the option parents is true or false, not 'perhaps'"),
        ({"languages": " , "}, "the option languages needs one or more values"),
        ({"dialect": ""}, "the option dialect needs a value"),
        ({"dialect": True}, "the option dialect needs a value"),
    ],
)
def test_what_does_not_fit_is_named(options: dict[str, object], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        fitting({"a": read}, options)  # type: ignore[arg-type]


def test_an_option_that_no_format_has() -> None:
    with pytest.raises(UsageError, match=r"the formats a and b have no option x; there are: languages, .*, split_ids"):
        fitting({"a": read, "b": other}, {"x": "y"})


@pytest.mark.parametrize("texts", [["languages"], ["=ENG"], ["parents=true", "parents=false"]])
def test_what_is_no_option_at_all(texts: list[str]) -> None:
    with pytest.raises(UsageError, match=r"KEY=VALUE|given twice"):
        parsed(texts)


def test_the_manifest_keeps_them(tmp_path: Path) -> None:
    assert as_text({"languages": ("ENG", "SPA"), "parents": True, "dialect": "us"}) == (
        "languages=ENG,SPA parents=true dialect=us"
    )
    (tmp_path / "a.txt").write_text("D1|D2||a\n", encoding="utf-8")
    kb = build_from_files(tmp_path / "a.kb", [tmp_path / "a.txt"], split_ids="true")
    assert list(kb) == ["D1", "D2"]
    assert kb.manifest.sources[0].options == "split_ids=true"
    assert build_from_files(tmp_path / "b.kb", [tmp_path / "a.txt"]).manifest.sources[0].options is None
