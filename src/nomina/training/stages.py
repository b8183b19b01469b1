"""Trainings of several stages, each of which goes on from the model before it. Needs no torch.

A staged recipe is a TOML file with tables ``[stages.NAME]``: ``recipe``, the name or file of one, and ``set``, texts
``TABLE.KEY=VALUE``.
"""

from __future__ import annotations

import json
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
        RecipeError: a stage without a recipe, or with another key.
    """
    path = FOLDER / "staged" / f"{name}.toml" if name in STAGED else Path(name)
    try:
        tables: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    found = []
    for stage, own in tables.get("stages", {}).items():
        if not isinstance(own, dict) or not own.keys() <= {"recipe", "set"} or "recipe" not in own:
            raise RecipeError(f"{name}: the stage {stage} needs recipe, and may have set: nothing else")
        found.append(Stage(stage, str(own["recipe"]), tuple(map(str, own.get("set", ())))))
    return found


def chosen(stages: Sequence[Stage], skip: Sequence[str], settings: Sequence[str], *, corpus: bool) -> list[Stage]:
    """The stages that are to be run, with what is set of them.

    Args:
        stages: all.
        skip: names of those to leave out.
        settings: ``TABLE.KEY=VALUE`` for all, ``STAGE/TABLE.KEY=VALUE`` for one.
        corpus: whether there is one; without it what learns from a corpus is left out.

    Raises:
        RecipeError: no stage has such a name, or none is left.
    """
    names = [stage.name for stage in stages]
    own: dict[str, list[str]] = {name: [] for name in names}
    for text in settings:
        stage, slash, setting = text.partition("/")
        of = stage if slash and "=" not in stage else None
        for name in _known(of, names) if of else names:
            own[name].append(setting if of else text)
    left_out = {name for one in skip for name in _known(one, names)}
    kept = [stage._replace(settings=(*stage.settings, *own[stage.name])) for stage in stages]
    kept = [stage for stage in kept if stage.name not in left_out]
    kept = [stage for stage in kept if corpus or stage.load(None, None).data.source != "corpus"]
    if not kept:
        raise RecipeError("no stage is left to run: skip fewer, or name a corpus with --corpus")
    return kept


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


def _known(name: str, names: Sequence[str]) -> list[str]:
    if name not in names:
        raise RecipeError(f"there is no stage {name!r}: the stages are {', '.join(names)}")
    return [name]
