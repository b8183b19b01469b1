"""The places of BioC: passages and annotations as a file has them, and how its offsets are to be read.

The text of a document is that of its passages, each at its offset; spaces fill the gaps between them. Offsets should
be characters of the document. Some files count bytes of UTF-8, or units of UTF-16, or begin anew in each passage: what
the annotations say of their own texts tells which.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from nomina.corpora.common import count, text_at
from nomina.reading import LARGEST_TEXT
from nomina.types import Span

_SPACE = " "


@dataclass(slots=True)
class Annotation:
    """An annotation as it stands in a file: offset and length of each location, its infons, its line if known."""

    infons: Mapping[str, str]
    locations: Sequence[tuple[int, int]]
    text: str | None
    line: int | None = None


@dataclass(slots=True)
class Passage:
    """A passage or sentence as it stands in a file; one without a text of its own has sentences."""

    offset: int
    text: str | None
    infons: Mapping[str, str]
    annotations: list[Annotation] = field(default_factory=list)
    sentences: list[Passage] = field(default_factory=list)


@dataclass(slots=True)
class Record:
    """A document as it stands in a file, with the line that it begins in."""

    id: str
    passages: list[Passage]
    annotations: list[Annotation] = field(default_factory=list)
    line: int | None = None


class Block(NamedTuple):
    """A stretch of text at its offset, and what is annotated in it."""

    offset: int
    text: str
    annotations: list[Annotation]


class Layout(NamedTuple):
    """One way to read the offsets: the text, where in it each block starts, and the place of an offset of a block."""

    text: str
    starts: list[int]
    place: Callable[[int, int], int | None]


def chosen(blocks: list[Block], others: list[Annotation], dropped: Counter[str]) -> Layout:
    """The first layout that all annotations fit, else the one that most do; another than by characters is counted.

    Args:
        blocks: all text of a document.
        others: annotations that stand in no block.
        dropped: "offsets" where those of the document are not those of the file.

    Raises:
        ValueError: blocks that overlap, and no annotation says how that is meant.
    """
    annotations = list(numbered(blocks, others))
    fault: ValueError | None = None
    best: tuple[int, Layout] | None = None
    for number, make in enumerate(_LAYOUTS):
        try:
            layout = make(blocks)
        except ValueError as error:
            fault = fault or error
            continue
        if fault and not annotations:
            break
        misfits = sum(not _fits(annotation, block, layout) for block, annotation in annotations)
        if not misfits:
            count(dropped, "offsets", number > 0)
            return layout
        if best is None or misfits < best[0]:
            best = misfits, layout
    if fault is None and best is not None:
        return best[1]
    raise fault or ValueError("its passages have no place")


def numbered(blocks: list[Block], others: list[Annotation]) -> Iterator[tuple[int, Annotation]]:
    """All annotations with the number of their block, -1 for those of the document."""
    for number, block in enumerate(blocks):
        for annotation in block.annotations:
            yield number, annotation
    for annotation in others:
        yield -1, annotation


def spans_of(annotation: Annotation, block: int, layout: Layout) -> tuple[Span, ...] | None:
    """Where an annotation of a block stands in the text; None where it does not."""
    found = []
    for offset, length in annotation.locations:
        start, end = layout.place(offset, block), layout.place(offset + length, block)
        if start is None or end is None or not 0 <= start <= end <= len(layout.text):
            return None
        found.append((start, end))
    return tuple(sorted(found))


def _fits(annotation: Annotation, block: int, layout: Layout) -> bool:
    if not annotation.locations:
        return True
    spans = spans_of(annotation, block, layout)
    if spans is None or not annotation.text:
        return spans is not None
    try:
        text_at(spans, layout.text, annotation.text)
    except ValueError:
        return False
    return True


def _laid_out(blocks: list[Block], length: Callable[[str], int], overlap: bool = False) -> tuple[str, list[int]]:
    """The text, and where in it each block starts.

    Raises:
        ValueError: a block that begins inside another, unless one space is to stand between them then.
    """
    pieces: list[str] = []
    starts: list[int] = []
    at = size = 0
    for block in blocks:
        gap = block.offset - at
        if gap < 0 and not overlap:
            raise ValueError(f"the passage at {block.offset} begins inside the one before it, which ends at {at}")
        gap = gap if gap >= 0 else 1
        if size + gap + len(block.text) > LARGEST_TEXT:
            raise ValueError(f"the passage at {block.offset} is too far on for a text")
        pieces += [_SPACE * gap, block.text]
        starts.append(size + gap)
        size = starts[-1] + len(block.text)
        at = max(block.offset, at) + length(block.text)
    return "".join(pieces), starts


def _by_characters(blocks: list[Block]) -> Layout:
    text, starts = _laid_out(blocks, len)
    return Layout(text, starts, lambda offset, block: offset)


def _by_units(encoding: str, size: int) -> Callable[[list[Block]], Layout]:
    """Offsets that count units of so many bytes in an encoding."""

    def length(text: str) -> int:
        return len(text.encode(encoding)) // size

    def layout(blocks: list[Block]) -> Layout:
        text, starts = _laid_out(blocks, length)
        places: dict[int, int] = {}
        at = 0
        for number, character in enumerate(text):
            places[at] = number
            at += length(character)
        places[at] = len(text)
        return Layout(text, starts, lambda offset, block: places.get(offset))

    return layout


def _by_passage(blocks: list[Block]) -> Layout:
    """Offsets of annotations that begin anew in each passage."""
    text, starts = _laid_out(blocks, len, overlap=True)
    return Layout(text, starts, lambda offset, block: None if block < 0 else starts[block] + offset)


_LAYOUTS = (_by_characters, _by_units("utf-8", 1), _by_units("utf-16-le", 2), _by_passage)
