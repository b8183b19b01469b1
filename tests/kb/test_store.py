from __future__ import annotations

import pickle
import shutil
import sqlite3
import threading
from pathlib import Path

import numpy as np
import pytest

from nomina.errors import KnowledgeBaseError
from nomina.kb.store import KnowledgeBase, Owner
from nomina.types import Entity, Name, Retired


def test_is_a_mapping_by_live_id(heart: KnowledgeBase) -> None:
    assert list(heart) == ["T:1", "T:2", "T:3", "T:4", "T:5", "T:6"]
    assert len(heart) == 6
    assert "T:2" in heart
    assert "T:20" not in heart
    assert 7 not in heart
    assert heart.get("T:9") is None
    with pytest.raises(KeyError, match="T:9"):
        heart["T:9"]
    assert heart["T:2"].definition == "What ails the heart"
    assert heart["T:2"].types == ("cardiology", "organ")
    assert heart["T:2"].parents == ("T:1", "T:404")
    assert heart["T:2"].xrefs == ("UMLS:C0018799",)
    assert heart["T:2"].retired_ids == ("T:20",)
    assert heart["T:6"] == Entity("T:6", (), parents=("T:1",))
    assert list(heart.entities()) == [heart[id] for id in heart]


def test_rows_both_ways(heart: KnowledgeBase) -> None:
    names = heart.names
    assert len(names) == 6
    assert (names[0], names[2], names[-1]) == ("disease", "mi", "and round")
    assert names[1:3] == ["heart disease", "mi"]
    assert names[4:100] == ["round", "and round"]
    assert names[::-2] == ["and round", "mitral insufficiency", "heart disease"]
    assert names[3:1] == []
    assert "mi" in names
    assert "MI" not in names
    assert [heart.row(key) for key in names] == list(range(6))
    assert heart.row("nothing") is None
    assert heart.surface(1) == "heart-disease"
    assert list(heart.surfaces(4)) == ["Round", "And round"]
    for call in (lambda: names[6], lambda: names[-7], lambda: heart.surface(6)):
        with pytest.raises(IndexError, match=r"is not in 0..5"):
            call()


def test_owners_of_a_row_with_preferred_or_best_scope_name(heart: KnowledgeBase) -> None:
    assert heart.owners_of(1) == (
        Owner(
            1,
            "T:2",
            "Heart disease",
            Name("Heart disease", kind="preferred"),
            ("Heart disease", "Heart Disease", "heart-disease"),
        ),
    )
    assert heart.owners_of(2) == (
        Owner(1, "T:2", "Heart disease", Name("MI", kind="abbreviation"), ("MI",)),
        Owner(2, "T:3", "Mitral insufficiency", Name("mi"), ("mi",)),
    )
    assert heart.owners(2) == ("T:2", "T:3")
    assert heart.owners(99) == ()


def test_of_several_names_in_a_row_the_best_scope_is_shown(made) -> None:
    kb = made(Entity("X:1", (Name("first"), Name("a-b", "related"), Name("a b", "exact"), Name("A B", "broad"))))
    assert kb.owners_of(1)[0].name == Name("a b")


def test_lookup_puts_the_very_text_first(heart: KnowledgeBase) -> None:
    assert [entity.id for entity in heart.lookup("mi")] == ["T:3", "T:2"]
    assert [entity.id for entity in heart.lookup("MI")] == ["T:2", "T:3"]
    assert [entity.id for entity in heart.lookup("Mi")] == ["T:2", "T:3"]
    assert [entity.name for entity in heart.lookup(" HEART – disease!")] == ["Heart disease"]
    assert heart.lookup("heart") == ()
    assert heart.lookup("") == ()


