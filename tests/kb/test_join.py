from __future__ import annotations

from pathlib import Path

import pytest

from nomina.errors import KnowledgeBaseError, UsageError
from nomina.kb import scratch
from nomina.kb.join import expand, merge
from nomina.kb.links import links
from nomina.kb.schema import SourceInfo
from nomina.kb.store import KnowledgeBase
from nomina.types import Entity, Name, Retired


@pytest.fixture
def mesh(made) -> KnowledgeBase:
    return made(
        Entity("D006331", (Name("Heart Diseases", kind="preferred"), Name("Cardiac Diseases"))),
        Entity("D003924", (Name("Diabetes Mellitus, Type 2"),)),
        Entity("D009203", (Name("Myocardial Infarction"),), retired_ids=("D000999",)),
        Entity("C535434", (Name("Rare thing"),)),
        Entity("D000001", (Name("Calcimycin"),), xrefs=("CHEBI:3305",)),
        Retired("D000002", ("D000001",)),
        name="mesh",
    )


@pytest.fixture
def mondo(made) -> KnowledgeBase:
    return made(
        Entity(
            "MONDO:1",
            (Name("heart disorder", kind="preferred"), Name("cardiac diseases"), Name("cardiopathy", "related", "old")),
            definition="What ails hearts",
            xrefs=("MSH:D006331", "DOID:114"),
        ),
        Entity("MONDO:2", (Name("NIDDM", source="OMIM"),), parents=("MONDO:1",), xrefs=("MESH:D003924",)),
        Entity("MONDO:3", (Name("MODY"),), parents=("MONDO:2",), xrefs=("MESH:D003924",)),
        Entity("MONDO:4", (Name("heart attack"),), parents=("MONDO:1",), xrefs=("MESH:D000999",)),
        Entity("MONDO:5", (Name("new disease"),), parents=("MONDO:4",), xrefs=("DOID:114", "PMID:1")),
        Entity("CHEBI:3305", (Name("calcimycin"), Name("A-23187"))),
        Retired("MONDO:6", ("MONDO:4",)),
        Retired("D006331", ("MONDO:1",)),
        name="mondo",
    )


def test_links_are_direct_and_one_to_one(mesh: KnowledgeBase, mondo: KnowledgeBase) -> None:
    with links(mesh, mondo, "xref") as found:
        assert list(found) == [("D006331", "MONDO:1"), ("D009203", "MONDO:4"), ("D000001", "CHEBI:3305")]
        assert (found.count, found.ambiguous) == (3, 2)
        assert (found.target_of("MONDO:4"), found.target_of("MONDO:2")) == ("D009203", None)
    with links(mesh, mondo, "xref", many=True) as found:
        assert (found.count, found.ambiguous) == (5, 0)
        assert (found.target_of("MONDO:2"), found.target_of("MONDO:3")) == ("D003924", "D003924")
    with links(mesh, mondo, "id") as found:
        assert (list(found), found.ambiguous) == ([], 0)


def test_the_same_id_overrules_xrefs(mesh: KnowledgeBase, made) -> None:
    medic = made(
        Entity("MESH:D006331", (Name("heart trouble"),), xrefs=("MESH:D003924",)),
        Entity("MESH:D003924", (Name("sugar"),), xrefs=("MESH:D006331", "MESH:C535434")),
        name="medic",
    )
    for by in ("xref", "id"):
        with links(mesh, medic, by) as found:
            assert list(found) == [("D006331", "MESH:D006331"), ("D003924", "MESH:D003924")]
            assert found.ambiguous == 0


def test_retired_ids_that_mean_one_concept_are_links(made) -> None:
    target = made(
        Entity("A:1", (Name("a"),)),
        Entity("A:2", (Name("b"),)),
        Retired("A:3", ("A:4",)),
        Retired("A:4", ("A:5", "A:3", "A:1")),
        Retired("A:6", ("A:1", "A:2")),
        Retired("A:7"),
        name="target",
    )
    source = made(
        *(Entity(f"B:{i}", (Name(f"name {i}"),), xrefs=(f"A:{i}",)) for i in (3, 6, 7)),
        Entity("A:4", (Name("name 4"),)),
        name="source",
    )
    with links(target, source, "xref", many=True) as found:
        assert list(found) == [("A:1", "B:3"), ("A:1", "A:4")]
    with links(source, target, "xref", many=True) as found:
        assert list(found) == [("B:3", "A:1"), ("A:4", "A:1")]
    with links(target, source, "id") as found:
        assert list(found) == []


