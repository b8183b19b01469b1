"""What ``generative.py`` measures: names of a dictionary written for mentions of a corpus, by beam search."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean

import numpy as np
import torch
from align_data import rows

from nomina.generation.device import DeviceTrie
from nomina.generation.generator import Generator
from nomina.generation.layers import layered
from nomina.generation.prompt import Parts, Prompt
from nomina.generation.search import Search, beam_search, fitting
from nomina.generation.trie import FlatTrie
from nomina.linkers.generative import batch_of, spelling_of
from nomina.training.examples import Ints
from nomina.training.names import Concepts

FILES = {"ncbi": "dictionary.txt.xz", "bc5cdr": "mesh.txt.xz", "aap": "aap.txt.xz"}
"""The dictionary of each corpus: the one without mentions."""
CLEAN, PUBLISHED = "clean", "published"
FORMS = {"ncbi": (CLEAN, PUBLISHED)}
"""Which dictionaries a corpus has: GenBioEL and ANGEL take BioSyn's for NCBI, with the mentions of the other splits."""

_CHUNK = 1 << 14
_MOST = 48


def ids_of(text: str) -> frozenset[str]:
    """All ids of a field: parts by "+", the ids of each by "|"."""
    return frozenset(text.replace("+", "|").split("|"))


@dataclass(frozen=True)
class Item:
    """A mention, and its ids: any of them is right (the protocol's rule)."""

    parts: Parts
    gold: frozenset[str]


