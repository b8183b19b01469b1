"""OBO Graphs and the other JSON forms of ontologies."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from nomina.errors import FormatError
from nomina.kb import cellxgene, genbioel, indra_json, obo, obograph, reader_for
from nomina.kb.iri import short_id
from nomina.kb.schema import SourceInfo
from nomina.types import Entity, Name, Retired

DATA = Path(__file__).parent / "data"


def preferred(text: str) -> Name:
    return Name(text, kind="preferred")


def test_obo_graphs_hold_what_obo_holds() -> None:
    assert list(obograph.read(DATA / "obograph.json")) == list(obo.read(DATA / "tiny.obo"))
    assert obograph.describe(DATA / "obograph.json") == SourceInfo(
        "obograph.json",
        title="Tiny ontology",
        release="http://purl.obolibrary.org/obo/tiny/2024-02-29/tiny.json",
        licence="https://example.org/licence",
    )


@pytest.mark.parametrize(
    ("iri", "id"),
    [
        ("http://purl.obolibrary.org/obo/HP_0000118", "HP:0000118"),
        ("https://purl.obolibrary.org/obo/PR_P12345", "PR:P12345"),
        ("http://purl.obolibrary.org/obo/NCBITaxon_Union_0000001", "NCBITaxon:Union_0000001"),
        ("http://www.ebi.ac.uk/efo/EFO_0000001", "EFO:0000001"),
        ("http://www.orpha.net/ORDO/Orphanet_558", "Orphanet:558"),
        ("http://purl.obolibrary.org/obo/hp#layperson", "http://purl.obolibrary.org/obo/hp#layperson"),
        ("http://example.org/an_example", "http://example.org/an_example"),
        ("http://id.nlm.nih.gov/mesh/D003110", "http://id.nlm.nih.gov/mesh/D003110"),
        ("HP:0000118", "HP:0000118"),
    ],
)
def test_short_ids(iri: str, id: str) -> None:
    assert short_id(iri) == id


def test_a_synonym_type_that_is_a_term_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        '{"graphs": [{"nodes": [{"id": "X:1", "type": "CLASS", "meta": {"synonyms": [{"pred": "hasExactSynonym", '
        '"synonymType": "http://purl.obolibrary.org/obo/OMO_0003012", "val": "MI"}], "definition": null}}]}]}',
        encoding="utf-8",
    )
    assert list(obograph.read(path)) == [Entity("X:1", (Name("MI", kind="OMO:0003012"),))]


def test_indra() -> None:
    assert list(indra_json.read(DATA / "indra.json")) == [
        Entity("T:1", (preferred("Disease"),), types=("tiny",)),
        Entity(
            "T:2",
            (preferred("Heart disease"), Name("Heart diseases")),
            None,
            ("tiny",),
            ("T:1", "T:404"),
            ("UMLS:C0018799", "HGNC:5"),
            ("T:20",),
        ),
        Entity("T:3", (preferred("Round"),), types=("t",), parents=("T:4",)),
        Entity("T:4", (preferred("And round"),), types=("t",), parents=("T:3",)),
    ]


def test_cellxgene() -> None:
    assert list(cellxgene.read(DATA / "cellxgene.json")) == [
        Entity("T:1", (preferred("Disease"),)),
        Entity(
            "T:2",
            (preferred("Heart disease"), Name("Heart diseases")),
            "What ails hearts",
            parents=("T:1", "T:404"),
        ),
        Entity("T:3", (preferred("Round"),), parents=("T:4",)),
        Entity("T:4", (preferred("And round"),), parents=("T:3",)),
        Retired("T:5", ("T:2",)),
        Retired("T:6"),
    ]


def test_cellxgene_says_its_release_in_the_name() -> None:
    info = cellxgene.describe(Path("folder", "MONDO-ontology-v2026-05-05.json.zst"))
    assert (info.title, info.release) == ("MONDO", "v2026-05-05")
    assert cellxgene.describe(DATA / "cellxgene.json") == SourceInfo("cellxgene.json")


def test_genbioel() -> None:
    assert list(genbioel.read(DATA / "target_kb.json")) == [
        Entity("T:1", (Name("Disease"),)),
        Entity("T:2", (Name("Heart disease"), Name("Heart diseases"), Name("bad heart"))),
        Entity("T:3"),
    ]


@pytest.mark.parametrize(
    ("reader", "text", "line", "why"),
    [
        (obograph, '{"graphs": [{"nodes": [\n{"lbl": "a"}]}]}', 2, "a node without an id"),
        (obograph, '{"graphs": [{"nodes": [\n7]}]}', 2, "a node without an id"),
        (obograph, '{"graphs": [{"nodes": [{"id": "", "type": "CLASS"}]}]}', 1, "id must be non-empty"),
        (
            obograph,
            '{"graphs": [{"nodes": [{"id": "X:1", "type": "CLASS", "meta": {"synonyms": [{"val": null}]}}]}]}',
            1,
            "name must not be empty",
        ),
        (
            obograph,
            '{"graphs": [{"nodes": [{"id": "X:1", "type": "CLASS"},\n{"id": "X:1", "type": "CLASS"}]}]}',
            2,
            "a second node with the id X:1",
        ),
        (obograph, '{"graphs": [{"nodes": [{"id": "X:1", "type": "CLASS"}\n', 2, "found the end of the file"),
        (indra_json, '[{"id": "X:1"},\n"X:2"]', 2, "expected an object with id, found 'X:2'"),
        (indra_json, '[{"id": "X:1"},\n{"name": "a"}]', 2, "expected an object with id"),
        (indra_json, '[{"id": "X:1"},\n{"id": "X:1"}]', 2, "a second entry with the id X:1"),
        (indra_json, '[{"id": "X:1", "name": "a", "synonyms": [" "]}]', 1, "name must not be empty"),
        (cellxgene, '{"X:1": {"label": "a"},\n"X:2": []}', 2, r"'X:2': expected an object, found \[\]"),
        (cellxgene, '{"X:1": {"label": "a"},\n"X:1": {}}', 2, "a second entry of the id X:1"),
        (cellxgene, '{"X:1": {"label": "a", "synonyms": [""]}}', 1, "'X:1': a name must not be empty"),
        (genbioel, '{"X:1": ["a"],\n"X:2": "a"}', 2, "'X:2': expected an array of names, found 'a'"),
        (genbioel, '{"X:1": ["a"],\n"X:2": [1]}', 2, "'X:2': expected an array of names"),
        (genbioel, '{"X:1": ["a"],\n"X:1": ["b"]}', 2, "a second entry of the id X:1"),
    ],
)
def test_faults(tmp_path: Path, reader: ModuleType, text: str, line: int, why: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    assert reader_for(path)[1] is reader
    with pytest.raises(FormatError, match=why) as caught:
        list(reader.read(path))
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ('{"id": "X:1", "names": ["a"]}\n', "jsonl"),
        ('{"names": ["a"], "id": "X:1"}\n', "jsonl"),
        ('{"types": [], "id": "X:1"}\n', "jsonl"),
        ('{"X:1": []}', "genbioel"),
        ('{ "graphs" : [ ] }', "obograph"),
    ],
)
def test_told_from_each_other(tmp_path: Path, text: str, format: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    assert reader_for(path)[0] == format
