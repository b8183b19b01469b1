"""How many mentions a generator reads at a time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
pytestmark = pytest.mark.extras

from nomina.generation.batches import batch_size, fitting_batch  # noqa: E402

GIB = 1 << 30


def generator(layers: int, width: int, vocabulary: int, **more: Any) -> Any:
    """What counts of a generator: its sizes."""
    module = torch.nn.Linear(1, 1, dtype=more.pop("dtype", torch.float32))
    device, kept = torch.device("cpu"), 2 * layers * width
    return SimpleNamespace(
        module=module, device=device, kept=kept, vocabulary=vocabulary, rereads=False, window=128, **more
    )


SHALLOW, LARGE = generator(3, 384, 30522), generator(12, 1024, 50265)


def test_a_shallow_decoder_reads_thousands_on_a_gpu_and_a_large_one_what_fits_it() -> None:
    assert [fitting_batch(SHALLOW, 5, memory * GIB) for memory in (80, 140, 16)] == [2048, 2048, 512]
    assert [fitting_batch(LARGE, 5, memory * GIB) for memory in (80, 140, 16)] == [256, 256, 32]


def test_more_beams_and_less_memory_take_smaller_batches_and_half_precision_larger_ones() -> None:
    assert fitting_batch(SHALLOW, 20, 80 * GIB) == 1024
    assert fitting_batch(generator(12, 1024, 50265, dtype=torch.bfloat16), 5, 80 * GIB) == 512
    assert fitting_batch(LARGE, 5, 1) == 1


def test_one_that_reads_all_again_holds_the_logits_of_all() -> None:
    plain = generator(12, 768, 32128)
    plain.rereads = True
    assert fitting_batch(plain, 5, 80 * GIB) * 5 * 64 * 32128 * 4 < 40 * GIB


def test_a_cpu_reads_few() -> None:
    assert batch_size(SHALLOW, 5) == 32
