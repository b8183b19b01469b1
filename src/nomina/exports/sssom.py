"""SSSOM/TSV, the Simple Standard for Sharing Ontological Mappings 1.0 (https://w3id.org/sssom).

What is mapped is the text of a mention, a "literal mapping" of the standard, or a term with an id of its own. It suits
lists of terms: each distinct mapping is one row, and what a text says around a mention (negation) has no place in it.
"""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from datetime import date as Date
from typing import NamedTuple, Protocol, TextIO
from urllib.parse import quote

from nomina._version import __version__
from nomina.errors import UsageError
from nomina.exports import context
from nomina.exports.ids import Terminology, terminology_of, written
from nomina.kb.store import KnowledgeBase
from nomina.linkers.base import Rule
from nomina.types import Candidate, Prediction

NO_TERM = "sssom:NoTermFound"
"""The object of a mention that the linker abstains from."""

UNSPECIFIED = "https://w3id.org/sssom/license/unspecified"
"""The licence of a mapping set whose maker names none."""

_LITERAL = "rdfs literal"
_TERM = "term"
_DECIMALS = 6
_COLUMNS = (
    "subject_id", "subject_label", "subject_type", "predicate_id", "object_id", "object_label",
    "mapping_justification", "confidence", "similarity_score", "similarity_measure", "comment",
)  # fmt: skip
_SOURCES = {"obo": "http://purl.obolibrary.org/obo/", "bioregistry": "https://bioregistry.io/registry/"}
_OF_SCOPE = {"narrow": "skos:broadMatch", "broad": "skos:narrowMatch", "related": "skos:relatedMatch"}


class _Digest(Protocol):
    """A hash that takes bytes."""

    def update(self, data: bytes, /) -> None:
        """Take them."""


class _Kind(NamedTuple):
    predicate: str
    justification: str
    measure: str = ""


_LEXICAL, _SEMANTIC = "semapv:LexicalMatching", "semapv:SemanticSimilarityThresholdMatching"
_EXACT, _CLOSE = _Kind("skos:exactMatch", _LEXICAL), _Kind("skos:closeMatch", _LEXICAL)
KINDS: dict[str, _Kind] = {
    Rule.EXACT.label: _EXACT,
    Rule.NORMALISED.label: _EXACT,
    Rule.SPELLING.label: _EXACT,
    Rule.INFLECTION.label: _CLOSE,
    Rule.ORDER.label: _CLOSE,
    Rule.DERIVATION.label: _CLOSE,
    Rule.LAY_TERM.label: _CLOSE,
    Rule.ABBREVIATION.label: _CLOSE,
    Rule.TFIDF.label: _Kind(
        "skos:closeMatch", "semapv:LexicalSimilarityThresholdMatching", "cosine of character trigrams, TF-IDF"
    ),
    Rule.EMBEDDING.label: _Kind("skos:closeMatch", _SEMANTIC, "cosine of embeddings"),
    Rule.GENERATIVE.label: _Kind("skos:closeMatch", _SEMANTIC, "1 / (1 - log-probability of the name)"),
}
"""Rule of a candidate -> predicate, justification, and the measure that its score is of."""


def write(
    predictions: Iterable[Prediction],
    stream: TextIO,
    kb: KnowledgeBase,
    *,
    dropped: Counter[str] | None = None,
    license: str = UNSPECIFIED,
    mapping_set_id: str = "",
    date: str = "",
    subjects: str = "",
    namespace: str = "",
) -> None:
    """Write a mapping set; nothing is written before all predictions are read, since the head names all prefixes.

    A row is a candidate of the first rank. The predicate is that of the rule (``KINDS``); where the KB name that
    matched is a narrow, broad or related synonym, that of the scope; where nothing tells several concepts apart,
    ``skos:relatedMatch``. ``confidence`` is the probability, else the score. An abstention is a row with ``NO_TERM``.
    ``dropped`` counts negated, family and hypothetical mentions, which are written as any other.

    Args:
        predictions: what is written.
        stream: where to.
        kb: what they are linked to.
        dropped: see above.
        license: URI of the licence of the mapping set.
        mapping_set_id: its URI; by default a UUID of its content.
        date: the day of the mapping, as 2026-01-31; by default today.
        subjects: URI that the document ids are put behind, for terms with ids of their own: those are the subjects
            then, one mention a document; by default the subject is the text.
        namespace: URI that ids of an unknown terminology stand behind, with their prefix.

    Raises:
        UsageError: a date or URI that is none.
    """
    check(kb, license=license, mapping_set_id=mapping_set_id, date=date, subjects=subjects, namespace=namespace)
    dropped = Counter() if dropped is None else dropped
    head = _Head(kb, namespace or f"urn:x-nomina:{quote(kb.manifest.name)}:", subjects)
    digest = hashlib.sha256(kb.fingerprint.encode())
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as rows:
        table = csv.writer(rows, delimiter="\t", lineterminator="\n")
        for row in _distinct(_rows(predictions, head, dropped), digest):
            table.writerow(row)
        id = mapping_set_id or uuid.uuid5(uuid.NAMESPACE_OID, digest.hexdigest()).urn
        stream.writelines(head.lines(id, license, date or datetime.now(UTC).date().isoformat()))
        csv.writer(stream, delimiter="\t", lineterminator="\n").writerow(_COLUMNS)
        rows.seek(0)
        shutil.copyfileobj(rows, stream)


