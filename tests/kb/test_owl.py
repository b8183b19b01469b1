from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nomina.errors import FormatError
from nomina.kb import obo, owl
from nomina.kb.schema import SourceInfo
from nomina.types import Entity, Name, Retired

DATA = Path(__file__).parent / "data"
TINY = DATA / "tiny.owl"
HEADER = """\
<rdf:RDF xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xmlns:oboInOwl="http://www.geneontology.org/formats/oboInOwl#"
 xmlns:obo="http://purl.obolibrary.org/obo/">
"""


def read(tmp_path: Path, text: str) -> list[Entity | Retired]:
    path = tmp_path / "a.owl"
    path.write_text(f"{HEADER}{text}</rdf:RDF>", encoding="utf-8")
    assert owl.sniff(path.read_bytes())
    return list(owl.read(path))


def sorted_names(record: Entity | Retired) -> Entity | Retired:
    return replace(record, names=tuple(sorted(record.names, key=repr))) if isinstance(record, Entity) else record


def test_owl_holds_what_obo_holds() -> None:
    by_obo = list(obo.read(DATA / "tiny.obo"))
    assert list(map(sorted_names, owl.read(TINY))) == list(map(sorted_names, by_obo))
    assert owl.describe(TINY) == SourceInfo(
        "tiny.owl",
        title="Tiny ontology",
        release="http://purl.obolibrary.org/obo/tiny/2024-02-29/tiny.owl",
        licence="https://example.org/licence",
        imports=1,
    )


def test_languages(tmp_path: Path) -> None:
    text = """
    <owl:Class rdf:about="http://purl.obolibrary.org/obo/X_1">
      <rdfs:label xml:lang="de">Herz</rdfs:label><rdfs:label xml:lang="en-GB">heart</rdfs:label>
      <oboInOwl:hasExactSynonym xml:lang="fr">coeur</oboInOwl:hasExactSynonym>
      <oboInOwl:hasExactSynonym xml:lang="en">cardia</oboInOwl:hasExactSynonym>
    </owl:Class>
    <owl:Class rdf:about="http://purl.obolibrary.org/obo/X_2"><rdfs:label xml:lang="de">Lunge</rdfs:label></owl:Class>
    """
    assert read(tmp_path, text) == [
        Entity("X:1", (Name("heart", kind="preferred"), Name("cardia"))),
        Entity("X:2", (Name("Lunge", kind="preferred"),)),
    ]


RELATIVE = """
<owl:Class rdf:ID="Heart"><rdfs:label>heart</rdfs:label>
  <rdfs:subClassOf rdf:resource="#Organ"/>
  <rdfs:subClassOf><owl:Class rdf:about="Part_1"/></rdfs:subClassOf>
  <oboInOwl:hasExactSynonym>COR</oboInOwl:hasExactSynonym>
</owl:Class>
<owl:Axiom><owl:annotatedSource rdf:resource="#Heart"/>
  <owl:annotatedProperty rdf:resource="http://www.geneontology.org/formats/oboInOwl#hasExactSynonym"/>
  <owl:annotatedTarget>COR</owl:annotatedTarget>
  <oboInOwl:hasSynonymType rdf:resource="http://purl.obolibrary.org/obo/hp#abbreviation"/></owl:Axiom>
<owl:Class rdf:about="#Organ"><rdfs:label>organ</rdfs:label></owl:Class>
"""


def test_relative_iris_are_completed_by_the_base(tmp_path: Path) -> None:
    path = tmp_path / "a.owl"
    header = HEADER.replace("<rdf:RDF ", '<rdf:RDF xml:base="http://example.org/onto" ')
    path.write_text(f"{header}{RELATIVE}</rdf:RDF>", encoding="utf-8")
    assert list(owl.read(path)) == [
        Entity(
            "http://example.org/onto#Heart",
            (Name("heart", kind="preferred"), Name("COR", kind="abbreviation")),
            parents=("http://example.org/onto#Organ", "Part:1"),
        ),
        Entity("http://example.org/onto#Organ", (Name("organ", kind="preferred"),)),
    ]


