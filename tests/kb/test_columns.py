from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest

from nomina.errors import FormatError, UsageError
from nomina.kb import columns, reader_for
from nomina.kb.build import build_from_files
from nomina.kb.column_maps import MAPS
from nomina.types import Entity, Name, Retired

DATA = Path(__file__).parent / "data"


def preferred(text: str) -> Name:
    return Name(text, kind="preferred")


def read(tmp_path: Path, text: str, faults: list[FormatError] | None = None) -> list[Entity | Retired]:
    path = tmp_path / "table"
    path.write_text(text, encoding="utf-8", newline="")
    assert reader_for(path) == ("columns", columns)
    return list(columns.read(path, skip=None if faults is None else faults.append))


def test_ctd_diseases() -> None:
    path = DATA / "CTD_diseases.tsv"
    assert list(columns.read(path))[1] == Entity(
        "T:2",
        (preferred("Heart disease"), Name("Heart diseases"), Name("bad heart")),
        'What ails "hearts"',
        ("Cardiovascular disease", "Cancer"),
        ("T:1", "T:404"),
        ("DO:DOID:114", "OMIM:100"),
        ("OMIM:100",),
    )
    info = columns.describe(path)
    assert (info.title, info.release) == ("CTD diseases (MEDIC)", "Thu Feb 29 10:11:12 EST 2024")
    assert info.licence == "http://ctdbase.org/about/legal.jsp"


CTD_CHEMICALS = """\
# Copyright: "all rights reserved
# Fields:
# ChemicalName,ChemicalID,CasRN,PubChemCID,PubChemSID,DTXSID,InChIKey,Definition,ParentIDs,TreeNumbers,\
ParentTreeNumbers,MESHSynonyms,CTDCuratedSynonyms
#
"2(3H)-Furanone, 3-(acetyloxy)-",MESH:C014305,28227-36-3,CID:2836600,,DTXSID7,KEY-N,"The ""oil"".",MESH:D015107,,,\
"a, b|c",d
#1 compound,MESH:C534883,,,,,,,,,,,
"""


def test_ctd_chemicals_as_csv(tmp_path: Path) -> None:
    assert read(tmp_path, CTD_CHEMICALS) == [
        Entity(
            "MESH:C014305",
            (preferred("2(3H)-Furanone, 3-(acetyloxy)-"), Name("a, b"), Name("c"), Name("d")),
            'The "oil".',
            (),
            ("MESH:D015107",),
            ("CAS:28227-36-3", "PUBCHEM.COMPOUND:2836600", "DSSTOX:DTXSID7", "INCHIKEY:KEY-N"),
        ),
        Entity("MESH:C534883", (preferred("#1 compound"),)),
    ]


def test_ctd_chemicals_of_older_releases(tmp_path: Path) -> None:
    text = "# ChemicalName\tChemicalID\tCasRN\tDefinition\tParentIDs\tSynonyms\n#\nX\tMESH:C1\t1-11-1\t\t\ty|z\n"
    assert read(tmp_path, text) == [Entity("MESH:C1", (preferred("X"), Name("y"), Name("z")), xrefs=("CAS:1-11-1",))]


def test_ctd_genes(tmp_path: Path) -> None:
    text = (
        "# GeneSymbol\tGeneName\tGeneID\tAltGeneIDs\tSynonyms\tBioGRIDIDs\tPharmGKBIDs\tUniProtIDs\n#\n"
        "TP53\ttumor protein p53\t7157\t8|9\tp53|LFS1\t\t\tP04637|Q15086\n"
    )
    assert read(tmp_path, text) == [
        Entity(
            "7157",
            (preferred("TP53"), Name("tumor protein p53"), Name("p53"), Name("LFS1")),
            xrefs=("NCBIGENE:7157", "UNIPROT:P04637", "UNIPROT:Q15086"),
            retired_ids=("8", "9"),
        )
    ]


