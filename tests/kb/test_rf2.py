from __future__ import annotations

import gzip
import random
import shutil
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nomina.errors import FormatError, UsageError
from nomina.files import sha256
from nomina.kb import reader_for, rf2
from nomina.kb.build import BuildOptions, build_from_files
from nomina.kb.rf2_files import date_of, find_files, kind_of
from nomina.types import Entity, Name, Retired

SNOMED = Path(__file__).parent / "data" / "rf2"
TERMINOLOGY = Path("Snapshot", "Terminology")
CONCEPTS = TERMINOLOGY / "sct2_Concept_Snapshot_INT_20240131.txt"
DESCRIPTIONS = TERMINOLOGY / "sct2_Description_Snapshot-en_INT_20240131.txt"
DEFINITIONS = TERMINOLOGY / "sct2_TextDefinition_Snapshot-en_INT_20240131.txt"
RELATIONSHIPS = TERMINOLOGY / "sct2_Relationship_Snapshot_INT_20240131.txt"
LANGUAGE = Path("Snapshot", "Refset", "Language", "der2_cRefset_LanguageSnapshot-en_INT_20240131.txt")
ASSOCIATIONS = Path("Snapshot", "Refset", "Content", "der2_cRefset_AssociationSnapshot_INT_20240131.txt")

MODULE, CASE = "900000000000207008", "900000000000448009"
SYNONYM = "900000000000013009"


def heart(path: Path = SNOMED, **options: Any) -> Entity:
    return next(record for record in rf2.read(path, **options) if record.id == "100002")  # type: ignore[return-value]


def texts(path: Path = SNOMED, **options: Any) -> list[str]:
    return [name.text for name in heart(path, **options).names]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SNOMED, tmp_path / "release"))


@pytest.fixture
def edit(copy: Path) -> Callable[..., Path]:
    """Replace a text in a file of the copy, once."""

    def edited(file: Path, old: str, new: str) -> Path:
        path = copy / file
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        return path

    return edited


def test_whole() -> None:
    assert list(rf2.read(SNOMED)) == [
        Entity("100001", (Name("Disease", kind="preferred"),), types=("disorder",), xrefs=("SNOMEDCT:100001",)),
        Entity(
            "100002",
            (
                Name("Cardiac anemia state", kind="preferred"),
                Name("Cardiac anaemia state"),
                Name("Heart disease"),
                Name("Disorder of heart"),
            ),
            "Whatever ails a heart.",
            ("disorder",),
            ("100001", "100404"),
            ("SNOMEDCT:100002",),
        ),
        Entity(
            "100003",
            (Name("Round", kind="preferred"),),
            types=("qualifier value",),
            parents=("100004",),
            xrefs=("SNOMEDCT:100003",),
        ),
        Entity(
            "100004",
            (Name("And round", kind="preferred"),),
            types=("body structure",),
            parents=("100003",),
            xrefs=("SNOMEDCT:100004",),
        ),
        Retired("100020", ("100002",)),
        Retired("100021", ("100020",)),
        Retired("100022"),
        Retired("100023"),
    ]


def test_what_it_says_of_itself() -> None:
    info = rf2.describe(SNOMED)
    assert (info.file, info.title, info.release) == ("rf2 (6 files)", "SNOMED CT", "20240131")


# Names


def test_dialects() -> None:
    assert texts(dialect="GB")[0] == "Cardiac anaemia state"
    assert texts(dialect="900000000000508004") == texts(dialect="gb")
    assert texts(one_dialect=True) == ["Cardiac anemia state", "Heart disease", "Disorder of heart"]
    assert texts(one_dialect=True, dialect="gb") == [
        "Cardiac anaemia state",
        "Cardiac anemia state",
        "Heart disease",
        "Disorder of heart",
    ]


