"""Several trainings by one ``nomina train``: the stages of a staged recipe, each from the model before it."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nomina.errors import UsageError

if TYPE_CHECKING:
    from nomina.training.stages import Stage

Run = Callable[..., None]


def staged(one: Run) -> Run:
    """A command that trains one recipe as one that trains the stages of a staged one as well; ``skip`` are left out."""

    @functools.wraps(one)
    def run(recipe: str, skip: tuple[str, ...], **options: Any) -> None:  # noqa: ANN401
        from nomina.training.stages import chosen, stages_of

        if not (stages := stages_of(recipe)):
            if skip:
                raise UsageError(f"{recipe} has no stages: leave out --skip")
            return one(recipe=recipe, **options)
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise UsageError(f"{recipe} runs in one process: start its stages one by one with torchrun")
        return _all(one, chosen(stages, skip, options["settings"], corpus=options["corpus"] is not None), options)

    return run


def _all(one: Run, stages: Sequence[Stage], options: dict[str, Any]) -> None:
    """Run stages; the last one writes the output, the others their own folders beside it."""
    from nomina.training.output import check_place
    from nomina.training.stages import Done

    output, base, seed = options["output"], options["base"], options["seed"]
    check_place(output)
    places = [output.with_name(f"{output.name}.{stage.name}") for stage in stages[:-1]] + [output]
    _check(stages, places)
    trained_on = {"kb": _fingerprint(options), "format": options["format"]}
    trained_on |= {key: _file(options[key]) for key in ("corpus", "dev")} | {"options": list(options["texts"])}
    if options["annotator"]:
        trained_on["annotators"] = list(options["annotator"])
    done = Done(output.with_name(f"{output.name}.stages.json"), trained_on)
    if not options["resume"]:
        done.forget()
    unseen: str | None = None
    for number, (stage, place) in enumerate(zip(stages, places, strict=True)):
        wanted = stage.load(base, seed)
        if unseen and wanted.preference.folds and not wanted.preference.fold_base:
            stage = stage._replace(settings=(*stage.settings, f"preference.fold_base={unseen}"))
            wanted = stage.load(base, seed)
        if wanted.data.source == "corpus" and wanted.preference.loss == "none":
            unseen = wanted.encoder.base
        if done.has(number, wanted, place):
            click.echo(f"stage {stage.name} is done: {place}", err=True)
        else:
            click.echo(f"stage {stage.name} ({stage.recipe})", err=True)
            corpus = options["corpus"] if wanted.data.source == "corpus" else None
            given = {"output": place, "base": base, "corpus": corpus, "settings": stage.settings}
            one(recipe=stage.recipe, **{**options, **given})
            done.add(wanted)
        base = str(place)
    done.forget()


def _check(stages: Sequence[Stage], places: Sequence[Path]) -> None:
    """Whether all stages can be loaded and written, and their references are there or come out of stages before."""
    from nomina.training.output import check_place
    from nomina.training.preference.recipe import check_reference

    for number, (stage, place) in enumerate(zip(stages, places, strict=True)):
        check_place(place)
        check_reference(stage.load(None, None).preference, places[:number])


def _fingerprint(options: dict[str, Any]) -> str:
    """Of the KB, once it is known that it has gold of the corpora.

    Raises:
        UsageError: one of them has no mention to learn from, or to measure on.
        NominaError: one of them, or the KB, cannot be read.
    """
    from nomina.cli.train_data import Given, read

    told = Given(*(options[key] for key in ("corpus", "dev", "format", "texts", "annotator")))
    data = read(options["kb"], told, writes=False)
    for path, found in ((told.corpus, data.train), (told.dev, data.dev)):
        if found is not None and not any(any(item.gold) for item in found):
            raise UsageError(f"{path} has no mention with gold that the KB {data.kb.manifest.name} has")
    return data.kb.fingerprint


def _file(path: Path | None) -> list[Any] | None:
    """A corpus as far as a look at its place tells."""
    if path is None:
        return None
    log = path.with_name(f"{path.name}-wal")  # what a project has not put into its file yet
    facts = [each.stat() for each in (path, log) if each.exists()]
    return [str(path), *(value for each in facts for value in (each.st_size, each.st_mtime_ns))]
