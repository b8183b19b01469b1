"""What requests hold: the values of ``nomina.types`` without gold ids, checked to the offset; and what answers hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import Field

from nomina.corpora.common import SHOWN, stands
from nomina.enumerations import joined
from nomina.records import parser
from nomina.serve.bodies import parsed
from nomina.serve.errors import Refusal
from nomina.serve.options import MOST_CONCEPTS, Limits
from nomina.types import Candidate, Document, Experiencer, Mention, Name, Section, Span

_STRICT = {"extra": "forbid"}
_MOST_FILTERS = 100

Offset = Annotated[int, Field(ge=0, lt=1 << 31)]
Filter = Annotated[tuple[Annotated[str, Field(min_length=1, max_length=200)], ...], Field(max_length=_MOST_FILTERS)]
K = Annotated[int | None, Field(ge=1, le=MOST_CONCEPTS, description="Concepts a mention at most.")]
Threshold = Annotated[float | None, Field(ge=0, le=1, description="The score under which it abstains.")]


@dataclass(frozen=True, slots=True)
class MentionIn:
    """A stretch of the text to link: offsets in code points. Without a text, that of its spans is meant."""

    spans: Annotated[tuple[tuple[Offset, Offset], ...], Field(min_length=1, fail_fast=True)]
    text: str | None = None
    type: str | None = None

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    def length(self) -> int:
        """How many characters it has, by its spans or by its own text."""
        return max(sum(end - start for start, end in self.spans), len(self.text or ""))

    def within(self, text: str) -> Mention:
        """The mention of a text.

        Raises:
            ValueError: its spans are not in the text, or its own text does not stand there.
        """
        mention = Mention(self.spans, joined(text, self.spans) if self.text is None else self.text, self.type)
        if mention.end > len(text):
            raise ValueError(f"the span {list(self.spans[-1])} ends behind the text ({len(text)} characters)")
        found = [text[start:end] for start, end in self.spans]
        if not stands(mention.text, found):
            place, stand = f"{mention.start}-{mention.end}", " ".join(found)
            raise ValueError(f"{mention.text[:SHOWN]!r} is not what stands at {place}, {stand[:SHOWN]!r}")
        return mention


@dataclass(frozen=True, slots=True)
class DocumentIn:
    """A text; its mentions are looked for where it has none."""

    text: str
    id: str = "text"
    mentions: Annotated[tuple[MentionIn, ...], Field(fail_fast=True)] = ()
    sections: Annotated[tuple[Section, ...], Field(fail_fast=True)] = ()

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    def checked(self) -> Document:
        """The document, its mentions held against its text.

        Raises:
            ValueError: a mention or section that is not in the text.
        """
        mentions = []
        for number, mention in enumerate(self.mentions):
            try:
                mentions.append(mention.within(self.text))
            except ValueError as error:
                raise ValueError(f"mentions.{number}: {error}") from error
        return Document(self.id, self.text, tuple(mentions), self.sections)


@dataclass(frozen=True, slots=True)
class Asked:
    """How a request wants its documents linked; equal ones are linked together."""

    k: int | None = None
    threshold: float | None = None
    types: tuple[str, ...] = ()
    under: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LinkRequest:
    """Either one text or documents, and how to link them."""

    text: str | None = None
    documents: Annotated[tuple[DocumentIn, ...], Field(fail_fast=True)] | None = None
    k: K = None
    threshold: Threshold = None
    types: Filter = ()
    under: Filter = ()

    __pydantic_config__: ClassVar[dict[str, Any]] = {
        **_STRICT,
        "json_schema_extra": {
            "examples": [
                {"text": "She has short stature and no seizures."},
                {
                    "documents": [{"id": "note-1", "text": "Ataxia, since 2019.", "mentions": [{"spans": [[0, 6]]}]}],
                    "k": 3,
                    "under": ["HP:0000707"],
                },
            ]
        },
    }

    def __post_init__(self) -> None:
        if (self.text is None) == (self.documents is None):
            raise ValueError("give either text or documents")

    @property
    def asked(self) -> Asked:
        """All but the documents."""
        return Asked(self.k, self.threshold, self.types, self.under)

    def checked(self, limits: Limits) -> list[Document]:
        """The documents, in order.

        Raises:
            Refusal: too many, one too long, or one with a mention that is not in its text.
        """
        if self.text is not None:
            return [_document(DocumentIn(self.text), limits, "")]
        given = self.documents or ()
        if len(given) > limits.documents:
            raise Refusal(
                413, f"{len(given):,} documents; one request has {limits.documents:,} at most: see /link/batch"
            )
        return [_document(document, limits, f"documents.{i}.") for i, document in enumerate(given)]


def _document(given: DocumentIn, limits: Limits, place: str) -> Document:
    if len(given.text) > limits.characters:
        raise Refusal(413, f"{place}text has {len(given.text):,} characters, the most is {limits.characters:,}")
    if len(given.mentions) > limits.mentions:
        raise Refusal(413, f"{place}mentions are {len(given.mentions):,}, the most is {limits.mentions:,}")
    for number, mention in enumerate(given.mentions):
        if (length := mention.length()) > limits.mention:
            why = f"{place}mentions.{number} has {length:,} characters, the most is {limits.mention:,}"
            raise Refusal(422, why)
    try:
        return given.checked()
    except ValueError as error:
        raise Refusal(422, f"{place}{error}") from error


def link_request(raw: bytes, limits: Limits) -> tuple[list[Document], Asked]:
    """The documents of a request to ``/link``, in order, and how it wants them linked.

    Raises:
        Refusal: it is none, or one of its documents cannot be.
    """
    asked = parsed(_LINK, raw)
    return asked.checked(limits), asked.asked


def batch_line(raw: bytes, limits: Limits) -> Document:
    """A line of a request to ``/link/batch``.

    Raises:
        Refusal: it is no document.
    """
    return _document(parsed(_DOCUMENT, raw), limits, "")


_LINK = parser(LinkRequest)
_DOCUMENT = parser(DocumentIn)


# Answers, as the OpenAPI document shows them; what is sent is written by `nomina.serve.engine`.


@dataclass(frozen=True, slots=True)
class MentionOut:
    """What was linked."""

    spans: tuple[Span, ...]
    text: str
    type: str | None


@dataclass(frozen=True, slots=True)
class PredictionOut:
    """See ``nomina.Prediction``."""

    mention: MentionOut
    candidates: tuple[Candidate, ...]
    ambiguous: bool
    abstained: bool
    probability: float | None
    negated: bool
    experiencer: Experiencer
    hypothetical: bool


@dataclass(frozen=True, slots=True)
class DocumentOut:
    """The predictions of a document, in the order of its mentions, and the fingerprint of the KB that was linked to."""

    id: str
    kb: str
    predictions: tuple[PredictionOut, ...]


@dataclass(frozen=True, slots=True)
class LinkResponse:
    """One entry a document, in order."""

    documents: tuple[DocumentOut, ...]


@dataclass(frozen=True, slots=True)
class LineError:
    """A line of a batch that could not be linked: its number, from 1, and why."""

    line: int
    error: str


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A concept beside another one."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ConceptOut:
    """A concept; of its children the first thousand, of ``children_total``."""

    id: str
    name: str
    names: tuple[Name, ...]
    definition: str | None
    types: tuple[str, ...]
    parents: tuple[Neighbour, ...]
    children: tuple[Neighbour, ...]
    children_total: int
    xrefs: tuple[str, ...]
    retired_ids: tuple[str, ...]
    kb: str


@dataclass(frozen=True, slots=True)
class SearchOut:
    """Concepts for an id, for what names begin with, and then as the linker ranks them; each once."""

    candidates: tuple[Candidate, ...]
    kb: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a request was not answered with what it asks for."""

    error: str
