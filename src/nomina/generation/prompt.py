"""What a generative linker reads and how its answer begins (GenBioEL, 2.1).

Encoder: ``[BOS] left [ST] mention [ET] right [EOS]``, cut by tokens around the mention. Decoder: the tokens that it
always starts with, then ``mention is``. Texts are in lower case, and abbreviations that a text defines are written out
(appendix A; by ``nomina.abbreviations`` in place of Ab3P, which a training may take: ``nomina.training.ab3p``).

Each piece is tokenised by itself, here as in training. For tokenizers that split at spaces that is the same as
tokenising the whole; where a word's first token holds the space before it (byte-level BPE), every piece but the first
one of a sequence has a space before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nomina.abbreviations import expander
from nomina.encoders.base import token_ids
from nomina.errors import UsageError
from nomina.types import Query

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from nomina.generation.generator import Generator

SLOT = "{mention}"
"""The mention's place in a prompt."""

TEMPLATE = "{mention} is"
"""The paper's prompt; "" is none (table 4)."""

MARKERS = ("START", "END")
"""Words around the mention (2.1, footnote 1)."""

WINDOW = 128
"""Most tokens of a source, where nothing else is said."""

Expanders = Callable[[str], Callable[[str], str]]
"""As ``abbreviations.expander``."""

_SPACE, _LAST_SPACE = re.compile(r"\s(?=\S)"), re.compile(r"(?<=\S)\s+\S*\Z")
_REACH = 16  # characters of context that are looked at for each token of the window


class Parts(NamedTuple):
    """A mention and what stands before and behind it: texts as the model is to see them."""

    left: str
    mention: str
    right: str


class Prompted(NamedTuple):
    """Tokens of the encoder's input, and of how the decoder's output begins."""

    source: list[int]
    prefix: list[int]


