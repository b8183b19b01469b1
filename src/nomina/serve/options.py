"""What a service is started with: plain values, handed to every worker."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Limits:
    """What a service takes.

    Attributes:
        body: bytes of a request, and of a line of a batch.
        documents: of one request to ``/link``.
        characters: of one document.
        mentions: that come with one document.
        mention: characters of one of them, so that 5,000 that overlap are not 5,000 times a document.
        answer: characters of the answer to one request, and to some lines of a batch.
        queue: documents that may wait or be linked at a time; beyond, requests are told to come again.
        seconds: that a request may take; of a batch, that one step of it may take.
    """

    body: int = 16_000_000
    documents: int = 256
    characters: int = 1_000_000
    mentions: int = 5_000
    mention: int = 1_000
    answer: int = 64_000_000
    queue: int = 1024
    seconds: float = 60.0


MOST_CONCEPTS = 100
"""``k`` at most: fewer than ``nomina.load`` takes, since answers are held in memory."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is served, to whom, and how much of it.

    Attributes:
        kb: name or file; asked again at every reload.
        linker: name or folder.
        k: concepts a mention where a request names no number.
        threshold: as in ``nomina.load``, where a request names none.
        spans: as in ``nomina.load``.
        context: as in ``nomina.load``.
        token: what a request has to bring; None: nothing.
        origins: of web pages that may ask from a browser.
        access_log: whether each request is a line on stderr.
        limits: what is refused.
        project: a review project that the page works on; None: it keeps its work in the browser.
        blind: whether annotators see their own decisions only.
    """

    kb: str | Path = "hpo"
    linker: str | Path = "cascade"
    k: int = 5
    threshold: float | None = None
    spans: bool | None = None
    context: bool = True
    token: str | None = field(default=None, repr=False)
    origins: tuple[str, ...] = ()
    access_log: bool = True
    limits: Limits = field(default_factory=Limits)
    project: Path | None = None
    blind: bool = False