GENE_INFO = """\
#tax_id\tGeneID\tSymbol\tLocusTag\tSynonyms\tdbXrefs\tchromosome\tmap_location\tdescription\ttype_of_gene\t\
Symbol_from_nomenclature_authority\tFull_name_from_nomenclature_authority\tNomenclature_status\tOther_designations\t\
Modification_date\tFeature_type
7\t5692769\tNEWENTRY\t-\t-\t-\t-\t-\tRecord to support submission\tother\t-\t-\t-\t-\t20230101\t-
9606\t1\tA1BG\t-\tA1B|ABG\tMIM:138670|HGNC:HGNC:5\t19\t19q13\talpha-1-B glycoprotein\tprotein-coding\tA1BG\t\
alpha-1-B glycoprotein\tO\tHEL-S-163pA|epididymis secretory\t20240229\t-
"""


def test_ncbi_gene(tmp_path: Path) -> None:
    (gene,) = read(tmp_path, GENE_INFO)
    assert gene == Entity(
        "1",
        (
            preferred("A1BG"),
            Name("alpha-1-B glycoprotein"),
            Name("A1B"),
            Name("ABG"),
            Name("HEL-S-163pA"),
            Name("epididymis secretory"),
        ),
        types=("protein-coding", "NCBITaxon:9606"),
        xrefs=("NCBIGENE:1", "MIM:138670", "HGNC:HGNC:5"),
    )
    history = (
        "#tax_id\tGeneID\tDiscontinued_GeneID\tDiscontinued_Symbol\tDiscontinue_Date\n9\t1\t7\tX\t2\n9\t-\t8\tY\t2\n"
    )
    assert read(tmp_path, history) == [Retired("7", ("1",)), Retired("8")]


def test_hgnc(tmp_path: Path) -> None:
    text = (
        "hgnc_id\tsymbol\tname\tlocus_type\tstatus\talias_symbol\talias_name\tprev_symbol\tentrez_id\n"
        'HGNC:37133\tA1BG-AS1\tA1BG antisense RNA 1\tRNA\tApproved\tFLJ23569\t\t"NCRNA00181|A1BGAS"\t503538\n'
    )
    assert read(tmp_path, text) == [
        Entity(
            "HGNC:37133",
            (
                preferred("A1BG-AS1"),
                Name("A1BG antisense RNA 1"),
                Name("FLJ23569"),
                Name("NCRNA00181", kind="previous"),
                Name("A1BGAS", kind="previous"),
            ),
            types=("RNA",),
            xrefs=("NCBIGENE:503538",),
        )
    ]
    withdrawn = (
        "HGNC_ID\tSTATUS\tWITHDRAWN_SYMBOL\tMERGED_INTO_REPORT(S) (i.e HGNC_ID|SYMBOL|STATUS)\n"
        "HGNC:1\tEntry Withdrawn\tA12M1\t\n"
        "HGNC:6\tMerged/Split\tA1S9T\tHGNC:12469|UBA1|Approved, HGNC:7|X|Approved\n"
        'HGNC:8\tMerged/Split\tA8\t"HGNC:9|Y|Approved, HGNC:7|X|Approved"\n'
    )
    assert read(tmp_path, withdrawn) == [
        Retired("HGNC:1"),
        Retired("HGNC:6", ("HGNC:12469", "HGNC:7")),
        Retired("HGNC:8", ("HGNC:9", "HGNC:7")),
    ]


def test_hgnc_custom_download(tmp_path: Path) -> None:
    text = (
        "HGNC ID\tApproved symbol\tApproved name\tStatus\tAlias symbols\tPrevious symbols\n"
        "HGNC:5\tA1BG\talpha-1-B glycoprotein\tApproved\tA1B, ABG\t\n"
        "HGNC:6\tA1S9T\tsymbol withdrawn, see [HGNC:12469](/data/#!/hgnc_id/HGNC:12469)\tSymbol Withdrawn\t\t\n"
        "HGNC:1\tA12M1\tadenovirus-12 site 1C\tEntry Withdrawn\t\t\n"
    )
    names = (preferred("A1BG"), Name("alpha-1-B glycoprotein"), Name("A1B"), Name("ABG"))
    assert read(tmp_path, text) == [Entity("HGNC:5", names), Retired("HGNC:6", ("HGNC:12469",)), Retired("HGNC:1")]


def dump(*rows: tuple[str, ...]) -> str:
    return "".join("\t|\t".join(row) + "\t|\n" for row in rows)


