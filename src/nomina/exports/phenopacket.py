"""GA4GH Phenopackets 2.0 as JSON, one packet a line and document; the line of one document is a whole file.

https://phenopacket-schema.readthedocs.io/en/latest/phenopacket.html
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, TextIO

from nomina._version import __version__
from nomina.errors import UsageError
from nomina.kb.store import KnowledgeBase
from nomina.types import Prediction

SCHEMA_VERSION = "2.0"
_HPO = "HP:"
_RELEASES = "hp/releases/"


def check(kb: KnowledgeBase, *, created: str = "", created_by: str = "") -> None:
    """Look at the KB and the options of ``write``.

    Raises:
        UsageError: the KB has other ids than those of HPO, or ``created`` is no moment.
    """
    other = next((id for id in kb if not id.startswith(_HPO)), None)
    if other is not None:
        raise UsageError(
            f"a phenopacket's features are HPO terms, but the KB {kb.manifest.name} has {other!r}: use --kb hpo"
        )
    _moment(created)


def write(
    predictions: Iterable[Prediction],
    stream: TextIO,
    kb: KnowledgeBase,
    *,
    dropped: Counter[str] | None = None,
    created: str = "",
    created_by: str = f"nomina {__version__}",
) -> None:
    """Write one packet a line: id and subject are the document's id, the features what is said of the patient.

    A term comes once a document; where it is said to be there and also denied, it is there. ``dropped`` counts what is
    left out: abstentions, family findings, hypothetical and ambiguous ones, and such denials. Documents without a
    prediction have no packet.

    Args:
        predictions: those of a document one after the other.
        stream: where to.
        kb: what they are linked to.
        dropped: see above.
        created: the moment that the packets say, as 2026-01-31T12:00:00Z; by default now.
        created_by: who made them.

    Raises:
        UsageError: the KB has other ids than those of HPO, or ``created`` is no moment.
    """
    check(kb, created=created)
    dropped = Counter() if dropped is None else dropped
    about = {
        "created": _moment(created),
        "createdBy": created_by,
        "resources": [_resource(kb)],
        "phenopacketSchemaVersion": SCHEMA_VERSION,
    }
    for id, own in groupby(predictions, key=lambda prediction: prediction.document_id):
        packet = {"id": id, "subject": {"id": id}, "phenotypicFeatures": features(own, dropped), "metaData": about}
        stream.write(json.dumps(packet, ensure_ascii=False) + "\n")


def features(predictions: Iterable[Prediction], dropped: Counter[str] | None = None) -> list[dict[str, Any]]:
    """The ``phenotypicFeatures`` of a document's predictions, in order of appearance; ``dropped`` as in ``write``."""
    dropped = Counter() if dropped is None else dropped
    found: dict[str, dict[str, Any]] = {}
    for prediction in predictions:
        if reason := _left_out(prediction):
            dropped[reason] += 1
            continue
        best = prediction.candidates[0]
        type = {"id": best.entity_id, "label": best.preferred}
        before = found.get(best.entity_id)
        if before is not None and prediction.negated != ("excluded" in before):
            dropped["denied and affirmed"] += 1
        if before is None or not prediction.negated:
            found[best.entity_id] = {"type": type, "excluded": True} if prediction.negated else {"type": type}
    return list(found.values())


def _left_out(prediction: Prediction) -> str | None:
    if prediction.abstained or not prediction.candidates:
        return "abstained"
    if prediction.ambiguous:
        return "ambiguous"
    if prediction.experiencer == "family":
        return "family"
    return "hypothetical" if prediction.hypothetical else None


def _resource(kb: KnowledgeBase) -> dict[str, str]:
    return {
        "id": "hp",
        "name": "Human Phenotype Ontology",
        "url": "http://purl.obolibrary.org/obo/hp.owl",
        "version": (kb.manifest.release or "unknown").removeprefix(_RELEASES),
        "namespacePrefix": "HP",
        "iriPrefix": "http://purl.obolibrary.org/obo/HP_",
    }


def _moment(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text) if text else datetime.now(UTC)
        if moment.tzinfo is None:
            raise ValueError("no time zone")
    except ValueError as error:
        raise UsageError(f"the option created is a moment such as 2026-01-31T12:00:00Z, not {text!r}") from error
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