def test_resolve_follows_chains_and_survives_cycles(heart: KnowledgeBase) -> None:
    assert heart.resolve("T:2") == "T:2"
    assert heart.resolve("T:20") == "T:2"
    assert heart.resolve("T:30") == "T:2"
    assert heart.resolve("T:32") == "T:2"
    assert heart.resolve("T:31") is None
    assert heart.resolve("T:33") is None
    assert heart.resolve("T:99") is None
    assert heart.retired("T:30") == Retired("T:30", ("T:31", "T:32"))
    assert heart.retired("T:33") == Retired("T:33")
    assert heart.retired("T:2") is None
    assert heart.retired("T:99") is None


def test_an_id_in_use_is_not_retired_whatever_others_say(made) -> None:
    kb = made(Entity("X:1", (Name("a"),), retired_ids=("X:2",)), Entity("X:2", (Name("b"),)), Retired("X:1", ("X:2",)))
    assert (kb.resolve("X:1"), kb.resolve("X:2")) == ("X:1", "X:2")
    assert kb.retired("X:2") is None


def test_hierarchy(heart: KnowledgeBase) -> None:
    assert heart.parents("T:2") == ("T:1",)
    assert heart.children("T:1") == ("T:2", "T:6")
    assert heart.descendants("T:1") == ("T:1", "T:2", "T:3", "T:6")
    assert heart.descendants("T:4") == ("T:4", "T:5")
    for call in (heart.parents, heart.children, heart.descendants):
        with pytest.raises(KnowledgeBaseError, match="'T:9' is not a concept of the KB heart"):
            call("T:9")
        with pytest.raises(KnowledgeBaseError, match="'T:20' is retired: use 'T:2'"):
            call("T:20")


def test_types(heart: KnowledgeBase) -> None:
    assert heart.types() == {"cardiology": 1, "organ": 2, "top": 1}


@pytest.mark.parametrize(
    ("filters", "entities", "rows"),
    [
        ({}, [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]),
        ({"under": ["T:2"]}, [1, 2], [1, 2, 3]),
        ({"under": ["T:3", "T:4"]}, [2, 3, 4], [2, 3, 4, 5]),
        ({"types": ["organ"]}, [1, 2], [1, 2, 3]),
        ({"types": ["cardiology", "top"]}, [0, 1], [0, 1, 2]),
        ({"under": ["T:3"], "types": ["cardiology"]}, [], []),
        ({"under": ["T:6"]}, [5], []),
    ],
)
def test_subset(heart: KnowledgeBase, filters: dict[str, list[str]], entities: list[int], rows: list[int]) -> None:
    subset = heart.subset(**filters)
    assert (subset.rows.shape, subset.entities.shape) == ((6,), (6,))
    assert np.flatnonzero(subset.entities).tolist() == entities
    assert np.flatnonzero(subset.rows).tolist() == rows


def test_subset_refuses_what_the_kb_does_not_have(heart: KnowledgeBase, made) -> None:
    with pytest.raises(KnowledgeBaseError, match="no type 'gene'; it has: cardiology, organ, top"):
        heart.subset(types=["organ", "gene"])
    with pytest.raises(KnowledgeBaseError, match="'T:9' is not a concept"):
        heart.subset(under=["T:9"])
    with pytest.raises(KnowledgeBaseError, match="no type 'gene'; it has: none"):
        made(Entity("X:1", (Name("a"),))).subset(types=["gene"])


def test_pickles_as_path_and_fingerprint(heart: KnowledgeBase, made, tmp_path: Path) -> None:
    data = pickle.dumps(heart)
    again = pickle.loads(data)
    assert (again, hash(again), again.path) == (heart, hash(heart), heart.path)
    assert again is not heart
    other = made(Entity("X:1", (Name("a"),)))
    assert other != heart
    assert heart != "heart"
    shutil.copy(other.path, heart.path)
    with pytest.raises(KnowledgeBaseError, match=f"expected {heart.fingerprint}, found {other.fingerprint}"):
        pickle.loads(data)


