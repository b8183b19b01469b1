"""The pipeline of a bulk run, the same in each process that makes it and as new for each shard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nomina.bulk.dedup import RememberingLinker
from nomina.bulk.options import Options
from nomina.counterparts import Counterparts
from nomina.encoders.onnx import OnnxEncoder
from nomina.errors import UsageError
from nomina.index.int8 import Int8Index
from nomina.kb.store import KnowledgeBase
from nomina.linkers import LINKERS
from nomina.linkers.base import Linker
from nomina.linkers.cascade import CascadeLinker
from nomina.linkers.embedding import EmbeddingLinker
from nomina.linkers.tfidf import TfidfLinker
from nomina.pipeline import Pipeline, load

CPU = "cpu"

_ALONE = (CascadeLinker, EmbeddingLinker, TfidfLinker)
"""Linkers that read nothing of a mention's document but the abbreviations that it defines."""


def pipeline(options: Options, device: str = CPU) -> Pipeline:
    """What links in one process; an encoder with torch is on the device (``cpu``, ``cuda``, ``cuda:1``).

    Raises:
        UsageError: as ``nomina.load`` says, or a GPU for a linker that cannot use one.
    """
    on_gpu = device != CPU
    loaded = load(
        "dictionary" if on_gpu else options.linker,
        options.kb,
        k=options.k,
        threshold=options.threshold,
        under=options.under,
        types=options.types,
        overlaps=options.overlaps,
        context=options.context,
        level=options.level,
        spans=False if on_gpu else options.spans,
    )
    if on_gpu:
        loaded.linker = _on_gpu(loaded, options, device)
    if isinstance(loaded.linker, _ALONE):
        loaded.linker = RememberingLinker(loaded.linker)
    return loaded


def check_options(options: Options) -> None:
    """Whether the KB has the concepts that are asked for, and so on; its look-up tables are made, once for all workers.

    Raises:
        UsageError: an option with a value that it cannot have.
        KnowledgeBaseError: an id or type that the KB does not have.
    """
    load(
        "dictionary",
        options.kb,
        k=options.k,
        threshold=options.threshold,
        under=options.under,
        types=options.types,
        level=options.level,
    )


def check_device(options: Options, device: str) -> None:
    """Whether the linker can use such a device.

    Raises:
        UsageError: it cannot.
    """
    if device == CPU:
        return
    from nomina import encoders
    from nomina.generation import is_generator
    from nomina.linkers.fitted_cascade import is_cascade

    folder = Path(options.linker)
    others = options.linker in LINKERS or is_generator(folder) or is_cascade(folder)
    if others or not folder.is_dir() or encoders.is_exported(folder):
        what = "the folder of an encoder that `nomina train` saved"
        raise UsageError(f"the linker {options.linker} does not take --device {device}: name {what}, or leave it out")
    if options.spans:
        raise UsageError("phrases are judged by an exported encoder with a spans.json: leave --spans out on a GPU")


def _on_gpu(loaded: Pipeline, options: Options, device: str) -> Linker:
    from nomina import encoders

    check_device(options, device)
    encoder = encoders.load_trainable(options.linker)
    try:
        encoder.module.to(device)
    except (RuntimeError, AssertionError) as error:
        why = str(error).strip().splitlines()[0]
        raise UsageError(f"cannot use --device {device} ({why}): name one that is there, or leave it out") from error
    return CascadeLinker(loaded.kb, encoder)


def make_new(pipeline: Pipeline, threads: int) -> None:
    """Empty what a pipeline remembers and what later answers may hang on, so that a shard is as after a start.

    A vector depends in its last bits on the texts that were encoded beside it. ``threads`` is how many an encoder and
    a search may use, which vectors and scores do not depend on.
    """
    for part in _parts(pipeline.linker, pipeline.spans):
        if isinstance(part, RememberingLinker | EmbeddingLinker | Counterparts):
            part.forget()
        if isinstance(part, EmbeddingLinker) and isinstance(part.encoder, OnnxEncoder):
            part.encoder.threads = threads
        if isinstance(part, Int8Index):
            part.threads = threads


def _parts(*roots: object) -> Iterator[object]:
    """The objects of nomina's that some consist of, themselves included, each once; KBs are left aside."""
    todo, seen = list(roots), set()
    while todo:
        one = todo.pop()
        if isinstance(one, list | tuple):
            todo.extend(one)
        elif type(one).__module__.startswith("nomina.") and hasattr(one, "__dict__") and id(one) not in seen:
            seen.add(id(one))
            if not isinstance(one, KnowledgeBase):
                todo.extend(vars(one).values())
                yield one
