"""Predictions for programs: JSON lines, which ``read_predictions`` reads back, and TSV."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from nomina.errors import FormatError
from nomina.reading import lines_of, opened
from nomina.records import parser
from nomina.types import Candidate, Mention, Prediction

_DECIMALS = 6
_COLUMNS = (
    "document_id", "start", "end", "spans", "mention", "rank", "entity_id", "preferred", "name", "rule", "score",
    "ambiguous", "abstained", "negated", "experiencer", "hypothetical", "probability",
)  # fmt: skip


def write_jsonl(predictions: Iterable[Prediction], stream: TextIO) -> None:
    """One prediction a line, with the fields of the dataclasses; scores and probabilities have six decimals."""
    for prediction in predictions:
        stream.write(json.dumps(as_record(prediction), ensure_ascii=False) + "\n")


def as_record(prediction: Prediction) -> dict[str, Any]:
    """A prediction as plain values that JSON can hold.

    Written out field by field: ``dataclasses.asdict`` takes a quarter of the time of detection and linking.
    """
    probability = prediction.probability
    return {
        "document_id": prediction.document_id,
        "mention": _mention(prediction.mention),
        "candidates": [_candidate(candidate) for candidate in prediction.candidates],
        "ambiguous": prediction.ambiguous,
        "abstained": prediction.abstained,
        "probability": probability if probability is None else round(probability, _DECIMALS),
        "negated": prediction.negated,
        "experiencer": prediction.experiencer,
        "hypothetical": prediction.hypothetical,
    }


def _mention(mention: Mention) -> dict[str, Any]:
    return {"spans": mention.spans, "text": mention.text, "type": mention.type, "gold": mention.gold}


def _candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        "entity_id": candidate.entity_id,
        "preferred": candidate.preferred,
        "name": candidate.name,
        "score": round(candidate.score, _DECIMALS),
        "rank": candidate.rank,
        "rule": candidate.rule,
        "row": candidate.row,
    }


def read_predictions(path: str | Path) -> Iterator[Prediction]:
    """The predictions of a file that ``write_jsonl`` wrote, in order; it may be packed with gzip.

    Raises:
        FormatError: a line that is no prediction, with its number.
    """
    path, parse = Path(path), parser(Prediction)
    with opened(path) as stream:
        for number, line in lines_of(stream, path):
            if not line.strip():
                continue
            try:
                prediction = _finite(parse(line))
            except ValueError as error:
                raise FormatError(path, number, str(error)) from error
            yield prediction


def _finite(prediction: Prediction) -> Prediction:
    for candidate in prediction.candidates:
        if not math.isfinite(candidate.score):
            raise ValueError(f"the score of {candidate.entity_id!r} is {candidate.score}, which is no number")
    return prediction


def write_tsv(predictions: Iterable[Prediction], stream: TextIO) -> None:
    """A header, then one line a candidate; a mention without candidates has one line with those fields empty.

    ``start`` and ``end`` are the mention's outermost offsets, ``spans`` all of them ("0-5;17-23"). ``probability``,
    of the first candidate, stands on all lines of a mention, empty where there is none. New columns come last. Tabs and
    line breaks within a field become a space.
    """
    stream.write("\t".join(_COLUMNS) + "\n")
    for prediction in predictions:
        mention = prediction.mention
        spans = ";".join(f"{start}-{end}" for start, end in mention.spans)
        first = (prediction.document_id, str(mention.start), str(mention.end), spans, mention.text)
        flags = (prediction.ambiguous, prediction.abstained, prediction.negated)
        likely = "" if prediction.probability is None else f"{prediction.probability:.{_DECIMALS}f}"
        last = (*map(_flag, flags), prediction.experiencer, _flag(prediction.hypothetical), likely)
        for candidate in prediction.candidates or (None,):
            fields = (*first, *_candidate_fields(candidate), *last)
            stream.write("\t".join(" ".join(field.split()) for field in fields) + "\n")


def _flag(value: bool) -> str:
    return str(value).lower()


def _candidate_fields(candidate: Candidate | None) -> tuple[str, ...]:
    if candidate is None:
        return ("",) * 6
    score = f"{candidate.score:.{_DECIMALS}f}"
    return (
        str(candidate.rank), candidate.entity_id, candidate.preferred, candidate.name, candidate.rule, score,
    )  # fmt: skip