def test_relative_path_pickles_whole(heart: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(heart.path.parent)
    opened = KnowledgeBase.open(heart.path.name)
    monkeypatch.chdir("/")
    assert pickle.loads(pickle.dumps(opened)).path == heart.path
    assert opened["T:1"].name == "Disease"


def test_odd_characters_in_the_path(heart: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "a ?x=1#é%20" / "kb & co"
    path.parent.mkdir()
    shutil.copy(heart.path, path)
    assert KnowledgeBase.open(path)["T:1"].name == "Disease"


def test_threads_have_their_own_connections(heart: KnowledgeBase) -> None:
    found: list[tuple[str, ...]] = []
    threads = [threading.Thread(target=lambda: found.append(tuple(heart))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [tuple(heart)] * 8


def test_a_replaced_file_is_noticed_by_a_new_thread_and_not_by_an_old_one(heart: KnowledgeBase, made) -> None:
    assert heart["T:1"].name == "Disease"
    made(Entity("X:1", (Name("a"),)), name="heart")
    assert heart["T:2"].name == "Heart disease"
    caught: list[str] = []

    def look() -> None:
        try:
            heart.get("T:1")
        except KnowledgeBaseError as error:
            caught.append(str(error))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert len(caught) == 1
    assert "replaced by another build" in caught[0]


def test_lineage_tells_how_many_rows_an_ancestor_had(heart: KnowledgeBase) -> None:
    assert heart.lineage == (heart.fingerprint,)
    assert heart.ancestor_rows(heart.fingerprint) == 6
    assert heart.ancestor_rows("other") is None


def _damage(path: Path, change: str) -> None:
    data = path.read_bytes()
    if change == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif change == "short":
        path.write_bytes(data[:50])
    elif change == "text":
        path.write_text("id\tname\nX:1\ta\n" * 20, encoding="utf-8")
    elif change == "noise":
        path.write_bytes(data[:100] + b"\xa5" * (len(data) - 100))
    else:
        connection = sqlite3.connect(path)
        connection.executescript(change)
        connection.close()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("cut", "is cut off"),
        ("short", "is not a KB"),
        ("text", "is not a KB: build one from it"),
        ("noise", "is a damaged KB"),
        ("PRAGMA application_id = 7", "SQLite file but not a KB"),
        ("PRAGMA user_version = 0", "an older nomina"),
        ("PRAGMA user_version = 999", "a newer nomina"),
        ("DROP TABLE manifest", "is a damaged KB"),
        ("DROP TABLE lineage", "is a damaged KB"),
        ("DELETE FROM manifest WHERE key = 'name'", "is a damaged KB"),
        ("UPDATE manifest SET value = '{' WHERE key = 'counts'", "is a damaged KB"),
        ("UPDATE manifest SET value = '\"0\"' WHERE key = 'normaliser'", "built with normaliser 0, this nomina uses"),
        ("UPDATE manifest SET value = '{\"rows\": 0}' WHERE key = 'counts'", "has no names"),
    ],
)
def test_what_cannot_be_opened_says_why_in_one_line(heart: KnowledgeBase, change: str, why: str) -> None:
    _damage(heart.path, change)
    with pytest.raises(KnowledgeBaseError, match=why) as caught:
        KnowledgeBase.open(heart.path)
    assert "\n" not in str(caught.value)
    assert str(heart.path) in str(caught.value)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "no.kb", tmp_path):
        with pytest.raises(KnowledgeBaseError, match=r"no KB at .*nomina kb build"):
            KnowledgeBase.open(path)


def test_damage_behind_the_first_page_is_one_line_too(heart: KnowledgeBase) -> None:
    data = heart.path.read_bytes()
    blanked = _blank_pages(data)
    assert blanked != data
    heart.path.write_bytes(blanked)
    kb = KnowledgeBase.open(heart.path)
    with pytest.raises(KnowledgeBaseError, match=r"is damaged .*build it again"):
        list(kb.names)


def _blank_pages(data: bytes) -> bytes:
    """Every page overwritten that holds a row's surface, but not the manifest's."""
    size = int.from_bytes(data[16:18], "big")
    pages = [data[i : i + size] for i in range(0, len(data), size)]
    return b"".join(b"\xa5" * size if b"heart diseaseheart-disease" in page else page for page in pages)
