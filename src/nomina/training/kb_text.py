"""KB-guided pre-training: a KB's synonyms and definitions as if they were text with a mention in it.

GenBioEL, 2.2 and appendix E.2: of a concept a synonym ``a`` is the mention, another one ``b`` is to be written, and a
template puts ``a`` beside ``c``: the definition where there is one, else other synonyms.

Everything is tokenised once; an epoch is an order of the names within each concept. In that order each name is the
mention once, the next one of its concept the target, those behind it the other synonyms. The paper does not say how
other synonyms are joined (here by a comma), how many (here as many as fit) and whether ``b`` is among them (here not).
With neither a definition nor a third name, ``c`` is "mention itself" (table 10): ``a`` once more.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nomina.errors import RecipeError
from nomina.generation.prompt import Prompt
from nomina.kb.store import KnowledgeBase
from nomina.text import normalise
from nomina.training.answers import answers
from nomina.training.examples import Ints
from nomina.training.noise import NOISE, noisy
from nomina.training.pieces import EMPTY, Drawn, Examples, Pieces
from nomina.training.preference.similar import Similar

DEFINED, SYNONYMS, ALONE = range(3)
"""The cases of table 10: a concept with a definition, with three names or more, with one or two."""

TEMPLATES: tuple[tuple[str, ...], ...] = (
    (
        "{a} is defined as {c}.",
        "{a} is described as {c}.",
        "{c} are the definitions of {a}.",
        "{c} describe {a}.",
        "{c} define {a}.",
    ),
    (
        "{c} are the synonyms of {a}.",
        "{c} indicate the same concept as {a}.",
        "{a} has synonyms such as {c}.",
        "{a} refers to the same concepts as {c}.",
    ),
    (
        "{c} is {a}.",
        "{c} is the same as {a}.",
        "{a} is {c}.",
        "{a} is the same as {c}.",
    ),
)
"""Table 10: the templates of each case; the markers stand around ``a``."""

_CHUNK = 1 << 14
_JOINT = ","


class Named(NamedTuple):
    """A concept: its names and its definition, "" where there is none."""

    names: Sequence[str]
    definition: str = ""


@dataclass(frozen=True, slots=True)
class TextOptions:
    """How examples are made.

    Attributes:
        longest: tokens; longer names are left out.
        context: most tokens of a definition, which is cut, and of other synonyms together.
        others: most other synonyms beside a mention.
        noise: share of the mentions that are one of the name's noisy copies (not the paper's).
        copies: noisy copies of each name to draw from.
        bare: share of the examples that are a mention alone, as corpora without context have it (not the paper's).
        similar: the target is the concept's name most similar to the mention, always the same (ANGEL, 3.2).
        seed: of all that is random.
    """

    longest: int = 48
    context: int = 64
    others: int = 6
    noise: float = 0.0
    copies: int = 0
    bare: float = 0.0
    similar: bool = False
    seed: int = 0


class _Draws(NamedTuple):
    """What is random of n examples: which form of a name, which template, whether the mention is alone."""

    form: Ints
    chance: NDArray[np.float64]
    bare: NDArray[np.bool_]


def of_kb(kb: KnowledgeBase) -> Iterator[Named]:
    """The concepts of a KB, streamed."""
    for entity in kb.entities():
        yield Named([name.text for name in entity.names], entity.definition or "")


class KbText(Examples):
    """Pre-training examples of any concepts; an epoch has each name as a mention once.

    Args:
        concepts: read once. Names that differ only in case or spaces are one; those that a model cannot write are none.
        prompt: how texts are tokenised.
        options: See there.

    Attributes:
        similar: what is similar to each name, where the options ask for similar targets.

    Raises:
        RecipeError: there are no names.
    """

    similar: Similar | None = None

    def __init__(self, concepts: Iterable[Named], prompt: Prompt, options: TextOptions | None = None) -> None:
        self.options, self.pieces, self._prompt = options or TextOptions(), Pieces(), prompt
        self._head, self._tail = self.pieces.add([prompt.head]), self.pieces.add([prompt.tail])
        self._first_opening, self._opening = (self.pieces.add([tokens]) for tokens in prompt.opening)
        self._closing = self.pieces.add([prompt.closing])
        self._answers = answers(prompt)
        self._joint = self.pieces.add(prompt.tokens([_JOINT], ""))
        self._answer = [self.pieces.add([list(tokens)]) for tokens in prompt.answer]
        self._start = self.pieces.add([list(prompt.start)])
        self._templates()
        self._read(concepts)
        self.count = len(self._concept)
        if not self.count:
            raise RecipeError("no concept has a name that fits: there is nothing to learn from")

    def _templates(self) -> None:
        """Number the templates, case after case: which has ``a`` first, what stands between and at the end."""
        parts = [_parsed(template) for case in TEMPLATES for template in case]
        self._mention_first = np.array([first for first, _, _ in parts])
        middle = self.pieces.add(self._prompt.tokens([text for _, text, _ in parts], self._prompt.before))
        end = self.pieces.add(self._prompt.tokens([text for _, _, text in parts], ""))
        self._middle, self._end = middle + np.arange(len(parts)), end + np.arange(len(parts))
        self._many = np.array([len(case) for case in TEMPLATES])
        self._from = np.cumsum(self._many) - self._many

    def _read(self, concepts: Iterable[Named]) -> None:
        """Tokenise all names and definitions, some thousand concepts at a time.

        Pieces of names are (forms, 2, names): the name and its noisy copies, behind another piece and as the first.
        Those of targets, spelt as the KB has them, are (names,).
        """
        stream, number = iter(concepts), 0
        rng, copies = random.Random(self.options.seed), self.options.copies
        owners, names, definitions = [np.zeros(0, np.int64)], [np.zeros((1 + copies, 2, 0), np.int64)], []
        targets = [np.zeros(0, np.int64)]
        keys: list[str] = []
        while chunk := list(islice(stream, _CHUNK)):
            listed = [_surfaces(one.names) for one in chunk]
            texts = [name for several in listed for name in several]
            forms = [self._add(texts)]
            for _ in range(copies):
                changed = self._add([noisy(text, rng, dict.fromkeys(NOISE, 1.0)) for text in texts])
                forms.append(np.where(changed > EMPTY, changed, forms[0]))
            written = self._written([name for several in listed for name in several.items()], forms[0][0])
            kept = written > EMPTY
            names.append(np.stack(forms)[:, :, kept])
            targets.append(written[kept])
            if self.options.similar:
                keys += [normalise(text) for text, fits in zip(texts, kept.tolist(), strict=True) if fits]
            owners.append(number + np.repeat(np.arange(len(chunk)), [len(several) for several in listed])[kept])
            definitions.append(self._add([_plain(one.definition) for one in chunk], cut=True))
            number += len(chunk)
        known, self._concept = np.unique(np.concatenate(owners), return_inverse=True)
        self._names, self._targets = np.concatenate(names, axis=2), np.concatenate(targets)
        self._definitions = np.concatenate([np.zeros((2, 0), np.int64), *definitions], axis=1)[:, known]
        self._sizes = np.bincount(self._concept)
        self._starts = np.cumsum(self._sizes) - self._sizes
        if self.options.similar:
            self.similar = Similar(keys, self._concept)
            self._synonyms = self.similar.synonyms()

    def names(self, numbers: Ints) -> Ints:
        """The pieces of names as targets, by their numbers."""
        pieces: Ints = self._targets[numbers]
        return pieces

    def places(self, epoch: int) -> Ints:
        """The number of the example of an epoch in which each name is the mention, (count,)."""
        order = self._order(np.random.default_rng([self.options.seed, epoch]))
        places = np.empty_like(order)
        places[order] = np.arange(self.count)
        return places

    def _order(self, rng: np.random.Generator) -> Ints:
        """The names, concept after concept, those of one in any order."""
        order: Ints = np.lexsort((rng.random(self.count), self._concept))
        return order

    def _add(self, texts: Sequence[str], *, cut: bool = False) -> Ints:
        """Pieces of texts, behind another piece and as the first one: (2, n), ``EMPTY`` for what is left out."""
        befores, most = dict.fromkeys((self._prompt.before, "")), self.options.context if cut else self.options.longest
        found = []
        for before in befores:
            tokens = [row[:most] if cut else row for row in self._prompt.tokens(texts, before)]
            fits = np.array([0 < len(row) <= most for row in tokens], np.bool_)
            found.append(np.full(len(texts), EMPTY, np.int64))
            found[-1][fits] = self.pieces.add(row for row in tokens if 0 < len(row) <= most) + np.arange(fits.sum())
        both = np.stack([found[0], found[-1]])
        return np.where((both > EMPTY).all(axis=0), both, EMPTY)

    def _written(self, names: Sequence[tuple[str, str]], read: Ints) -> Ints:
        """The pieces of names as targets, (n,), ``EMPTY`` for what cannot be written or is left out as it is read.

        Args:
            names: plain, and as the KB spells them; mostly alike.
            read: the pieces of plain ones, which are those of the target where both are alike.
        """
        rows = self._answers([name for _, name in names])
        fits = np.array([0 < len(row) <= self.options.longest for row in rows], np.bool_)
        other = fits & (read > EMPTY) & np.array([plain != name for plain, name in names], np.bool_)
        found = np.where(fits, read, EMPTY)
        chosen = np.flatnonzero(other).tolist()
        found[chosen] = self.pieces.add(rows[i] for i in chosen) + np.arange(len(chosen))
        return found

    def drawn(self, epoch: int) -> Callable[[Ints], Drawn]:
        """See ``Examples.drawn``: by number the names, concept after concept, in the epoch's order."""
        rng = np.random.default_rng([self.options.seed, epoch])
        order = self._order(rng)
        chance = rng.random(self.count)
        form = np.zeros(self.count, np.int64)
        if self.options.copies:
            form = rng.integers(1, self.options.copies + 1, self.count) * (rng.random(self.count) < self.options.noise)
        bare = rng.random(self.count) < self.options.bare

        def examples(numbers: Ints) -> Drawn:
            concept = self._concept[numbers]
            size, start = self._sizes[concept], self._starts[concept]
            # The names of a concept in turn, from the mention on: (n, 2 + others).
            steps = np.arange(2 + self.options.others)
            turn = order[start[:, None] + ((numbers - start)[:, None] + steps) % size[:, None]]
            if self.similar:
                turn = _leading(turn, self._synonyms[turn[:, 0]])
            return self._examples(concept, turn, _Draws(form[numbers], chance[numbers], bare[numbers]))

        return examples

    def _examples(self, concept: Ints, turn: Ints, draws: _Draws) -> Drawn:
        """Examples of concepts (n,), given names (n, 2 + others): mention, target, and other synonyms."""
        form, chance, bare = draws
        size = self._sizes[concept]
        defined = self._definitions[0][concept] > EMPTY
        case = np.where(defined, DEFINED, np.where(size > 2, SYNONYMS, ALONE))
        template = self._from[case] + (chance * self._many[case]).astype(np.int64)
        leads = self._mention_first[template] | bare
        mention = self._names[form[:, None], 1 - np.arange(2), turn[:, :1]]  # as the first one, behind another
        beside = self._beside(concept, case, turn, mention, ~leads)
        n = len(concept)
        opening = np.where(leads, self._first_opening, self._opening)
        marked = np.stack([opening, mention[:, 1], np.full(n, self._closing)], axis=1)
        middle, end = self._middle[template][:, None], self._end[template][:, None]
        leading, following = np.hstack([marked, middle, beside]), np.hstack([beside, middle, marked])
        leading[bare, marked.shape[1] :] = end[bare] = EMPTY
        source = np.where(leads[:, None], leading, following)
        head, tail = np.full((n, 1), self._head), np.full((n, 1), self._tail)
        return Drawn(np.hstack([head, source, end, tail]), self._prefix(mention), self._targets[turn[:, 1:2]])

    def _beside(self, concept: Ints, case: Ints, turn: Ints, mention: Ints, first: NDArray[np.bool_]) -> Ints:
        """The pieces of ``c``: a definition, or the mention, or other synonyms with commas between, (n, most)."""
        place = first.astype(np.int64)
        found = np.full((len(concept), max(2 * self.options.others - 1, 1)), EMPTY)
        own = np.where(first, mention[:, 0], mention[:, 1])
        found[:, 0] = np.where(case == DEFINED, self._definitions[place, concept], own)
        several = np.flatnonzero(case == SYNONYMS)
        others = self._names[0][0][turn[several, 2:]]
        others[:, 0] = self._names[0, place[several], turn[several, 2]]
        room = np.arange(others.shape[1]) < (self._sizes[concept[several]] - 2)[:, None]
        joined = self.pieces.lengths(others[:, :, None].reshape(-1, 1)).reshape(others.shape) + 1
        room &= (np.cumsum(joined, axis=1) - 1 <= self.options.context) | (np.arange(others.shape[1]) == 0)
        found[several, ::2] = np.where(room, others, EMPTY)
        found[several, 1::2] = np.where(room[:, 1:], self._joint, EMPTY)
        return found

    def _prefix(self, mention: Ints) -> Ints:
        """The pieces of the decoder's prompt, given those of mentions as the first piece and behind another."""
        start, (head, tail) = self._start, self._answer
        if not self._prompt.template:
            return np.full((len(mention), 1), start)
        own = mention[:, 1 if self._prompt.answer[0] else 0]
        each = [np.full(len(mention), row) for row in (start, head)]
        return np.stack([*each, own, np.full(len(mention), tail)], axis=1)


def _leading(turn: Ints, target: Ints) -> Ints:
    """Names in turn, (n, most), in which the target of each row has changed places with the one behind the mention."""
    swapped = np.where(turn == target[:, None], turn[:, 1:2], turn)
    return np.hstack([turn[:, :1], target[:, None], swapped[:, 2:]])


def _surfaces(names: Iterable[str]) -> dict[str, str]:
    """Names as they are read, each once, and as the KB spells them, in lower case: the plain way where it has that."""
    found: dict[str, str] = {}
    for name in map(str.lower, names):
        plain = _plain(name)
        if found.get(plain) != plain:
            found[plain] = name
    return found


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _parsed(template: str) -> tuple[bool, str, str]:
    """Whether the mention comes first, the words between it and ``{c}``, and what is behind both."""
    first, middle, end = (part.strip() for part in re.split(r"\{[ac]\}", template))
    assert not first
    return template.startswith("{a}"), middle, end