def check(
    kb: KnowledgeBase, *, license: str = "", mapping_set_id: str = "", date: str = "", subjects: str = "",
    namespace: str = "",
) -> None:  # fmt: skip
    """Look at the options of ``write``.

    Raises:
        UsageError: a date or URI that is none.
    """
    uris = {"license": license, "mapping_set_id": mapping_set_id, "subjects": subjects, "namespace": namespace}
    for key, value in uris.items():
        scheme, colon, rest = value.partition(":")
        if value and not (colon and rest and scheme.isalpha() and value.isprintable() and " " not in value):
            raise UsageError(f"the option {key} is a URI, such as https://example.org/terms/, not {value!r}")
    try:
        Date.fromisoformat(date or "2026-01-31")
    except ValueError as error:
        raise UsageError(f"the option date is a day such as 2026-01-31, not {date!r}") from error


class _Head:
    """The block of metadata, with the prefixes that were met."""

    def __init__(self, kb: KnowledgeBase, namespace: str, subjects: str) -> None:
        self.kb, self.namespace, self.subjects = kb, namespace, subjects
        self.prefixes: dict[str, str] = {_TERM: subjects} if subjects else {}

    def curie(self, id: str) -> str:
        """An id of the KB, its prefix noted down."""
        found = written(id, self.kb)
        iri = found.terminology.iri if found.terminology else f"{self.namespace}{found.prefix}:"
        self.prefixes[found.prefix] = iri
        return found.curie

    def lines(self, id: str, license: str, date: str) -> Iterator[str]:
        """YAML behind ``#``; JSON strings are YAML's too."""
        source = self._source(terminology_of(self.kb))
        yield "#curie_map:\n"
        yield from (f"#  {prefix}: {json.dumps(iri)}\n" for prefix, iri in sorted(self.prefixes.items()))
        fields = {
            "mapping_set_id": id,
            "license": license,
            "mapping_tool": "nomina",
            "mapping_tool_version": __version__,
            "mapping_date": date,
            "object_source": source,
            "object_source_version": self.kb.manifest.release,
        }
        yield from (f"#{key}: {_yaml(key, value)}\n" for key, value in fields.items() if value)

    def _source(self, terminology: Terminology | None) -> str:
        """What the KB is, as a CURIE."""
        if terminology is None:
            self.prefixes["kb"] = f"{self.namespace}kb:"
            return f"kb:{quote(self.kb.manifest.name)}"
        prefix = "obo" if terminology.iri.startswith(_SOURCES["obo"]) else "bioregistry"
        self.prefixes[prefix] = _SOURCES[prefix]
        return f"{prefix}:{terminology.prefix.lower()}"


def _yaml(key: str, value: str) -> str:
    return value if key == "mapping_date" else json.dumps(value, ensure_ascii=False)


def _rows(predictions: Iterable[Prediction], head: _Head, dropped: Counter[str]) -> Iterator[tuple[str, ...]]:
    for prediction in predictions:
        for what, is_so in context(prediction).items():
            dropped[what] += is_so
        label = _cell(prediction.mention.text)
        if not label:
            dropped["empty mentions"] += 1
            continue
        id = f"{_TERM}:{quote(prediction.document_id, safe='-._~:')}" if head.subjects else ""
        subject = (id, label, "" if head.subjects else _LITERAL)
        if prediction.abstained:
            yield (*subject, "skos:exactMatch", NO_TERM, "", "semapv:CompositeMatching", "", "", "", "")
            continue
        for candidate in prediction.candidates:
            if candidate.rank == 1:
                yield (*subject, *_object(prediction, candidate, head))


def _object(prediction: Prediction, candidate: Candidate, head: _Head) -> tuple[str, ...]:
    kind = KINDS.get(candidate.rule, _Kind("skos:relatedMatch", "semapv:UnspecifiedMatching"))
    predicate = _OF_SCOPE.get(_scope(candidate, head.kb), kind.predicate)
    score = _number(candidate.score)
    likely = score if prediction.probability is None else _number(prediction.probability)
    remark = "; ambiguous" if prediction.ambiguous else ""
    return (
        "skos:relatedMatch" if prediction.ambiguous else predicate,
        head.curie(candidate.entity_id),
        _cell(candidate.preferred),
        kind.justification,
        likely,
        score if kind.measure else "",
        kind.measure,
        f"rule: {candidate.rule}; name: {_cell(candidate.name)}{remark}",
    )


def _scope(candidate: Candidate, kb: KnowledgeBase) -> str:
    """How close the KB name that matched is to its concept."""
    scopes = (owner.name.scope for owner in kb.owners_of(candidate.row) if owner.entity_id == candidate.entity_id)
    return next(scopes, "exact")


def _cell(text: str) -> str:
    """A text on one line; half a surrogate pair becomes a question mark."""
    return " ".join(text.split()).encode("utf-8", "replace").decode("utf-8")


def _number(value: float) -> str:
    return f"{min(max(value, 0.0), 1.0):.{_DECIMALS}f}"


def _distinct(rows: Iterable[tuple[str, ...]], digest: _Digest) -> Iterator[tuple[str, ...]]:
    """Rows that were not there before, by a hash of 16 bytes each; all of them go into ``digest``."""
    seen: set[bytes] = set()
    for row in rows:
        key = hashlib.blake2b("\t".join(row).encode(), digest_size=16).digest()
        if key not in seen:
            seen.add(key)
            digest.update(key)
            yield row
