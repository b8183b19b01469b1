"""Which column of a well-known table holds what: the data of ``kb.columns``. A new table is an entry in ``MAPS``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from nomina.kb.mesh_terms import LICENCE as MESH_LICENCE
from nomina.types import Scope


class Values(NamedTuple):
    """The values of a column; a column's name that ends in ``*`` is that of the first one which begins so.

    ``separator`` parts several values in one field; ``prefix`` goes before each; ``keep`` is a regular expression for
    those to take, ``cut`` one for what to cut out of each. ``scope`` and ``kind`` are for names; where ``kind_in``
    names another column, ``kinds`` says by that column's value what they are.
    """

    column: str
    separator: str = ""
    prefix: str = ""
    keep: str = ""
    cut: str = ""
    scope: Scope = "exact"
    kind: str | None = None
    kind_in: str = ""
    kinds: Mapping[str, tuple[Scope, str | None]] = MappingProxyType({})


class Gone(NamedTuple):
    """Which rows are ids out of use: all, or those with one of ``values`` in ``column``; and the ids in their place."""

    replaced_by: Values | None = None
    column: str = ""
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """A table: how it is known, and what its columns hold.

    A table with a header is known by the ``columns`` that it must have, others may be there; one without by a regular
    expression for its first line (``start``), and ``columns`` then names its fields from the left. ``preferred`` is the
    column of the preferred name, or one of names of all kinds of which the kind ``preferred`` is that. ``trees``
    holds MeSH tree numbers, from which parents and types follow. ``empty`` values are none.
    """

    name: str
    title: str
    licence: str
    columns: tuple[str, ...]
    id: str
    preferred: str = ""
    start: str = ""
    delimiter: str = ""
    quoted: bool = False
    names: tuple[Values, ...] = ()
    definition: str = ""
    types: tuple[Values, ...] = ()
    parents: tuple[Values, ...] = ()
    xrefs: tuple[Values, ...] = ()
    retired_ids: tuple[Values, ...] = ()
    gone: Gone | None = None
    trees: Values | None = None
    omit: tuple[str, tuple[str, ...]] = ("", ())
    empty: tuple[str, ...] = ("",)


_CTD = "http://ctdbase.org/about/legal.jsp"
_HGNC = "https://www.genenames.org/about/license/"
_NCBI = "https://www.ncbi.nlm.nih.gov/home/about/policies/"
_UNII = "https://precision.fda.gov/uniisearch/archive"
_NUMBER = r"\d+\t\|\t"

_CTD_MAPS = (
    ColumnMap(
        "ctd_diseases",
        "CTD diseases (MEDIC)",
        _CTD,
        ("DiseaseName", "DiseaseID", "AltDiseaseIDs", "ParentIDs"),
        id="DiseaseID",
        preferred="DiseaseName",
        names=(Values("Synonyms", "|"),),
        definition="Definition",
        types=(Values("SlimMappings", "|"),),
        parents=(Values("ParentIDs", "|"),),
        xrefs=(Values("AltDiseaseIDs", "|"),),
        retired_ids=(Values("AltDiseaseIDs", "|", keep="MESH:|OMIM:"),),
    ),
    ColumnMap(
        "ctd_chemicals",
        "CTD chemicals",
        _CTD,
        ("ChemicalName", "ChemicalID", "CasRN", "ParentIDs"),
        id="ChemicalID",
        preferred="ChemicalName",
        names=(Values("MESHSynonyms", "|"), Values("CTDCuratedSynonyms", "|"), Values("Synonyms", "|")),
        definition="Definition",
        parents=(Values("ParentIDs", "|"),),
        xrefs=(
            Values("CasRN", "|", "CAS:"),
            Values("PubChemCID", "|", "PUBCHEM.COMPOUND:", cut="^CID:"),
            Values("DTXSID", "|", "DSSTOX:"),
            Values("InChIKey", "|", "INCHIKEY:"),
        ),
    ),
    ColumnMap(
        "ctd_genes",
        "CTD genes",
        _CTD,
        ("GeneSymbol", "GeneName", "GeneID", "AltGeneIDs"),
        id="GeneID",
        preferred="GeneSymbol",
        names=(Values("GeneName"), Values("Synonyms", "|")),
        xrefs=(Values("GeneID", prefix="NCBIGENE:"), Values("UniProtIDs", "|", "UNIPROT:")),
        retired_ids=(Values("AltGeneIDs", "|"),),
    ),
)

_GENE_MAPS = (
    ColumnMap(
        "ncbi_gene",
        "NCBI Gene",
        _NCBI,
        ("tax_id", "GeneID", "Symbol", "Synonyms", "type_of_gene"),
        id="GeneID",
        preferred="Symbol",
        names=(
            Values("description"),
            Values("Full_name_from_nomenclature_authority"),
            Values("Synonyms", "|"),
            Values("Other_designations", "|"),
        ),
        types=(Values("type_of_gene"), Values("tax_id", prefix="NCBITaxon:")),
        xrefs=(Values("GeneID", prefix="NCBIGENE:"), Values("dbXrefs", "|")),
        omit=("Symbol", ("NEWENTRY",)),
        empty=("", "-"),
    ),
    ColumnMap(
        "ncbi_gene_history",
        "NCBI Gene, discontinued",
        _NCBI,
        ("tax_id", "GeneID", "Discontinued_GeneID"),
        id="Discontinued_GeneID",
        gone=Gone(Values("GeneID")),
        empty=("", "-"),
    ),
    ColumnMap(
        "hgnc",
        "HGNC complete set",
        _HGNC,
        ("hgnc_id", "symbol", "name", "alias_symbol", "prev_symbol"),
        id="hgnc_id",
        preferred="symbol",
        quoted=True,
        names=(
            Values("name"),
            Values("alias_symbol", "|"),
            Values("alias_name", "|"),
            Values("prev_symbol", "|", kind="previous"),
            Values("prev_name", "|", kind="previous"),
        ),
        types=(Values("locus_type"),),
        xrefs=(
            Values("entrez_id", "|", "NCBIGENE:"),
            Values("ensembl_gene_id", "|", "ENSEMBL:"),
            Values("uniprot_ids", "|", "UNIPROT:"),
            Values("omim_id", "|", "OMIM:"),
            Values("mgd_id", "|"),
            Values("rgd_id", "|"),
        ),
    ),
    ColumnMap(
        "hgnc_withdrawn",
        "HGNC withdrawn",
        _HGNC,
        ("HGNC_ID", "STATUS", "WITHDRAWN_SYMBOL"),
        id="HGNC_ID",
        quoted=True,
        gone=Gone(Values("MERGED_INTO_REPORT*", ",", keep="HGNC:", cut=r"[|/].*")),
    ),
    ColumnMap(
        "hgnc_custom",
        "HGNC custom download",
        _HGNC,
        ("HGNC ID", "Approved symbol", "Approved name", "Status"),
        id="HGNC ID",
        preferred="Approved symbol",
        quoted=True,
        names=(
            Values("Approved name"),
            Values("Alias symbols", ", "),
            Values("Alias names", ", "),
            Values("Previous symbols", ", ", kind="previous"),
        ),
        types=(Values("Locus type"),),
        xrefs=(
            Values("NCBI Gene ID(supplied by NCBI)", ", ", "NCBIGENE:"),
            Values("Ensembl gene ID", ", ", "ENSEMBL:"),
            Values("UniProt ID(supplied by UniProt)", ", ", "UNIPROT:"),
            Values("Mouse genome database ID(supplied by MGI)", ", "),
            Values("Rat genome database ID(supplied by RGD)", ", "),
        ),
        gone=Gone(
            Values("Approved name", keep="symbol withdrawn", cut=r"^[^\[]*\[|\].*"),
            "Status",
            ("Entry Withdrawn", "Symbol Withdrawn"),
        ),
    ),
)

_TAXON_KINDS: Mapping[str, tuple[Scope, str | None]] = {
    "scientific name": ("exact", "preferred"),
    "acronym": ("exact", "abbreviation"),
    "genbank acronym": ("exact", "abbreviation"),
    "common name": ("exact", "common"),
    "genbank common name": ("exact", "common"),
    "blast name": ("broad", "blast_name"),
    "authority": ("exact", "authority"),
    "in-part": ("broad", "in_part"),
    "includes": ("narrow", "includes"),
    "type material": ("related", "type_material"),
}

_TAXON_MAPS = (
    ColumnMap(
        "ncbi_taxonomy_names",
        "NCBI Taxonomy, names",
        _NCBI,
        ("tax_id", "name", "unique name", "class"),
        id="tax_id",
        start=rf"{_NUMBER}[^|]+\t\|\t[^|]*\t\|\t[a-z -]+\t\|$",
        delimiter="\t|\t",
        names=(Values("name", kind_in="class", kinds=_TAXON_KINDS),),
        xrefs=(Values("tax_id", prefix="NCBITAXON:"),),
    ),
    ColumnMap(
        "ncbi_taxonomy_nodes",
        "NCBI Taxonomy, tree",
        _NCBI,
        ("tax_id", "parent", "rank"),
        id="tax_id",
        start=rf"{_NUMBER}\d+\t\|\t[a-z ]+\t\|\t",
        delimiter="\t|\t",
        types=(Values("rank"),),
        parents=(Values("parent"),),
    ),
    ColumnMap(
        "ncbi_taxonomy_merged",
        "NCBI Taxonomy, merged",
        _NCBI,
        ("old", "new"),
        id="old",
        start=rf"{_NUMBER}\d+\t\|$",
        delimiter="\t|\t",
        gone=Gone(Values("new")),
    ),
    ColumnMap(
        "ncbi_taxonomy_deleted",
        "NCBI Taxonomy, deleted",
        _NCBI,
        ("old",),
        id="old",
        start=r"\d+\t\|$",
        delimiter="\t|\t",
        gone=Gone(),
    ),
)

_UNII_KINDS: Mapping[str, tuple[Scope, str | None]] = {
    "bn": ("exact", "tradename"),
    "cd": ("exact", "code"),
    "sys": ("exact", "systematic"),
}

_SUBSTANCE_MAPS = (
    ColumnMap(
        "unii_names",
        "FDA UNII, names",
        _UNII,
        ("Name", "TYPE", "UNII", "Display Name"),
        id="UNII",
        preferred="Display Name",
        # "ASPIRIN [USP-RS]": the list that the name comes from
        names=(Values("Name", cut=r" \[[A-Z][A-Za-z .-]*\]$", kind_in="TYPE", kinds=_UNII_KINDS),),
        xrefs=(Values("UNII", prefix="UNII:"),),
    ),
    ColumnMap(
        "unii_records",
        "FDA UNII, records",
        _UNII,
        ("UNII", "RN", "INCHIKEY", "INGREDIENT_TYPE"),
        id="UNII",
        preferred="Display Name",
        names=(Values("PT"),),
        types=(Values("INGREDIENT_TYPE"),),
        xrefs=(
            Values("UNII", prefix="UNII:"),
            Values("RN", prefix="CAS:"),
            Values("RXCUI", prefix="RXNORM:"),
            Values("NCIT", prefix="NCIT:"),
            Values("PUBCHEM", prefix="PUBCHEM.COMPOUND:"),
            Values("INCHIKEY", prefix="INCHIKEY:"),
        ),
    ),
)

_MESH_MAPS = (
    ColumnMap(
        "mesh_descriptors",
        "Medical Subject Headings",
        MESH_LICENCE,
        ("id", "name", "synonyms", "trees", "taxa"),
        id="id",
        preferred="name",
        start=r"D\d{6,9}\t[^\t]+\t[^\t]*\t(?:[A-Z]\d[\d.|A-Z]*)?\t[\d|]*$",
        delimiter="\t",
        quoted=True,
        names=(Values("synonyms", "|"),),
        xrefs=(Values("taxa", "|", "NCBITAXON:"),),
        trees=Values("trees", "|"),
    ),
    ColumnMap(
        "mesh_supplementary",
        "Medical Subject Headings, supplementary records",
        MESH_LICENCE,
        ("id", "name", "synonyms", "mapped"),
        id="id",
        preferred="name",
        start=r"C\d{6,9}\t[^\t]+\t[^\t]*\tD\d+(?:,D\d+)*$",
        delimiter="\t",
        quoted=True,
        names=(Values("synonyms", "|"),),
        parents=(Values("mapped", ","),),
    ),
)

_LABEL_MAPS = (
    *(
        ColumnMap(
            f"cometa_{level.lower()}",
            "COMETA, labels",
            "https://creativecommons.org/licenses/by-nc-nd/4.0/",
            ("Term", f"{level} SNOMED Label", f"{level} SNOMED ID", "Example"),
            id=f"{level} SNOMED ID",
            preferred=f"{level} SNOMED Label",
            quoted=True,
        )
        for level in ("General", "Specific")
    ),
    ColumnMap(
        "askapatient",
        "AskAPatient or TwADR-L, labels",
        "https://creativecommons.org/licenses/by/4.0/",
        ("id", "label", "phrase"),
        id="id",
        preferred="label",
        start=r"(?:C?\d{7}|\d{6,18})\t[^\t]+\t[^\t]+$",
        delimiter="\t",
    ),
)

MAPS: dict[str, ColumnMap] = {
    map.name: map for map in (*_CTD_MAPS, *_GENE_MAPS, *_TAXON_MAPS, *_SUBSTANCE_MAPS, *_MESH_MAPS, *_LABEL_MAPS)
}
"""By name, in the order in which they are asked whether a table is theirs."""
