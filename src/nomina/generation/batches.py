"""How many mentions a generator reads at a time, where nobody says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nomina.encoders.base import import_torch

if TYPE_CHECKING:
    from nomina.generation.generator import Generator

BATCHES = {"cpu": 32, "cuda": 2048}
"""Mentions of a batch by the kind of device, on a GPU at most; 32 elsewhere."""

MOST = 64
"""Tokens of a name at most, its end included, where what was written is read again at each step."""

_SHARE = 0.4
"""Of a GPU's memory that the batches of a search may take."""

_AT_ONCE = 3
"""Batches whose keys and values are held: one that runs, and twice as many mentions that wait."""

_STEPS = 32
"""Of a search, until which most of a batch have ended or wait."""

_COPIES = 2
"""Of the logits of a step."""


def batch_size(generator: Generator, beams: int) -> int:
    """Mentions of a batch: on a GPU as many as its memory has room for, a power of two of at most 2,048.

    Args:
        generator: on its device.
        beams: of each mention.
    """
    if generator.device.type != "cuda":
        return BATCHES["cpu"]
    return fitting_batch(generator, beams, import_torch().cuda.get_device_properties(generator.device).total_memory)


def fitting_batch(generator: Generator, beams: int, memory: int) -> int:
    """The same for a GPU of so many bytes."""
    size = BATCHES["cuda"]
    while size > 1 and size * _bytes(generator, beams) > _SHARE * memory:
        size //= 2
    return size


def _bytes(generator: Generator, beams: int) -> int:
    """About what the search of a mention takes: the wider and deeper the decoder, and the more beams, the more."""
    logits = _COPIES * 4 * beams * generator.vocabulary
    if generator.rereads:
        return MOST * logits
    each = next(generator.module.parameters()).element_size()
    return _AT_ONCE * each * generator.kept * (2 * generator.window + _STEPS * beams) + logits
