from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nomina.errors import FormatError, KnowledgeBaseError
from nomina.kb import update
from nomina.kb.build import BuildOptions, build, build_from_files
from nomina.kb.schema import Counts, SourceInfo
from nomina.kb.store import KnowledgeBase
from nomina.kb.update import add, add_files, retire
from nomina.types import SCOPES, Entity, Name, Retired

DATA = Path(__file__).parent / "data"


def test_rows_and_entities_keep_their_numbers(heart: KnowledgeBase, tmp_path: Path) -> None:
    done = add(
        heart,
        tmp_path / "new.kb",
        [
            Entity("T:7", (Name("Angina", kind="preferred"), Name("heart DISEASE")), parents=("T:2",)),
            Entity("T:2", (Name("cardiopathy", "related", None, "new"), Name("MI", kind="abbreviation"))),
            Entity("T:404", (Name("Cardiology"),), types=("top",)),
        ],
    )
    new = done.kb
    assert done[1:] == (2, 1, 0)
    assert new.names[:6] == heart.names[:6]
    assert new.names[6:] == ["angina", "cardiopathy", "cardiology"]
    assert list(new.surfaces(6)) == ["Angina", "cardiopathy", "Cardiology"]
    assert list(new) == [*heart, "T:7", "T:404"]
    assert [owner.number for row in range(9) for owner in new.owners_of(row)] == [0, 1, 6, 1, 2, 2, 3, 4, 6, 1, 7]
    assert new["T:2"].names == (*heart["T:2"].names, Name("cardiopathy", "related", None, "new"))
    assert new.children("T:2") == ("T:3", "T:7")
    assert new.parents("T:2") == ("T:1", "T:404")
    assert new.types() == {"cardiology": 1, "organ": 2, "top": 2}
    assert (new.manifest.entities, new.manifest.counts.rows) == (8, 9)


def test_lineage_names_all_ancestors(heart: KnowledgeBase, tmp_path: Path) -> None:
    second = add(heart, tmp_path / "2.kb", [Entity("T:7", (Name("Angina"),))]).kb
    third = retire(second, tmp_path / "3.kb", ["T:3"]).kb
    assert third.lineage == (heart.fingerprint, second.fingerprint, third.fingerprint)
    assert len(set(third.lineage)) == 3
    assert [third.ancestor_rows(fingerprint) for fingerprint in third.lineage] == [6, 7, 7]
    assert second.ancestor_rows(third.fingerprint) is None


def test_retired_concepts_lose_their_names_and_place(heart: KnowledgeBase, tmp_path: Path) -> None:
    done = retire(heart, tmp_path / "new.kb", ["T:2", "T:4", "T:2"], replaced_by="T:3")
    new = done.kb
    assert done[1:] == (0, 0, 2)
    assert list(new) == ["T:1", "T:3", "T:5", "T:6"]
    assert (len(new), new.manifest.entities) == (4, 6)
    assert [new.owners(row) for row in range(6)] == [("T:1",), (), ("T:3",), ("T:3",), (), ("T:5",)]
    assert new.ownerless == {1, 4}
    assert heart.ownerless == frozenset()
    assert [new.resolve(id) for id in ("T:2", "T:20", "T:4", "T:3")] == ["T:3", "T:3", "T:3", "T:3"]
    assert new.retired("T:2") == Retired("T:2", ("T:3",))
    assert new.lookup("heart disease") == ()
    assert (new.children("T:1"), new.parents("T:3"), new["T:3"].parents) == (("T:6",), (), ("T:2",))
    assert new.types() == {"organ": 1, "top": 1}
    assert list(new.entities()) == [new[id] for id in new]
    assert not new.subset(under=["T:1"]).entities[[1, 3]].any()
    assert new.manifest.counts == Counts(4, 4, 6, 0, 7, 0, 2, 1)


def test_without_replacement(heart: KnowledgeBase, tmp_path: Path) -> None:
    new = retire(heart, tmp_path / "new.kb", ["T:3"]).kb
    assert new.resolve("T:3") is None
    assert new.retired("T:3") == Retired("T:3")


