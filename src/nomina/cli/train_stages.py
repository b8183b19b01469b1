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
    from nomina.kb.sources import resolve_kb
    from nomina.training.output import check_place
    from nomina.training.stages import Done

    output, base, seed = options["output"], options["base"], options["seed"]
    check_place(output)
    trained_on = {"kb": resolve_kb(options["kb"]).fingerprint, "format": options["format"]}
    trained_on |= {key: _file(options[key]) for key in ("corpus", "dev")} | {"options": list(options["texts"])}
    if options["annotator"]:
        trained_on["annotators"] = list(options["annotator"])
    done = Done(output.with_name(f"{output.name}.stages.json"), trained_on)
    if not options["resume"]:
        done.forget()
    unseen: str | None = None
    for number, stage in enumerate(stages):
        last = number == len(stages) - 1
        place = output if last else output.with_name(f"{output.name}.{stage.name}")
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


def _file(path: Path | None) -> list[Any] | None:
    """A corpus as far as a look at its place tells."""
    if path is None or not path.exists():
        return None
    log = path.with_name(f"{path.name}-wal")  # what a project has not put into its file yet
    facts = [each.stat() for each in (path, log) if each.exists()]
    return [str(path), *(value for each in facts for value in (each.st_size, each.st_mtime_ns))]
