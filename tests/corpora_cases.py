"""A tiny corpus in each format that nomina reads, with what is in it: the table behind the contract of corpora."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from nomina.types import Document, Mention, Section

DATA = Path(__file__).parent / "corpora" / "data"


class Case(NamedTuple):
    """A tiny corpus: its file or folder in ``tests/corpora/data``, its documents, what a reading of it drops.

    ``broken`` is what makes a fault: a file of the corpus (of a folder: the path in it), bytes in it, those that stand
    there instead, and the line of the fault. ``without`` are the mentions that a lenient reading leaves out for it, as
    numbers of document and mention; a mention None stands for the whole document. ``requires`` is a module that the
    format needs. ``keeps_ids``: whether documents written in the format have their own ids when they are read.
    """

    path: str
    documents: tuple[Document, ...]
    dropped: Mapping[str, int]
    broken: tuple[str, bytes, bytes, int | None]
    without: tuple[int, int | None]
    options: Mapping[str, str | bool] = MappingProxyType({})
    requires: str | None = None
    keeps_ids: bool = True


CANCER = Document(
    "100",
    "Breast and ovarian cancer. γ-rays cause ataxia; no fits.",
    (
        Mention(((0, 25),), "Breast and ovarian cancer", "Disease", (("D001943",), ("D010051",))),
        Mention(((40, 46),), "ataxia", "Disease", (("D001259",),)),
        Mention(((51, 55),), "fits", "Symptom", (("-1",),)),
    ),
    (Section(0, 26, "title"), Section(27, 56, "abstract")),
)
NOTHING = Document(
    "101",
    " Nothing known.",
    (Mention(((1, 8),), "Nothing"),),
    (Section(0, 0, "title"), Section(1, 15, "abstract")),
)

CASES = {
    "pubtator": Case(
        "tiny.pubtator",
        (CANCER, replace(NOTHING, mentions=(replace(NOTHING.mentions[0], type="Thing"),))),
        {"relations": 1, "individual mentions": 1},
        ("tiny.pubtator", b"40\t46", b"41\t47", 4),
        (0, 1),
    ),
    "jsonl": Case(
        "tiny.jsonl",
        (CANCER, NOTHING),
        {},
        ("tiny.jsonl", b"[1, 8]", b"[1, 88]", 2),
        (1, None),
    ),
    "bioc_xml": Case(
        "tiny.bioc.xml",
        (CANCER, NOTHING),
        {"infons": 3, "fields of the collection": 2, "relations": 1},
        ("tiny.bioc.xml", b'"40" length="6"', b'"41" length="6"', 27),
        (0, 1),
    ),
    "bioc_json": Case(
        "tiny.bioc.json",
        (CANCER, NOTHING),
        {"infons": 2, "fields of the collection": 1, "relations": 1, "further fields": 1},
        ("tiny.bioc.json", b'"offset": 40', b'"offset": 41', 2),
        (0, 1),
    ),
    "brat": Case(
        "brat",
        (replace(CANCER, sections=()), replace(NOTHING, id="more/101", sections=())),
        {
            "relations": 1, "events": 1, "attributes": 1, "notes": 1, "texts without .ann": 1,
            "names of references": 2, "references to others": 1,
        },
        ("100.ann", b"40 46", b"41 47", 4),
        (0, 1),
    ),
}  # fmt: skip
