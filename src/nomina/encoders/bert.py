"""SapBERT's encoder (section 2): a BERT-type model of Hugging Face, its [CLS] vector or the mean over its tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args

import torch
from torch import Tensor, nn

from nomina.encoders import check_base
from nomina.encoders.base import TrainableEncoder, fitted
from nomina.errors import ArtifactError, MissingExtra, UsageError
from nomina.files import atomic

Pooling = Literal["cls", "mean"]

_PATIENCE = 5
"""Seconds in which Hugging Face has to answer."""


class _Pooled(nn.Module):
    """A BERT-type model whose last layer is pooled to one unit vector a text."""

    def __init__(self, bert: nn.Module, pooling: Pooling) -> None:
        super().__init__()
        self.bert, self.pooling = bert, pooling

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self.pool(self.bert(input_ids=ids, attention_mask=mask.long()).last_hidden_state, mask)

    def pool(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Unit vectors (n, dim) of token states (n, length, dim)."""
        if self.pooling == "cls":
            return nn.functional.normalize(hidden[:, 0].float(), dim=-1)
        weights = mask.unsqueeze(-1).to(hidden.dtype)
        # Normalising makes the division by the number of tokens needless.
        return nn.functional.normalize((hidden * weights).float().sum(dim=1), dim=-1)


class BertEncoder(TrainableEncoder):
    """Any Hugging Face encoder by folder or name, SapBERT's released weights included.

    Args:
        path: A folder, or a name that Hugging Face knows.
        pooling: "cls" (the SapBERT paper) or "mean" (over all tokens, special ones included).
        length: Most tokens of a text; the paper's released settings say 25.

    Raises:
        ArtifactError: the model cannot be loaded.
        MissingExtra: transformers is not installed.
        UsageError: no such pooling.
    """

    kind: ClassVar[str] = "bert"

    def __init__(self, path: str | Path, pooling: Pooling = "cls", length: int = 25) -> None:
        if pooling not in get_args(Pooling):
            raise UsageError(f"pooling {pooling!r} is not one of {', '.join(get_args(Pooling))}")
        bert, tokenizer = _load(path)
        if getattr(bert, "pooler", None) is not None:
            bert.pooler = None
        self._bert = bert.float()
        self.module = _Pooled(self._bert, pooling).eval()
        self.tokenizer = fitted(tokenizer.backend_tokenizer, length)
        self.pooling, self.length, self.pad_id = pooling, length, tokenizer.pad_token_id or 0
        self.dim = int(bert.config.hidden_size)

    def options(self) -> dict[str, Any]:
        """Pooling and length."""
        return {"pooling": self.pooling, "length": self.length}

    @classmethod
    def load(cls, folder: str | Path, **options: Any) -> Self:  # noqa: ANN401
        """The encoder again from a folder."""
        return cls(folder, **options)

    def weights(self) -> dict[str, Tensor]:
        """The tensors under the names that Hugging Face gives them."""
        return {name.removeprefix("bert."): tensor for name, tensor in self.module.state_dict().items()}

    def _save_config(self, folder: Path) -> None:
        with atomic(folder / "config.json") as temporary:
            temporary.write_text(self._bert.config.to_json_string(), encoding="utf-8")

    @property
    def word_embeddings(self) -> Tensor:
        """The word-piece embeddings (vocabulary, width): what ResCNN starts from."""
        table: Tensor = self._bert.get_input_embeddings().weight
        return table.detach()


def _load(path: str | Path) -> tuple[Any, Any]:
    """Model and tokenizer of Hugging Face; anything that goes wrong in there is one clear line here.

    What is in the cache of Hugging Face is opened without the network.
    """
    check_base(str(path))
    wrong = (OSError, ValueError, KeyError, RuntimeError)
    try:
        try:
            return _opened(str(path), local=True)
        except wrong:
            if Path(path).is_dir():
                raise
        _reach(str(path))
        return _opened(str(path), local=False)
    except wrong as error:
        raise ArtifactError(
            f"{path} is no encoder of Hugging Face ({_first_line(error)}): name a folder or a model"
        ) from error


def _opened(path: str, local: bool) -> tuple[Any, Any]:
    try:
        from transformers import AutoModel, AutoTokenizer
    except ImportError as error:
        raise MissingExtra("train", "a BERT-type encoder") from error
    model = AutoModel.from_pretrained(path, local_files_only=local)
    return model, AutoTokenizer.from_pretrained(path, use_fast=True, local_files_only=local)


def _reach(name: str) -> None:
    """Ask Hugging Face for a model once: where it cannot be reached, its own client tries for half a minute.

    Raises:
        ArtifactError: it cannot be reached, or is not to be.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        HfApi().model_info(name, timeout=_PATIENCE)
    except (HfHubHTTPError, ValueError):
        return  # it answers; what is wrong with the name is said by who opens it
    except Exception as error:  # of the HTTP client, which is another one from version to version
        raise ArtifactError(
            f"{name} is no folder and not in the cache of Hugging Face, which cannot be reached"
            f" ({_first_line(error)}): name the folder of an encoder, or try again with a network"
        ) from error


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def device_of(name: str) -> torch.device:
    """The device of a name; "auto" is the GPU where there is one."""
    return torch.device("cuda" if name == "auto" and torch.cuda.is_available() else name.replace("auto", "cpu"))
