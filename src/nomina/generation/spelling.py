"""Names as tokens: one way to spell them for the trie, for training's targets and for a decoder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nomina.encoders.base import unknown_id
from nomina.errors import UsageError
from nomina.generation.starts import Ints

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class Spelling:
    """How a tokenizer writes names.

    Args:
        tokenizer: any of Hugging Face's; what is set of it (padding, special tokens in texts) does not count here.
        end: the token that ends a name, such as "[SEP]" or "</s>".
        before: stands before every name: " " for a byte-level tokenizer, where a name follows a prompt.
        lower: write names in lower case, where the tokenizer does not.

    Attributes:
        end: number of the end token.
        width: one more than the highest token number.
        fingerprint: a hash over the tokenizer and the arguments.

    Raises:
        UsageError: the tokenizer has no such end token.
    """

    def __init__(self, tokenizer: Tokenizer, end: str, before: str = "", lower: bool = False) -> None:
        number = tokenizer.token_to_id(end)
        if number is None:
            raise UsageError(f"the tokenizer has no token {end!r}: name the token that ends its texts")
        # A copy: the caller's own keeps its settings.
        self._tokenizer = type(tokenizer).from_str(tokenizer.to_str())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        # A name that holds "</s>" as text must not end there.
        self._tokenizer.encode_special_tokens = True
        self._before, self._lower, self.end = before, lower, number
        self.width = max(self._tokenizer.get_vocab().values()) + 1
        self._unknown = unknown_id(self._tokenizer)
        described = json.dumps([self._tokenizer.to_str(), number, before, lower])
        self.fingerprint = hashlib.sha256(described.encode()).hexdigest()

    def tokens(self, names: Sequence[str]) -> tuple[NDArray[Any], Ints]:
        """The tokens of names, each with the end token behind it, one name after the other; and their numbers, (n,).

        uint16 where ``width`` allows it, else uint32. A name of which no token is known has none at all, not even the
        end token: all such names are the same to a model. Nor has a name with the end token in its midst.
        """
        texts = [self._before + (name.lower() if self._lower else name) for name in names]
        found = [encoding.ids for encoding in self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
        lengths = np.fromiter(map(len, found), np.int64, len(found))
        kind: Any = np.uint16 if self.width <= 1 << 16 else np.uint32
        flat = np.fromiter(chain.from_iterable(found), kind, int(lengths.sum()))
        owner = np.repeat(np.arange(len(found)), lengths)
        spelt = np.zeros(len(found), np.bool_)
        spelt[owner[flat != self._unknown]] = True
        spelt[owner[flat == self.end]] = False
        flat, lengths = flat[spelt[owner]], np.where(spelt, lengths, 0)
        return np.insert(flat, np.cumsum(lengths)[spelt], self.end), lengths + spelt