TAXONOMY = {
    "names.dmp": dump(
        ("1", "root", "", "scientific name"),
        ("2", "Bacteria", "Bacteria <bacteria>", "scientific name"),
        ("2", "eubacteria", "", "genbank common name"),
        ("2", "Prokaryotae", "", "in-part"),
        ("9606", "human", "", "genbank common name"),
        ("9606", "Homo sapiens", "", "scientific name"),
    ),
    "nodes.dmp": dump(
        ("1", "1", "no rank", "", "8", "0"), ("2", "1", "superkingdom", "", "0", "0"), ("9606", "1", "species", "HS")
    ),
    "merged.dmp": dump(("12", "9606")),
    "delnodes.dmp": dump(("3",)),
}


def test_ncbi_taxonomy_of_four_files(tmp_path: Path) -> None:
    for name, text in TAXONOMY.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    kb = build_from_files(tmp_path / "taxonomy.kb", [tmp_path / name for name in TAXONOMY])
    assert list(kb.values()) == [
        Entity("1", (preferred("root"),), types=("no rank",), xrefs=("NCBITAXON:1",)),
        Entity(
            "2",
            (preferred("Bacteria"), Name("eubacteria", kind="common"), Name("Prokaryotae", "broad", "in_part")),
            types=("superkingdom",),
            parents=("1",),
            xrefs=("NCBITAXON:2",),
        ),
        Entity(
            "9606",
            (preferred("Homo sapiens"), Name("human", kind="common")),
            types=("species",),
            parents=("1",),
            xrefs=("NCBITAXON:9606",),
        ),
    ]
    assert (kb.resolve("12"), kb.resolve("3"), kb.retired("3")) == ("9606", None, Retired("3"))
    assert [source.title for source in kb.manifest.sources] == [
        "NCBI Taxonomy, names",
        "NCBI Taxonomy, tree",
        "NCBI Taxonomy, merged",
        "NCBI Taxonomy, deleted",
    ]


def test_ncbi_taxonomy_as_a_folder_and_as_an_archive(tmp_path: Path) -> None:
    folder = tmp_path / "taxdump"
    folder.mkdir()
    with ZipFile(tmp_path / "taxdmp.zip", "w") as archive:
        for name, text in {**TAXONOMY, "gencode.dmp": "0\t|\t\t|\n", "readme.txt": "see there\n"}.items():
            (folder / name).write_text(text, encoding="utf-8")
            archive.writestr(name, text)
    by_folder = build_from_files(tmp_path / "folder.kb", [folder])
    by_archive = build_from_files(tmp_path / "archive.kb", [tmp_path / "taxdmp.zip"])
    assert by_folder.fingerprint == by_archive.fingerprint
    assert (by_folder["9606"].parents, by_folder.resolve("12")) == (("1",), "9606")
    (source,) = by_archive.manifest.sources
    assert (source.file, source.format, source.title) == ("taxdmp.zip (4 files)", "columns", "NCBI Taxonomy")


def test_unii_names_lose_the_list_they_come_from(tmp_path: Path) -> None:
    text = (
        "Name\tTYPE\tUNII\tDisplay Name\r\n"
        "ACETYLSALICYLIC ACID [WHO-IP]\tcn\tR16\tASPIRIN\r\n"
        "ASPIRIN [USP-RS]\tcn\tR16\tASPIRIN\r\n"
        "DURLAZA\tbn\tR16\tASPIRIN\r\n"
        "WATER [18F]\tsys\tX\tWATER\r\n"
    )
    assert read(tmp_path, text) == [
        Entity(
            "R16",
            (preferred("ASPIRIN"), Name("ACETYLSALICYLIC ACID"), Name("DURLAZA", kind="tradename")),
            xrefs=("UNII:R16",),
        ),
        Entity("X", (preferred("WATER"), Name("WATER [18F]", kind="systematic")), xrefs=("UNII:X",)),
    ]


def test_unii_records(tmp_path: Path) -> None:
    text = (
        "UNII\tPT\tRN\tEC\tNCIT\tRXCUI\tPUBCHEM\tINCHIKEY\tINGREDIENT_TYPE\n"
        "R16\tASPIRIN\t50-78-2\t\tC287\t1191\t2244\tBSY\tINGREDIENT SUBSTANCE\n"
    )
    xrefs = ("UNII:R16", "CAS:50-78-2", "RXNORM:1191", "NCIT:C287", "PUBCHEM.COMPOUND:2244", "INCHIKEY:BSY")
    assert read(tmp_path, text) == [Entity("R16", (Name("ASPIRIN"),), types=("INGREDIENT SUBSTANCE",), xrefs=xrefs)]


