"""Trainings of several stages, each of which goes on from the model before it. Needs no torch.

A staged recipe is a TOML file with tables ``[stages.NAME]``: ``recipe``, the name or file of one, and ``set``, a list
of texts ``TABLE.KEY=VALUE``.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nomina.errors import RecipeError
from nomina.files import atomic
from nomina.training.recipe import FOLDER, Recipe, load, parsed

STAGED = ("angel",)
"""The staged recipes that nomina brings."""


class Stage(NamedTuple):
    """One training of several: its name, its recipe, and what is set otherwise in that."""

    name: str
    recipe: str
    settings: tuple[str, ...]

    def load(self, base: str | None, seed: int | None) -> Recipe:
        """The recipe as it is set, with a base and a seed where they are named."""
        given: dict[str, object] = {"encoder.base": base, "fit.seed": seed}
        return load(self.recipe, {key: v for key, v in given.items() if v is not None} | {**parsed(self.settings)})


def stages_of(name: str) -> list[Stage]:
    """The stages of a staged recipe, in order; none where the recipe of this name or file is no staged one.

    Raises:
        RecipeError: a staged one without stages; a stage without a recipe, with another key, or whose name can be no
            part of a folder's.
    """
    path = FOLDER / "staged" / f"{name}.toml" if name in STAGED else Path(name)
    try:
        tables: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    if (stages := tables.get("stages")) is None:
        return []
    if not isinstance(stages, dict) or not stages:
        raise RecipeError(f"{name} has no stage: write tables [stages.NAME], or leave stages out")
    return [_stage(name, stage, own) for stage, own in stages.items()]


def _stage(where: str, name: str, own: Any) -> Stage:  # noqa: ANN401
    if not re.fullmatch(r"[\w-]+", name):
        raise RecipeError(f"{where}: {name!r} is no name of a stage: take letters, digits, - and _, for its folder's")
    if not isinstance(own, dict) or not own.keys() <= {"recipe", "set"} or "recipe" not in own:
        raise RecipeError(f"{where}: the stage {name} needs recipe, and may have set: nothing else")
    texts = own.get("set", [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise RecipeError(f'{where}: set of the stage {name} is a list of texts, as ["fit.lr=1e-5"], not {texts!r}')
    return Stage(name, str(own["recipe"]), tuple(texts))


def chosen(stages: Sequence[Stage], skip: Sequence[str], settings: Sequence[str], *, corpus: bool) -> list[Stage]:
    """The stages that are to be run, with what is set of them.

    Args:
        stages: all.
        skip: names of those to leave out.
        settings: ``TABLE.KEY=VALUE`` for all, of the table ``preference`` for those that have a loss in it;
            ``STAGE/TABLE.KEY=VALUE`` for one.
        corpus: whether there is one; without it what learns from a corpus is left out.

    Raises:
        RecipeError: no stage has such a name, none is left, or what is set of ``preference`` is for none of them, or
            for one that has no loss in it.
    """
    names = [stage.name for stage in stages]
    given = [_given(text, names) for text in settings]
    left_out = {_known(one, names) for one in skip}
    kept = [_with(stage, given) for stage in stages if stage.name not in left_out]
    kept = [stage for stage in kept if corpus or stage.load(None, None).data.source != "corpus"]
    if not kept:
        raise RecipeError("no stage is left to run: skip fewer, or name a corpus with --corpus")
    for of, text in given:
        if of is None and not any(text in stage.settings for stage in kept):
            raise RecipeError(f"no stage that runs learns preferences: name the one that is to, as in NAME/{text}")
    return kept


def _given(text: str, names: Sequence[str]) -> tuple[str | None, str]:
    """The stage that a setting of the command line names, None where it names none; and what it sets."""
    stage, slash, setting = text.partition("/")
    return (_known(stage, names), setting) if slash and "=" not in stage else (None, text)


def _with(stage: Stage, given: Sequence[tuple[str | None, str]]) -> Stage:
    """A stage with what is set for it, or for all: that of preferences only where it learns them anyway."""
    own = [text for of, text in given if of == stage.name and _is_preference(text)]
    plain = stage._replace(settings=(*stage.settings, *own)).load(None, None).preference.loss == "none"
    if plain and (vain := [text for text in own if parsed([text]).keys() != {"preference.loss"}]):
        raise RecipeError(
            f"the stage {stage.name} learns no preferences: leave out {vain[0]}, or set its preference.loss"
        )
    told = [text for of, text in given if of == stage.name or (of is None and not (plain and _is_preference(text)))]
    return stage._replace(settings=(*stage.settings, *told))


def _is_preference(text: str) -> bool:
    return text.lstrip().startswith("preference.")


class Done:
    """Which stages of a training are done, in a file beside their models: the same command goes on behind them.

    Args:
        path: of the file.
        trained_on: what the stages are trained on; a file of other data counts for nothing.
    """

    def __init__(self, path: Path, trained_on: dict[str, Any]) -> None:
        self._path = path
        self._facts: dict[str, Any] = {"trained_on": trained_on, "stages": []}
        try:
            facts = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return
        if isinstance(facts, dict) and facts.get("trained_on") == trained_on:
            self._facts = facts

    def has(self, number: int, recipe: Recipe, output: Path) -> bool:
        """Whether the stage of this number, from 0, is done with this recipe; if not, none behind it is either."""
        done: list[Any] = self._facts["stages"]
        if number < len(done) and done[number] == recipe.as_json() and output.is_dir():
            return True
        del done[number:]
        return False

    def add(self, recipe: Recipe) -> None:
        """Note the next stage as done."""
        self._facts["stages"].append(recipe.as_json())
        with atomic(self._path) as temporary:
            temporary.write_text(json.dumps(self._facts) + "\n", encoding="utf-8")

    def forget(self) -> None:
        """Nothing is done: the next command begins anew."""
        self._facts["stages"] = []
        self._path.unlink(missing_ok=True)


def _known(name: str, names: Sequence[str]) -> str:
    if name not in names:
        raise RecipeError(f"there is no stage {name!r}: the stages are {', '.join(names)}")
    return name
