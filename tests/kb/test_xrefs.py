from __future__ import annotations

import pytest

from nomina.kb.xrefs import ALIASES, canonical, own_prefix


@pytest.mark.parametrize(
    ("expected", "forms"),
    [
        ("MESH:D003110", "MESH:D003110 MSH:D003110 D003110 mesh:D003110 http://id.nlm.nih.gov/mesh/D003110"),
        ("MESH:C000598644", "MESH:C000598644 C000598644 https://identifiers.org/mesh:C000598644"),
        ("MESH:C535434", "C535434 MSH:C535434 https://identifiers.org/mesh/C535434"),
        ("UMLS:C0018799", "UMLS:C0018799 UMLS_CUI:C0018799 C0018799 CUI:C0018799"),
        ("SNOMEDCT:22298006", "SNOMEDCT_US:22298006 SCTID:22298006 SNOMEDCT_US_2023_03_01:22298006 SNOMED_CT:22298006"),
        (
            "MONDO:0005148",
            "MONDO:0005148 MONDO_0005148 http://purl.obolibrary.org/obo/MONDO_0005148 MONDO:MONDO:0005148",
        ),
        ("ORPHA:558", "ORPHA:558 Orphanet:558 Orphanet_558 http://www.orpha.net/ORDO/Orphanet_558 ORDO:558"),
        ("OMIM:613097", "OMIM:613097 MIM:613097 omim:613097"),
        ("NCIT:C3262", "NCIT:C3262 NCI:C3262"),
        ("HGNC:5", "HGNC:5 HGNC:HGNC:5"),
        ("ICD9CM:410", "ICD9:410 ICD9CM:410 ICD-9:410"),
        ("EFO:0000400", "EFO:0000400 http://www.ebi.ac.uk/efo/EFO_0000400 efo:EFO:0000400"),
        ("LOC:a b", "LOC:a b"),
        ("loc-1", "loc-1"),
        ("613097", "613097"),
        ("ab_12", "ab_12"),
        ("REACTOME:R-HSA-1", "Reactome:R-HSA-1"),
    ],
)
def test_all_ways_to_write_an_id_are_one(expected: str, forms: str) -> None:
    for form in [forms] if " b" in forms else forms.split():
        assert canonical(form) == expected


def test_an_alias_belongs_to_one_prefix() -> None:
    aliases = [alias for prefix, others in ALIASES.items() for alias in (prefix, *others.split())]
    assert len(aliases) == len(set(aliases))
    assert all(alias == alias.upper() for alias in aliases)


def test_writing_it_again_changes_nothing() -> None:
    for id in ("MSH:D003110", "C0018799", "Orphanet_558", "LOC:1", "x", "a:b:c"):
        assert canonical(canonical(id)) == canonical(id)


@pytest.mark.parametrize(
    ("id", "xrefs", "prefix"),
    [
        ("22298006", ("UMLS:C0027051", "SCTID:22298006"), "SNOMEDCT"),
        ("I21.0", ("ICD-10-CM:I21.0",), "ICD10CM"),
        ("5", ("NCBIGENE:5", "HGNC:HGNC:5"), "NCBIGENE"),
        ("22298006", ("SCTID:22298007", "22298006"), None),
        ("22298006", (), None),
        ("D006331", ("X:D006331",), None),
        ("T:1", ("X:T:1", "X:1"), None),
    ],
)
def test_a_bare_id_has_the_prefix_by_which_its_concept_names_itself(id: str, xrefs, prefix: str | None) -> None:
    assert own_prefix(id, xrefs) == prefix
