"""The knowledge bases that the corpora are evaluated against, built once in a work folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from common import benchmark

from nomina.corpora import askapatient, cometa, read_corpus
from nomina.evaluation.ids import IdMap
from nomina.kb.build import build, build_from_files
from nomina.kb.get import get
from nomina.kb.join import expand
from nomina.kb.store import KnowledgeBase
from nomina.types import Document, Entity, Name, Retired

_UPDATE = re.compile(r"'MESH:(\w+)'\s*:\s*'MESH:(\w+)'")
_EXPANDED_BY = ("mondo", "doid")


class Workshop:
    """Builds a KB by name where it is not yet in the folder ``work``; ``shared`` holds the benchmarks."""

    def __init__(self, shared: Path, work: Path) -> None:
        self.shared, self.work = shared, work
        work.mkdir(parents=True, exist_ok=True)

    def __call__(self, name: str) -> KnowledgeBase:
        """The KB of a name out of ``KBS``."""
        path = self.work / f"{name}.kb"
        return KnowledgeBase.open(path) if path.exists() else KBS[name](self, path)

    def file(self, *parts: str) -> Path:
        """A benchmark file."""
        return benchmark(self.shared, *parts)


def _dictionary(*parts: str) -> Callable[[Workshop, Path], KnowledgeBase]:
    """A BioSyn dictionary: a row with several ids is one concept."""
    return lambda shop, path: build_from_files(path, [shop.file(*parts)], format="biosyn")


def _medic(shop: Workshop, path: Path) -> KnowledgeBase:
    folder = shop.file("medic")
    return build_from_files(path, sorted(folder.glob("*.txt")) or sorted(folder.iterdir())[:1], format="medic")


def _updates(shop: Workshop) -> Iterator[Retired]:
    """MeSH ids of the corpus that later releases replaced."""
    for kind in ("chemical", "disease"):
        text = shop.file("bc5cdr", "mesh-id-updates", f"{kind}.yaml").read_text(encoding="utf-8")
        yield from (Retired(old, (new,)) for old, new in _UPDATE.findall(text))


def _mesh(source: str) -> Callable[[Workshop, Path], KnowledgeBase]:
    """A part of MeSH, with the corpus's old ids as retired ones."""

    def make(shop: Workshop, path: Path) -> KnowledgeBase:
        kb = get(source)
        return build(path, _with_updates(kb.entities(), list(_updates(shop)), kb))

    return make


def _with_updates(entities: Iterator[Entity], updates: list[Retired], kb: KnowledgeBase) -> Iterator[Entity | Retired]:
    yield from entities
    yield from (retired for retired in updates if retired.id not in kb and kb.resolve(retired.replaced_by[0]))


def _mesh_with_mentions(*splits: str) -> Callable[[Workshop, Path], KnowledgeBase]:
    """MeSH chemicals and, as names of their concepts, the mentions of some splits."""

    def make(shop: Workshop, path: Path) -> KnowledgeBase:
        return build(path, _with_mentions(shop, shop("mesh-chemicals"), splits))

    return make


def _with_mentions(shop: Workshop, kb: KnowledgeBase, splits: Sequence[str]) -> Iterator[Entity | Retired]:
    yield from _with_updates(kb.entities(), list(_updates(shop)), kb)
    for split in splits:
        yield from _as_names(chemicals(shop, split), kb.resolve)


def _as_names(documents: Iterable[Document], concept_of: Callable[[str], str | None]) -> Iterator[Entity]:
    for document in documents:
        for mention in document.mentions:
            for id in {id for part in mention.gold for id in part}:
                if live := concept_of(id):
                    yield Entity(live, (Name(mention.text, source="mentions"),))


def _biosyn_with_mentions(name: str, *file: str, type: str | None = None) -> Callable[[Workshop, Path], KnowledgeBase]:
    """A KB and, as names of their concepts, the mentions of a raw training set, all or of one type."""

    def make(shop: Workshop, path: Path) -> KnowledgeBase:
        kb = shop(name)
        ids = IdMap(kb)
        concepts = {part: id for id in kb for part in ids.candidate(id)} | {id: id for id in kb}
        documents = of_type(read_corpus(shop.file(*file)), type)
        return build(path, chain(kb.entities(), _as_names(documents, lambda id: concepts.get(ids(id)))))

    return make