def test_relative_iris_without_a_base_are_faults(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"a.owl:5: the IRI '#Heart' is relative, and the file has no xml:base"):
        read(tmp_path, RELATIVE)
    faults: list[FormatError] = []
    parent = (
        '<owl:Class rdf:about="http://purl.obolibrary.org/obo/X_1"><rdfs:subClassOf rdf:resource="#Organ"/></owl:Class>'
    )
    path = tmp_path / "b.owl"
    path.write_text(f"{HEADER}{RELATIVE}{parent}</rdf:RDF>", encoding="utf-8")
    assert list(owl.read(path, skip=faults.append)) == []
    assert [fault.line for fault in faults] == [5, 14, 15]


def test_other_ways_to_say_it(tmp_path: Path) -> None:
    text = """
    <owl:Class rdf:about="http://www.ebi.ac.uk/efo/EFO_0000001"><oboInOwl:id>EFO:1</oboInOwl:id>
      <rdfs:subClassOf rdf:resource="http://www.w3.org/2002/07/owl#Thing"/>
      <rdfs:subClassOf><owl:Class rdf:about="http://www.orpha.net/ORDO/Orphanet_558"/></rdfs:subClassOf>
      <owl:equivalentClass><owl:Class><owl:intersectionOf rdf:parseType="Collection">
        <rdf:Description rdf:about="http://purl.obolibrary.org/obo/X_9"/></owl:intersectionOf></owl:Class>
      </owl:equivalentClass>
      <oboInOwl:hasDbXref rdf:resource="http://example.org/1"/>
    </owl:Class>
    <owl:Class><owl:unionOf rdf:parseType="Collection"/></owl:Class>
    <rdf:Description rdf:about="http://purl.obolibrary.org/obo/X_2">
      <rdf:type rdf:resource="http://www.w3.org/2002/07/owl#Class"/><rdfs:label>lung</rdfs:label>
    </rdf:Description>
    <rdf:Description rdf:about="http://purl.obolibrary.org/obo/X_3"><rdfs:label>no class</rdfs:label></rdf:Description>
    <owl:Class rdf:about="http://purl.obolibrary.org/obo/X_4">
      <owl:deprecated>true</owl:deprecated>
      <obo:IAO_0100001 rdf:resource="http://purl.obolibrary.org/obo/X_2"/>
      <oboInOwl:consider rdf:resource="http://purl.obolibrary.org/obo/X_3"/>
    </owl:Class>
    """
    assert read(tmp_path, text) == [
        Entity("EFO:1", parents=("Orphanet:558",), xrefs=("http://example.org/1",)),
        Entity("X:2", (Name("lung", kind="preferred"),)),
        Retired("X:4", ("X:2",)),
    ]


@pytest.mark.parametrize(
    ("old", "new", "line", "why"),
    [
        (">heart illness<", "> <", 33, "a name must not be empty"),
        ("</owl:Axiom>", "", 86, "is not well-formed XML .mismatched tag"),
        ("<rdf:RDF ", '<!DOCTYPE rdf:RDF [<!ENTITY owl "x">]>\n<rdf:RDF ', 1, "brings its own DTD.*robot convert"),
    ],
)
def test_faults(tmp_path: Path, old: str, new: str, line: int, why: str) -> None:
    path = tmp_path / "a.owl"
    path.write_text(TINY.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(FormatError, match=why) as caught:
        list(owl.read(path))
    assert caught.value.line == line


@pytest.mark.extras
def test_against_pronto(tmp_path: Path) -> None:
    pronto: Any = pytest.importorskip("pronto")
    path = tmp_path / "a.owl"
    text = TINY.read_text(encoding="utf-8")
    missing = '<rdfs:subClassOf rdf:resource="http://purl.obolibrary.org/obo/T_404"/>'  # pronto stops there
    path.write_text(text.replace(missing, ""), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = {term.id: term for term in pronto.Ontology(str(path), import_depth=0).terms()}
    mine = {record.id: record for record in owl.read(path)}
    assert mine.keys() == theirs.keys()
    for id, term in theirs.items():
        record = mine[id]
        assert isinstance(record, Retired) == term.obsolete
        if isinstance(record, Entity):
            named = {(name.text, name.scope.upper()) for name in record.names if name.kind != "preferred"}
            assert named == {(synonym.description, synonym.scope) for synonym in term.synonyms}
            assert record.name in (term.name, *(synonym.description for synonym in term.synonyms))
            assert set(record.parents) == {up.id for up in term.superclasses(distance=1, with_self=False)}
            assert set(record.xrefs) == {xref.id for xref in term.xrefs}
            assert set(record.retired_ids) == term.alternate_ids
            assert record.definition == (" ".join(term.definition.split()) if term.definition else None)
