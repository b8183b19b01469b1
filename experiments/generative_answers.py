"""What a fine-tuned generator writes for the mentions of a split: among all names of a dictionary, or candidates alone.

Answers are kept in a folder, so that what was asked once is not asked again.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from align_data import rows
from common import ROOT
from generative_eval import CLEAN, PUBLISHED, Dictionary, Item, Judge, ids_of, items
from numpy.typing import NDArray

from nomina import generation
from nomina.encoders.base import WEIGHTS
from nomina.evaluation import match
from nomina.files import atomic, sha256
from nomina.generation.prompt import Parts, Prompt
from nomina.kb.build import build
from nomina.kb.store import KnowledgeBase
from nomina.linkers.embedding import EmbeddingLinker
from nomina.text import normalise
from nomina.training.examples import Ints
from nomina.types import Entity, Mention, Name

BEAMS, BATCH = 5, 64
ENCODER = ROOT / "checkpoints" / "sapbert-mini"
"""What finds candidates, where nothing else is named."""
NONE = 1 << 30
"""The place of a right name that is not there."""


class Answer(NamedTuple):
    """A name that was written, and whose it is; of names tokenised alike the first one, and the ids of all."""

    name: str
    ids: list[str]


Answers = dict[str, list[Answer]]
"""By mention, best first."""


class Task(NamedTuple):
    """A corpus, a dictionary of it, the folder of a generator."""

    corpus: str
    form: str
    model: Path

    @property
    def name(self) -> str:
        """Of its figures."""
        return f"{self.corpus} {self.form}"


@dataclass(frozen=True)
class Asking:
    """The mentions of a split, without their texts; generator and dictionary are read where no answer is kept.

    Attributes:
        task: what is asked.
        split: of which set.
        data: what ``generative_data.py`` wrote.
        work: where answers are kept, and KBs.
        encoder: folder of what finds candidates.
    """

    task: Task
    split: str
    data: Path
    work: Path
    encoder: Path = ENCODER

    @cached_property
    def mentions(self) -> list[Item]:
        """All, in the order of the corpus."""
        return items(self.data, self.task.corpus, self.split)

    @cached_property
    def texts(self) -> list[str]:
        """Of the mentions, each once."""
        return list(dict.fromkeys(item.parts.mention for item in self.mentions))

    @cached_property
    def dictionary(self) -> Dictionary:
        """What may be written."""
        split = self.split if self.task.form == PUBLISHED else None
        return Dictionary.read(self.data, self.task.corpus, split=split)

    @cached_property
    def kb(self) -> KnowledgeBase:
        """The dictionary as a KB, see ``kb_of``."""
        form = self.split if self.task.form == PUBLISHED else CLEAN
        return kb_of(self.dictionary, self.work / f"{self.task.corpus}-{form}.kb")

    def full(self) -> Answers:
        """Among all names."""
        return self._kept("full", lambda: self._written(None))

    def among(self, many: int) -> Answers:
        """Among so many candidates."""
        return self._kept(f"{self.encoder.name}-{many}", lambda: self._written(self.candidates(many)))

    def offered(self, many: int) -> Answers:
        """The candidates themselves."""
        return self._kept(
            f"{self.encoder.name}-offered-{many}",
            lambda: self._answers([[[row] for row in own] for own in self._nearest(many)]),
        )

    def candidates(self, many: int) -> list[Ints]:
        """For each text the rows of the ``many`` nearest names."""
        return [np.array(own, np.int64) for own in self._nearest(many)]

    def _nearest(self, many: int) -> list[list[int]]:
        near = EmbeddingLinker(self.kb, self.encoder).nearest(self.texts, many).rows
        return [[row for i in found if i >= 0 for row in self._rows[i]] for found in near.tolist()]

    @cached_property
    def _rows(self) -> list[list[int]]:
        """The rows of the dictionary behind each row of the KB, which has names that differ in writing only as one."""
        by_key = defaultdict(list)
        for row, text in enumerate(self.dictionary.texts):
            by_key[normalise(text)].append(row)
        return [by_key[normalise(text)] for text in self.kb.surfaces()]

    @cached_property
    def _judge(self) -> Judge:
        return Judge(generation.load(self.task.model), self.dictionary, ())

    def _written(self, offered: Sequence[Ints] | None) -> Answers:
        prompt = Prompt.of(self._judge.generator, context=False)
        return self._answers(
            self._judge.best(prompt, [Parts("", text, "") for text in self.texts], BEAMS, BATCH, offered)
        )

    def _answers(self, found: Sequence[Sequence[Sequence[int]]]) -> Answers:
        """Rows of names as answers."""
        return {text: list(map(self._answer, own)) for text, own in zip(self.texts, found, strict=True)}

    def _answer(self, found: Sequence[int]) -> Answer:
        ids = frozenset[str]().union(*(self.dictionary.ids[row] for row in found))
        return Answer(self.dictionary.texts[found[0]], sorted(ids))

    def _kept(self, way: str, ask: Callable[[], Answers]) -> Answers:
        """What was kept under a name, asked for where nothing was."""
        model = f"{self.task.model.name}-{sha256(self.task.model / WEIGHTS)[:8]}"
        path = self.work / model / f"{self.task.corpus}-{self.task.form}-{self.split}-{way}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic(path) as temporary:
                temporary.write_text(json.dumps(ask(), ensure_ascii=False), encoding="utf-8")
        found = json.loads(path.read_text(encoding="utf-8"))
        return {text: [Answer(*each) for each in own] for text, own in found.items()}


def kb_of(dictionary: Dictionary, path: Path) -> KnowledgeBase:
    """The names of a dictionary as a KB, a concept an id; built where the file is not there."""
    if path.exists():
        return KnowledgeBase.open(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    own = zip(dictionary.concepts.ids, dictionary.concepts.rows(), strict=True)
    named = ((id.strip(), [Name(dictionary.texts[row]) for row in found.tolist()]) for id, found in own)
    return build(path, (Entity(id, tuple(names)) for id, names in named))


def places(asked: Sequence[Item], answers: Answers) -> NDArray[np.int64]:
    """The place of the first right name for each mention, from 0; ``NONE`` without one."""
    found = []
    for item in asked:
        own = answers[item.parts.mention]
        found.append(next((i for i, each in enumerate(own) if item.gold.intersection(each.ids)), NONE))
    return np.array(found, np.int64)


def accuracy(found: NDArray[np.int64]) -> dict[str, float]:
    """Percentages at 1 and 5 names."""
    return {f"acc@{k}": percent(found < k) for k in (1, 5)}


def percent(right: NDArray[np.bool_]) -> float:
    """Of mentions."""
    return round(100 * float(right.mean()), 2)


def evaluated(folder: Path, corpus: str, split: str) -> list[match.Item]:
    """The mentions that ``generative_eval.items`` reads, in its order, as an evaluation has them: parts told apart."""
    found = []
    for row in rows(folder / "contexts.tsv.xz"):
        if row[:2] == [corpus, split]:
            gold = tuple(ids_of(part) for part in row[5].split("+") if part)
            found.append(match.Item("", Mention(((0, max(len(row[3]), 1)),), row[3]), (), gold))
    return found