def test_what_is_added_is_newer_than_what_is_there(heart: KnowledgeBase, tmp_path: Path) -> None:
    done = add(
        heart,
        tmp_path / "new.kb",
        [
            Retired("T:4", ("T:5",)),
            Retired("T:31", ("T:1",)),
            Retired("T:1"),
            Entity("T:7", (Name("Angina"),), retired_ids=("T:3", "T:7", "T:33")),
            Entity("T:1", (Name("illness"),)),
            Entity("T:30", (Name("in use again"),)),
        ],
    )
    new = done.kb
    assert done[1:] == (2, 1, 2)
    assert list(new) == ["T:1", "T:2", "T:5", "T:6", "T:7", "T:30"]
    assert [new.resolve(id) for id in ("T:3", "T:4", "T:31", "T:33")] == ["T:7", "T:5", "T:1", "T:7"]
    assert (new.retired("T:30"), new.retired("T:1")) == (None, None)
    assert new.retired("T:32") == Retired("T:32", ("T:20", "T:30"))


def test_a_retired_concept_comes_back_under_its_number(heart: KnowledgeBase, tmp_path: Path) -> None:
    gone = retire(heart, tmp_path / "1.kb", ["T:2"], replaced_by="T:1").kb
    done = add(gone, tmp_path / "2.kb", [Entity("T:2", (Name("MI"), Name("Morbus cordis")))])
    new = done.kb
    assert done[1:] == (1, 0, 0)
    assert new["T:2"] == Entity("T:2", (Name("MI"), Name("Morbus cordis")))
    assert [(owner.number, owner.entity_id) for owner in new.owners_of(2)] == [(1, "T:2"), (2, "T:3")]
    assert (gone.ownerless, new.ownerless) == ({1}, {1})
    assert add(new, tmp_path / "3.kb", [Entity("T:9", (Name("heart DISEASE"),))]).kb.ownerless == frozenset()
    assert new.retired("T:2") is None
    assert new.resolve("T:20") == "T:2"