def test_mesh_tables(tmp_path: Path) -> None:
    text = (
        "D000001\tCalcimycin\t\tD03.1.2|D02.5\t\nD000002\tHeart\tCardia|Cor\tD03.1\t9606|10090\nD000003\tMale\t\t\t\n"
    )
    assert read(tmp_path, text) == [
        Entity("D000001", (preferred("Calcimycin"),), types=("D", "D03", "D02"), parents=("D000002",)),
        Entity(
            "D000002",
            (preferred("Heart"), Name("Cardia"), Name("Cor")),
            types=("D", "D03"),
            xrefs=("NCBITAXON:9606", "NCBITAXON:10090"),
        ),
        Entity("D000003", (preferred("Male"),)),
    ]
    text = 'C000002\tbevonium\t\tD001561,D004338\nC483025\tAckr1\t"Dfy|ID: 1\tx|y"\tD004375\n'
    assert read(tmp_path, text) == [
        Entity("C000002", (preferred("bevonium"),), parents=("D001561", "D004338")),
        Entity("C483025", (preferred("Ackr1"), Name("Dfy"), Name("ID: 1\tx"), Name("y")), parents=("D004375",)),
    ]


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("#x\n# GeneSymbol\tGeneName\tGeneID\tAltGeneIDs\n#\nA\tb\t\t\n", 4, "the row has no GeneID"),
        ("# GeneSymbol\tGeneName\tGeneID\tAltGeneIDs\nA\tb\t1\t\n\t\t2\t\n", 3, "the row has no name .GeneSymbol."),
        ("# GeneSymbol\tGeneName\tGeneID\tAltGeneIDs\nA\tb\t1\n", 2, "3 fields in place of 4 .GeneSymbol, GeneName, "),
        ("# GeneSymbol\tGeneName\tGeneID\tAltGeneIDs\nA\tb\t1\t\tx\n", 2, "5 fields in place of 4"),
        ('# GeneSymbol,GeneName,GeneID,AltGeneIDs\nA,b,1,\nB,"c,2,\n', 3, "is a quote left open"),
        (dump(("1", "root", "", "scientific name"), ("2", "x", "y")), 2, "3 fields in place of 4"),
        (dump(("1", "root", "", "scientific name"), ("2", "", "y", "synonym")), 2, "the row has no name .name."),
    ],
)
def test_faults(tmp_path: Path, text: str, line: int, why: str) -> None:
    with pytest.raises(FormatError, match=why) as caught:
        read(tmp_path, text)
    assert caught.value.line == line
    faults: list[FormatError] = []
    found = read(tmp_path, text, faults)
    assert [fault.line for fault in faults] == [line]
    assert len(found) == (line == 3 or text.startswith("1\t"))


def test_a_table_by_the_name_of_its_map(tmp_path: Path) -> None:
    path = tmp_path / "names.dmp"
    path.write_text(TAXONOMY["names.dmp"], encoding="utf-8")
    assert len(list(columns.read(path, map="ncbi_taxonomy_names"))) == 3
    with pytest.raises(FormatError, match="none of the tables that nomina knows"):
        list(columns.read(path, map="hgnc"))
    with pytest.raises(UsageError, match="no table 'hugo'; there are: ctd_diseases, "):
        list(columns.read(path, map="hugo"))


def test_every_map_is_whole() -> None:
    for name, map in MAPS.items():
        assert map.licence.startswith("http"), name
        assert map.id in map.columns, name
        assert bool(map.start) == bool(map.delimiter), name
        if map.start:
            used = [*map.names, *map.types, *map.parents, *map.xrefs, *([map.trees] if map.trees else [])]
            assert {values.column for values in used} <= set(map.columns), name


def test_an_own_table_stays_an_own_table(tmp_path: Path) -> None:
    path = tmp_path / "own.tsv"
    path.write_text("id\tname\nD000001\tx\n", encoding="utf-8")
    assert reader_for(path)[0] == "table"
    path.write_text("D009203\tMI\nD009203\tHeart attack\n", encoding="utf-8")
    assert reader_for(path)[0] == "table"
