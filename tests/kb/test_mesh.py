from __future__ import annotations

import gzip
import shutil
import zipfile
from pathlib import Path

import pytest

from nomina.errors import FormatError
from nomina.kb import mesh, mesh_ascii
from nomina.kb.build import build_from_files
from nomina.kb.mesh_terms import registry_xref
from nomina.types import Entity, Name

DATA = Path(__file__).parent / "data"

HEART = Entity(
    "T:2",
    (
        Name("Heart Attack & Failure", kind="preferred"),
        Name("Cardiac Ruin", "narrow"),
        Name("Attack, Heart", kind="permuted"),
        Name("HAF", kind="abbreviation"),
        Name("Cardiocaïne", kind="tradename"),
    ),
    "What ails the heart.",
    ("C", "C23", "D", "D02"),
    ("T:1", "T:3"),
    ("UNII:R16CO5Y76E", "CAS:2349-94-2"),
)
DOCTYPE = "<!DOCTYPE DescriptorRecordSet SYSTEM"


def write(tmp_path: Path, old: str, new: str) -> Path:
    text = (DATA / "desc2024.xml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "desc2024.xml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


def test_descriptors() -> None:
    disease, heart, chemicals, female = mesh.read(DATA / "desc2024.xml")
    assert disease == Entity("T:1", (Name("Disease", kind="preferred"),), types=("C", "C23"))
    assert heart == HEART
    assert (chemicals.types, chemicals.parents) == (("D", "D02"), ())
    assert (female.types, female.parents) == ((), ())


def test_supplementary_records_lie_under_the_headings_they_are_mapped_to(tmp_path: Path) -> None:
    kb = build_from_files(tmp_path / "mesh.kb", [DATA / "desc2024.xml", DATA / "supp2024.xml"])
    assert kb["C1"] == Entity(
        "C1",
        (Name("Rare disease", kind="preferred"), Name("Rarity")),
        "seen twice; mutation in the X gene",
        ("SCR_Disease",),
        ("T:1", "T:404"),
    )
    assert kb["C2"].types == ("SCR_Chemical",)
    assert kb["C2"].xrefs == ("EC:3.4.21.4",)
    assert kb.descendants("T:1") == ("T:1", "T:2", "C1", "C2")
    assert kb.manifest.release == "2024"
    assert kb.manifest.licence.endswith("/terms_and_conditions_mesh.html")


def test_qualifiers(tmp_path: Path) -> None:
    path = tmp_path / "qual2024.xml"
    path.write_text(
        "<QualifierRecordSet><QualifierRecord><QualifierUI>Q1</QualifierUI><QualifierName><String>therapy</String>"
        "</QualifierName><TreeNumberList><TreeNumber>Y02</TreeNumber></TreeNumberList></QualifierRecord>"
        "<QualifierRecord><QualifierUI>Q2</QualifierUI><QualifierName><String>diet therapy</String></QualifierName>"
        "<TreeNumberList><TreeNumber>Y02.10</TreeNumber></TreeNumberList></QualifierRecord></QualifierRecordSet>",
        encoding="utf-8",
    )
    assert mesh.sniff(path.read_bytes())
    assert list(mesh.read(path)) == [
        Entity("Q1", (Name("therapy", kind="preferred"),), types=("Y", "Y02")),
        Entity("Q2", (Name("diet therapy", kind="preferred"),), types=("Y", "Y02"), parents=("Q1",)),
    ]


def test_a_broader_and_an_unrelated_concept(tmp_path: Path) -> None:
    _, broader, *_ = mesh.read(write(tmp_path, '"NRW"', '"BRD"'))
    assert broader.names[1] == Name("Cardiac Ruin", "broad")
    _, unsaid, *_ = mesh.read(write(tmp_path, "<Concept2UI>M3<", "<Concept2UI>M9<"))
    assert unsaid.names[1] == Name("Cardiac Ruin", "related")


def test_a_parent_that_the_file_leaves_out_is_looked_for_further_up(tmp_path: Path) -> None:
    _, heart, *_ = mesh.read(write(tmp_path, "C23.100.200", "C23.1.2.3"))
    assert heart.parents == ("T:1", "T:3")
    _, heart, *_ = mesh.read(write(tmp_path, "C23.100.200", "C24.100.200"))
    assert heart.parents == ("T:3",)


@pytest.mark.parametrize(
    ("old", "new", "line", "why"),
    [
        ("<DescriptorUI>T:2</DescriptorUI>", "", 27, "id must be non-empty"),
        ("<String>Disease</String>", "<String> </String>", 4, "a record without a DescriptorName"),
        ("<String>HAF</String>", "<String/>", 27, "a name must not be empty"),
        ("<DescriptorUI>T:3<", "<DescriptorUI>T:1<", 102, "a second record with the id T:1"),
        ("</TreeNumberList>", "</TreeNumber>", 11, "is not well-formed XML .mismatched tag"),
        ("&amp;", "&heart;", 30, "is not well-formed XML .undefined entity"),
        ("&amp;", "&", 30, "is not well-formed XML"),
        ("</DescriptorRecordSet>", "", 118, "is not well-formed XML .no element found"),
        (
            DOCTYPE,
            '<!DOCTYPE DescriptorRecordSet [<!ENTITY a "b">] SYSTEM',
            1,
            "brings its own DTD, which may hold entities",
        ),
        (
            DOCTYPE,
            '<!ENTITY a "b"><!DOCTYPE DescriptorRecordSet SYSTEM',
            1,
            "brings its own DTD, which may hold entities",
        ),
        ("<DescriptorRecordSet", "text <DescriptorRecordSet", 1, "brings its own DTD|is not XML"),
    ],
)
def test_faults(tmp_path: Path, old: str, new: str, line: int, why: str) -> None:
    with pytest.raises(FormatError, match=why) as caught:
        list(mesh.read(write(tmp_path, old, new)))
    assert caught.value.line == line
    assert "\n" not in str(caught.value)


def test_an_outside_dtd_is_not_fetched_and_its_entities_stay_undefined(tmp_path: Path) -> None:
    path = write(tmp_path, '"https://www.nlm.nih.gov/databases/dtd/nlmdescriptorrecordset_20240101.dtd"', '"own.dtd"')
    (tmp_path / "own.dtd").write_text('<!ENTITY heart "x">', encoding="utf-8")
    assert list(mesh.read(path)) == list(mesh.read(DATA / "desc2024.xml"))
    path.write_text(path.read_text(encoding="utf-8").replace("&amp;", "&heart;", 1), encoding="utf-8")
    with pytest.raises(FormatError, match="undefined entity"):
        list(mesh.read(path))


def test_one_long_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "desc2024.xml"
    text = (DATA / "desc2024.xml").read_text(encoding="utf-8")
    path.write_text("".join(line.strip() + " " for line in text.splitlines()), encoding="utf-8")
    whole = list(mesh.read(path))
    assert whole == list(mesh.read(DATA / "desc2024.xml"))
    for size in (300, 301, 307):
        monkeypatch.setattr("nomina.files.blocks.__defaults__", (None, size))
        assert list(mesh.read(path)) == whole


@pytest.mark.parametrize(
    ("number", "xref"),
    [
        ("50-78-2", "CAS:50-78-2"),
        ("2349-94-2 (lysine salt)", "CAS:2349-94-2"),
        ("R16CO5Y76E", "UNII:R16CO5Y76E"),
        ("EC 1.14.-", "EC:1.14.-"),
        ("txid9606", "NCBITaxon:9606"),
        ("0", None),
        ("", None),
    ],
)
def test_registry_numbers(number: str, xref: str | None) -> None:
    assert registry_xref(number) == xref


def test_ascii_descriptors_are_those_of_the_xml() -> None:
    disease, heart, chemicals, female = mesh_ascii.read(DATA / "d2024.bin")
    by_xml = list(mesh.read(DATA / "desc2024.xml"))
    assert [disease, chemicals, female] == [by_xml[0], by_xml[2], by_xml[3]]
    names = (*HEART.names[:2], Name("Attack, Heart"), *HEART.names[3:])
    assert heart == Entity("T:2", names, HEART.definition, HEART.types, HEART.parents, HEART.xrefs)
    assert mesh_ascii.describe(DATA / "d2024.bin").release == "2024"


SUPPLEMENTARY = """*NEWRECORD
RECTYPE = C
NM = bevonium
RN = 0
SY = Proflox|T109|T121|TRD|NRW|ES Spanish Trade Name|041021|abbcdef
HM = *Disease
HM = Heart Attack & Failure/*analogs & derivatives
HM = *Nowhere
NO = structure given
UI = C1
"""


def test_ascii_supplementary_records_find_the_ids_of_headings_in_the_descriptors_beside(tmp_path: Path) -> None:
    path = tmp_path / "c2024.bin"
    path.write_text(SUPPLEMENTARY, encoding="utf-8")
    names = (Name("bevonium", kind="preferred"), Name("Proflox", "narrow", "tradename"))
    assert list(mesh_ascii.read(path)) == [Entity("C1", names, "structure given")]
    shutil.copy(DATA / "d2024.bin", tmp_path)
    assert list(mesh_ascii.read(path)) == [Entity("C1", names, "structure given", parents=("T:1", "T:2"))]


@pytest.mark.parametrize(("own", "other"), [(".gz", ""), ("", ".gz"), (".gz", ".gz")])
def test_ascii_descriptors_beside_may_be_packed_in_another_way(tmp_path: Path, own: str, other: str) -> None:
    for name, data, suffix in (
        ("c2024.bin", SUPPLEMENTARY.encode(), own),
        ("d2024.bin", (DATA / "d2024.bin").read_bytes(), other),
        ("d2023.bin", b"*NEWRECORD\nMH = Disease\nUI = OLD\n", ""),
    ):
        (tmp_path / f"{name}{suffix}").write_bytes(gzip.compress(data) if suffix else data)
    (record,) = mesh_ascii.read(tmp_path / f"c2024.bin{own}")
    assert record.parents == ("T:1", "T:2")


def test_ascii_descriptors_may_lie_in_the_same_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "mesh.zip", "w") as archive:
        archive.writestr("c2024.bin", SUPPLEMENTARY)
        archive.write(DATA / "d2024.bin", "d2024.bin")
    (record,) = mesh_ascii.read(tmp_path / "mesh.zip" / "c2024.bin")
    assert record.parents == ("T:1", "T:2")


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("*NEWRECORD\nMH = a\nMN\nUI = D1\n", 3, "expected '.NEWRECORD' or 'ELEMENT = value'"),
        ("*NEWRECORD\nMH = a\n", 1, "id must be non-empty"),
        ("*NEWRECORD\nUI = D1\n", 1, "without a name .MH, NM, SH."),
        ("*NEWRECORD\nMH = a\nUI = D1\n*NEWRECORD\nMH = b\nUI = D1\n", 4, "a second record with the id D1"),
    ],
)
def test_ascii_faults(tmp_path: Path, text: str, line: int, why: str) -> None:
    path = tmp_path / "d.bin"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=why) as caught:
        list(mesh_ascii.read(path))
    assert caught.value.line == line
