"""A BERT-type encoder whose tokens see only their neighbours: a probe, not for use (ResCNN paper, equation 2)."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from nomina.encoders.base import Encoder
from nomina.encoders.bert import BertEncoder
from nomina.errors import UsageError


class WindowedEncoder(Encoder):
    """An encoder with its attention cut to a window, in every layer and head.

    Token i attends to tokens j with ``|i - j| <= window // 2``; in the last layer the first one, [CLS], attends to all.
    With mean pooling the masks are the same, and the vector is the mean over all tokens: that is where tokens that do
    not see each other come together, as they do in [CLS] with the paper's pooling.

    The paper multiplies scores by a mask of 1 and -inf, which is not what it means where a score is negative; here 0
    or -inf is added. It has no fingerprint, so that no linker keeps its vectors.

    Args:
        encoder: What is probed; it stays as it is.
        window: Odd: 3 and 5 in the paper.

    Raises:
        UsageError: the window is not odd and positive, or the model's layers are not those of a BERT.
    """

    def __init__(self, encoder: BertEncoder, window: int) -> None:
        if window < 1 or window % 2 == 0:
            raise UsageError(f"a window of {window} tokens has no middle: name an odd number, like 3")
        self._inner = copy.copy(encoder)
        self._inner.module = _Windowed(encoder.module, window).eval()
        self.dim, self.query_prefix = encoder.dim, encoder.query_prefix

    def encode(self, texts: Sequence[str], batch_size: int = 256) -> NDArray[np.float32]:
        """See ``Encoder.encode``."""
        return self._inner.encode(texts, batch_size)


class _Windowed(nn.Module):
    """The pooled model of a ``BertEncoder``, its layers called one by one, each with its own mask."""

    def __init__(self, pooled: Any, window: int) -> None:  # noqa: ANN401
        super().__init__()
        bert: Any = pooled.bert
        if not hasattr(getattr(bert, "encoder", None), "layer"):
            raise UsageError(f"{type(bert).__name__} has no layers as BERT has: windows can be probed of BERT only")
        self.pooled, self.window = pooled, window

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        bert: Any = self.pooled.bert
        hidden = bert.embeddings(input_ids=ids)
        layers = list(bert.encoder.layer)
        for layer in layers:
            added = window_mask(mask, self.window, cls=layer is layers[-1]).to(hidden.dtype)
            out = layer(hidden, attention_mask=added)
            hidden = out[0] if isinstance(out, tuple) else out
        vectors: Tensor = self.pooled.pool(hidden, mask)
        return vectors


def window_mask(mask: Tensor, window: int, *, cls: bool) -> Tensor:
    """What is added to attention scores: 0 where a token sees another, -inf elsewhere; (n, 1, length, length).

    Padding sees itself, as a softmax over nothing is no number; no token sees padding.

    Args:
        mask: True where there is a token, (n, length).
        window: Odd number of tokens.
        cls: Whether the first token sees all.
    """
    place = torch.arange(mask.shape[1], device=mask.device)
    distance = (place[:, None] - place[None, :]).abs()
    near = distance <= window // 2
    if cls:
        near[0] = True
    seen = near[None] & mask[:, None, :] | (distance == 0)[None]
    return torch.zeros(seen.shape, device=mask.device).masked_fill(~seen, float("-inf"))[:, None]
