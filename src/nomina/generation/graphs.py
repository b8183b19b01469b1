"""The steps of a decoding as CUDA graphs: a small model spends most of a step on starting kernels, a graph starts once.

Buffers and graphs are kept for the next decoding of the same shapes, so batches should have few different ones.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from nomina.generation.generator import Decoding, Memory
from nomina.generation.stepper import BartDecoding, Layout, fused, plainly

_KEPT = 16
"""Most shapes whose buffers are kept."""


class GraphedDecoding(BartDecoding):
    """A decoding whose steps are replayed, one graph for each number of keys; ``step`` gives the same buffer again."""

    fixed = True

    def __init__(
        self, layout: Layout, memory: Memory, prefixes: Tensor, prefix_mask: Tensor, beams: int, most: int
    ) -> None:
        super().__init__(layout, memory, prefixes, prefix_mask, beams, most)
        self.layout = layout
        with plainly(prefixes.device):
            self._make_room(self.size)  # a graph holds addresses
            self.tokens = prefixes.new_zeros(len(prefixes), beams)
            self.out = self.table.new_empty(len(prefixes) * beams, len(self.table))
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}

    def again(self, memory: Memory, prefixes: Tensor, prefix_mask: Tensor) -> None:
        """``begin``, with weights as they are by now."""
        with plainly(prefixes.device):
            self.table.copy_(self.layout.table)
            self.bias.copy_(self.layout.bias)
            for kept, layer in zip(self.fused, self.decoder.layers, strict=True):
                for old, new in zip(kept, fused(layer.self_attn), strict=True):
                    old.copy_(new)
        self.begin(memory, prefixes, prefix_mask)

    def _next(self, tokens: Tensor, end: int) -> Tensor:
        self.tokens.copy_(tokens)
        if end not in self.graphs:
            self.graphs[end] = self._captured(end)
        self.graphs[end].replay()
        return self.out.view(*tokens.shape, -1)

    def _captured(self, end: int) -> torch.cuda.CUDAGraph:
        changed = (self.seen, self.slots, self.position)
        before = [tensor.clone() for tensor in changed]
        cuda: Any = torch.cuda
        stream = cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):  # libraries allocate in their first run, which a graph may not hold
            self._step(self.tokens, end, self.out)
        torch.cuda.current_stream().wait_stream(stream)
        for tensor, old in zip(changed, before, strict=True):
            tensor.copy_(old)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._step(self.tokens, end, self.out)
        return graph


class Decodings:
    """Decodings of a model, and those whose graphs can be used again."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._kept: dict[tuple[object, ...], GraphedDecoding] = {}

    def begin(
        self, memory: Memory, prefixes: Tensor, prefix_mask: Tensor, beams: int, most: int, *, graphs: bool
    ) -> Decoding:
        """See ``Generator.decoding`` and, for ``graphs``, the attribute there."""
        if not (graphs and prefixes.is_cuda):
            return BartDecoding(self.layout, memory, prefixes, prefix_mask, beams, most)
        weight = self.layout.table
        key = (memory.mask.shape, prefixes.shape, beams, most, weight.dtype, weight.device, weight.data_ptr())
        found = self._kept.pop(key, None)
        if found is None:
            found = GraphedDecoding(self.layout, memory, prefixes, prefix_mask, beams, most)
        else:
            found.again(memory, prefixes, prefix_mask)
        self._kept[key] = found
        if len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]
        return found
