"""What ``nomina train`` learns from: a KB and corpora, with fingerprints of what is in them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nomina.errors import UsageError

if TYPE_CHECKING:
    from nomina.kb.store import KnowledgeBase
    from nomina.training.generative import Sample
    from nomina.training.mentions import Item
    from nomina.training.names import Concepts
    from nomina.types import Document

PROJECT = "project"
"""The corpus format that has annotators."""


class Given(NamedTuple):
    """What the command line says of the corpora.

    Attributes:
        corpus: to train on.
        dev: to measure on.
        format: of both; None: what they look like.
        texts: options of it.
        annotators: of a project, those whose corrections are taken; none: everybody's.
    """

    corpus: Path | None
    dev: Path | None
    format: str | None
    texts: Sequence[str]
    annotators: Sequence[str]

    def documents(self, path: Path) -> Iterator[Document]:
        """The documents of one of the corpora."""
        from nomina.corpora import corpus_format, read_corpus
        from nomina.kb.options import Value, parsed

        options: dict[str, Value] = dict(parsed(self.texts))
        format = corpus_format(path, self.format)[0]
        if format == PROJECT and self.annotators:
            options["annotator"] = tuple(self.annotators)
        return read_corpus(path, format, options=options)

    def check(self) -> None:
        """Refuse annotators where there is no project.

        Raises:
            UsageError: neither corpus is one.
        """
        from nomina.corpora import corpus_format

        if not self.annotators:
            return
        if all(corpus_format(path, self.format)[0] != PROJECT for path in (self.corpus, self.dev) if path):
            raise UsageError("--annotator is about a project of nomina serve: name one with --corpus")


class Data(NamedTuple):
    """A KB with its concepts; mentions or samples to learn from and to measure on; fingerprints by what they are of."""

    kb: KnowledgeBase
    concepts: Concepts
    train: list[Item] | None
    dev: list[Item] | None
    train_samples: list[Sample] | None
    dev_samples: list[Sample] | None
    prints: dict[str, str | None]


def read(kb: str, told: Given, writes: bool) -> Data:
    """The KB and the corpora; ``writes``: as generators take them.

    Raises:
        UsageError: annotators, and no project.
        NominaError: one of them cannot be read.
    """
    from nomina.kb.sources import resolve_kb
    from nomina.training.mentions import items
    from nomina.training.names import Concepts

    told.check()
    opened = resolve_kb(kb)
    concepts = Concepts.of(opened)
    corpora = [None if path is None else told.documents(path) for path in (told.corpus, told.dev)]
    prints: dict[str, str | None] = {"kb": opened.fingerprint}
    if writes:
        from nomina.training.generative import samples

        train, measured = (None if found is None else samples(found, opened, concepts.ids) for found in corpora)
        return Data(
            opened, concepts, None, None, train, measured, prints | {"corpus": _told(train), "dev": _told(measured)}
        )
    given, asked = (None if found is None else items(found, opened, concepts.ids) for found in corpora)
    return Data(opened, concepts, given, asked, None, None, prints | {"corpus": _hashed(given), "dev": _hashed(asked)})


def _hashed(found: list[Item] | None) -> str | None:
    if found is None:
        return None
    plain = [[item.texts, [sorted(part) for part in item.gold]] for item in found]
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()


def _told(found: list[Sample] | None) -> str | None:
    """The same of mentions in their context."""
    from nomina.generation.prompt import parts_of

    if found is None:
        return None
    return hashlib.sha256(json.dumps([[parts_of(query), sorted(gold)] for query, gold in found]).encode()).hexdigest()
