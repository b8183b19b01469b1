"""Decoding by reading everything again at each step: slow, and right for every encoder-decoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

import torch
from torch import Tensor

from nomina.errors import UsageError
from nomina.generation.generator import Decoding, Memory
from nomina.generation.stepper import equally_deep, plainly


class PlainDecoding(Decoding):
    """Beams that are read again from the start at each step: right for every layout, as no cache is involved.

    Args:
        decode: Logits (rows, t, V) of hidden states (rows, s, d), their mask (rows, s) and decoder input (rows, t),
            padded on the right.
        memory: As of ``Generator.decoding``, and so are the others.
        prefixes: Padded on the left.
        prefix_mask: True where there is a token.
        beams: Of each mention.
        most: Steps that can be made.
        pad_id: Padding.
    """

    def __init__(
        self,
        decode: Callable[[Tensor, Tensor, Tensor], Tensor],
        memory: Memory,
        prefixes: Tensor,
        prefix_mask: Tensor,
        beams: int,
        most: int,
        pad_id: int,
    ) -> None:
        self.decode, self.beams, self.most, self.done, self.pad_id = decode, beams, most, 0, pad_id
        n, p = prefixes.shape
        with plainly(prefixes.device):
            self.last = prefix_mask.sum(1)[:, None] - 1
            places = torch.arange(p, device=prefixes.device) + (p - 1 - self.last)
            written = prefixes.gather(1, places.clamp(max=p - 1)).masked_fill(places >= p, pad_id)
            padding = prefixes.new_full((n, most), pad_id)
            self.written = torch.cat([written, padding], 1)[:, None].repeat(1, beams, 1)
            self.logits = self._behind(memory, self.written[:, :1, :p], self.last)[:, 0]
            self.wide = Memory(*(part.repeat_interleave(beams, 0) for part in memory))
        self.end = p

    def step(self, tokens: Tensor) -> Tensor:
        """See ``Decoding.step``."""
        if self.done == self.most:
            raise UsageError(f"a name is longer than the {self.most} steps that were asked for: ask for more")
        self.done, self.end = self.done + 1, self.end + 1
        with plainly(tokens.device):
            self.last = self.last + 1
            self.written.scatter_(2, self.last[:, :, None].expand(-1, self.beams, 1), tokens[:, :, None])
            return self._behind(self.wide, self.written[:, :, : self.end], self.last)

    def reorder(self, parents: Tensor) -> None:
        """See ``Decoding.reorder``."""
        with plainly(parents.device):
            self.written = self.written.gather(1, parents[:, :, None].expand_as(self.written))

    def keep(self, mentions: Tensor) -> None:
        """See ``Decoding.keep``."""
        with plainly(mentions.device):
            self.written, self.last = self.written[mentions], self.last[mentions]
            rows = (mentions[:, None] * self.beams + torch.arange(self.beams, device=mentions.device)).flatten()
            self.wide = Memory(*(part[rows] for part in self.wide))
            self.logits = self.logits.new_empty(0, self.logits.shape[1])

    def join(self, others: Sequence[Self]) -> None:
        """See ``Decoding.join``. What was written and sources are padded on the right."""
        parts = [self, *others]
        equally_deep(part.done for part in parts)
        with plainly(self.last.device):
            self.most, self.end = max(part.most for part in parts), max(part.end for part in parts)
            length = self.end + self.most - self.done
            source = max(part.wide.mask.shape[1] for part in parts)
            self.written = torch.cat([_filled(part.written, 2, length, self.pad_id) for part in parts])
            self.last = torch.cat([part.last for part in parts])
            wide = [[_filled(tensor, 1, source, 0) for tensor in part.wide] for part in parts]
            self.wide = Memory(*map(torch.cat, zip(*wide, strict=True)))
            self.logits = self.logits.new_empty(0, self.logits.shape[1])

    def _behind(self, memory: Memory, written: Tensor, last: Tensor) -> Tensor:
        """The logits (n, beams, V) behind the last token of each row."""
        n, beams, length = written.shape
        logits = self.decode(memory.hidden, memory.mask, written.reshape(n * beams, length)).float()
        places = last.expand(-1, beams).reshape(-1, 1, 1).expand(-1, 1, logits.shape[-1])
        return logits.gather(1, places).view(n, beams, -1)


def _filled(tensor: Tensor, dim: int, to: int, value: int) -> Tensor:
    """Padded to a size behind what is there."""
    shape = list(tensor.shape)
    shape[dim] = to - shape[dim]
    return torch.cat([tensor, tensor.new_full(shape, value)], dim)
