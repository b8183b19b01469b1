"""Predictions for people: a table that fits the terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Literal, TextIO

from nomina.types import Prediction

Layout = Literal["documents", "mentions"]
"""Documents, each under a line with its id; or a list of mentions, whose ids are line numbers."""

_HEADER = ("mention", "offsets", "id", "name", "matched name", "rule", "score", "prob.", "remarks")
_NARROWEST = 8
_GAP = "  "
_BLOCK = 500
_INVISIBLE = ("Mn", "Me", "Cf")

Row = tuple[str, ...]


def write_table(
    predictions: Iterable[Prediction],
    stream: TextIO,
    *,
    layout: Layout = "documents",
    untitled: str | None = None,
    width: int | None = None,
) -> None:
    """One line a candidate, aligned; a mention's further candidates stand under its first, which has the probability.

    Args:
        predictions: those of a document next to each other.
        stream: where it is written to, document by document (mentions: some hundreds at a time).
        layout: what they are predictions of.
        untitled: the id of a document that needs no title, as it is the only one.
        width: columns of the terminal; long names are cut so that lines fit. Nothing is cut where it is None.
    """
    header = ("line", "mention", *_HEADER[2:]) if layout == "mentions" else _HEADER
    flexible = (1, 3, 4) if layout == "mentions" else (0, 3, 4)
    first = True
    for id, block in _blocks(predictions, layout):
        rows = [row for prediction in block for row in _rows(prediction, layout)]
        if layout == "documents" or first:
            rows.insert(0, header)
        if layout == "documents":
            stream.write("" if first else "\n")
            stream.write("" if id == untitled else _shown(id) + "\n")
        stream.writelines(_lines(rows, flexible, width))
        first = False


def _blocks(predictions: Iterable[Prediction], layout: Layout) -> Iterator[tuple[str, list[Prediction]]]:
    """What is aligned together."""
    if layout == "documents":
        for id, group in groupby(predictions, key=lambda prediction: prediction.document_id):
            yield id, list(group)
        return
    stream = iter(predictions)
    while block := list(islice(stream, _BLOCK)):
        yield "", block


def _rows(prediction: Prediction, layout: Layout) -> Iterator[Row]:
    mention = _shown(prediction.mention.text)
    offsets = "+".join(f"{start}-{end}" for start, end in prediction.mention.spans)
    place: Row = (prediction.document_id, mention) if layout == "mentions" else (mention, offsets)
    likely = "" if prediction.probability is None else f"{prediction.probability:.2f}"
    remarks = _remarks(prediction)
    for found in prediction.candidates:
        names = _shown(found.entity_id), _shown(found.preferred), _shown(found.name)
        yield (*place, *names, found.rule, f"{found.score:.3f}", likely, remarks)
        place, likely, remarks = ("", ""), "", ""
    if not prediction.candidates:
        yield (*place, "", "", "", "", "", likely, remarks)


def _remarks(prediction: Prediction) -> str:
    remarks = {
        "abstained": prediction.abstained,
        "ambiguous": prediction.ambiguous,
        "negated": prediction.negated,
        "family": prediction.experiencer == "family",
        "hypothetical": prediction.hypothetical,
    }
    return ", ".join(remark for remark, holds in remarks.items() if holds)


def _shown(text: str) -> str:
    """On one line, without characters that a terminal takes for commands."""
    return "".join(c for c in " ".join(text.split()) if c.isprintable() or unicodedata.category(c) == "Cf")


def _lines(rows: Sequence[Row], flexible: Sequence[int], width: int | None) -> Iterator[str]:
    widths = [max(map(_columns, cells)) for cells in zip(*rows, strict=True)]
    if width is not None:
        widths = _fitted(widths, flexible, width)
    for row in rows:
        cells = [_cut(cell, size) for cell, size in zip(row, widths, strict=True)]
        padded = (cell + " " * (size - _columns(cell)) for cell, size in zip(cells, widths, strict=True))
        yield _GAP.join(padded).rstrip() + "\n"


def _fitted(widths: Sequence[int], flexible: Sequence[int], width: int) -> list[int]:
    """Widths whose sum fits a line, the widest columns of names made narrower first, none too narrow to be read."""
    widths = [min(size, max(width, _NARROWEST)) if i in flexible else size for i, size in enumerate(widths)]
    most = max(widths[i] for i in flexible)
    while sum(widths) + len(_GAP) * (len(widths) - 1) > width and most > _NARROWEST:
        most -= 1
        widths = [min(size, most) if i in flexible else size for i, size in enumerate(widths)]
    return widths


def _columns(text: str) -> int:
    """How many columns of a terminal a text takes: wide characters two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_size, text))


def _size(character: str) -> int:
    if unicodedata.category(character) in _INVISIBLE:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _cut(text: str, width: int) -> str:
    if _columns(text) <= width:
        return text
    kept, used = "", 0
    for character in text:
        used += _size(character)
        if used > width - 1:
            break
        kept += character
    return kept + "…"
