"""The reader of OBO Graphs against what fastobo makes of HPO, and against pronto.

fastobo writes no synonyms, no default namespace, nothing of obsolete terms but their names, and cross-references as
IRIs: the rest is compared.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nomina.kb import obo, obograph
from nomina.kb.sources import hpo_file
from nomina.types import Entity, Retired

TINY = Path(__file__).parent / "data" / "obograph.json"


def comparable(entity: Entity) -> Entity:
    named = tuple(name for name in entity.names if name.kind == "preferred")
    definition = " ".join(entity.definition.split()) if entity.definition else None
    return replace(entity, names=named, definition=definition, types=(), xrefs=())


@pytest.mark.slow
def test_hpo(tmp_path: Path) -> None:
    fastobo: Any = pytest.importorskip("fastobo")
    path = tmp_path / "hp.json"
    fastobo.dump_graph(fastobo.load(str(hpo_file())), str(path))
    compared = 0
    for mine, theirs in zip(obograph.read(path), obo.read(hpo_file()), strict=True):
        assert mine.id == theirs.id
        if isinstance(theirs, Entity):
            assert isinstance(mine, Entity)
            assert comparable(mine) == comparable(theirs)
            compared += 1
    assert compared == 19_034


@pytest.mark.extras
def test_pronto_reads_the_same_of_the_tiny_file(tmp_path: Path) -> None:
    pronto: Any = pytest.importorskip("pronto")
    graphs = json.loads(TINY.read_text(encoding="utf-8"))
    edges = graphs["graphs"][0]["edges"]
    edges[:] = [edge for edge in edges if not edge["obj"].endswith("T_404")]  # pronto stops at a missing parent
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(graphs), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = {term.id: term for term in pronto.Ontology(str(path), import_depth=0).terms()}
    mine = {record.id: record for record in obograph.read(path)}
    assert mine.keys() == theirs.keys()
    for id, record in mine.items():
        assert isinstance(record, Retired) == theirs[id].obsolete
        if isinstance(record, Entity):
            synonyms = {(name.text, name.scope.upper()) for name in record.names if name.kind != "preferred"}
            assert synonyms == {(synonym.description, synonym.scope) for synonym in theirs[id].synonyms}
            assert set(record.parents) == {up.id for up in theirs[id].superclasses(distance=1, with_self=False)}
            assert set(record.xrefs) == {xref.id for xref in theirs[id].xrefs}
