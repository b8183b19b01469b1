"""Corpora under the protocols that apply to them: what is tested, on which KB, and what counts as training data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from eval_kbs import Workshop, of_type

from nomina.corpora import read_corpus
from nomina.types import Document

Read = Callable[[Workshop], list[Document]]

FOLDS = 10


@dataclass(frozen=True)
class Task:
    """One cell of the tables.

    Attributes:
        corpus: as the tables call it.
        protocol: one of ``PROTOCOLS``.
        kb: what test mentions are linked to.
        test: the documents that are judged.
        train: what a system may be trained on.
        dev: what weights may be learnt on; None where it may not be used.
        dev_kb: what development mentions are linked to, where it is another KB: one without their names.
        fold: of AskAPatient: the mean over the folds is what counts.
    """

    corpus: str
    protocol: str
    kb: str
    test: Read
    train: Read
    dev: Read | None = None
    dev_kb: str = ""
    fold: int | None = None

    @property
    def name(self) -> str:
        """Of its result."""
        return f"{self.corpus}_{self.protocol}" + ("" if self.fold is None else f"_{self.fold}")


def _corpus(format: str, *parts: str, **options: str) -> Read:
    return lambda shop: list(read_corpus(shop.file(*parts), format, options=options))


def _kind(read: Read, type: str | None) -> Read:
    """Only the mentions of a type; all where it is None."""
    return lambda shop: list(of_type(read(shop), type))


def _biosyn(*parts: str) -> tuple[Read, Read, Read]:
    test, train, dev = (_corpus("biosyn", *parts, f"processed_{split}") for split in ("test", "train", "dev"))
    return test, train, dev


def _cdr(kind: str | None = None) -> tuple[Read, Read, Read]:
    files = (f"CDR_{split}Set.PubTator.txt" for split in ("Test", "Training", "Development"))
    test, train, dev = (_kind(_corpus("pubtator", "bc5cdr", "raw", file), kind) for file in files)
    return test, train, dev


def _ncbi() -> tuple[Read, Read, Read]:
    files = (f"NCBI{split}set_corpus.txt" for split in ("test", "train", "develop"))
    test, train, dev = (_corpus("pubtator", "ncbi-disease", "raw", file) for file in files)
    return test, train, dev


def _chemicals() -> tuple[Read, Read, Read]:
    splits = ("test", "train", "dev")
    test, train, dev = (
        _corpus("biosyn_json", "bc5cdr", "biosyn-chemical", "data.json", split=split) for split in splits
    )
    return test, train, dev


def _askapatient(fold: int) -> tuple[Read, Read, Read]:
    files = (f"AskAPatient.fold-{fold}.{split}.txt" for split in ("test", "train", "validation"))
    test, train, dev = (_corpus("askapatient", "askapatient", file) for file in files)
    return test, train, dev


def _cometa(split: str) -> Read:
    return _corpus("cometa", "cometa", "stratified_general", f"{split}.csv")


TASKS: tuple[Task, ...] = (
    Task("ncbi", "as-published", "ncbi-as-published", *_biosyn("ncbi-disease", "biosyn"), "ncbi-as-published-dev"),
    Task("ncbi", "clean-kb", "ncbi-clean", *_biosyn("ncbi-disease", "biosyn")),
    Task("ncbi", "as-published-generative", "medic", *_ncbi()),
    Task("ncbi", "clean-raw", "medic", *_ncbi()),
    Task("bc5cdr-d", "as-published", "bc5cdr-d-as-published", *_biosyn("bc5cdr", "biosyn-disease"),
         "bc5cdr-d-as-published-dev"),
    Task("bc5cdr-d", "clean-kb", "bc5cdr-d-clean", *_biosyn("bc5cdr", "biosyn-disease")),
    Task("bc5cdr-d", "clean-raw", "medic", *_cdr("Disease")),
    Task("bc5cdr-c", "as-published", "mesh-chemicals-mentions", *_chemicals(), "mesh-chemicals-mentions-dev"),
    Task("bc5cdr-c", "clean-kb", "mesh-chemicals", *_chemicals()),
    Task("bc5cdr-c", "clean-raw", "mesh", *_cdr("Chemical")),
    Task("bc5cdr", "as-published-generative", "mesh-expanded", *_cdr()),
    Task("bc5cdr", "clean-raw", "mesh", *_cdr()),
    *(
        Task("askapatient", protocol, "askapatient", *_askapatient(i), fold=i)
        for protocol in ("as-published", "as-published-generative")
        for i in range(FOLDS)
    ),
    Task("cometa", "clean-kb", "cometa", _cometa("test"), _cometa("train")),
)  # fmt: skip
"""Every row for which the data can be had; COMETA's KB is the closed world of its labels, its development set holds
terms of the test set."""
