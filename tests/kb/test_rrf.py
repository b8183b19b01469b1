from __future__ import annotations

import gzip
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from nomina.cli.main import main
from nomina.errors import FormatError, UsageError
from nomina.files import sha256
from nomina.kb import reader_for, rrf, st21pv
from nomina.kb.build import build_from_files
from nomina.kb.store import KnowledgeBase
from nomina.types import Entity, Name, Retired

DATA = Path(__file__).parent / "data"
UMLS = DATA / "rrf"
RXNORM = DATA / "rxnorm"

HEART = Entity(
    "C0000002",
    (
        Name("Heart disease", kind="preferred", source="MSH"),
        Name("Heart diseases", source="MTH"),
        Name("heart disease", source="SNOMEDCT_US"),
        Name("HDX", kind="abbreviation", source="NCI"),
        Name("bad heart", kind="layperson", source="CHV"),
        Name("Cardiopathy", source="HPO"),
    ),
    "Whatever ails a heart.",
    ("T047", "T046"),
)
CORAZOLOL = Entity(
    "C0000005",
    (
        Name("corazolol", kind="preferred", source="RXNORM"),
        Name("Heartex", "narrow", "tradename", "RXNORM"),
        Name("HTX", "narrow", "tradename", "VANDF"),
    ),
    "A remedy of this test.",
    ("T109", "T121"),
)


def entities(path: Path, **options: Any) -> dict[str, Entity]:
    return {record.id: record for record in rrf.read(path, **options) if isinstance(record, Entity)}


def texts(path: Path, id: str, **options: Any) -> list[str]:
    return [name.text for name in entities(path, **options)[id].names]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(UMLS, tmp_path / "META"))


def test_umls_whole() -> None:
    assert list(rrf.read(UMLS)) == [
        Entity("C0000001", (Name("Disease", kind="preferred", source="MSH"),), types=("T047",)),
        HEART,
        Entity("C0000003", (Name("Round", kind="preferred", source="NCI"),), types=("T077",)),
        Entity("C0000004", (Name("And round", kind="preferred", source="NCI"),), types=("T077",)),
        CORAZOLOL,
        Entity(
            "C0000006",
            (Name("Heartex", kind="preferred", source="RXNORM"), Name("HTX", kind="abbreviation", source="VANDF")),
            types=("T121",),
        ),
        Retired("C0000020", ("C0000002",)),
        Retired("C0000021"),
        Retired("C0000022"),
    ]


def test_rxnorm_whole() -> None:
    drug, brand = "corazolol 5 MG Oral Tablet", "corazolol 5 MG Oral Tablet [Heartex]"
    assert list(rrf.read(RXNORM)) == [
        Entity(
            "7",
            (
                Name("corazolol", kind="preferred", source="RXNORM"),
                Name("CORAZOLOL", source="MTHSPL"),
                Name("Corazolol (test)", source="RXNORM"),
                Name("Heartex", "narrow", "tradename", "RXNORM"),
                Name("HTX", "narrow", "tradename", "VANDF"),
            ),
            types=("T109", "T121"),
            xrefs=("RXNORM:7",),
        ),
        Entity(
            "12",
            (Name("Heartex", kind="preferred", source="RXNORM"), Name("HTX", kind="abbreviation", source="VANDF")),
            types=("T121",),
            xrefs=("RXNORM:12",),
        ),
        Entity(
            "103",
            (Name(brand, kind="preferred", source="RXNORM"), Name("Heartex 5 MG tablet", source="RXNORM")),
            types=("T200",),
            xrefs=("RXNORM:103",),
        ),
        Entity(
            "104",
            (
                Name(drug, kind="preferred", source="RXNORM"),
                Name("Heartex 5 MG tablet", "narrow", "tradename", "RXNORM"),
                Name(brand, "narrow", "tradename", "RXNORM"),
            ),
            types=("T200",),
            xrefs=("RXNORM:104",),
        ),
        Retired("55", ("7",)),
        Retired("56", ("103",)),
        Retired("56", ("104",)),
        Retired("57"),
        Retired("58"),
    ]
    assert entities(RXNORM, parents=True)["104"].parents == ("7",)