def of_type(documents: Iterable[Document], kind: str | None) -> Iterator[Document]:
    """Documents with the mentions of one type, all where it is None."""
    for document in documents:
        yield replace(document, mentions=tuple(m for m in document.mentions if kind in (None, m.type)))


def chemicals(shop: Workshop, split: str) -> Iterator[Document]:
    """BioSyn's chemical mentions."""
    file = shop.file("bc5cdr", "biosyn-chemical", "data.json")
    return read_corpus(file, "biosyn_json", options={"split": split})


def _expanded(shop: Workshop, path: Path) -> KnowledgeBase:
    """All of MeSH with the names that open terminologies give the same concepts; a shared name stays with one."""
    kb = shop("mesh")
    steps = [*(path.with_suffix(f".{name}.kb") for name in _EXPANDED_BY[:-1]), path]
    for name, step in zip(_EXPANDED_BY, steps, strict=True):
        kb = expand(step, kb, get(name), "xref", many=True, dedup="genbioel" if step == path else None).kb
    return kb


def _askapatient(shop: Workshop, path: Path) -> KnowledgeBase:
    """The closed world of the labels that stand in the folds; each id has one."""
    files = sorted(shop.file("askapatient").glob("*.txt"))
    labels = {id: label for file in files for _, (id, label, _) in askapatient.rows(file)}
    return build(path, (Entity(id, (Name(label),)) for id, label in labels.items()))


def _cometa(shop: Workshop, path: Path) -> KnowledgeBase:
    """The closed world of the general and specific labels that stand in COMETA."""
    files = sorted(shop.file("cometa", "stratified_general").glob("*.csv"))
    labels = {
        (row[f"{level} SNOMED ID"].strip(), row[f"{level} SNOMED Label"].strip())
        for file in files
        for _, row in cometa.rows(file)
        for level in ("General", "Specific")
    }
    return build(path, (Entity(id, (Name(label),)) for id, label in sorted(labels) if id and label))


KBS: dict[str, Callable[[Workshop, Path], KnowledgeBase]] = {
    "ncbi-as-published": _dictionary("ncbi-disease", "biosyn", "test_dictionary.txt"),
    "ncbi-as-published-dev": _dictionary("ncbi-disease", "biosyn", "dev_dictionary.txt"),
    "ncbi-clean": _dictionary("ncbi-disease", "biosyn", "train_dictionary.txt"),
    "ncbi-clean-mentions": _biosyn_with_mentions("ncbi-clean", "ncbi-disease", "raw", "NCBItrainset_corpus.txt"),
    "bc5cdr-d-as-published": _dictionary("bc5cdr", "biosyn-disease", "test_dictionary.txt"),
    "bc5cdr-d-as-published-dev": _dictionary("bc5cdr", "biosyn-disease", "dev_dictionary.txt"),
    "bc5cdr-d-clean": _dictionary("bc5cdr", "biosyn-disease", "train_dictionary.txt"),
    "bc5cdr-d-clean-mentions": _biosyn_with_mentions(
        "bc5cdr-d-clean", "bc5cdr", "raw", "CDR_TrainingSet.PubTator.txt", type="Disease"
    ),
    "askapatient": _askapatient,
    "cometa": _cometa,
    "medic": _medic,
    "mesh": _mesh("mesh"),
    "mesh-chemicals": _mesh("mesh-chemicals"),
    "mesh-chemicals-mentions": _mesh_with_mentions("train", "dev"),
    "mesh-chemicals-mentions-dev": _mesh_with_mentions("train"),
    "mesh-expanded": _expanded,
}
"""Name -> what builds it; ``-dev``: with the training mentions, not yet those of the development set.

``-clean-mentions``: with the training mentions as they stand in the texts; by its definition no KB of clean-kb.
"""
