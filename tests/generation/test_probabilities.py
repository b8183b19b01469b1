"""Log-probabilities of a few tokens, with and without the kernel."""

from __future__ import annotations

import sys
import types

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
pytestmark = pytest.mark.extras

from nomina.generation import probabilities  # noqa: E402
from nomina.generation.probabilities import WIDE, log_probabilities  # noqa: E402


def drawn(*shape: int, device: str = "cpu") -> tuple[torch.Tensor, torch.Tensor]:
    dice = torch.Generator().manual_seed(0)
    logits = torch.randn(*shape, generator=dice) * 20
    return logits.to(device), torch.randint(0, shape[-1], (*shape[:-1], 7), generator=dice).to(device)


def expected(logits: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    return (logits.double().log_softmax(-1)).gather(-1, tokens).float()


@pytest.mark.parametrize("shape", [(3, 5, 40), (2, 1, 9000), (0, 5, 9000)])
def test_they_are_those_of_log_softmax(shape: tuple[int, ...]) -> None:
    logits, tokens = drawn(*shape)
    torch.testing.assert_close(log_probabilities(logits, tokens), expected(logits, tokens), rtol=1e-6, atol=1e-5)


def test_the_kernel_gets_what_it_can_read(monkeypatch: pytest.MonkeyPatch) -> None:
    logits = types.SimpleNamespace(
        shape=(2, WIDE), numel=lambda: 2 * WIDE, is_cuda=True, dtype=torch.float32, is_contiguous=lambda: True
    )
    assert probabilities._fit(logits)
    for name, value in (
        ("shape", (2, WIDE - 1)), ("numel", lambda: 0), ("is_cuda", False), ("dtype", torch.bfloat16),
        ("is_contiguous", lambda: False),
    ):  # fmt: skip
        assert not probabilities._fit(types.SimpleNamespace(**{**vars(logits), name: value}))


@pytest.fixture
def forgotten():
    probabilities._totals.cache_clear()
    yield
    probabilities._totals.cache_clear()


@pytest.mark.usefixtures("forgotten")
def test_a_kernel_that_cannot_be_compiled_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(rows: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("no compiler of C")

    name = "nomina.generation.triton_totals"
    monkeypatch.setitem(sys.modules, name, types.SimpleNamespace(totals=broken))
    monkeypatch.setattr(probabilities, "_fit", lambda logits: True)
    logits, tokens = drawn(2, WIDE)
    torch.testing.assert_close(log_probabilities(logits, tokens), expected(logits, tokens), rtol=1e-6, atol=1e-5)
    probabilities._totals.cache_clear()
    totals = types.SimpleNamespace(totals=lambda rows: rows.logsumexp(-1) + 1)
    monkeypatch.setitem(sys.modules, name, totals)
    found = log_probabilities(logits, tokens)
    torch.testing.assert_close(found, expected(logits, tokens) - 1, rtol=1e-6, atol=1e-5)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("shape", [(3, 5, 30_522), (2, 4096), (1, 50_265), (7, 8193)])
def test_the_kernel_on_a_gpu(shape: tuple[int, ...]) -> None:
    totals = pytest.importorskip("nomina.generation.triton_totals").totals
    logits, tokens = drawn(*shape, device="cuda")
    torch.testing.assert_close(totals(logits), logits.double().logsumexp(-1).float(), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(log_probabilities(logits, tokens), expected(logits, tokens), rtol=1e-6, atol=1e-5)
