"""``logsumexp`` of long rows in one reading: a kernel for GPUs, which needs Triton."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 4096
"""Numbers that a program holds at once."""

_WARPS = 8


def totals(rows: Tensor) -> Tensor:
    """``rows.logsumexp(-1)`` of float32 (..., V), contiguous, on a GPU, one row or more."""
    flat = rows.view(-1, rows.shape[-1])
    found = flat.new_empty(len(flat))
    with torch.cuda.device(flat.device):
        _kernel[(len(flat),)](flat, found, flat.shape[1], BLOCK=_BLOCK, num_warps=_WARPS)
    return found.view(rows.shape[:-1])


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _kernel(rows, found, width, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """One program a row: the maximum and the sum so far, the sum brought down where the maximum rises."""
    row = tl.program_id(0).to(tl.int64)
    highest = -float("inf")
    total = 0.0
    for start in range(0, width, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        part = tl.load(rows + row * width + columns, mask=columns < width, other=-float("inf"))
        higher = tl.maximum(highest, tl.max(part))
        total = total * tl.exp(highest - higher) + tl.sum(tl.exp(part - higher))
        highest = higher
    tl.store(found + row, highest + tl.log(total))
