"""A run: its manifest is made or taken up, its shards are given to worker processes, what comes of them is recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, TextIO

from nomina._version import __version__
from nomina.bulk.engine import CPU, check_device, check_options
from nomina.bulk.find import Input, check_columns
from nomina.bulk.inputs import Columns
from nomina.bulk.manifest import ERRORS, Manifest, Shard, Totals
from nomina.bulk.options import Options, linker_fingerprint
from nomina.bulk.outputs import OUTPUTS, PACKINGS
from nomina.bulk.progress import Progress
from nomina.bulk.ray import RayCrew
from nomina.bulk.remote import is_remote
from nomina.bulk.shard import check_input
from nomina.bulk.store import Store, is_begun
from nomina.bulk.workers import Answer, Crew
from nomina.encoders.onnx import cores
from nomina.errors import NominaError, UsageError
from nomina.kb.sources import resolve_kb

ALL_ERRORS = "errors.jsonl"
DELETIONS = "deletions.jsonl"
_TRIES = 3
_POLL = 0.5  # seconds


@dataclass(frozen=True, slots=True)
class Staff:
    """Who does the shards: processes of this machine, or actors on a Ray cluster.

    ``workers``: how many; None: one a core, or one a GPU. ``address``: see ``RayCrew``. Results do not depend on it.
    """

    engine: Literal["local", "ray"] = "local"
    workers: int | None = None
    address: str | None = None

    def of(self, options: Options, store: Store, devices: Sequence[str], most: int) -> Crew | RayCrew:
        """The workers, hired; more than ``most`` are not needed."""
        order = {"options": options.to_json(), "folder": store.address}
        if self.engine == "ray":
            return RayCrew(self.workers, most, devices[0], order, self.address)
        size = self.workers or (cores() if devices[0] == CPU else len(devices))
        return Crew(min(size, most), devices, order)


def begin(store: Store, inputs: Sequence[Input], options: Options) -> None:
    """Make the manifest of a run, or see that the one that is there is of the same inputs and options.

    Raises:
        UsageError: it is of others, the folder holds something else, or cannot be written to.
    """
    about = _about(options.checked())
    try:
        with store.held():
            if is_begun(store):
                with store.manifest() as manifest:
                    _check_same(store, manifest, about, inputs)
                return
            if others := store.names():
                raise UsageError(
                    f"{store.shown} holds something else ({others[0]}): name an empty or a new folder with --out"
                )
            check_options(options)
            check_columns(inputs, Columns(options.text_column, options.id_column))
            ending = OUTPUTS[options.format].ending + PACKINGS[options.pack]
            store.create(about, inputs, ending)
    except OSError as error:
        raise UsageError(f"cannot write to {store.shown} ({error.strerror}): name another folder with --out") from error


def options_of(manifest: Manifest) -> Options:
    """What a run was asked to do."""
    return Options.from_json(manifest.about()["options"])


def go_on(
    store: Store,
    *,
    crew: Staff,
    devices: Sequence[str] = (CPU,),
    most_errors: int | None = None,
    again: bool = False,
    stream: TextIO,
) -> Totals:
    """Do what is left of a run.

    Args:
        store: its folder.
        crew: who does them.
        devices: what they use, in turn.
        most_errors: how many documents of the run may fail before it stops.
        again: whether to do those shards anew whose inputs could not be read to their ends.
        stream: where progress is said.

    Raises:
        UsageError: another process does it, KB, linker, nomina or inputs are not those of its begin, too many errors.
        NominaError: what a worker says that ends the run.
    """
    with store.manifest() as manifest, store.held():
        options = options_of(manifest)
        check_device(options, devices[0])
        _check_about(store, manifest.about(), _about(options))
        _check_finished(store, manifest, again)
        if again:
            store.redo(manifest, [shard.number for shard in manifest.shards("broken")])
        store.prepare()
        todo = manifest.shards("todo")
        for shard in todo:
            # Others are looked at when they are fetched: each look would take a round trip.
            if not is_remote(shard.input):
                check_input(shard)
        try:
            if todo:
                _do(store, manifest, todo, crew.of(options, store, devices, len(todo)), most_errors, stream)
        finally:
            store.clear()
            _gather(store, manifest)
        return manifest.totals()


def _check_finished(store: Store, manifest: Manifest, again: bool) -> None:
    """Whether what is done, and not to be done ``again``, is of the inputs as they are.

    Inputs of other places are looked at by ``verify`` alone: each look takes a round trip.

    Raises:
        UsageError: an input is another by now.
    """
    ways = {"done": "nomina bulk verify --redo {}, then resume"}
    if not again:
        ways["broken"] = "nomina bulk resume --retry {}"
    for state, way in ways.items():
        for shard in manifest.shards(state):
            if not is_remote(shard.input) and shard.has_changed():
                raise UsageError(
                    f"{shard.input} has changed since it was linked: have it linked anew with"
                    f" {way.format(store.shown)}, or begin a new run in another folder"
                )


def _do(
    store: Store,
    manifest: Manifest,
    todo: Sequence[Shard],
    hired: Crew | RayCrew,
    most_errors: int | None,
    stream: TextIO,
) -> None:
    progress = Progress(manifest.totals(), stream)
    waiting, tries = list(reversed(todo)), dict.fromkeys((shard.number for shard in todo), 0)
    with hired as crew:
        while waiting or crew.busy:
            totals = manifest.totals()
            _check_errors(totals, most_errors)
            budget = None if most_errors is None else most_errors - totals.errors
            while waiting and crew.give(waiting[-1], budget):
                waiting.pop()
            answer = crew.answer(_POLL)
            if answer is not None and answer.done is not None:
                manifest.record(answer.shard.number, answer.done)
                progress.tick(answer.worker, 0, 0)
            elif answer is not None and answer.kind == "died":
                tries[answer.shard.number] += 1
                _check_tries(tries[answer.shard.number], answer, store)
                waiting.append(answer.shard)
            elif answer is not None:
                progress.tick(answer.worker, answer.documents, answer.errors)
            progress.show(manifest.totals())
        progress.clear()
    _check_errors(manifest.totals(), most_errors)


def _check_tries(tries: int, answer: Answer, store: Store) -> None:
    if tries == _TRIES:
        raise NominaError(
            f"workers died {tries} times ({answer.why}) at {answer.shard.input}: see whether memory ran out, then go on"
            f" with nomina bulk resume {store.shown}"
        )


def _check_errors(totals: Totals, most: int | None) -> None:
    if most is not None and totals.errors > most:
        raise UsageError(
            f"{totals.errors:,} errors, more than the {most:,} of --max-errors: see {ALL_ERRORS}, then go on with"
            " nomina bulk resume and another --max-errors"
        )


def _about(options: Options) -> dict[str, str]:
    return {
        "nomina": __version__,
        "options": options.to_json(),
        "kb": resolve_kb(options.kb).fingerprint,
        "linker": linker_fingerprint(options.linker),
    }


def _check_same(store: Store, manifest: Manifest, about: Mapping[str, str], inputs: Sequence[Input]) -> None:
    _check_about(store, manifest.about(), about)
    begun = manifest.inputs()
    if begun != list(inputs):
        different = sorted({one.place for one in begun} ^ {one.place for one in inputs}) or ["their order"]
        raise UsageError(
            f"{store.shown} was begun with other inputs ({different[0]}): name them as then, or another folder with"
            " --out"
        )


def _check_about(store: Store, begun: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Whether a run would go on as it was begun.

    Raises:
        UsageError: it would not; it says by what.
    """
    old, new = (asdict(Options.from_json(about["options"])) for about in (begun, now))
    for key in old:
        if old[key] != new[key]:
            raise UsageError(
                f"{store.shown} was begun with {key} {_said(old[key])}, not {_said(new[key])}: use that, or another"
                " folder with --out"
            )
    words = {"nomina": "version of nomina", "kb": "content of the KB", "linker": "model of the linker"}
    for key, what in words.items():
        if begun[key] != now[key]:
            raise UsageError(f"{store.shown} was begun with another {what}: use that one, or another folder with --out")


def _said(value: object) -> str:
    return "none" if value is None or value == () else json.dumps(value, ensure_ascii=False)


def _gather(store: Store, manifest: Manifest) -> None:
    """Write the errors and deletions of the finished shards, in order; no file where there are none."""
    recorded = list(manifest.recorded())
    errors = [f"{ERRORS}/{shard.name}.jsonl" for shard, done in recorded if done.errors_sha256]
    deletions = [{"file": shard.input, "document": id} for shard, done in recorded for id in done.deleted]
    store.write(ALL_ERRORS, (part for name in errors for part in store.read([name])) if errors else None)
    lines = (f"{json.dumps(record)}\n".encode() for record in deletions)
    store.write(DELETIONS, lines if deletions else None)
