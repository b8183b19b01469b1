"""A spaCy pipe, ``nlp.add_pipe("nomina", config={...})``, which spaCy finds by an entry point.

The concept goes into ``ent.kb_id_``, all that is known of it into ``ent._.nomina``. What is serialised, and sent to
another process, is the configuration: the KB and the encoder are opened again where the pipe is used.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

from nomina.errors import MissingExtra, UsageError
from nomina.output import as_record
from nomina.pipeline import Pipeline, load
from nomina.types import Document, Mention, Prediction

try:
    _language: Any = import_module("spacy.language").Language
    _span: Any = import_module("spacy.tokens").Span
    _util: Any = import_module("spacy.util")
except ImportError as error:
    raise MissingExtra("spacy", "nomina.spacy_pipe") from error

Mentions = Literal["auto", "ents", "find"]
"""What is linked: entities where a document has any, else what nomina finds; entities alone; what it finds alone."""

GROUP = "nomina"
"""The span group of what nomina has found: also mentions that overlap, which ``doc.ents`` cannot hold."""

DEFAULTS: dict[str, Any] = {
    "kb": "hpo",
    "linker": "cascade",
    "k": 5,
    "threshold": None,
    "under": [],
    "types": [],
    "overlaps": "longest",
    "context": True,
    "spans": None,
    "mentions": "auto",
    "label": "CONCEPT",
}
"""The configuration: the arguments of ``nomina.load``, what is linked (``Mentions``), the label of found entities."""

_BATCH = 64
_FILE = "nomina.json"
_OWN = ("mentions", "label")


class NominaPipe:
    """Links the entities of documents. Made by ``nlp.add_pipe("nomina")``.

    Args:
        name: of the pipe.
        config: values in place of ``DEFAULTS``.

    Raises:
        UsageError: an unknown key, or a value it cannot have.
        KnowledgeBaseError: no such KB.
    """

    def __init__(self, name: str = "nomina", config: Mapping[str, Any] | None = None) -> None:
        self.name = name
        self._set(config or {})
        if not _span.has_extension("nomina"):
            _span.set_extension("nomina", default=None)

    def _set(self, config: Mapping[str, Any]) -> None:
        if unknown := sorted(set(config) - set(DEFAULTS)):
            raise UsageError(f"the pipe nomina has no option {unknown[0]!r}; there are: {', '.join(DEFAULTS)}")
        merged = {**DEFAULTS, **config}
        if merged["mentions"] not in get_args(Mentions):
            raise UsageError(f"mentions must be one of {', '.join(get_args(Mentions))}, not {merged['mentions']!r}")
        if not isinstance(merged["label"], str) or not merged["label"]:
            raise UsageError(f"label must be a text, not {merged['label']!r}")
        self.config: dict[str, Any] = {
            key: str(value) if isinstance(value, Path) else value for key, value in merged.items()
        }
        self._opened: dict[int, Pipeline] = {}
        _ = self.pipeline

    @property
    def pipeline(self) -> Pipeline:
        """The linker of this process.

        A forked child opens its own, as the threads of a model do not come along; the parent's stays, since a model
        that waits for its threads to end would wait for ever.
        """
        if os.getpid() not in self._opened:
            arguments: dict[str, Any] = {key: value for key, value in self.config.items() if key not in _OWN}
            self._opened[os.getpid()] = load(**arguments)
        return self._opened[os.getpid()]

    def __call__(self, doc: Any) -> Any:  # noqa: ANN401
        """Link one document, in place."""
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Any], *, batch_size: int = _BATCH) -> Iterator[Any]:
        """Link documents, a batch at a time."""
        stream = iter(stream)
        while docs := list(islice(stream, batch_size)):
            yield from self._linked(docs)

    def _linked(self, docs: list[Any]) -> list[Any]:
        mode = self.config["mentions"]
        given = [
            _with_ents(str(i), doc) for i, doc in enumerate(docs) if mode == "ents" or (mode == "auto" and doc.ents)
        ]
        taken = {document.id for document in given}
        bare = [Document(str(i), doc.text) for i, doc in enumerate(docs) if mode != "ents" and str(i) not in taken]
        found: dict[str, list[Prediction]] = {}
        for prediction in self.pipeline.link([*(d for d in given if d.mentions), *bare]):
            found.setdefault(prediction.document_id, []).append(prediction)
        for i, doc in enumerate(docs):
            own = found.get(str(i), [])
            if str(i) in taken:
                _mark(doc, list(zip(doc.ents, own, strict=True)))
            else:
                self._add(doc, own)
        return docs

    def _add(self, doc: Any, predictions: list[Prediction]) -> None:  # noqa: ANN401
        """Spans of what was found, from the first word of each to the last; entities those that do not overlap."""
        spans = [
            doc.char_span(p.mention.start, p.mention.end, label=self.config["label"], alignment_mode="expand")
            for p in predictions
        ]
        pairs: dict[tuple[int, int], tuple[Any, Prediction]] = {}
        for span, prediction in zip(spans, predictions, strict=True):
            pairs.setdefault((span.start, span.end), (span, prediction))
        doc.spans[GROUP] = [_linked_span(span, prediction) for span, prediction in pairs.values()]
        kept = _util.filter_spans([span for span, _ in pairs.values()])
        _mark(doc, [pairs[span.start, span.end] for span in kept])
        for span, prediction in pairs.values():
            span._.nomina = _said(prediction)

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The configuration."""
        packed: bytes = _util.to_bytes({"config": lambda: self.config}, exclude)
        return packed

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> NominaPipe:
        """Take a configuration over."""
        _util.from_bytes(data, {"config": self._set}, exclude)
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the configuration into a folder."""
        _util.to_disk(Path(path), {_FILE: lambda file: file.write_bytes(self.to_bytes())}, exclude)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> NominaPipe:
        """Take the configuration of a folder over."""
        _util.from_disk(Path(path), {_FILE: lambda file: self.from_bytes(file.read_bytes())}, exclude)
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"name": self.name, "config": self.config}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["name"], state["config"])  # type: ignore[misc]


def _with_ents(id: str, doc: Any) -> Document:  # noqa: ANN401
    return Document(
        id,
        doc.text,
        tuple(Mention(((ent.start_char, ent.end_char),), ent.text, ent.label_ or None) for ent in doc.ents),
    )


def _mark(doc: Any, pairs: list[tuple[Any, Prediction]]) -> None:  # noqa: ANN401
    """Set the entities of a document, all of them anew: an id that is set on one alone is lost."""
    doc.ents = [_linked_span(span, prediction) for span, prediction in pairs]
    for ent, (_, prediction) in zip(doc.ents, pairs, strict=True):
        ent._.nomina = _said(prediction)


def _linked_span(span: Any, prediction: Prediction) -> Any:  # noqa: ANN401
    """The span with the concept's id; what a linker abstains from keeps the id that it had."""
    is_linked = bool(prediction.candidates) and not prediction.abstained
    id = prediction.candidates[0].entity_id if is_linked else span.kb_id_
    return _span(span.doc, span.start, span.end, label=span.label, kb_id=id, span_id=span.id)


def _said(prediction: Prediction) -> dict[str, Any]:
    """All but the mention: lists and plain values, which spaCy can send and save."""
    record = as_record(prediction)
    return {key: value for key, value in record.items() if key not in ("document_id", "mention")}


def make_pipe(
    nlp: Any,  # noqa: ANN401
    name: str,
    kb: str,
    linker: str,
    k: int,
    threshold: float | None,
    under: list[str],
    types: list[str],
    overlaps: str,
    context: bool,
    spans: bool | None,
    mentions: str,
    label: str,
) -> NominaPipe:
    """What spaCy calls to make the pipe; it refuses keys that are not here, and values of another type."""
    config = {
        "kb": kb, "linker": linker, "k": k, "threshold": threshold, "under": under, "types": types,
        "overlaps": overlaps, "context": context, "spans": spans, "mentions": mentions, "label": label,
    }  # fmt: skip
    return NominaPipe(name, config)


_language.factory("nomina", default_config=DEFAULTS, assigns=["doc.ents", "doc.spans", "span._.nomina"], func=make_pipe)