def test_a_brand_is_first_itself_and_then_what_it_is_a_brand_of(tmp_path: Path) -> None:
    kb = build_from_files(tmp_path / "a.kb", [UMLS])
    row = kb.row("heartex")
    assert row is not None
    assert [(owner.entity_id, owner.name.scope) for owner in kb.owners_of(row)] == [
        ("C0000005", "narrow"),
        ("C0000006", "exact"),
    ]


def test_what_it_says_of_itself(tmp_path: Path) -> None:
    umls, rxnorm = rrf.describe(UMLS), rrf.describe(RXNORM / "RXNCONSO.RRF")
    assert umls.file == "rrf (MRCONSO.RRF, MRSTY.RRF, MRDEF.RRF, MRREL.RRF, MRCUI.RRF)"
    assert (umls.title, umls.release) == ("UMLS Metathesaurus", "2024TT")
    assert (rxnorm.title, rxnorm.release) == ("RxNorm", "RXNORM_24TT_240229F")
    assert rxnorm.file == "RXNCONSO.RRF (RXNCONSO.RRF, RXNSTY.RRF, RXNREL.RRF, RXNCUI.RRF)"
    shutil.copy(UMLS / "MRCONSO.RRF", tmp_path)
    alone = rrf.describe(tmp_path / "MRCONSO.RRF")
    assert (alone.file, alone.release, alone.sha256) == ("MRCONSO.RRF", None, sha256(UMLS / "MRCONSO.RRF"))


# Where the files lie


def test_the_file_of_names_finds_the_others_however_they_are_packed(copy: Path) -> None:
    for name in ("MRSTY.RRF", "MRDEF.RRF"):
        packed = copy / f"{name}.gz"
        packed.write_bytes(gzip.compress((copy / name).read_bytes()))
        (copy / name).unlink()
    with zipfile.ZipFile(copy / "mrcui.rrf.zip", "w") as archive:
        archive.write(copy / "MRCUI.RRF", "MRCUI.RRF")
    (copy / "MRCUI.RRF").unlink()
    assert list(rrf.read(copy / "MRCONSO.RRF")) == list(rrf.read(UMLS))
    assert list(rrf.read(copy)) == list(rrf.read(UMLS))


def test_zstd_beside(copy: Path) -> None:
    zstandard = pytest.importorskip("zstandard", reason="needs the extra zstd")
    (copy / "MRCONSO.RRF.zst").write_bytes(zstandard.compress((copy / "MRCONSO.RRF").read_bytes()))
    (copy / "MRCONSO.RRF").unlink()
    assert reader_for(copy)[0] == "rrf"
    assert list(rrf.read(copy)) == list(rrf.read(UMLS))


@pytest.mark.parametrize("inside", ["", "2024AA/META/"])
def test_an_archive_as_it_is_downloaded(tmp_path: Path, inside: str) -> None:
    path = tmp_path / "umls.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in UMLS.iterdir():
            archive.write(file, inside + file.name)
        archive.writestr("2024AA/NET/SRDEF", "other")
    assert reader_for(path)[0] == "rrf"
    assert list(rrf.read(path)) == list(rrf.read(UMLS))
    assert list(rrf.read(path / inside / "MRCONSO.RRF")) == list(rrf.read(UMLS))
    assert rrf.describe(path).sha256 == sha256(path)
    kb = build_from_files(tmp_path / "a.kb", [path])
    assert (kb.manifest.release, kb.resolve("C0000020")) == ("2024TT", "C0000002")


def test_of_two_releases_in_an_archive_the_one_nearer_to_the_top(tmp_path: Path) -> None:
    path = tmp_path / "RxNorm_full.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("prescribe/rrf/RXNCONSO.RRF", "1|ENG||||||9|||1|RXNORM|IN|1|wrong||N||\n")
        for file in RXNORM.iterdir():
            archive.write(file, f"rrf/{file.name}")
    assert list(rrf.read(path)) == list(rrf.read(RXNORM))


