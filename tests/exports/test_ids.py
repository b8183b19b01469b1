"""Ids as CURIEs and as codes of FHIR code systems."""

import pytest

from nomina.exports.ids import TERMINOLOGIES, terminology_of, written
from nomina.kb.build import BuildOptions, build
from nomina.kb.xrefs import ALIASES
from nomina.types import Entity, Name


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    """Ids with and without a prefix; those of SNOMED CT, RxNorm and ICD-10-CM are told by an xref to themselves."""
    own = {"22298006": "SNOMEDCT:22298006", "E11.9": "ICD10CM:E11.9", "161": "RXNORM:161", "5": None}
    entities = [Entity(id, (Name(f"name {id}"),), xrefs=(xref,) if xref else ()) for id, xref in own.items()]
    return build(tmp_path_factory.mktemp("kb") / "bare.kb", entities, BuildOptions("bare"))


@pytest.mark.parametrize(
    ("id", "curie", "system", "code"),
    [
        ("HP:0001250", "HP:0001250", "http://human-phenotype-ontology.org", "HP:0001250"),
        ("MONDO:0005148", "MONDO:0005148", "http://purl.obolibrary.org/obo/mondo.owl", "MONDO:0005148"),
        ("D003110", "mesh:D003110", "https://www.nlm.nih.gov/mesh", "D003110"),
        ("MESH:D003110", "mesh:D003110", "https://www.nlm.nih.gov/mesh", "D003110"),
        ("C0018799", "UMLS:C0018799", "http://www.nlm.nih.gov/research/umls", "C0018799"),
        ("22298006", "snomedct:22298006", "http://snomed.info/sct", "22298006"),
        ("161", "RXNORM:161", "http://www.nlm.nih.gov/research/umls/rxnorm", "161"),
        ("E11.9", "ICD10CM:E11.9", "http://hl7.org/fhir/sid/icd-10-cm", "E11.9"),
        ("ORPHA:558", "Orphanet:558", "http://www.orpha.net", "558"),
        ("NCBITaxon:9606", "NCBITaxon:9606", "http://purl.obolibrary.org/obo/ncbitaxon.owl", "NCBITaxon:9606"),
        ("HGNC:5", "HGNC:5", "http://www.genenames.org", "HGNC:5"),
    ],
)
def test_ids_of_known_terminologies(kb, id, curie, system, code):
    found = written(id, kb)
    assert found.terminology is not None
    assert (found.curie, found.terminology.system, found.code) == (curie, system, code)


@pytest.mark.parametrize(
    ("id", "curie"),
    [("T:1", "T:1"), ("lower:a b", "lower:a%20b"), ("5", "kb:5"), ("1x:2", "kb:1x:2"), ("a|b\u00e9", "kb:a%7Cb%C3%A9")],
)
def test_other_ids_keep_their_prefix_or_get_one(kb, id, curie):
    found = written(id, kb)
    assert found.terminology is None
    assert found.curie == found.code == curie


def test_the_terminology_of_a_kb_is_that_of_all_its_ids(make_kb, kb):
    assert terminology_of(make_kb({"HP:1": "a", "HP:2": "b"})) is TERMINOLOGIES["HP"]
    assert terminology_of(make_kb({"D000001": "a", "D000002": "b"})) is TERMINOLOGIES["MESH"]
    assert terminology_of(make_kb({"HP:1": "a", "MONDO:2": "b"})) is None
    assert terminology_of(make_kb({"T:1": "a"})) is None


def test_the_prefixes_of_the_table_are_canonical_and_distinct():
    assert set(TERMINOLOGIES) <= set(ALIASES)
    assert len({terminology.prefix for terminology in TERMINOLOGIES.values()}) == len(TERMINOLOGIES)