def test_languages() -> None:
    spanish = heart(languages=("es",))
    assert spanish.names == (Name("enfermedad del corazón", kind="preferred"),)
    assert (spanish.types, spanish.definition) == (("disorder",), None)
    assert heart(languages=("ES", "en")).name == "enfermedad del corazón"
    assert heart(languages=("en", "es")).name == "Cardiac anemia state"
    assert set(texts(languages=("all",))) == {*texts(), "enfermedad del corazón"}


def test_without_language_reference_sets_all_synonyms_are_names(copy: Path) -> None:
    (copy / LANGUAGE).unlink()
    assert texts(copy) == [
        "Disorder of heart",
        "Cardiac anemia state",
        "Cardiac anaemia state",
        "Heart disease",
        "Forgotten heart word",
    ]
    assert heart(copy).name == "Disorder of heart"


def test_a_fully_specified_name_without_a_tag_has_no_type(edit: Callable[..., Path], copy: Path) -> None:
    edit(DESCRIPTIONS, "And round (body structure)", "And round")
    found = {record.id: record for record in rf2.read(copy)}
    assert found["100004"] == Entity(
        "100004", (Name("And round", kind="preferred"),), parents=("100003",), xrefs=("SNOMEDCT:100004",)
    )


def test_possible_replacements() -> None:
    found = [record for record in rf2.read(SNOMED, possible_replacements=True) if isinstance(record, Retired)]
    assert found[:2] == [Retired("100020", ("100002",)), Retired("100021", ("100020", "100001", "100003"))]


def test_types_and_retired_ids_in_a_kb(tmp_path: Path) -> None:
    kb = build_from_files(tmp_path / "a.kb", [SNOMED], BuildOptions("a", types=("disorder",)), dialect="gb")
    assert list(kb) == ["100001", "100002"]
    assert (kb.resolve("100021"), kb["100002"].name) == ("100002", "Cardiac anaemia state")
    assert (kb.manifest.release, kb.manifest.sources[0].options) == ("20240131", "dialect=gb")


# Where the files lie


@pytest.mark.parametrize(
    ("name", "kind", "date"),
    [
        ("sct2_Concept_Snapshot_INT_20240131.txt", "Concept", "20240131"),
        ("xsct2_Description_Snapshot-en_INT_20240131.txt", "Description", "20240131"),
        ("sct2_Description_UKCLSnapshot-en_GB1000000_20231122.txt", "Description", "20231122"),
        ("sct2_TextDefinition_Snapshot-en_US1000124_20240301.txt", "TextDefinition", "20240301"),
        ("der2_cRefset_LanguageSnapshot-es-ar_ArgentinaEdition_20231130.txt", "Language", "20231130"),
        ("der2_cRefset_AssociationReferenceSnapshot_INT_20150131.txt", "Association", "20150131"),
        ("sct2_Concept_Full_INT_20240131.txt", None, None),
        ("sct2_StatedRelationship_Snapshot_INT_20240131.txt", None, None),
        ("sct2_RelationshipConcreteValues_Snapshot_INT_20240131.txt", None, None),
        ("der2_cRefset_AttributeValueSnapshot_INT_20240131.txt", None, None),
        ("der2_iisssccRefset_ExtendedMapSnapshot_INT_20240131.txt", None, None),
    ],
)
def test_kinds_by_name(name: str, kind: str | None, date: str | None) -> None:
    assert (kind_of(name), date_of(Path(name))) == (kind, date)


def test_any_file_of_the_snapshot_finds_the_others_however_they_are_packed(copy: Path) -> None:
    for file in (DESCRIPTIONS, LANGUAGE):
        path = copy / file
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    for start in (copy, copy / "Snapshot", copy / CONCEPTS, copy / DESCRIPTIONS.with_suffix(".txt.gz")):
        assert reader_for(start)[0] == "rf2"
        assert list(rf2.read(start)) == list(rf2.read(SNOMED))