class Prompt:
    """Makes tokens of mentions.

    Args:
        tokenizer: any of Hugging Face's; a copy is kept, without padding or truncation.
        markers: words (or single tokens of the tokenizer) before and behind the mention.
        template: how the decoder's output begins, around ``{mention}``; "": without a prompt.
        start: tokens that the decoder always starts with.
        window: most tokens of a source, special ones included.
        context: whether there is text beside the mention.
        lower: put all texts in lower case.
        frame: tokens around a whole source, [BOS] and [EOS]; None: what the tokenizer puts around a text.

    Attributes:
        before: stands before a piece that is not the first of its sequence: " " or "".
        head, tail: tokens around a whole source.
        opening: tokens of the first marker, as the first piece and behind another one.
        closing: tokens of the second marker.
        answer: tokens of the template before the mention, and behind it.
        longest: most tokens with which the decoder's output begins.

    Raises:
        UsageError: the template has no ``{mention}``, or the window has no room for one.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        markers: tuple[str, str] = MARKERS,
        template: str = TEMPLATE,
        start: Sequence[int] = (),
        *,
        window: int = WINDOW,
        context: bool = True,
        lower: bool = True,
        frame: tuple[Sequence[int], Sequence[int]] | None = None,
    ) -> None:
        if template and template.count(SLOT) != 1:
            raise UsageError(f"the prompt {template!r} must hold {SLOT} once, or be empty")
        self.tokenizer = plain(tokenizer)
        self.template, self.start, self.context, self.lower = template, tuple(start), context, lower
        self.before = space_before(self.tokenizer)
        head, tail = _frame(self.tokenizer) if frame is None else frame
        self.head, self.tail = list(head), list(tail)
        self.opening = self._marker(markers[0], ""), self._marker(markers[0], self.before)
        self.closing = self._marker(markers[1], self.before)
        first, _, last = template.partition(SLOT)
        self.answer = self._fixed(first, ""), self._fixed(last, self.before)
        around = len(self.head) + len(self.tail) + max(map(len, self.opening)) + len(self.closing)
        self._room = window - around
        if self._room < 1:
            raise UsageError(f"a window of {window} tokens has no room for a mention: take more than {around}")
        self.longest = len(self.prefix([0] * self._room, [0] * self._room))
        self._reach = window * _REACH

    @classmethod
    def of(cls, generator: Generator, *, window: int | None = None, context: bool | None = None) -> Prompt:
        """The prompt of a generator, as its manifest says; the window leaves room in the decoder for a name.

        Args:
            generator: see there.
            window: see above; None: as the generator was trained.
            context: see above; None: as the generator was trained.
        """
        bos = () if generator.bos_id is None else (generator.bos_id,)
        return cls(
            generator.tokenizer,
            generator.markers,
            generator.prompt,
            generator.start,
            window=min(window or generator.window, generator.longest // 2),
            context=generator.context if context is None else context,
            frame=(bos, (generator.eos_id,)),
        )

    def __call__(self, queries: Sequence[Query]) -> list[Prompted]:
        """The tokens of mentions in their documents."""
        return self.of_parts([self.parts(query) for query in queries])

    def parts(self, query: Query, expanders: Expanders = expander) -> Parts:
        """The texts of one mention, abbreviations written out; without context only the mention. See ``parts_of``."""
        return parts_of(query, self._reach if self.context else 0, lower=self.lower, expanders=expanders)

    def of_parts(self, parts: Sequence[Parts]) -> list[Prompted]:
        """The tokens of texts that are as they should be.

        The mention is whole unless it alone is longer than the window; what is left of the window is half for either
        side, and for the other where one needs less.
        """
        mentions = self.tokens([part.mention for part in parts], self.before)
        alone = self.tokens([part.mention for part in parts], "") if self.before else mentions
        lefts, rights = self._beside([part.left for part in parts], ""), self._beside([p.right for p in parts])
        found = []
        for left, mention, right, first in zip(lefts, mentions, rights, alone, strict=True):
            mention = mention[: self._room]
            left, right = _cut(left, right, self._room - len(mention))
            source = [*self.head, *left, *self.opening[bool(left)], *mention, *self.closing, *right, *self.tail]
            found.append(Prompted(source, self.prefix(mention, first[: self._room])))
        return found

    def prefix(self, mention: Sequence[int], first: Sequence[int]) -> list[int]:
        """The decoder's first tokens, given a mention's tokens behind another piece and as the first one."""
        if not self.template:
            return list(self.start)
        head, tail = self.answer
        return [*self.start, *head, *(mention if head else first), *tail]

    def tokens(self, texts: Sequence[str], before: str) -> list[list[int]]:
        """The tokens of texts, none for an empty one."""
        return token_ids(self.tokenizer, [before + text if text else "" for text in texts], special=False)

    def _beside(self, texts: Sequence[str], before: str | None = None) -> list[list[int]]:
        if not self.context:
            return [[] for _ in texts]
        return self.tokens(texts, self.before if before is None else before)

    def _fixed(self, text: str, before: str) -> list[int]:
        return self.tokens([text.strip()], before)[0]

    def _marker(self, word: str, before: str) -> list[int]:
        known = None if self.before else self.tokenizer.token_to_id(word)
        return self._fixed(word, before) if known is None else [known]


def parts_of(
    query: Query, reach: int = WINDOW * _REACH, *, lower: bool = True, expanders: Expanders = expander
) -> Parts:
    """The texts of a mention, abbreviations that its document defines written out.

    Args:
        query: the mention in its document.
        reach: characters of context on either side; 0: none.
        lower: put all in lower case.
        expanders: what writes abbreviations out, by the text that may define them.
    """
    document, mention = query
    expand = expanders(document.text)
    left = _last_words(document.text[: mention.start], reach)
    right = _first_words(document.text[mention.end :], reach)
    texts = (" ".join(expand(text).split()) for text in (left, mention.text, right))
    return Parts(*(text.lower() if lower else text for text in texts))


def plain(tokenizer: Tokenizer) -> Tokenizer:
    """A copy that neither pads nor cuts off, and takes special tokens within texts for text."""
    copy: Tokenizer = type(tokenizer).from_str(tokenizer.to_str())
    copy.no_truncation()
    copy.no_padding()
    copy.encode_special_tokens = True
    return copy


def space_before(tokenizer: Tokenizer) -> str:
    """What stands before a piece within a sequence: " " where a token holds the space before its word, else ""."""
    with_it, without = token_ids(tokenizer, [" a", "a"], special=False)
    return "" if with_it == without else " "


def padded(
    rows: Sequence[Sequence[int]], pad: int, *, left: bool = False, to: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Token rows as one table and its mask, (n, longest row rounded up to a multiple of ``to``), padded at one side."""
    longest = max(map(len, rows), default=0)
    width = -(-longest // to) * to
    ids, mask = np.full((len(rows), width), pad, np.int64), np.zeros((len(rows), width), np.bool_)
    for i, row in enumerate(rows):
        place = slice(width - len(row), width) if left else slice(0, len(row))
        ids[i, place], mask[i, place] = row, True
    return ids, mask


def _frame(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """The special tokens that a tokenizer puts before and behind a text."""
    (inner,), (whole,) = (token_ids(tokenizer, ["a"], special=special) for special in (False, True))
    for at in range(len(whole) - len(inner) + 1):
        if whole[at : at + len(inner)] == inner:
            return whole[:at], whole[at + len(inner) :]
    raise UsageError("the tokenizer cuts the letter a in pieces when special tokens are around it: take another one")


def _cut(left: list[int], right: list[int], room: int) -> tuple[list[int], list[int]]:
    """What fits of both sides: half each, more where the other one needs less; the tokens next to the mention stay."""
    most = max(room - room // 2, room - len(right))
    left = left[max(len(left) - most, 0) :]
    return left, right[: room - len(left)]


def _last_words(text: str, most: int) -> str:
    """The end of a text, from the beginning of a word on; where there is no space, from anywhere."""
    if len(text) <= most:
        return text
    cut = text[len(text) - most :]
    space = _SPACE.search(cut)
    return cut[space.end() :] if space else cut


def _first_words(text: str, most: int) -> str:
    """The beginning of a text, up to the end of a word; where there is no space, up to anywhere."""
    if len(text) <= most:
        return text
    cut = text[:most]
    space = _LAST_SPACE.search(cut)
    return cut[: space.start()] if space else cut
