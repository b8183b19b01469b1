"""Log-probabilities of a few tokens out of the logits of all."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

import torch
from torch import Tensor

WIDE = 4096
"""Fewest logits of a row that the kernel is worth."""


def log_probabilities(logits: Tensor, tokens: Tensor) -> Tensor:
    """``logits.log_softmax(-1).gather(-1, tokens)``.

    ``log_softmax`` reads all logits twice and writes them all for the few that are asked for. On a GPU that Triton can
    compile for they are read once; ``logsumexp`` would be seven kernels.

    Args:
        logits: (..., V).
        tokens: int64, (..., k).
    """
    if _fit(logits) and (totals := _totals(logits.device)) is not None:
        return logits.gather(-1, tokens) - totals(logits)[..., None]
    return logits.log_softmax(-1).gather(-1, tokens)


def _fit(logits: Tensor) -> bool:
    wide = logits.shape[-1] >= WIDE and logits.numel() > 0
    return wide and logits.is_cuda and logits.dtype == torch.float32 and logits.is_contiguous()


@cache
def _totals(device: torch.device) -> Callable[[Tensor], Tensor] | None:
    """The kernel, where it can be compiled: Triton may be there without the compiler of C that it takes."""
    try:
        found: Callable[[Tensor], Tensor] = import_module("nomina.generation.triton_totals").totals
        found(torch.zeros(1, WIDE, device=device))
    except Exception:  # whatever is missing, there is torch's way
        return None
    return found
