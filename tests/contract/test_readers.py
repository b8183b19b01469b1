"""What every reader of ``nomina.kb.FORMATS`` owes its users. A new format adds one case to ``CASES``."""

from __future__ import annotations

import gzip
import io
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

from nomina.errors import FormatError, UsageError
from nomina.kb import FORMATS, reader_for
from nomina.kb.build import BuildOptions, build_from_files
from nomina.types import Entity, Name, Retired

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "kb" / "data"


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
        Entity("100001", (Name("Disease", kind="preferred"),), types=("disorder",)),
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
}

every_case = pytest.mark.parametrize("name", list(CASES))


def records(path: Path, faults: list[FormatError] | None = None) -> list[Entity | Retired]:
    _, reader = reader_for(path)
    return list(reader.read(path, skip=None if faults is None else faults.append))


@pytest.fixture
def write(request: pytest.FixtureRequest, tmp_path: Path):
    """Write the case's main file anew, the other files of its folder beside it; without a case, just a file."""
    case = CASES.get(request.node.callspec.params.get("name"))

    def written(data: bytes) -> Path:
        path = tmp_path / "source"
        if case and case.folder:
            shutil.copytree(DATA / case.folder, path, dirs_exist_ok=True)
            path = path / Path(case.file).relative_to(case.folder)
        path.write_bytes(data)
        return path

    return written


def zipped(data: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/member", data)
    return packed.getvalue()


def tiny(name: str, addition: bytes = b"") -> bytes:
    """The tiny file, with more at its end."""
    data = (DATA / CASES[name].file).read_bytes()
    head, closing, tail = data.rpartition(CASES[name].closing) if CASES[name].closing else (data, b"", b"")
    return head + addition + closing + tail


@pytest.mark.parametrize("format", list(FORMATS))
def test_has_a_case_and_a_docs_page_with_a_licence_note(format: str) -> None:
    assert format in {case.format or name for name, case in CASES.items()}
    page = (ROOT / "docs" / "formats" / f"{format}.md").read_text(encoding="utf-8")
    assert "licence" in page.casefold()


@every_case
def test_is_found_by_its_first_bytes_and_reads_count_first_last(name: str) -> None:
    case = CASES[name]
    assert reader_for(DATA / case.file)[0] == (case.format or name)
    found = records(DATA / case.file)
    assert (len(found), found[0], found[-1]) == (case.count, case.first, case.last)


@every_case
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda data: gzip.compress(data, mtime=0), id="gz"),
        pytest.param(zipped, id="zip"),
        pytest.param(lambda data: b"\xef\xbb\xbf" + data, id="bom"),
        pytest.param(lambda data: gzip.compress(b"\xef\xbb\xbf" + data, mtime=0), id="gz-bom"),
        pytest.param(lambda data: data.replace(b"\n", b"\r\n"), id="crlf"),
        pytest.param(lambda data: data.rstrip(b"\n"), id="no-last-newline"),
        pytest.param(lambda data: data + b"\n\n", id="blank-lines"),
    ],
)
def test_reads_the_same_however_it_is_wrapped(name: str, change, write) -> None:
    assert records(write(change(tiny(name)))) == records(DATA / CASES[name].file)


@every_case
@pytest.mark.parametrize("stray", [b"\x00", b"\x1f", b"\xff"])
def test_a_stray_byte_stops_a_strict_reading_and_is_counted_by_a_lenient_one(name: str, stray: bytes, write) -> None:
    data, word = tiny(name), CASES[name].word
    path = write(data.replace(word, word + stray, 1))
    line = data[: data.index(word)].count(b"\n") + 1
    with pytest.raises(FormatError) as caught:
        records(path)
    assert caught.value.line == line
    assert str(path) in str(caught.value)
    faults: list[FormatError] = []
    assert records(path, faults) == records(DATA / CASES[name].file)
    assert [fault.line for fault in faults] == [line]


@every_case
def test_a_stray_byte_does_no_harm_to_the_look_up(name: str, write, tmp_path: Path) -> None:
    case = CASES[name]
    path = write(tiny(name).replace(case.word, case.word + b"\x00", 1))
    kb = build_from_files(tmp_path / "a.kb", [path], BuildOptions("a", lenient=True))
    assert kb.manifest.counts.problems == 1
    assert "U+0000" in kb.manifest.problems[0]
    assert [entity.id for entity in kb.lookup(case.word.decode())] == [case.first.id]


@every_case
def test_a_broken_record_is_named_by_line_and_left_out_by_a_lenient_reading(name: str, write) -> None:
    case = CASES[name]
    path = write(tiny(name, case.broken))
    with pytest.raises(FormatError) as caught:
        records(path)
    assert caught.value.line == case.line
    faults: list[FormatError] = []
    found = records(path, faults)
    assert [fault.line for fault in faults] == [case.line]
    assert found[: case.count] == records(DATA / case.file)
    assert all("no quotes" not in name.text for entity in found if isinstance(entity, Entity) for name in entity.names)


@every_case
def test_a_file_cut_off_in_the_middle_of_gzip_is_refused_even_when_lenient(name: str, write) -> None:
    path = write(gzip.compress(tiny(name), 0)[:-20])
    with pytest.raises(FormatError, match="cut off"):
        records(path, [])


@every_case
def test_a_file_cut_off_in_its_last_record_is_refused(name: str, write) -> None:
    path = write(tiny(name).rstrip()[: -CASES[name].cut])
    with pytest.raises(FormatError) as caught:
        records(path)
    assert caught.value.line is not None


@every_case
def test_a_second_record_of_an_id(name: str, write, tmp_path: Path) -> None:
    case = CASES[name]
    if case.duplicate is None:
        assert case.joined is not None
        id, names = case.joined
        kb = build_from_files(tmp_path / "a.kb", [DATA / case.file])
        assert tuple(name.text for name in kb[id].names) == names
        return
    path = write(tiny(name, case.duplicate))
    with pytest.raises(FormatError, match="second"):
        records(path)
    kb = build_from_files(tmp_path / "a.kb", [path], BuildOptions("a", lenient=True))
    assert [name.text for name in kb[case.first.id].names] == [*(name.text for name in case.first.names), "Illness"]
    assert (kb.manifest.counts.merged, kb.manifest.counts.problems) == (case.merged, 1)


@every_case
def test_builds_with_a_cycle_a_missing_parent_and_retired_ids(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    kb = build_from_files(tmp_path / "a.kb", [DATA / case.file], **case.options)
    assert set(kb) == case.ids
    assert {id: kb.descendants(id) for id in case.under} == case.under
    child, parents = case.parents
    assert kb[child].parents == parents
    assert kb.manifest.counts.missing_parents == case.missing
    assert {old: kb.resolve(old) for old in case.retired} == case.retired


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"PK\x03\x04" + bytes(50), "zip"),
        (bytes(range(256)) * 4, "binary"),
        ("id\tname\n".encode("utf-16"), "UTF-16"),
        (b"Dear all, please find enclosed our terms.\n", "no format|expected"),
    ],
)
def test_what_is_no_source_is_refused_in_one_line(data: bytes, why: str, write) -> None:
    with pytest.raises(FormatError, match=why) as caught:
        records(write(data))
    assert "\n" not in str(caught.value)


def test_missing_file_folder_and_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="No such file"):
        reader_for(tmp_path / "no")
    with pytest.raises(FormatError, match="directory"):
        reader_for(tmp_path)
    with pytest.raises(UsageError, match=r"obo, .*jsonl, .*table"):
        reader_for(tmp_path, "no such")
