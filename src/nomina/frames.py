"""A column of mentions in a DataFrame of pandas or polars, or in a list of dicts, linked; neither library is imported.

>>> import nomina
>>> from nomina.frames import link_frame
>>> link_frame(nomina.load(), [{"term": "seizures"}], "term")[0]["concept_id"]
'HP:0001250'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from numbers import Real
from typing import Any, NamedTuple, TypeVar

from nomina.errors import UsageError
from nomina.pipeline import Pipeline
from nomina.types import Prediction

Frame = TypeVar("Frame")

COLUMNS: dict[str, type] = {
    "concept_id": str,
    "preferred": str,
    "name": str,
    "score": float,
    "probability": float,
    "rule": str,
    "rank": int,
    "ambiguous": bool,
    "abstained": bool,
}
"""The columns that ``link_frame`` adds, with the types of their values."""

_MISSING = ("NoneType", "NAType", "NaTType")  # the latter two are of pandas, and cannot be compared
_PANDAS = {float: "float64", int: "Int64", str: "object", bool: "bool"}


class _Linked(NamedTuple):
    """For each row of the answer the number of the row that it comes from, and the values of ``COLUMNS``."""

    rows: list[int]
    columns: dict[str, list[Any]]


def link_frame(pipeline: Pipeline, frame: Frame, column: str, *, k: int = 1, prefix: str = "") -> Frame:
    """The frame with the concept of each mention.

    Rows keep their order, and their index in pandas. With k = 1 there is one row for each; with more, a row with k
    candidates comes k times. A missing value, a text without a visible character and a mention that the linker abstains
    from have ``abstained`` true and no concept: None, NaN in a column of numbers of pandas.

    Args:
        pipeline: made by ``nomina.load``.
        frame: a DataFrame of pandas or polars, or a list of dicts.
        column: the name of the column of mentions.
        k: how many candidates a mention may have; a tie at the end is cut.
        prefix: stands before the names of the new columns (``COLUMNS``).

    Raises:
        UsageError: no such column or two of that name, one of the new names is there already, a value that is no text,
            or no frame.
    """
    names = [f"{prefix}{name}" for name in COLUMNS]
    there = _columns(frame)
    if not there and isinstance(frame, list):
        return frame
    if column not in there:
        raise UsageError(f"the frame has no column {column!r}; there are: {', '.join(map(str, there))}")
    if there.count(column) > 1:
        raise UsageError(f"the frame has {there.count(column)} columns {column!r}: give the mentions' one its own name")
    if taken := [name for name in names if name in there]:
        raise UsageError(f"the frame has a column {taken[0]!r} already: choose a prefix for the new ones")
    linked = _linked(pipeline, _mentions(frame, column), k)
    new = dict(zip(names, linked.columns.values(), strict=True))
    types = dict(zip(names, COLUMNS.values(), strict=True))
    joined: Frame = _joined(frame, linked.rows, new, types)
    return joined


def _columns(frame: Any) -> list[Any]:  # noqa: ANN401
    if hasattr(frame, "columns") and (hasattr(frame, "iloc") or hasattr(frame, "hstack")):
        return list(frame.columns)
    if isinstance(frame, list) and all(isinstance(record, Mapping) for record in frame):
        return list(dict.fromkeys(name for record in frame for name in record))
    raise UsageError(f"link_frame takes a DataFrame of pandas or polars or a list of dicts, not {type(frame).__name__}")


def _mentions(frame: Any, column: str) -> Iterator[str]:  # noqa: ANN401
    values = (record.get(column) for record in frame) if isinstance(frame, list) else frame[column]
    for number, value in enumerate(values):
        if isinstance(value, str):
            yield value
        elif _is_missing(value):
            yield ""
        else:
            raise UsageError(f"row {number} (from 0) of the column {column!r} is no text but {type(value).__name__}")


def _is_missing(value: object) -> bool:
    return type(value).__name__ in _MISSING or (isinstance(value, Real) and value != value)


def _linked(pipeline: Pipeline, mentions: Iterable[str], k: int) -> _Linked:
    found = _Linked([], {name: [] for name in COLUMNS})
    for number, prediction in enumerate(pipeline.link_mentions(mentions, k=k)):
        for values in _values(prediction, k):
            found.rows.append(number)
            for name, value in zip(COLUMNS, values, strict=True):
                found.columns[name].append(value)
    return found


def _values(prediction: Prediction, k: int) -> Iterator[tuple[Any, ...]]:
    flags = (prediction.ambiguous, prediction.abstained)
    if prediction.abstained or not prediction.candidates:
        yield (*[None] * 7, *flags)
        return
    for c in prediction.candidates[:k]:
        likely = prediction.probability if c.rank == 1 else None
        yield (c.entity_id, c.preferred, c.name, c.score, likely, c.rule, c.rank, *flags)


def _joined(frame: Any, rows: list[int], new: dict[str, list[Any]], types: dict[str, type]) -> Any:  # noqa: ANN401
    """The rows of the frame, some of them several times, with the new columns."""
    if isinstance(frame, list):
        return [
            {**frame[row], **dict(zip(new, values, strict=True))}
            for row, values in zip(rows, zip(*new.values(), strict=True), strict=True)
        ]
    if hasattr(frame, "iloc"):
        dtypes = {name: _PANDAS[type] for name, type in types.items()}
        return frame.iloc[rows].assign(**new).astype(dtypes)
    return frame[rows].hstack(type(frame)(new, schema=types))