def test_names_alone_under_another_name(tmp_path: Path) -> None:
    shutil.copytree(UMLS, tmp_path / "META")
    path = tmp_path / "META" / "extract.txt"
    shutil.copy(UMLS / "MRCONSO.RRF", path)
    assert reader_for(path)[0] == "rrf"
    found = list(rrf.read(path))
    assert len(found) == 6
    assert found[1] == Entity(HEART.id, HEART.names)


def test_a_folder_without_names(tmp_path: Path) -> None:
    shutil.copy(UMLS / "MRSTY.RRF", tmp_path)
    with pytest.raises(FormatError, match="is a directory without the files of a terminology"):
        reader_for(tmp_path)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("MRSTY.RRF", "")
        archive.writestr("MRDEF.RRF", "")
    with pytest.raises(FormatError, match="is an archive without the files of a terminology"):
        reader_for(tmp_path / "a.zip")
    with pytest.raises(FormatError, match=r"holds neither MRCONSO\.RRF nor RXNCONSO\.RRF"):
        list(rrf.read(tmp_path))


# Options


def test_languages() -> None:
    spanish = entities(UMLS, languages=("SPA",))
    assert {id: entity.names for id, entity in spanish.items()} == {
        "C0000002": (Name("enfermedad del corazón", kind="preferred", source="MSHSPA"),),
        "C0000009": (Name("sólo en español", kind="preferred", source="MSHSPA"),),
    }
    assert spanish["C0000002"].definition == "Lo que aflige al corazón."
    assert entities(UMLS, languages=("eng", "spa"))["C0000002"].name == "Heart disease"
    both = entities(UMLS, languages=("SPA", "ENG"))
    assert both["C0000002"].name == "enfermedad del corazón"
    assert both["C0000001"].name == "Disease"
    assert len(entities(UMLS, languages=("all",))) == 7


def test_sources() -> None:
    found = entities(UMLS, sources=("NCI", "HPO"))
    assert list(found) == ["C0000002", "C0000003", "C0000004"]
    assert [(name.text, name.source) for name in found["C0000002"].names] == [
        ("Heart disease", "NCI"),
        ("HDX", "NCI"),
        ("Cardiopathy", "HPO"),
    ]
    assert found["C0000002"].definition == "A disorder that ails a heart."
    assert texts(UMLS, "C0000002", sources=("st21pv",)) == [
        "Heart disease",
        "Heart diseases",
        "heart disease",
        "HDX",
        "Cardiopathy",
    ]
    assert "bad heart" in texts(UMLS, "C0000002", sources=("ST21PV", "CHV"))


@pytest.mark.parametrize(
    ("types", "ids"),
    [
        (("T046",), ["C0000002"]),
        (("disease or syndrome",), ["C0000001", "C0000002"]),
        (("Organic Chemical", "T077"), ["C0000003", "C0000004", "C0000005"]),
        (("st21pv",), ["C0000001", "C0000002", "C0000005", "C0000006"]),
        (("st21pv", "T077"), [f"C000000{digit}" for digit in range(1, 7)]),
    ],
)
def test_types(types: tuple[str, ...], ids: list[str]) -> None:
    assert list(entities(UMLS, types=types)) == ids


def test_the_preset_is_the_published_list_and_what_lies_under_it() -> None:
    published = (
        "T005 T007 T017 T022 T031 T033 T037 T038 T058 T062 T074 T082 T091 T092 T097 T098 T103 T168 T170 T201 T204"
    )
    assert " ".join(st21pv.TYPES) == published
    assert st21pv.WITH_ALL_UNDER.issuperset(st21pv.TYPES)
    assert {"T047", "T191", "T121", "T184", "T016", "T023"} <= st21pv.WITH_ALL_UNDER  # a few that were meant
    assert not {"T071", "T077", "T080", "T081", "T167", "T200"} & st21pv.WITH_ALL_UNDER
    assert len(st21pv.SOURCES) == 18


