"""The error tree."""

import inspect
import re
from pathlib import Path

import pytest

from nomina import errors
from nomina.errors import (
    ArtifactError,
    FormatError,
    KnowledgeBaseError,
    MissingExtra,
    NominaError,
    RecipeError,
    UsageError,
)

CLASSES = {
    name: value
    for name, value in vars(errors).items()
    if inspect.isclass(value) and value.__module__ == errors.__name__
}


def test_the_docstring_draws_the_tree_one_class_a_line() -> None:
    drawn = re.findall(r"^ *(?:│ +)?[├└]── (\w+)", errors.__doc__ or "", re.MULTILINE)
    assert ["NominaError", *drawn] == list(CLASSES)


def test_all_are_nomina_errors_and_none_is_a_builtin_that_callers_catch_for_other_reasons() -> None:
    assert all(issubclass(error, NominaError) for error in CLASSES.values())
    assert NominaError.__bases__ == (Exception,)


@pytest.mark.parametrize("line", [None, 12])
def test_a_format_error_says_where_and_why(line: int | None) -> None:
    error = FormatError("a/b.obo", line, "no id")
    assert (error.path, error.line, error.why) == (Path("a/b.obo"), line, "no id")
    assert str(error) == ("a/b.obo: no id" if line is None else "a/b.obo:12: no id")


def test_a_missing_extra_is_the_pip_command() -> None:
    error = MissingExtra("train", "training")
    assert error.extra == "train"
    assert str(error) == 'training needs an extra: python -m pip install "nomina[train]"'


@pytest.mark.parametrize("error", [RecipeError, ArtifactError, KnowledgeBaseError, UsageError])
def test_the_others_carry_their_message(error: type[NominaError]) -> None:
    with pytest.raises(NominaError, match="say what to do"):
        raise error("say what to do")
