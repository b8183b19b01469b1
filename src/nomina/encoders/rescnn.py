"""ResCNN (section 2.3): frozen word-piece embeddings, residual blocks of narrow convolutions, one pooling.

The paper leaves the width between the blocks open. Layout here, which gives its count of parameters (table 3: 1.7M with
max pooling, 1.8M with self-attention pooling; embeddings of PubMedBERT's 768 dimensions):

    embeddings d -> 1x1 convolution to 256 -> 4 blocks -> pooling -> unit vector
    block: x -> 100 filters each of width 1, 3, 5, ReLU -> 300 -> 278 -> 256 at each position; + x; layer norm

Positions behind the end of a text are zero before every convolution, so that padding never changes a vector.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from nomina.encoders.base import TOKENIZER, WEIGHTS, TrainableEncoder, fitted, read_tokenizer, read_weights
from nomina.errors import ArtifactError, UsageError

Pooling = Literal["max", "attention"]

WIDTHS = (1, 3, 5)


class _Block(nn.Module):
    """Convolutions of several widths side by side, a feed-forward network at each position, a residual connection."""

    def __init__(self, width: int, filters: int, hidden: int) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(nn.Conv1d(width, filters, w, padding=w // 2) for w in WIDTHS)
        self.feed_forward = nn.Sequential(nn.Linear(filters * len(WIDTHS), hidden), nn.ReLU(), nn.Linear(hidden, width))
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Shapes: x (n, length, width), mask (n, length, 1)."""
        flipped = (x * mask).transpose(1, 2)
        found = torch.cat([convolution(flipped) for convolution in self.convolutions], dim=1).relu()
        y: Tensor = self.norm(x + self.feed_forward(found.transpose(1, 2)))
        return y


class ResCnn(nn.Module):
    """The network; see the module's docstring."""

    def __init__(
        self,
        embeddings: Tensor,
        pooling: Pooling = "max",
        *,
        width: int = 256,
        blocks: int = 4,
        filters: int = 100,
        hidden: int = 278,
        tune_embeddings: bool = False,
    ) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(embeddings.shape[0], embeddings.shape[1], _weight=embeddings.clone())
        self.embeddings.weight.requires_grad_(tune_embeddings)
        self.projection = nn.Linear(embeddings.shape[1], width)
        self.blocks = nn.ModuleList(_Block(width, filters, hidden) for _ in range(blocks))
        self.attention = None
        if pooling == "attention":
            self.attention = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Ids and mask (n, length) to unit rows (n, width)."""
        x = self.projection(self.embeddings(ids))
        there = mask.unsqueeze(-1)
        for block in self.blocks:
            x = block(x, there.to(x.dtype))
        if self.attention is None:
            pooled = x.float().masked_fill(~there, -torch.inf).amax(dim=1)
        else:
            weights = self.attention(x).float().masked_fill(~there, -torch.inf).softmax(dim=1)
            pooled = (weights * x.float()).sum(dim=1)
        return nn.functional.normalize(pooled, dim=-1)


class ResCnnEncoder(TrainableEncoder):
    """ResCNN over the word pieces of a chosen encoder.

    No special tokens: the edges of a text are the zeros beside it. A text without a token is one unknown token.

    Args:
        embeddings: (vocabulary, d), scaled here to unit variance; frozen unless ``tune_embeddings``.
        tokenizer: the one that the embeddings belong to.
        pooling: "max" or "attention".
        length: most tokens of a text.
        tune_embeddings: train the embeddings too (not the paper's way).
        shape: ``width``, ``blocks``, ``filters``, ``hidden`` of ``ResCnn``.

    Raises:
        UsageError: no such pooling.
    """

    kind: ClassVar[str] = "rescnn"
    special_tokens = False

    def __init__(
        self,
        embeddings: Tensor,
        tokenizer: Tokenizer,
        pooling: Pooling = "max",
        length: int = 25,
        *,
        tune_embeddings: bool = False,
        **shape: int,
    ) -> None:
        if pooling not in get_args(Pooling):
            raise UsageError(f"pooling {pooling!r} is not one of {', '.join(get_args(Pooling))}")
        scaled = embeddings.float() / embeddings.float().std()
        self.module = ResCnn(scaled, pooling, tune_embeddings=tune_embeddings, **shape).eval()
        self.tokenizer = fitted(Tokenizer.from_str(tokenizer.to_str()), length)
        self.pooling, self.length, self.shape = pooling, length, shape
        self.tune_embeddings = tune_embeddings
        self.dim = self.module.projection.out_features
        unknown = self.tokenizer.token_to_id("[UNK]")
        self.pad_id = 0 if unknown is None else unknown

    def options(self) -> dict[str, Any]:
        """Pooling, length, shape."""
        return {
            "pooling": self.pooling,
            "length": self.length,
            "tune_embeddings": self.tune_embeddings,
            **self.shape,
        }

    @classmethod
    def load(cls, folder: str | Path, **options: Any) -> Self:  # noqa: ANN401
        """The encoder again from a folder.

        Raises:
            ArtifactError: a file is missing, or the weights have another layout.
        """
        state = read_weights(Path(folder) / WEIGHTS)
        tokenizer = read_tokenizer(Path(folder) / TOKENIZER, options.get("length", 25))
        try:
            encoder = cls(state["embeddings.weight"], tokenizer, **options)
            encoder.module.load_state_dict(state)
        except (KeyError, RuntimeError, TypeError) as error:
            raise ArtifactError(f"{folder} holds no ResCNN of this layout: save it again") from error
        return encoder
