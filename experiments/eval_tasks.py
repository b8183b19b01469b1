"""Corpora under the protocols that apply to them: what is tested, on which KB, and what counts as training data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from eval_kbs import Workshop

from nomina.corpora import read_corpus
from nomina.types import Document

Read = Callable[[Workshop], list[Document]]

FOLDS = 10


@dataclass(frozen=True)
class Task:
    """One cell of the tables. ``folds``: the mean over so many tests is what counts."""

    corpus: str
    protocol: str
    kb: str
    test: Read
    train: Read
    fold: int | None = None

    @property
    def name(self) -> str:
        """Of its result."""
        return f"{self.corpus}_{self.protocol}" + ("" if self.fold is None else f"_{self.fold}")


def _corpus(format: str, *parts: str, **options: str) -> Read:
    return lambda shop: list(read_corpus(shop.file(*parts), format, options=options))


def _kind(read: Read, type: str) -> Read:
    """Only the mentions of a type."""

    def chosen(shop: Workshop) -> list[Document]:
        return [replace(d, mentions=tuple(m for m in d.mentions if m.type == type)) for d in read(shop)]

    return chosen


def _biosyn(*parts: str) -> tuple[Read, Read]:
    return _corpus("biosyn", *parts, "processed_test"), _corpus("biosyn", *parts, "processed_train")


def _cdr(split: str) -> Read:
    return _corpus("pubtator", "bc5cdr", "raw", f"CDR_{split}Set.PubTator.txt")


def _ncbi(split: str) -> Read:
    return _corpus("pubtator", "ncbi-disease", "raw", f"NCBI{split}set_corpus.txt")


def _chemicals(split: str) -> Read:
    return _corpus("biosyn_json", "bc5cdr", "biosyn-chemical", "data.json", split=split)


def _askapatient(fold: int, split: str) -> Read:
    return _corpus("askapatient", "askapatient", f"AskAPatient.fold-{fold}.{split}.txt")


def _cometa(split: str) -> Read:
    return _corpus("cometa", "cometa", "stratified_general", f"{split}.csv")


TASKS: tuple[Task, ...] = (
    Task("ncbi", "as-published", "ncbi-as-published", *_biosyn("ncbi-disease", "biosyn")),
    Task("ncbi", "clean-kb", "ncbi-clean", *_biosyn("ncbi-disease", "biosyn")),
    Task("ncbi", "as-published-generative", "medic", _ncbi("test"), _ncbi("train")),
    Task("ncbi", "clean-raw", "medic", _ncbi("test"), _ncbi("train")),
    Task("bc5cdr-d", "as-published", "bc5cdr-d-as-published", *_biosyn("bc5cdr", "biosyn-disease")),
    Task("bc5cdr-d", "clean-kb", "bc5cdr-d-clean", *_biosyn("bc5cdr", "biosyn-disease")),
    Task("bc5cdr-d", "clean-raw", "medic", _kind(_cdr("Test"), "Disease"), _kind(_cdr("Training"), "Disease")),
    Task("bc5cdr-c", "as-published", "mesh-chemicals-mentions", _chemicals("test"), _chemicals("train")),
    Task("bc5cdr-c", "clean-kb", "mesh-chemicals", _chemicals("test"), _chemicals("train")),
    Task("bc5cdr-c", "clean-raw", "mesh", _kind(_cdr("Test"), "Chemical"), _kind(_cdr("Training"), "Chemical")),
    Task("bc5cdr", "as-published-generative", "mesh-expanded", _cdr("Test"), _cdr("Training")),
    Task("bc5cdr", "clean-raw", "mesh", _cdr("Test"), _cdr("Training")),
    *(
        Task("askapatient", protocol, "askapatient", _askapatient(i, "test"), _askapatient(i, "train"), i)
        for protocol in ("as-published", "as-published-generative")
        for i in range(FOLDS)
    ),
    Task("cometa", "clean-kb", "cometa", _cometa("test"), _cometa("train")),
)
"""Every row for which the data can be had; COMETA's KB is the closed world of its labels."""
