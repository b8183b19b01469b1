"""FHIR JSON: one ``Parameters`` resource a line and mention, with a ``CodeableConcept`` (R4, R4B, R5 alike).

Which resource a mention belongs in (Condition, Observation, FamilyMemberHistory), and whose, is for the reader to
say: a line claims no diagnosis. Being a resource, it goes through any FHIR parser or validator.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, TextIO

from nomina.exports.ids import written
from nomina.kb.store import KnowledgeBase
from nomina.types import Candidate, Prediction

_DECIMALS = 6


def write(
    predictions: Iterable[Prediction],
    stream: TextIO,
    kb: KnowledgeBase,
    *,
    dropped: Counter[str] | None = None,
) -> None:
    """Write one resource a line. ``dropped`` counts mentions that the linker abstains from, which are left out."""
    dropped = Counter() if dropped is None else dropped
    for prediction in predictions:
        if prediction.abstained or not prediction.candidates:
            dropped["abstained"] += 1
            continue
        stream.write(json.dumps(parameters(prediction, kb), ensure_ascii=False) + "\n")


def parameters(prediction: Prediction, kb: KnowledgeBase) -> dict[str, Any]:
    """A prediction as a ``Parameters`` resource.

    ``document``, a ``span`` with ``start`` and ``end`` (code points, end exclusive) for each span, ``concept``, a
    ``candidate`` with ``concept``, ``score`` and ``rule`` for each, ``probability`` where there is one, and
    ``ambiguous``, ``negated``, ``family`` and ``hypothetical``.
    """
    probability = prediction.probability
    flags = {
        "ambiguous": prediction.ambiguous,
        "negated": prediction.negated,
        "family": prediction.experiencer == "family",
        "hypothetical": prediction.hypothetical,
    }
    found = [
        {"name": "document", "valueString": prediction.document_id},
        *(_span(start, end) for start, end in prediction.mention.spans),
        {"name": "concept", "valueCodeableConcept": codeable_concept(prediction, kb)},
        *(_candidate(candidate, kb) for candidate in prediction.candidates),
        *([] if probability is None else [{"name": "probability", "valueDecimal": round(probability, _DECIMALS)}]),
        *({"name": name, "valueBoolean": value} for name, value in flags.items()),
    ]
    return {"resourceType": "Parameters", "parameter": found}


def codeable_concept(prediction: Prediction, kb: KnowledgeBase) -> dict[str, Any]:
    """The mention as text, and the concept it is linked to as coding.

    The codings of a CodeableConcept mean the same, so that other candidates are none of them; where nothing tells
    several concepts apart, or the linker abstains, the text stands alone, as FHIR has it for what is not coded.
    """
    coded = not (prediction.ambiguous or prediction.abstained) and bool(prediction.candidates)
    coding = {"coding": [coding_of(prediction.candidates[0], kb)]} if coded else {}
    return {**coding, "text": prediction.mention.text}


def coding_of(candidate: Candidate, kb: KnowledgeBase) -> dict[str, Any]:
    """A candidate as ``Coding``; nobody has chosen it, so ``userSelected`` is false.

    Without ``system`` where the terminology of the KB is unknown (``nomina.exports.ids``).
    """
    id = written(candidate.entity_id, kb)
    system = {"system": id.terminology.system} if id.terminology else {}
    code = id.code if id.terminology else candidate.entity_id
    return {**system, "code": code, "display": candidate.preferred, "userSelected": False}


def _span(start: int, end: int) -> dict[str, Any]:
    return {"name": "span", "part": [{"name": "start", "valueInteger": start}, {"name": "end", "valueInteger": end}]}


def _candidate(candidate: Candidate, kb: KnowledgeBase) -> dict[str, Any]:
    part = [
        {"name": "concept", "valueCoding": coding_of(candidate, kb)},
        {"name": "score", "valueDecimal": round(candidate.score, _DECIMALS)},
        {"name": "rule", "valueString": candidate.rule},
    ]
    return {"name": "candidate", "part": part}
