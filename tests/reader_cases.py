"""A tiny file for each format that nomina reads, with what is in it: the table behind the contract of the readers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from nomina.types import Entity, Name, Retired


class Case(NamedTuple):
    """A tiny file: how many records, the first, the last, a faulty record, a record with an id it has, and more.

    ``line`` is that of the fault once ``broken`` stands at the end, before ``closing``. ``word`` is the first name.
    ``duplicate`` gives the first concept the name "Illness"; None where a second record of an id is no fault: then
    ``joined`` is a concept that has several, with all its names. ``under`` and ``parents`` show what becomes of a
    hierarchy, cyclic and with ``missing`` parents where the format can say so. ``folder`` holds all files of a release
    that has several; ``cut`` is how many bytes at the end make the rest a faulty file.
    """

    file: str
    count: int
    first: Entity | Retired
    last: Entity | Retired
    broken: bytes
    line: int
    duplicate: bytes | None
    retired: dict[str, str | None]
    format: str | None = None
    closing: bytes = b""
    word: bytes = b"Disease"
    ids: frozenset[str] = frozenset({"T:1", "T:2", "T:3", "T:4"})
    under: Mapping[str, tuple[str, ...]] = MappingProxyType({"T:3": ("T:3", "T:4"), "T:1": ("T:1", "T:2")})
    parents: tuple[str, tuple[str, ...]] = ("T:2", ("T:1", "T:404"))
    missing: int = 1
    joined: tuple[str, tuple[str, ...]] | None = None
    merged: int = 1
    folder: str | None = None
    options: Mapping[str, bool | str] = MappingProxyType({})
    cut: int = 8


CASES = {
    "obo": Case(
        "tiny.obo",
        6,
        Entity("T:1", (Name("Disease", kind="preferred"),), types=("tiny",)),
        Retired("T:6"),
        b"\n[Term]\nid: T:7\nname: Good\nsynonym: no quotes EXACT []\n",
        62,
        b'\n[Term]\nid: T:1\nsynonym: "Illness" EXACT []\n',
        {"T:20": "T:2", "T:5": "T:2", "T:6": None},
    ),
    "jsonl": Case(
        "tiny.jsonl",
        5,
        Entity("T:1", (Name("Disease"),)),
        Retired("T:5", ("T:20",)),
        b'{"id": "T:7", "names": ["x"], "synonyms": []}\n',
        7,
        b'{"id": "T:1", "names": ["Illness"]}\n',
        {"T:20": "T:2", "T:5": "T:2"},
    ),
    "table": Case(
        "tiny.tsv",
        5,
        Entity("T:1", (Name("Disease", kind="preferred"),)),
        Entity("T:2", (Name("Cardiopathy", kind="preferred"), Name("Morbus cordis"))),
        b"T:7\ttoo\tfew\n",
        7,
        None,
        {},
        joined=("T:2", ("Heart disease", "Heart diseases", "bad heart", "Cardiopathy", "Morbus cordis")),
    ),
    "biosyn": Case(
        "dictionary.txt",
        4,
        Entity("T:1", (Name("disease"),)),
        Entity("T:2|T:20", (Name("bad heart"),)),
        b"T:7|no quotes\n",
        5,
        None,
        {},
        word=b"disease",
        ids=frozenset({"T:1", "T:2|T:20", "T:3"}),
        under={"T:1": ("T:1",)},
        parents=("T:2|T:20", ()),
        missing=0,
        joined=("T:2|T:20", ("heart disease", "bad heart")),
        cut=11,
    ),
    "mesh": Case(
        "desc2024.xml",
        4,
        Entity("T:1", (Name("Disease", kind="preferred"),), types=("C", "C23")),
        Entity("T:4", (Name("Female", kind="preferred"),)),
        b"<DescriptorRecord><DescriptorUI>T:7</DescriptorUI></DescriptorRecord>\n",
        117,
        b"<DescriptorRecord><DescriptorUI>T:1</DescriptorUI><DescriptorName><String>Illness</String></DescriptorName>"
        b"</DescriptorRecord>",
        {},
        closing=b"</DescriptorRecordSet>",
        under={"T:1": ("T:1", "T:2"), "T:3": ("T:2", "T:3")},
        parents=("T:2", ("T:1", "T:3")),
        missing=0,
    ),
    "mesh-supplementary": Case(
        "supp2024.xml",
        2,
        Entity(
            "C1",
            (Name("Rare disease", kind="preferred"), Name("Rarity")),
            "seen twice; mutation in the X gene",
            ("SCR_Disease",),
            ("T:1", "T:404"),
        ),
        Entity("C2", (Name("bevonium", kind="preferred"),), None, ("SCR_Chemical",), ("C1",), ("EC:3.4.21.4",)),
        b"<SupplementalRecord><SupplementalRecordUI>C7</SupplementalRecordUI></SupplementalRecord>\n",
        83,
        b"<SupplementalRecord><SupplementalRecordUI>C1</SupplementalRecordUI><SupplementalRecordName>"
        b"<String>Illness</String></SupplementalRecordName></SupplementalRecord>",
        {},
        format="mesh",
        closing=b"</SupplementalRecordSet>",
        word=b"Rare disease",
        ids=frozenset({"C1", "C2"}),
        under={"C1": ("C1", "C2")},
        parents=("C1", ("T:1", "T:404")),
        missing=2,
    ),
    "mesh_ascii": Case(
        "d2024.bin",
        4,
        Entity("T:1", (Name("Disease", kind="preferred"),), types=("C", "C23")),
        Entity("T:4", (Name("Female", kind="preferred"),)),
        b"\n*NEWRECORD\nRECTYPE = D\nUI = T:7\n",
        33,
        b"\n*NEWRECORD\nMH = Illness\nUI = T:1\n",
        {},
        under={"T:1": ("T:1", "T:2"), "T:3": ("T:2", "T:3")},
        parents=("T:2", ("T:1", "T:3")),
        missing=0,
    ),
    "rf2": Case(
        "rf2/Snapshot/Terminology/sct2_Description_Snapshot-en_INT_20240131.txt",
        8,
        Entity("100001", (Name("Disease", kind="preferred"),), types=("disorder",), xrefs=("SNOMEDCT:100001",)),
        Retired("100023"),
        b"2009991\t20240131\t1\t900000000000207008\t100001\ten\tno quotes\n",
        17,
        b"2000011\t20240131\t1\t900000000000207008\t100001\ten\t900000000000013009\tIllness\t900000000000448009\n",
        {"100020": "100002", "100021": "100002", "100022": None},
        ids=frozenset({"100001", "100002", "100003", "100004"}),
        under={"100003": ("100003", "100004"), "100001": ("100001", "100002")},
        parents=("100002", ("100001", "100404")),
        merged=0,
        folder="rf2",
    ),
    "rrf": Case(
        "rrf/MRCONSO.RRF",
        9,
        Entity("C0000001", (Name("Disease", kind="preferred", source="MSH"),), types=("T047",)),
        Retired("C0000022"),
        b"C0000007|ENG|P|L71|PF|S71|Y|A0000071||||NCI|PT|C7|no quotes|0|N|\n",
        18,
        b"C0000001|ENG|S|L12|PF|S12|Y|A0000011||||NCI|PT|C1|Illness|0|N||\n",
        {"C0000020": "C0000002", "C0000021": None, "C0000022": None},
        ids=frozenset(f"C000000{digit}" for digit in range(1, 7)),
        under={"C0000003": ("C0000003", "C0000004"), "C0000001": ("C0000001", "C0000002")},
        parents=("C0000002", ("C0000001", "C0000404")),
        merged=0,
        folder="rrf",
        options={"parents": True},
    ),
    "columns": Case(
        "CTD_diseases.tsv",
        4,
        Entity("T:1", (Name("Malady", kind="preferred"),)),
        Entity("T:4", (Name("And round", kind="preferred"),), parents=("T:3",)),
        b"Short\tT:7\t\t\n",
        14,
        None,
        {"OMIM:100": "T:2", "DO:DOID:114": None},
        word=b"Malady",
        joined=("T:2", ("Heart disease", "Heart diseases", "bad heart")),
    ),
    "medic": Case(
        "medic.txt",
        3,
        Entity("T:1", (Name("Disease", kind="preferred"),)),
        Entity("T:3", (Name("Round", kind="preferred"),)),
        b"T:7|Short\n",
        4,
        b"T:1||Illness\n",
        {"T:20": "T:2", "100100": "T:2"},
        ids=frozenset({"T:1", "T:2", "T:3"}),
        under={"T:1": ("T:1",)},
        parents=("T:2", ()),
        missing=0,
    ),
    "obograph": Case(
        "obograph.json",
        6,
        Entity("T:1", (Name("Disease", kind="preferred"),), types=("tiny",)),
        Retired("T:6"),
        b',\n{"lbl": "no quotes"}',
        104,
        b', {"id": "http://purl.obolibrary.org/obo/T_1", "lbl": "Illness", "type": "CLASS"}',
        {"T:20": "T:2", "T:5": "T:2", "T:6": None},
        closing=b' ],\n    "edges"',
    ),
    "indra_json": Case(
        "indra.json",
        4,
        Entity("T:1", (Name("Disease", kind="preferred"),), types=("tiny",)),
        Entity("T:4", (Name("And round", kind="preferred"),), types=("t",), parents=("T:3",)),
        b',\n{"name": "no quotes"}',
        59,
        b', {"id": "T:1", "name": "Illness"}',
        {"T:20": "T:2"},
        closing=b"\n]",
    ),
    "cellxgene": Case(
        "cellxgene.json",
        6,
        Entity("T:1", (Name("Disease", kind="preferred"),)),
        Retired("T:6"),
        b',\n"T:7": "no quotes"',
        7,
        b', "T:1": {"label": "Illness"}',
        {"T:5": "T:2", "T:6": None},
        closing=b"}",
    ),
    "genbioel": Case(
        "target_kb.json",
        3,
        Entity("T:1", (Name("Disease"),)),
        Entity("T:3"),
        b',\n"T:7": "no quotes"',
        5,
        b', "T:1": ["Illness"]',
        {},
        closing=b"\n}",
        ids=frozenset({"T:1", "T:2", "T:3"}),
        under={"T:1": ("T:1",)},
        parents=("T:2", ()),
        missing=0,
    ),
    "icd10cm": Case(
        "icd10cm.xml",
        6,
        Entity("1", (Name("Diseases of the heart", kind="preferred"),), types=("chapter",), xrefs=("ICD10CM:1",)),
        Entity("I30", (Name("Pericarditis", kind="preferred"),), None, ("code",), ("1",), ("ICD10CM:I30",)),
        b"<chapter><desc>No number</desc></chapter>\n",
        62,
        b"<chapter><name>1</name><desc>Illness</desc></chapter>",
        {},
        closing=b"</ICD10CM.tabular>",
        word=b"Diseases of the heart",
        ids=frozenset({"1", "I20-I25", "I21", "I21.0", "I21.X1", "I30"}),
        under={"I20-I25": ("I20-I25", "I21", "I21.0", "I21.X1")},
        parents=("I30", ("1",)),
        missing=0,
    ),
    "owl": Case(
        "tiny.owl",
        6,
        Entity("T:1", (Name("Disease", kind="preferred"),), types=("tiny",)),
        Retired("T:6"),
        b'<owl:Class rdf:about="http://purl.obolibrary.org/obo/T_7"><oboInOwl:hasExactSynonym/></owl:Class>\n',
        86,
        None,
        {"T:20": "T:2", "T:5": "T:2", "T:6": None},
        closing=b"</rdf:RDF>",
        joined=(
            "T:2",
            (
                "Heart disease",
                "bad heart",
                "Heart diseases",
                "Cardiopathy",
                "heart illness",
                "Morbus cordis",
                'Cardiac "thing"',
            ),
        ),
    ),
}
