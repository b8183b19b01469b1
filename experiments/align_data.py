"""What the encoders are trained on: merged concepts with their names, kinds of noise."""

from __future__ import annotations

import lzma
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nomina.text import normalise
from nomina.training.examples import Ints, Pairs

NOISE = {
    "typo": 0.15,
    "plural": 0.1,
    "order": 0.15,
    "abbreviation": 0.05,
    "punctuation": 0.1,
    "fewer_words": 0.1,
    "british": 0.05,
    "relative": 0.1,
    "qualified": 0.1,
    "predicate": 0.1,
}

_HUBS = ("UMLS:", "OMIM:", "Orphanet:", "SNOMEDCT:", "NCIT:", "GARD:")


@dataclass(frozen=True, slots=True)
class Names:
    """Names in one list, concept after concept; ``first[i]`` to ``first[i + 1]`` are those of concept i."""

    texts: list[str]
    first: Ints
    disease: np.ndarray

    def numbers(self) -> Iterator[range]:
        """The numbers of each concept's names."""
        for start, end in zip(self.first[:-1].tolist(), self.first[1:].tolist(), strict=True):
            yield range(start, end)


def rows(path: Path) -> Iterator[list[str]]:
    """The fields of each line of a packed file."""
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as stream:
        for line in stream:
            yield line.rstrip("\n").split("\t")


def read(folder: Path, *, merge: bool = True, limit: int | None = None) -> Names:
    """The concepts of all terminologies, those that xrefs or preferred names show to be one merged.

    A name that two concepts would share stays with the one that it is the preferred name of, else goes: the same text
    cannot be drawn to one concept and pushed off it. ``limit``: only so many concepts (to try things out).
    """
    names: dict[str, list[str]] = defaultdict(list)
    for identifier, name in rows(folder / "names.tsv.xz"):
        names[identifier].append(name)
    areas, xrefs = {}, {}
    for identifier, area, linked in rows(folder / "concepts.tsv.xz"):
        areas[identifier], xrefs[identifier] = area, linked.split()
    keys = {text: normalise(text) for texts in names.values() for text in texts}
    groups = merged(names, xrefs, keys) if merge else [[identifier] for identifier in names]
    owner = _owners(groups, names, keys)
    texts, first, disease = [], [0], []
    for number, group in enumerate(groups[:limit]):
        found: dict[str, str] = {}
        for identifier in group:
            for text in names[identifier]:
                if owner[keys[text]] == number:
                    found.setdefault(keys[text], text)
        if found:
            texts.extend(found.values())
            first.append(len(texts))
            disease.append(any(areas[identifier] == "d" for identifier in group))
    return Names(texts, np.array(first), np.array(disease))


def _owners(groups: list[list[str]], names: dict[str, list[str]], keys: dict[str, str]) -> dict[str, int]:
    """The number of the group that may have a look-up key; -1 where several want it and none prefers it."""
    owner: dict[str, int] = {}
    preferred: set[str] = set()
    for number, group in enumerate(groups):
        for identifier in group:
            for position, text in enumerate(names[identifier]):
                key = keys[text]
                if position == 0 and key not in preferred:
                    preferred.add(key)
                    owner[key] = number
                elif key not in preferred and owner.setdefault(key, number) != number:
                    owner[key] = -1
    return owner


def merged(names: dict[str, list[str]], xrefs: dict[str, list[str]], keys: dict[str, str]) -> list[list[str]]:
    """Groups of concepts that mean the same, at most one concept of a terminology in each.

    Links in order of trust: an xref to the other, an xref that both have, the same preferred name.
    """
    group = {identifier: [identifier] for identifier in names}

    def join(one: str, other: str) -> None:
        a, b = group[one], group[other]
        if a is not b and not {x.split(":")[0] for x in a} & {x.split(":")[0] for x in b}:
            a.extend(b)
            for identifier in b:
                group[identifier] = a

    for one, other in _links(names, xrefs, keys):
        join(one, other)
    return list({id(members): members for members in group.values()}.values())


def _links(names: dict[str, list[str]], xrefs: dict[str, list[str]], keys: dict[str, str]) -> Iterator[tuple[str, str]]:
    listed = [(identifier, xref) for identifier, linked in xrefs.items() if identifier in names for xref in linked]
    yield from ((identifier, xref) for identifier, xref in listed if xref in names)
    shared: dict[str, str] = {}
    for identifier, xref in listed:
        if xref.startswith(_HUBS):
            yield shared.setdefault(xref, identifier), identifier
    for identifier, texts in names.items():
        yield shared.setdefault("=" + keys[texts[0]], identifier), identifier


def pairs_and_weights(names: Names, repeat: int, seed: int) -> tuple[Pairs, Ints]:
    """Synonym pairs, for a disease with one name that name with itself; disease pairs come ``repeat`` times."""
    pairs = Pairs.of(names.numbers(), seed=seed)
    lone = np.flatnonzero((np.diff(names.first) == 1) & names.disease)
    concept = np.concatenate([pairs.concept, lone])
    order = np.argsort(concept, kind="stable")
    left = np.concatenate([pairs.left, names.first[lone]])[order]
    right = np.concatenate([pairs.right, names.first[lone]])[order]
    concept = concept[order]
    weights = np.where(names.disease[concept] & (left != right), repeat, 1)
    return Pairs(concept, left, right), weights