def test_an_archive_as_it_is_downloaded(tmp_path: Path) -> None:
    path = tmp_path / "SnomedCT_InternationalRF2.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(SNOMED.rglob("*.txt")):
            archive.write(file, Path("SnomedCT_InternationalRF2", file.relative_to(SNOMED)))
        archive.writestr("SnomedCT_InternationalRF2/Readme.txt", "read me")
    assert reader_for(path)[0] == "rf2"
    assert list(rf2.read(path)) == list(rf2.read(SNOMED))
    assert list(rf2.read(path / "SnomedCT_InternationalRF2" / CONCEPTS)) == list(rf2.read(SNOMED))
    assert rf2.describe(path).sha256 == sha256(path)


def test_a_release_without_a_snapshot(tmp_path: Path, copy: Path) -> None:
    with pytest.raises(FormatError, match=r"has no file sct2_Concept_Snapshot\.\.\. with it \(Full and Delta"):
        list(rf2.read(copy / "Full"))
    (copy / DESCRIPTIONS).unlink()
    with pytest.raises(FormatError, match=r"has no file sct2_Description_Snapshot\.\.\. with it"):
        find_files(copy)


def test_of_two_packages_the_later_row_counts(copy: Path) -> None:
    extension = copy / "Extension" / "Snapshot"
    extension.mkdir(parents=True)
    rows = {
        "sct2_Concept_Snapshot_XX_20240301.txt": ["100003\t20240301\t0\t1\t900000000000074008"],
        "sct2_Description_Snapshot-en_XX_20240301.txt": [
            f"2000061\t20240301\t0\t1\t100002\ten\t{SYNONYM}\tHeart disease\t{CASE}",
            f"2000041\t20230301\t1\t1\t100002\ten\t{SYNONYM}\tAn older term\t{CASE}",
            f"2999011\t20240301\t1\t1\t100002\ten\t{SYNONYM}\tA word of the extension\t{CASE}",
        ],
        "der2_cRefset_LanguageSnapshot-en_XX_20240301.txt": [
            "b0\t20240301\t1\t1\t900000000000509007\t2999011\t900000000000549004"
        ],
    }
    originals = (CONCEPTS, DESCRIPTIONS, LANGUAGE)
    for (name, lines), original in zip(rows.items(), originals, strict=True):
        header = (SNOMED / original).read_text(encoding="utf-8").partition("\n")[0]
        (extension / name).write_text("\n".join([header, *lines, ""]), encoding="utf-8")
    found = {record.id: record for record in rf2.read(copy)}
    assert found["100003"] == Retired("100003")
    assert texts(copy) == [
        "Cardiac anemia state",
        "A word of the extension",
        "Cardiac anaemia state",
        "Disorder of heart",
    ]
    assert rf2.describe(copy).release == "20240131, 20240301"


