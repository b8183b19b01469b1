from __future__ import annotations

from pathlib import Path

import pytest

from nomina.errors import FormatError
from nomina.kb import icd10cm
from nomina.types import Entity, Name

TINY = Path(__file__).parent / "data" / "icd10cm.xml"


def preferred(text: str) -> Name:
    return Name(text, kind="preferred")


def test_tiny_file_whole() -> None:
    assert list(icd10cm.read(TINY)) == [
        Entity("1", (preferred("Diseases of the heart"),), types=("chapter",), xrefs=("ICD10CM:1",)),
        Entity(
            "I20-I25",
            (preferred("Ischemic heart diseases"),),
            types=("section",),
            parents=("1",),
            xrefs=("ICD10CM:I20-I25",),
        ),
        Entity(
            "I21",
            (
                preferred("Acute myocardial infarction"),
                Name("coronary (artery) embolism", "narrow"),
                Name("infarction of heart", "narrow"),
            ),
            types=("category",),
            parents=("I20-I25",),
            xrefs=("ICD10CM:I21",),
        ),
        Entity(
            "I21.0",
            (preferred("STEMI of anterior wall"), Name("Transmural infarction NOS", "narrow")),
            types=("code",),
            parents=("I21",),
            xrefs=("ICD10CM:I21.0",),
        ),
        Entity(
            "I21.X1", (preferred("Type 2 infarction"),), types=("code",), parents=("I21",), xrefs=("ICD10CM:I21.X1",)
        ),
        Entity("I30", (preferred("Pericarditis"),), types=("code",), parents=("1",), xrefs=("ICD10CM:I30",)),
    ]
    assert icd10cm.describe(TINY).release == "2024"


def test_seventh_characters_are_written_out_on_demand() -> None:
    added = [entity for entity in icd10cm.read(TINY, seventh=True) if entity not in list(icd10cm.read(TINY))]
    assert [(entity.id, entity.name, entity.parents) for entity in added] == [
        ("I21.0XXA", "STEMI of anterior wall, initial encounter", ("I21.0",)),
        ("I21.0XXD", "STEMI of anterior wall, subsequent encounter", ("I21.0",)),
        ("I21.X1XA", "Type 2 infarction, initial encounter", ("I21.X1",)),
        ("I21.X1XD", "Type 2 infarction, subsequent encounter", ("I21.X1",)),
    ]


def test_no_later_encounter_after_death(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    text = TINY.read_text(encoding="utf-8").replace("I21.X1", "S06.1X7").replace("I21.0", "S06.1X6")
    path.write_text(text, encoding="utf-8")
    ids = [entity.id for entity in icd10cm.read(path, seventh=True)]
    assert [id for id in ids if id.startswith("S06")] == [
        "S06.1X6",
        "S06.1X6A",
        "S06.1X6D",
        "S06.1X7",
        "S06.1X7A",
    ]


@pytest.mark.parametrize(
    ("old", "new", "line", "why"),
    [
        ("<name>I21.0</name>", "", 40, "a code without its code"),
        ("<desc>Acute myocardial infarction</desc>", "<desc> </desc>", 22, "a category without its title"),
        ("<name>I21.X1</name>", "<name>I21.0</name>", 48, "a second entry with the code I21.0"),
        ("</chapter>", "", 62, "is not well-formed XML .mismatched tag"),
    ],
)
def test_faults(tmp_path: Path, old: str, new: str, line: int, why: str) -> None:
    path = tmp_path / "a.xml"
    path.write_text(TINY.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(FormatError, match=why) as caught:
        list(icd10cm.read(path))
    assert caught.value.line == line
