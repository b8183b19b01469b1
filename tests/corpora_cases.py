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
    there instead, and the line of the fault; None where a fault is one of the whole file. ``without`` are the mentions
    that a lenient reading leaves out for it, as numbers of document and mention; a mention None stands for the whole
    document. ``requires`` is a module that the format needs. ``keeps_ids``: whether documents in the format have
    their own ids when they are read.
    """

    path: str
    documents: tuple[Document, ...]
    dropped: Mapping[str, int]
    broken: tuple[str, bytes, bytes, int | None] | None
    without: tuple[int, int | None] = (0, None)
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
    "pubmed_xml": Case(
        "tiny.pubmed.xml",
        (
            Document(
                "100",
                "Breast and ovarian cancer. γ-rays cause ataxia < 5 Gy. No fits in CO2.",
                (),
                (Section(0, 26, "title"), Section(27, 54, "background"), Section(55, 70, "results and aims")),
            ),
            Document(
                "102", "Nothing known. Nothing at all.", (), (Section(0, 14, "title"), Section(15, 30, "abstract"))
            ),
        ),
        {"abstracts in other languages": 1, "book articles": 1, "deleted articles": 1},
        ("tiny.pubmed.xml", b'<PMID Version="2">102', b'<PMID Version="2">102a', 30),
        (1, None),
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
    "biosyn": Case(
        "biosyn",
        (
            Document(
                "200",
                "breast cancer\nretinal tumours|pineal tumors\nataxia",
                (
                    Mention(((0, 13),), "breast cancer", "SpecificDisease", (("D001943",),)),
                    Mention(((14, 43),), "retinal tumours", "CompositeMention", (("D019572",), ("D010871",))),
                    Mention(((14, 43),), "pineal tumors", "CompositeMention", (("D019572",), ("D010871",))),
                    Mention(((44, 50),), "ataxia", None, (("-1",),)),
                ),
            ),
            Document("201", "lymphoma", (Mention(((0, 8),), "lymphoma", "Modifier", (("D008223",), ("D015458",))),)),
        ),
        {"offsets": 4},
        ("201.concept", b"0|6", b"0-6", 1),
        (1, None),
    ),
    "biosyn_json": Case(
        "tiny.biosyn.json",
        (
            Document(
                "test-1",
                "retinal tumours|pineal tumors",
                (
                    Mention(((0, 29),), "retinal tumours", None, (("D019572",), ("D010871",))),
                    Mention(((0, 29),), "pineal tumors", None, (("D019572",), ("D010871",))),
                ),
            ),
            Document("test-2", "ataxia", (Mention(((0, 6),), "ataxia", None, (("-1",),)),)),
            Document("test-3", "lymphoma", (Mention(((0, 8),), "lymphoma", None, (("D008223",),)),)),
        ),
        {},
        ("tiny.biosyn.json", b'"ataxia", "-1"', b'"ataxia", -1', 2),
        (1, None),
        {"split": "test"},
    ),
    "askapatient": Case(
        "askapatient.txt",
        (
            Document("1", "heart attack", (Mention(((0, 12),), "heart attack", None, (("22298006",),)),)),
            Document("2", "löcherig ache", (Mention(((0, 13),), "löcherig ache", None, (("247344003",),)),)),
            Document("4", "pain in the pit", (Mention(((0, 15),), "pain in the pit", None, (("79922009",),)),)),
        ),
        {"labels": 3},
        ("askapatient.txt", b"Epigastric pain\t", b"", 4),
        (2, None),
    ),
    "cometa": Case(
        "cometa.csv",
        (
            Document(
                "7",
                'I kept "ABM" apart , but that bm was unnatural .',
                (Mention(((30, 32),), "bm", None, (("39211005",),)),),
            ),
            Document("8", "migraines", (Mention(((0, 9),), "migraines", None, (("37796009",),)),)),
            Document("9", "I can ' t do 5FU .", (Mention(((13, 16),), "5FU", None, (("387172005",),)),)),
        ),
        {"labels": 6, "ids of the other level": 3, "subreddits": 2, "examples without their term": 1},
        ("cometa.csv", b"8\tmigraines", b"8\t", 3),
        (1, None),
    ),
    "bigbio_jsonl": Case(
        "tiny.bigbio.jsonl",
        (CANCER, NOTHING),
        {"database names": 1, "entities without a place": 1, "relations": 1, "coreferences": 1},
        ("tiny.bigbio.jsonl", b'"text": ["ataxia"]', b'"text": ["ataxy"]', 1),
        (0, 1),
    ),
    "bigbio_parquet": Case(
        "tiny.bigbio.parquet",
        (CANCER, NOTHING),
        {"database names": 1, "entities without a place": 1, "relations": 1, "coreferences": 1},
        ("tiny.bigbio.parquet", b"\x06\x00\x00\x00ataxia", b"\x06\x00\x00\x00Ataxia", 1),
        (0, 1),
        requires="pyarrow",
    ),
    "docbin": Case(
        "tiny.spacy",
        (replace(CANCER, sections=()), replace(NOTHING, sections=())),
        {},
        None,
        requires="spacy",
    ),
    "project": Case(
        "tiny.project.sqlite",
        (CANCER, replace(NOTHING, mentions=())),
        {"undecided mentions": 1, "rejected mentions": 1},
        None,
    ),
}  # fmt: skip
