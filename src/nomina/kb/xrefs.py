"""One way to write an id, whichever of its many ways a terminology uses: ``MSH:D003110`` -> ``MESH:D003110``.

An id is a prefix and a local part. The prefix may be an alias (the table ``ALIASES``), carry a release date
(``SNOMEDCT_US_2023_03_01``), stand before an underscore (``MONDO_0005148``) or in a URI
(``http://purl.obolibrary.org/obo/MONDO_0005148``, ``http://id.nlm.nih.gov/mesh/D003110``), or be missing: then the
local part itself may tell (``D003110`` is MeSH's, ``C0018799`` UMLS's), or an xref of the concept to itself
(``SNOMEDCT:22298006`` of the concept ``22298006``), which the readers of terminologies with bare ids add.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

ALIASES = {
    "MESH": "MSH MESH_ID MESHD MESHC MESH_DESCRIPTOR MESH_SUPPLEMENTAL_RECORD_UI",
    "UMLS": "UMLS_CUI UMLS_ICD9CM CUI LNK_UMLS",
    "SNOMEDCT": "SNOMEDCT_US SCTID SCT SNOMED SNOMED_CT SNOMED-CT SNOMEDCT_CORE",
    "OMIM": "MIM MIM_NUMBER OMIM_DISEASE",
    "OMIMPS": "OMIM_PS PHENOTYPICSERIES",
    "ORPHA": "ORPHANET ORDO ORPHANET.ORDO",
    "HP": "HPO",
    "DOID": "DO",
    "EFO": "",
    "MONDO": "",
    "GO": "",
    "CL": "",
    "UBERON": "",
    "NCIT": "NCI NCI_THESAURUS NCITHESAURUS",
    "MEDDRA": "MDR",
    "ICD10CM": "ICD-10-CM ICD10-CM",
    "ICD10": "ICD-10 ICD10WHO",
    "ICD9CM": "ICD-9-CM ICD9-CM ICD9 ICD-9",
    "ICDO": "ICD-O ICDO3 ICD-O-3",
    "GARD": "",
    "CHEBI": "CHEBI_ID",
    "CAS": "CASRN CAS_RN CAS-RN",
    "UNII": "FDA_UNII FDASRS",
    "RXNORM": "RXCUI RXNORM_CUI",
    "DRUGBANK": "DRUG_BANK DRUGBANK_ID",
    "NCBIGENE": "NCBI_GENE NCBI-GENE ENTREZ ENTREZGENE ENTREZ_GENE EGID GENEID",
    "NCBITAXON": "TAXONOMY NCBI_TAXONOMY NCBI_TAXON TAXID TAX_ID NCBITAXONOMY",
    "HGNC": "HUGO",
}
"""Prefix -> other ways to write it, in capitals. A prefix that is not here stands for itself."""

_PREFIX = {alias: prefix for prefix, aliases in ALIASES.items() for alias in (prefix, *aliases.split())}
_DATED = re.compile(r"_\d{4}(_\d{2}){0,2}$")
_JOINED = re.compile(r"([A-Za-z]+)_(\d+)$")
_BARE = ((re.compile(r"[CDQ](\d{6}|\d{9})$"), "MESH"), (re.compile(r"C\d{7}$"), "UMLS"))


@lru_cache(maxsize=1 << 16)
def canonical(id: str) -> str:
    """The one way to write an id.

    >>> [canonical(id) for id in ("MSH:D003110", "D003110", "Orphanet_558", "UMLS_CUI:C0018799", "HGNC:HGNC:5")]
    ['MESH:D003110', 'MESH:D003110', 'ORPHA:558', 'UMLS:C0018799', 'HGNC:5']
    """
    text = id.strip()
    if "://" in text:
        text = _of_uri(text)
    prefix, colon, local = text.partition(":")
    if not colon:
        return _of_bare(text)
    name = _known(prefix)
    repeated, _, rest = local.partition(":")
    if rest and _known(repeated) == name:
        local = rest
    return f"{name}:{local.strip()}"


def own_prefix(id: str, xrefs: Iterable[str]) -> str | None:
    """The prefix of a bare id by the first xref that names the concept itself; None where it has one or none is known.

    >>> own_prefix("22298006", ("UMLS:C0027051", "SCTID:22298006"))
    'SNOMEDCT'
    """
    if ":" in id or canonical(id) != id:
        return None
    for xref in xrefs:
        prefix, _, local = canonical(xref).partition(":")
        if local == id:
            return prefix
    return None


def _known(prefix: str) -> str:
    name = _DATED.sub("", prefix.strip().upper())
    return _PREFIX.get(name, name)


def _of_uri(uri: str) -> str:
    """The id at the end of a URI: with its own prefix, or with the folder before it as the prefix."""
    folder, local = uri.rstrip("/#").replace("#", "/").rsplit("/", 2)[1:]
    if ":" in local or _JOINED.match(local) or _known(folder) not in ALIASES:
        return local
    return f"{folder}:{local}"


def _of_bare(text: str) -> str:
    joined = _JOINED.match(text)
    if joined and _known(joined.group(1)) in ALIASES:
        return f"{_known(joined.group(1))}:{joined.group(2)}"
    for pattern, prefix in _BARE:
        if pattern.match(text):
            return f"{prefix}:{text}"
    return text