def items(folder: Path, corpus: str, split: str, limit: int | None = None) -> list[Item]:
    """The mentions of a split; ``limit``: only so many, from all over it."""
    found = [
        Item(Parts(*row[2:5]), ids_of(row[5]))
        for row in rows(folder / "contexts.tsv.xz")
        if row[0] == corpus and row[1] == split
    ]
    return found[:: max(len(found) // limit, 1)][:limit] if limit else found


@dataclass(frozen=True)
class Dictionary:
    """The names that may be written, and the ids of each."""

    texts: list[str]
    ids: list[frozenset[str]]

    @classmethod
    def read(
        cls, folder: Path, corpus: str, limit: int | None = None, keep: Iterable[Item] = (), split: str | None = None
    ) -> Dictionary:
        """That of a corpus, for ``split`` the published one of that split, with the mentions of those before it.

        A name that stands there for several concepts is a name of each.

        ``limit``: only so many rows, and those of some mentions (to try things out).
        """
        named: dict[str, frozenset[str]] = {}
        for ids, name in rows(folder / FILES[corpus.partition("-")[0]]):
            named[name] = named.get(name, frozenset()) | ids_of(ids)
        if split:
            published = (row for row in rows(folder / "published.txt.xz") if row[:2] == [corpus, split])
            named |= {row[3]: ids_of(row[2]) for row in published}
        listed = list(named.items())
        if limit:
            wanted = frozenset(id for item in keep for id in item.gold)
            listed = [row for i, row in enumerate(listed) if i < limit or row[1] & wanted]
        return cls([name for name, _ in listed], [ids for _, ids in listed])

    @cached_property
    def concepts(self) -> Concepts:
        """One concept an id."""
        numbers: dict[str, int] = {}
        pairs = sorted((numbers.setdefault(id, len(numbers)), row) for row, ids in enumerate(self.ids) for id in ids)
        concept, row = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
        return Concepts(self.texts, list(numbers), concept, row)

    def numbers(self, ids: Iterable[str]) -> Ints:
        """The concepts of ids, those that are not there left out."""
        place = self._place
        return np.array(sorted(place[id] for id in ids if id in place), np.int64)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {id: i for i, id in enumerate(self.concepts.ids)}


class Judge:
    """Measures a generator on a split.

    Args:
        generator: see there.
        dictionary: what may be written.
        asked: the mentions.
        chosen: rows that may be written (table 4); all where None.
        trie: of an earlier judge of the same names and tokenizer.
    """

    def __init__(
        self,
        generator: Generator,
        dictionary: Dictionary,
        asked: Sequence[Item],
        chosen: Ints | None = None,
        trie: FlatTrie | None = None,
    ) -> None:
        self.generator, self.dictionary, self.asked = generator, dictionary, asked
        self.trie = trie or self._trie(chosen)
        self.device_trie = DeviceTrie(self.trie, generator.device, generator.vocabulary)

    def _trie(self, chosen: Ints | None) -> FlatTrie:
        spelling, texts = spelling_of(self.generator, Prompt.of(self.generator)), self.dictionary.texts
        row = np.arange(len(texts)) if chosen is None else np.unique(chosen)
        parts = [
            spelling.tokens([texts[i] for i in row[start : start + _CHUNK].tolist()])
            for start in range(0, len(row), _CHUNK)
        ]
        lengths = np.concatenate([numbers for _, numbers in parts])
        known = np.flatnonzero(lengths)
        return FlatTrie(layered(np.concatenate([tokens for tokens, _ in parts]), lengths[known], row[known]))

    def accuracy(self, *, context: bool, beams: int = 5, batch: int = 512) -> dict[str, float]:
        """Percentages at 1 and 5 names, and mentions a second (distinct ones are computed once)."""
        prompt = Prompt.of(self.generator, context=context)
        texts = [item.parts if context else Parts("", item.parts.mention, "") for item in self.asked]
        distinct = list(dict.fromkeys(texts))
        started = time.monotonic()
        best = dict(zip(distinct, self.best(prompt, distinct, beams, batch), strict=True))
        seconds = time.monotonic() - started
        figures = {}
        for k in (1, 5):
            hits = [
                any(self.dictionary.ids[row] & item.gold for rows in best[text][:k] for row in rows)
                for item, text in zip(self.asked, texts, strict=True)
            ]
            figures[f"acc@{k}"] = round(100 * sum(hits) / len(hits), 2)
        return {**figures, "per_s": round(len(distinct) / seconds, 1)}

    def best(
        self,
        prompt: Prompt,
        texts: Sequence[Parts],
        beams: int,
        batch: int,
        offered: Sequence[Ints] | None = None,
    ) -> list[list[list[int]]]:
        """For each text the rows of the names found, best first; names tokenised alike are one.

        ``offered``: the rows that may be written for each text; all where None.
        """
        prompted = prompt.of_parts(texts)
        order = sorted(range(len(texts)), key=lambda i: (len(prompted[i].source), len(prompted[i].prefix)))
        found: list[list[list[int]]] = [[] for _ in texts]
        training = self.generator.module.training
        self.generator.module.eval()
        for start in range(0, len(order), batch):
            part = order[start : start + batch]
            tensors = batch_of(self.generator, [prompted[i] for i in part], to=8)
            search = fitting(Search(beams, _MOST), self.generator, tensors)
            trie, device_trie, starts = self._allowed([offered[i] for i in part] if offered else None)
            nodes = beam_search(self.generator, device_trie, tensors, search, starts=starts).nodes.cpu().numpy()
            owned, offsets = trie.rows_of(nodes.ravel())
            each = [found.tolist() for found in np.split(owned, offsets[1:-1])]
            for place, i in enumerate(part):
                found[i] = [rows for rows in each[place * beams : (place + 1) * beams] if rows]
        self.generator.module.train(training)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return found

    def _allowed(self, offered: list[Ints] | None) -> tuple[FlatTrie, DeviceTrie, Ints | None]:
        """What may be written for some texts, and where in it each begins."""
        if offered is None:
            return self.trie, self.device_trie, None
        trie, starts = self.trie.of_rows(offered)
        return trie, DeviceTrie(trie, self.generator.device, self.generator.vocabulary), starts


class Bench:
    """A corpus: its mentions by split, its dictionary, tries that are made once (``arguments``: the command line's)."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.splits = {
            split: items(arguments.data, arguments.corpus, split, arguments.limit) for split in ("train", "dev", "test")
        }
        self.dictionary = self._dictionary(None)
        self.tries: dict[str, FlatTrie] = {}

    def judges(self, generator: Generator, split: str, chosen: Ints | None = None) -> Callable[[], dict[str, float]]:
        """What measures a generator on a split against each dictionary of the corpus; of ``chosen`` rows (table 4).

        It gives figures by form, and ``dev``, the mean of the forms at 1.
        """
        judges = {}
        for form in FORMS.get(self.arguments.corpus, (CLEAN,)) if chosen is None else (CLEAN,):
            dictionary = self._dictionary(split) if form == PUBLISHED else self.dictionary
            key = f"{form} {split if form == PUBLISHED else ''}"
            judges[form] = Judge(generator, dictionary, self.splits[split], chosen, self.tries.get(key))
            self.tries[key] = judges[form].trie

        def measure() -> dict[str, float]:
            how = {"context": not self.arguments.no_context, "beams": self.arguments.beams}
            found = {form: judge.accuracy(**how) for form, judge in judges.items()}
            figures = {f"{form} {key}": value for form, each in found.items() for key, value in each.items()}
            return {**figures, "dev": round(mean(each["acc@1"] for each in found.values()), 3)}

        return measure

    def trie(self, generator: Generator) -> FlatTrie:
        """Of the dictionary without mentions."""
        key = f"{CLEAN} "
        if key not in self.tries:
            self.tries[key] = Judge(generator, self.dictionary, ()).trie
        return self.tries[key]

    def _dictionary(self, split: str | None) -> Dictionary:
        every = [item for found in self.splits.values() for item in found]
        return Dictionary.read(self.arguments.data, self.arguments.corpus, self.arguments.limit, every, split)