def test_the_old_file_stays_and_the_new_one_may_take_its_place(heart: KnowledgeBase, tmp_path: Path) -> None:
    before = heart.path.read_bytes()
    add(heart, tmp_path / "new.kb", [Entity("T:7", (Name("Angina"),))])
    assert heart.path.read_bytes() == before
    new = add(heart, heart.path, [Entity("T:7", (Name("Angina"),))]).kb
    assert KnowledgeBase.open(heart.path) == new == KnowledgeBase.open(tmp_path / "new.kb")
    with pytest.raises(KnowledgeBaseError, match="replaced by another build"):
        add(heart, tmp_path / "b.kb", [Entity("T:8", (Name("Angina"),))])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["heart.kb", "new.kb"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda kb, path: retire(kb, path, ["T:9"]), "'T:9' is not a concept of the KB heart"),
        (lambda kb, path: retire(kb, path, ["T:20"]), "'T:20' is retired: use 'T:2'"),
        (lambda kb, path: retire(kb, path, ["T:3"], "T:9"), "'T:9' is not a concept"),
        (lambda kb, path: retire(kb, path, ["T:3"], "T:3"), "T:3 cannot be retired and replace others"),
        (lambda kb, path: retire(kb, path, list(kb)), "would leave no name"),
        (lambda kb, path: add(kb, path, []), "has all of that already"),
        (lambda kb, path: add(kb, path, [Entity("T:1", (Name("Disease"),))]), "has all of that already"),
        (lambda kb, path: add(kb, path, [Entity("T:1", (Name("\u200b"),))]), "no visible character"),
        (lambda kb, path: add(kb, path.parent / "no" / "a.kb", []), "choose another place"),
        (lambda kb, path: add(kb, path.parent, []), "is a folder"),
        (lambda kb, path: add_files(kb, path, [DATA / "no.tsv"]), "No such file"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_leaves_nothing(heart: KnowledgeBase, tmp_path, change, why: str) -> None:
    with pytest.raises((KnowledgeBaseError, FormatError), match=why) as caught:
        change(heart, tmp_path / "new.kb")
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["heart.kb"]


def test_from_files_with_sources_and_faults_in_the_manifest(tmp_path: Path) -> None:
    old = build_from_files(tmp_path / "old.kb", [DATA / "tiny.obo"])
    extra = tmp_path / "extra.tsv"
    extra.write_bytes(b"id\tname\nT:7\tAngina\x00\nT:2\tcardiac disorder\n")
    with pytest.raises(FormatError, match="control character"):
        add_files(old, tmp_path / "new.kb", [extra])
    told: list[str] = []
    new = add_files(
        old, tmp_path / "new.kb", [extra], lenient=True, progress=lambda doing, count: told.append(doing)
    ).kb
    assert [source.file for source in new.manifest.sources] == ["tiny.obo", "extra.tsv"]
    assert (new.manifest.counts.problems, len(new.manifest.problems), new.manifest.lenient) == (1, 1, True)
    assert new["T:7"].name == "Angina"
    assert told == ["sorting", "writing"]
    again = add(new, tmp_path / "3.kb", [Entity("T:8", (Name("x"),))], sources=[SourceInfo("mine")])
    assert [source.file for source in again.kb.manifest.sources] == ["tiny.obo", "extra.tsv", "mine"]


def test_a_failure_at_the_end_leaves_no_file(heart: KnowledgeBase, tmp_path: Path, monkeypatch) -> None:
    def stop(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(update, "_sign", stop)
    with pytest.raises(KeyboardInterrupt):
        add(heart, tmp_path / "new.kb", [Entity("T:7", (Name("Angina"),))])
    assert [path.name for path in tmp_path.iterdir()] == ["heart.kb"]


ids = st.sampled_from([f"X:{i}" for i in range(6)])
words = st.text("ab é-β", min_size=1, max_size=3).filter(lambda word: word.strip(" -"))
names = st.builds(Name, words, st.sampled_from(SCOPES), st.sampled_from([None, "preferred"]), st.none() | st.just("s"))
entities = st.builds(
    Entity,
    ids,
    st.lists(names, max_size=4).map(tuple),
    st.none() | st.just("what"),
    st.lists(st.sampled_from("tuv"), max_size=2, unique=True).map(tuple),
    st.lists(ids, max_size=2, unique=True).map(tuple),
    st.lists(st.sampled_from("xy"), max_size=2, unique=True).map(tuple),
    st.lists(st.sampled_from(["O:1", "O:2"]), max_size=2, unique=True).map(tuple),
)
retirements = st.builds(Retired, st.sampled_from(["O:1", "O:3"]), st.lists(ids, max_size=2, unique=True).map(tuple))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much])
@given(parts=st.lists(st.lists(entities | retirements, min_size=1, max_size=4), min_size=2, max_size=3))
def test_adding_is_as_building_all_at_once(parts: list[list[Entity | Retired]], tmp_path: Path) -> None:
    first, *rest = parts
    if not any(isinstance(record, Entity) and record.names for record in first):
        first = [*first, Entity("X:0", (Name("a name"),))]
    whole = build(tmp_path / "whole.kb", chain(first, *rest), BuildOptions("x"))
    kb = build(tmp_path / "part.kb", first, BuildOptions("x"))
    for records in rest:
        try:
            kb = add(kb, kb.path, records).kb
        except KnowledgeBaseError as error:
            assert "has all of that already" in str(error)  # noqa: PT017 (what may fail is part of the property)
    assert kb.fingerprint == whole.fingerprint
    assert {id: kb.children(id) for id in kb} == {id: whole.children(id) for id in whole}
    assert (kb.types(), list(kb.names)) == (whole.types(), list(whole.names))
    assert [kb.row(key) for key in kb.names] == list(range(len(kb.names)))
    counted = ("concepts", "names", "rows", "homonyms", "retired", "missing_parents", "nameless")
    assert [getattr(kb.manifest.counts, c) for c in counted] == [getattr(whole.manifest.counts, c) for c in counted]