# Mistakes and faults


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"languages": ("en", "de")}, "has no description in the language 'de'; it has: en, es"),
        ({"dialect": "au"}, "has no language reference set 'au'; it has: us, gb, 900000000000508004, 9000"),
        ({"dialect": "123456"}, "has no language reference set '123456'"),
        ({"dialect": "9" * 30}, "has no language reference set '9999"),
    ],
)
def test_what_the_release_does_not_have_is_named(options: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        list(rf2.read(SNOMED, **options))


def test_a_dialect_alone_where_there_is_none(copy: Path) -> None:
    (copy / LANGUAGE).unlink()
    with pytest.raises(UsageError, match="has no language reference set 'us'; it has: none"):
        list(rf2.read(copy, one_dialect=True))


@pytest.mark.parametrize(
    ("file", "old", "new", "line", "why"),
    [
        (DESCRIPTIONS, "\tRound\t", "\t", 12, r"expected 9 fields \(id, .*\), found 8: is the line cut off\?"),
        (DESCRIPTIONS, "\tRound\t", "\tRo\tund\t", 12, "found 10"),
        (DESCRIPTIONS, "\tRound\t", "\t \t", 12, "the term is empty"),
        (DESCRIPTIONS, "\tRound\t", "\tRou\x00nd\t", 12, r"control character U\+0000"),
        (DESCRIPTIONS, "2000111\t", "2000101\t", 12, "a second row of 2000101: is it a snapshot"),
        (DESCRIPTIONS, "2000111\t", "x\t", 12, "expected an identifier of up to 18 digits, found 'x'"),
        (DESCRIPTIONS, "2000111\t20240131\t1", "2000111\t20240131\ty", 12, "active must be 0 or 1, not 'y'"),
        (CONCEPTS, "100004\t", "1000041000041000041\t", 5, "expected an identifier of up to 18 digits"),
        (CONCEPTS, "100004\t", "100003\t", 5, "a second row of 100003"),
        (CONCEPTS, "100023\t20240131\t0", "100023\t20240131", 9, "expected 5 fields"),
        (DEFINITIONS, "Whatever ails a heart.", "", 2, "the term is empty"),
        (RELATIONSHIPS, "100404", "", 3, "expected an identifier"),
        (LANGUAGE, "\t900000000000548007", "\t900000000000548", 2, "acceptabilityId must have 18 digits"),
        (LANGUAGE, "\t900000000000548007", "\t900000000000548001", 2, "the acceptability must be .* not '9000"),
        (ASSOCIATIONS, "100020\t100002", "100020\tx", 2, "expected an identifier"),
    ],
)
def test_faults_name_file_and_line(
    edit: Callable[..., Path], copy: Path, file: Path, old: str, new: str, line: int, why: str
) -> None:
    path = edit(file, old, new)
    with pytest.raises(FormatError, match=why) as caught:
        list(rf2.read(copy))
    assert (caught.value.path, caught.value.line) == (path, line)
    faults: list[FormatError] = []
    assert list(rf2.read(copy, skip=faults.append))
    assert [(fault.path, fault.line) for fault in faults] == [(path, line)]


def test_other_columns_are_refused_even_when_lenient(edit: Callable[..., Path], copy: Path) -> None:
    path = edit(DESCRIPTIONS, "languageCode", "lang")
    with pytest.raises(FormatError, match="expected a first line with the columns id, effectiveTime") as caught:
        list(rf2.read(copy, skip=[].append))
    assert (caught.value.path, caught.value.line) == (path, 1)


def test_rows_in_any_order(copy: Path) -> None:
    for file in (CONCEPTS, RELATIONSHIPS, LANGUAGE, ASSOCIATIONS, DEFINITIONS):
        header, *rows = (copy / file).read_text(encoding="utf-8").splitlines(keepends=True)
        random.Random(1).shuffle(rows)
        (copy / file).write_text("".join([header, *rows]), encoding="utf-8")
    assert list(rf2.read(copy)) == list(rf2.read(SNOMED))


# Memory


@pytest.mark.slow
def test_memory_does_not_grow_with_the_release(copy: Path) -> None:
    concepts = 25_000
    with open(copy / CONCEPTS, "a", encoding="utf-8") as stream:
        stream.writelines(f"{c}\t20240131\t1\t{MODULE}\t900000000000074008\n" for c in range(10**6, 10**6 + concepts))
    with open(copy / DESCRIPTIONS, "a", encoding="utf-8") as stream:
        stream.writelines(
            f"{10**9 + d}\t20240131\t1\t{MODULE}\t{10**6 + d % concepts}\ten\t{SYNONYM}\tmade name {d}\t{CASE}\n"
            for d in range(3 * concepts)
        )
    with open(copy / LANGUAGE, "a", encoding="utf-8") as stream:
        stream.writelines(
            f"u{d}\t20240131\t1\t{MODULE}\t900000000000509007\t{10**9 + d}\t900000000000549004\n"
            for d in range(3 * concepts)
        )
    tracemalloc.start()
    try:
        names = sum(len(record.names) for record in rf2.read(copy) if isinstance(record, Entity))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert names == 7 + 3 * concepts
    assert peak < 4_000_000, f"{peak:,} bytes"
