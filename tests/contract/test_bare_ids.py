"""What is named by a bare id is found by the xrefs of others, which write it with a prefix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from reader_cases import CASES

from nomina.kb.build import BuildOptions, build, build_from_files
from nomina.kb.column_maps import MAPS
from nomina.kb.join import expand, merge
from nomina.kb.links import links
from nomina.kb.store import KnowledgeBase
from nomina.types import Entity, Name, Retired

DATA = Path(__file__).parents[1] / "kb" / "data"

GENES = "# GeneSymbol\tGeneName\tGeneID\tAltGeneIDs\n#\nTP53\ttumor protein p53\t7157\t8\n"
GENE_INFO = "#tax_id\tGeneID\tSymbol\tSynonyms\tdbXrefs\ttype_of_gene\n9606\t7157\tTP53\tp53\tHGNC:HGNC:11998\tx\n"
TAXA = "9606\t|\tHomo sapiens\t|\t\t|\tscientific name\t|\n"
UNII_NAMES = "Name\tTYPE\tUNII\tDisplay Name\nASPIRIN\tcn\tR16CO5Y76E\tASPIRIN\n"
UNII_RECORDS = "UNII\tPT\tRN\tRXCUI\tINCHIKEY\tINGREDIENT_TYPE\nR16CO5Y76E\tASPIRIN\t50-78-2\t1191\tBSY\tx\n"
MESH_TABLE = "D006331\tHeart Diseases\t\tC14.280\t\n"
MESH_SUPPLEMENTARY = "C535434\tRare\t\tD006331\n"

BARE: dict[str, tuple[str | Path, str, tuple[str, ...]]] = {
    "icd10cm": (DATA / CASES["icd10cm"].file, "I21.0", ("ICD10CM:I21.0", "ICD-10-CM:I21.0")),
    "rf2": (DATA / "rf2", "100002", ("SCTID:100002", "SNOMEDCT_US_2023_03_01:100002", "SCTID:100021")),
    "rxnorm": (DATA / "rxnorm", "104", ("RXNORM:104", "RXCUI:104")),
    "rrf": (DATA / "rrf", "C0000002", ("UMLS:C0000002", "UMLS_CUI:C0000002", "UMLS:C0000020")),
    "ctd_genes": (GENES, "7157", ("NCBIGene:7157", "ENTREZ:8")),
    "ncbi_gene": (GENE_INFO, "7157", ("NCBIGene:7157", "entrez:7157")),
    "ncbi_taxonomy_names": (TAXA, "9606", ("NCBITaxon:9606", "http://purl.obolibrary.org/obo/NCBITaxon_9606")),
    "unii_names": (UNII_NAMES, "R16CO5Y76E", ("UNII:R16CO5Y76E", "FDASRS:R16CO5Y76E")),
    "unii_records": (UNII_RECORDS, "R16CO5Y76E", ("UNII:R16CO5Y76E", "FDA_UNII:R16CO5Y76E")),
    "mesh_descriptors": (MESH_TABLE, "D006331", ("MSH:D006331",)),
    "mesh_supplementary": (MESH_SUPPLEMENTARY, "C535434", ("MESH:C535434",)),
}
"""A file (or its text), a concept in it, and what xrefs to it look like; the last may be to a retired id of it."""

PREFIXED = {"ctd_diseases", "ctd_chemicals", "hgnc", "hgnc_custom"}
TREES_AND_RETIRED_ONLY = {"ncbi_gene_history", "ncbi_taxonomy_nodes", "ncbi_taxonomy_merged", "ncbi_taxonomy_deleted"}
TREES_AND_RETIRED_ONLY |= {"hgnc_withdrawn"}
LABELS = {"cometa_general", "cometa_specific", "askapatient"}
"""Of corpora, not vocabularies: their bare ids are those of a KB of SNOMED CT as it is."""


@pytest.fixture
def bare(tmp_path: Path) -> Callable[[str], KnowledgeBase]:
    def build_it(name: str) -> KnowledgeBase:
        source = BARE[name][0]
        if isinstance(source, str):
            path = tmp_path / f"{name}.tsv"
            path.write_text(source, encoding="utf-8")
            source = path
        return build_from_files(tmp_path / f"{name}.kb", [source], BuildOptions(name))

    return build_it


@pytest.mark.parametrize(("name", "xref"), [(name, xref) for name, case in BARE.items() for xref in case[2]])
def test_joins_with_a_kb_that_names_it_in_an_xref(name: str, xref: str, bare, tmp_path: Path) -> None:
    source, id = bare(name), BARE[name][1]
    ours = build(tmp_path / "ours.kb", [Entity("OUR:1", (Name("ours"),), xrefs=(xref,)), Entity("OUR:2", (Name("o"),))])
    with links(ours, source, "xref") as found:
        assert list(found) == [("OUR:1", id)]
    done = expand(tmp_path / "more.kb", ours, source)
    assert {name.text for name in done.kb["OUR:1"].names} == {"ours", *(name.text for name in source[id].names)}
    back = merge(tmp_path / "both.kb", [source, ours], "xref")
    assert (back.linked, back.kb.resolve("OUR:1")) == (1, id)


@pytest.mark.parametrize("name", list(BARE))
def test_is_the_same_with_and_without_its_prefix(name: str, bare, tmp_path: Path) -> None:
    source, id, prefixed = bare(name), BARE[name][1], BARE[name][2][0]
    for own in (id, prefixed):
        other = build(tmp_path / "other.kb", [Entity(own, (Name("other"),))])
        for by in ("id", "xref"):
            with links(other, source, by) as found:
                assert list(found) == [(own, id)]


def test_numbers_of_two_vocabularies_are_not_the_same_concept(tmp_path: Path) -> None:
    taken = Entity("100001", (Name("a drug"),), xrefs=("RXNORM:100001",)), Retired("100020", ("100001",))
    rxnorm = build(tmp_path / "rxnorm.kb", taken)
    snomed = build_from_files(tmp_path / "snomed.kb", [DATA / "rf2"])
    for by in ("id", "xref"):
        with links(rxnorm, snomed, by) as found:
            assert list(found) == []


def test_every_format_and_table_with_bare_ids_is_among_them() -> None:
    cases = {case.format or name for name, case in CASES.items() if any(":" not in id for id in case.ids)}
    assert cases <= {*BARE, "mesh"}  # MeSH's own ids are in the tables made of it
    assert set(MAPS) - PREFIXED - TREES_AND_RETIRED_ONLY - LABELS <= set(BARE)