def test_a_full_disk_is_one_line(mesh: KnowledgeBase, mondo: KnowledgeBase, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(scratch, "_PRAGMAS", ("journal_mode = OFF", "max_page_count = 4"))
    for join in (lambda: expand(tmp_path / "e.kb", mesh, mondo), lambda: merge(tmp_path / "m.kb", [mesh, mondo], "id")):
        with pytest.raises(KnowledgeBaseError, match=r"disk is full\): free some space for temporary files \(or set"):
            join()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mesh.kb", "mondo.kb"]


def test_expand_adds_new_names_with_their_provenance(mesh: KnowledgeBase, mondo: KnowledgeBase, tmp_path) -> None:
    done = expand(tmp_path / "more.kb", mesh, mondo)
    kb = done.kb
    assert done[1:] == (3, 2)
    assert kb["D006331"].names == (
        Name("Heart Diseases", kind="preferred"),
        Name("Cardiac Diseases"),
        Name("heart disorder", source="mondo"),
        Name("cardiopathy", "related", "old", "mondo"),
    )
    assert kb["D006331"].definition is None
    assert kb["D003924"].names == mesh["D003924"].names
    assert kb["D000001"].names == (Name("Calcimycin"), Name("A-23187", source="mondo"))
    assert list(kb) == list(mesh)
    assert kb.names[: len(mesh.names)] == list(mesh.names)
    assert kb.lineage == (mesh.fingerprint, kb.fingerprint)
    assert kb.manifest.name == "more"


def test_expand_with_many_keeps_the_source_that_a_name_has(mesh: KnowledgeBase, mondo: KnowledgeBase, tmp_path) -> None:
    kb = expand(tmp_path / "more.kb", mesh, mondo, many=True).kb
    assert kb["D003924"].names[1:] == (Name("NIDDM", source="mondo/OMIM"), Name("MODY", source="mondo"))


def test_expand_without_links_or_news(mesh: KnowledgeBase, mondo: KnowledgeBase, made, tmp_path: Path) -> None:
    with pytest.raises(KnowledgeBaseError, match="no concept of mondo is linked by id with one of mesh"):
        expand(tmp_path / "more.kb", mesh, mondo, "id")
    same = made(Entity("MESH:D000001", (Name("calcimycin"),)), name="same")
    with pytest.raises(KnowledgeBaseError, match="has all of that already"):
        expand(tmp_path / "more.kb", mesh, same)
    assert not (tmp_path / "more.kb").exists()


def test_merge_by_xref(mesh: KnowledgeBase, mondo: KnowledgeBase, tmp_path: Path) -> None:
    done = merge(tmp_path / "both.kb", [mesh, mondo], "xref")
    kb = done.kb
    assert done[1:] == (3, 2)
    assert list(kb) == [*mesh, "MONDO:2", "MONDO:3", "MONDO:5"]
    assert [kb.resolve(id) for id in ("MONDO:1", "MONDO:4", "CHEBI:3305", "MONDO:6", "D000002", "D000999")] == [
        "D006331",
        "D009203",
        "D000001",
        "D009203",
        "D000001",
        "D009203",
    ]
    assert kb["D006331"].name == "Heart Diseases"
    assert kb["D006331"].definition == "What ails hearts"
    assert kb["D006331"].xrefs == ("MSH:D006331", "DOID:114")
    assert kb.descendants("D006331") == ("D006331", "D009203", "MONDO:2", "MONDO:3", "MONDO:5")
    assert kb["MONDO:2"].parents == ("D006331",)
    assert kb["MONDO:2"].names == (Name("NIDDM", source="mondo/OMIM"),)
    assert kb.retired("D006331") is None


def test_merge_of_three_by_id(made, tmp_path: Path) -> None:
    kbs = [
        made(Entity("X:1", (Name("a"),)), name="a"),
        made(Entity("X:1", (Name("A"), Name("b"))), Entity("X:2", (Name("c"),)), name="b"),
        made(Entity("X:2", (Name("d"),), types=("t",)), Entity("X:1", (Name("B"), Name("e"))), name="c"),
    ]
    done = merge(tmp_path / "all.kb", kbs, "id")
    assert done[1:] == (3, 0)
    assert done.kb["X:1"].names == (Name("a"), Name("b", source="b"), Name("e", source="c"))
    assert done.kb["X:2"] == Entity("X:2", (Name("c", source="b"), Name("d", source="c")), types=("t",))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.kb", "all.kb", "b.kb", "c.kb"]


def test_merge_names_all_sources_and_is_no_part_of_one(made, tmp_path: Path) -> None:
    whole = made(Entity("X:1", (Name("a"),)), Entity("X:3", (Name("z"),)), name="whole", root=("X:1",))
    other = made(Entity("X:2", (Name("b"),)), name="other")
    kb = merge(tmp_path / "all.kb", [whole, other], "id").kb
    assert (kb.manifest.name, kb.manifest.root) == ("all", ())
    assert kb.manifest.sources == (*whole.manifest.sources, *other.manifest.sources)
    assert SourceInfo("x") not in kb.manifest.sources


def test_a_merge_that_fails_leaves_nothing(mesh: KnowledgeBase, mondo: KnowledgeBase, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two KBs or more"):
        merge(tmp_path / "all.kb", [mesh], "id")
    with pytest.raises(KnowledgeBaseError, match="has all of that already"):
        merge(tmp_path / "all.kb", [mesh, mondo, mondo], "id")
    with pytest.raises(UsageError, match=r"no rule 'x' .* there are: genbioel"):
        merge(tmp_path / "all.kb", [mesh, mondo], "id", dedup="x")
    with pytest.raises(KnowledgeBaseError, match="there is no folder"):
        merge(tmp_path / "no" / "all.kb", [mesh, mondo], "id")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mesh.kb", "mondo.kb"]
