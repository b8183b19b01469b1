"""The own OBO reader against fastobo, on a tiny file and on the whole HPO."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nomina.kb import obo
from nomina.kb.sources import hpo_file
from nomina.types import Entity, Name, Retired

fastobo: Any = pytest.importorskip("fastobo")

KINDS = {"plural_form": "plural"}


def by_fastobo(path: Path, namespace: str) -> list[Entity | Retired]:
    """The same records, made of fastobo's syntax tree."""
    document = fastobo.load(str(path))
    return [record(frame, namespace) for frame in document if type(frame).__name__ == "TermFrame"]


def record(frame: Any, namespace: str) -> Entity | Retired:
    def values(kind: str, attribute: str) -> list[Any]:
        return [getattr(clause, attribute) for clause in frame if type(clause).__name__ == kind]

    def ids(kind: str, attribute: str = "term") -> tuple[str, ...]:
        return tuple(map(str, values(kind, attribute)))

    if any(values("IsObsoleteClause", "obsolete")):
        return Retired(str(frame.id), ids("ReplacedByClause"))
    return Entity(
        str(frame.id),
        tuple(Name(name.strip(), kind="preferred") for name in values("NameClause", "name"))
        + tuple(name_of(synonym) for synonym in values("SynonymClause", "synonym")),
        " ".join("".join(values("DefClause", "definition")).strip().split("\n")) or None,
        ids("NamespaceClause", "namespace") or (namespace,),
        ids("IsAClause"),
        tuple(str(xref.id) for xref in values("XrefClause", "xref")),
        ids("AltIdClause", "alt_id"),
    )


def name_of(synonym: Any) -> Name:
    kind = str(synonym.type) if synonym.type else None
    return Name(synonym.desc.strip(), synonym.scope.lower(), KINDS.get(kind, kind) if kind else None)


def test_tiny(tmp_path: Path) -> None:
    # fastobo knows only the format of today
    text = (Path(__file__).parent / "data" / "tiny.obo").read_text(encoding="utf-8")
    path = tmp_path / "tiny.obo"
    path.write_text(text.replace('exact_synonym: "Cardiopathy" []\n', ""))
    assert list(obo.read(path)) == by_fastobo(path, "tiny")


def test_hpo() -> None:
    path = hpo_file()
    own = list(obo.read(path))
    assert len(own) == 19_484
    assert sum(isinstance(record, Retired) for record in own) == 450
    assert sum(isinstance(record, Entity) for record in own) == 19_034
    for mine, theirs in zip(own, by_fastobo(path, "human_phenotype"), strict=True):
        assert mine == theirs