def test_suppressed_names() -> None:
    assert texts(UMLS, "C0000002", suppress=("N", "O"))[-1] == "Old heart disease"
    assert texts(UMLS, "C0000002", suppress=("O",)) == ["Old heart disease"]
    assert "Heartex forte" in texts(UMLS, "C0000005", suppress=("N", "Y"))


def test_trade_names_and_parents() -> None:
    assert texts(UMLS, "C0000005", tradenames=False) == ["corazolol"]
    found = entities(UMLS, parents=True)
    assert {id: entity.parents for id, entity in found.items() if entity.parents} == {
        "C0000002": ("C0000001", "C0000404"),
        "C0000003": ("C0000004",),
        "C0000004": ("C0000003",),
    }
    assert entities(UMLS, parents=True, suppress=("N", "O"))["C0000002"].parents == (
        "C0000001",
        "C0000003",
        "C0000404",
    )


def test_xrefs() -> None:
    assert entities(UMLS, xrefs=True)["C0000002"].xrefs == (
        "SNOMEDCT_US:90000201",
        "MESH:D900002",
        "NCIT:C90002",
        "CHV:0000900002",
        "HP:9000002",
    )


def test_every_source() -> None:
    names = entities(UMLS, every_source=True)["C0000002"].names
    assert [(name.kind, name.source) for name in names if name.text == "Heart disease"] == [
        ("preferred", "MSH"),
        (None, "NCI"),
    ]


def test_possible_replacements() -> None:
    found = [record for record in rrf.read(UMLS, possible_replacements=True) if isinstance(record, Retired)]
    assert found == [Retired("C0000020", ("C0000002",)), Retired("C0000021", ("C0000001",)), Retired("C0000022")]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"languages": ("english",)}, r"MRCONSO\.RRF has no name in the language 'ENGLISH'"),
        ({"sources": ("MSH", "SNOMED")}, r"has no name of the source 'SNOMED' in ENG"),
        ({"types": ("T999",)}, r"MRSTY\.RRF has no semantic type 'T999'; it has: T046 Pathologic Function, T047"),
    ],
)
def test_what_the_release_does_not_have_is_named(options: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        list(rrf.read(UMLS, **options))


@pytest.mark.parametrize(("option", "file"), [({"types": ("st21pv",)}, "STY"), ({"parents": True}, "REL")])
def test_an_option_that_needs_a_file_which_is_not_there(copy: Path, option: dict[str, Any], file: str) -> None:
    (copy / f"MR{file}.RRF").unlink()
    with pytest.raises(UsageError, match=rf"needs MR{file}\.RRF beside .*MRCONSO\.RRF"):
        list(rrf.read(copy, **option))


def test_options_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "a.kb")
    build = ["kb", "build", str(UMLS), "-o", path]
    assert main([*build, "--option", "types=st21pv", "--option", "parents=true"]) == 0
    kb = KnowledgeBase.open(path)
    assert list(kb) == ["C0000001", "C0000002", "C0000005", "C0000006"]
    assert kb.manifest.sources[0].options == "types=st21pv parents=true"
    assert main(["kb", "info", path]) == 0
    assert "options         types=st21pv parents=true\n" in capsys.readouterr().out
    assert main([*build, "--option", "type=st21pv"]) == 2
    assert capsys.readouterr().err == (
        "nomina: the format rrf has no option type; there are: languages, sources, types, suppress, tradenames, "
        "parents, xrefs, every_source, possible_replacements\n"
    )
    assert list(KnowledgeBase.open(path)) == list(kb)


def test_options_when_a_kb_is_brought_up_to_date(tmp_path: Path) -> None:
    old, new = tmp_path / "old.kb", tmp_path / "new.kb"
    build_from_files(old, [RXNORM])
    assert main(["kb", "add", str(old), str(UMLS), "-o", str(new), "--option", "types=T046"]) == 0
    assert list(KnowledgeBase.open(new)) == ["7", "12", "103", "104", "C0000002"]
