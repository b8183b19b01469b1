"""Ids of a knowledge base as other tools write them: CURIEs with their IRIs, and codes of FHIR code systems."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote

from nomina.kb.store import KnowledgeBase
from nomina.kb.xrefs import canonical, own_prefix

_OBO = "http://purl.obolibrary.org/obo/"
_UMLS = "http://www.nlm.nih.gov/research/umls"
_PREFIX = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_OWN = "kb"


class Terminology(NamedTuple):
    """How the ids of a terminology are written elsewhere.

    ``prefix`` is that of a CURIE and ``iri`` what it stands for; ``system`` is the URI of the FHIR code system, whose
    codes are whole CURIEs (``is_curie``) or the local part.
    """

    prefix: str
    iri: str
    system: str
    is_curie: bool = False


def _obo(prefix: str, system: str | None = None) -> Terminology:
    return Terminology(prefix, f"{_OBO}{prefix}_", system or f"{_OBO}{prefix.lower()}.owl", True)


TERMINOLOGIES: dict[str, Terminology] = {
    "HP": _obo("HP", "http://human-phenotype-ontology.org"),
    "MONDO": _obo("MONDO"),
    "DOID": _obo("DOID"),
    "GO": _obo("GO"),
    "CL": _obo("CL"),
    "UBERON": _obo("UBERON"),
    "CHEBI": _obo("CHEBI"),
    "NCBITAXON": _obo("NCBITaxon"),
    "EFO": Terminology("EFO", "http://www.ebi.ac.uk/efo/EFO_", "http://www.ebi.ac.uk/efo/efo.owl", True),
    "MESH": Terminology("mesh", "http://id.nlm.nih.gov/mesh/", "https://www.nlm.nih.gov/mesh"),
    "UMLS": Terminology("UMLS", "http://linkedlifedata.com/resource/umls/id/", _UMLS),
    "SNOMEDCT": Terminology("snomedct", "http://snomed.info/id/", "http://snomed.info/sct"),
    "RXNORM": Terminology("RXNORM", "http://purl.bioontology.org/ontology/RXNORM/", f"{_UMLS}/rxnorm"),
    "ICD10CM": Terminology(
        "ICD10CM", "http://purl.bioontology.org/ontology/ICD10CM/", "http://hl7.org/fhir/sid/icd-10-cm"
    ),
    "ICD10": Terminology("ICD10", "http://purl.bioontology.org/ontology/ICD10/", "http://hl7.org/fhir/sid/icd-10"),
    "ICD9CM": Terminology("ICD9CM", "http://purl.bioontology.org/ontology/ICD9CM/", "http://hl7.org/fhir/sid/icd-9-cm"),
    "NCIT": Terminology("NCIT", f"{_OBO}NCIT_", "http://ncicb.nci.nih.gov/xml/owl/EVS/Thesaurus.owl"),
    "OMIM": Terminology("OMIM", "https://omim.org/entry/", "http://www.omim.org"),
    "ORPHA": Terminology("Orphanet", "http://www.orpha.net/ORDO/Orphanet_", "http://www.orpha.net"),
    "MEDDRA": Terminology("MEDDRA", "http://purl.bioontology.org/ontology/MEDDRA/", "https://www.meddra.org"),
    "HGNC": Terminology("HGNC", "https://identifiers.org/hgnc:", "http://www.genenames.org", True),
    "NCBIGENE": Terminology("NCBIGene", "https://identifiers.org/ncbigene:", "http://www.ncbi.nlm.nih.gov/gene"),
    "UNII": Terminology("UNII", "https://identifiers.org/unii:", "http://fdasis.nlm.nih.gov"),
}
"""Canonical prefix (``nomina.kb.xrefs``) -> how it is written.

FHIR's URIs are those of the FHIR R4 page "Code Systems" and of HL7 Terminology; ontologies that are in neither have the
address of their OWL file, as HL7 Terminology has it for Mondo.
"""


_PREFIXES = """
SELECT DISTINCT CASE instr(id, ':') WHEN 0 THEN '' ELSE substr(id, 1, instr(id, ':')) END FROM entity WHERE live
"""


class Written(NamedTuple):
    """An id as a CURIE (``prefix`` and ``local``), with its terminology where that is known."""

    prefix: str
    local: str
    terminology: Terminology | None

    @property
    def curie(self) -> str:
        """The id as one word."""
        return f"{self.prefix}:{self.local}"

    @property
    def code(self) -> str:
        """The code within a FHIR code system; of an unknown terminology the CURIE."""
        return self.local if self.terminology and not self.terminology.is_curie else self.curie


def written(id: str, kb: KnowledgeBase) -> Written:
    """An id of a KB, or one that it may have had, as a CURIE.

    Bare ids are told by their form (MeSH, UMLS) or by the KB's xref of the concept to itself (SNOMED CT, RxNorm,
    ICD-10-CM). An unknown prefix stays; an id without one, or that cannot be a CURIE, gets the prefix ``kb``.
    """
    prefix, colon, local = canonical(id).partition(":")
    if not colon:
        entity = kb.get(id)
        prefix, local = own_prefix(id, entity.xrefs if entity else ()) or "", id
    if terminology := TERMINOLOGIES.get(prefix):
        return Written(terminology.prefix, _local(local), terminology)
    own, _, rest = id.partition(":")
    if rest and _PREFIX.fullmatch(own):
        return Written(own, _local(rest), None)
    return Written(_OWN, _local(id), None)


def _local(text: str) -> str:
    """The local part of a CURIE: no space, nothing that ends a CURIE or a cell."""
    return quote(text.strip(), safe="-._~:/?#@!$&'()*+,;=")


def terminology_of(kb: KnowledgeBase) -> Terminology | None:
    """The terminology of a KB whose ids all begin alike; None of a mixed or unknown one."""
    if len(list(kb.select(_PREFIXES))) != 1:
        return None
    return written(next(iter(kb)), kb).terminology
