"""The trie of a KB: made once, taken over by later versions, without what is retired."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from trie_cases import walked, word_piece

from nomina.cache import entries
from nomina.files import home
from nomina.generation import opening
from nomina.generation.grown import GrownTrie
from nomina.generation.opening import open_trie
from nomina.generation.spelling import Spelling
from nomina.generation.trie import FlatTrie, Trie
from nomina.kb.update import add, retire
from nomina.types import Entity, Name

CONCEPTS = {f"X:{i}": name for i, name in enumerate(["heart", "heart attack", "lung", "liver cell", "lungs", "cell"])}
MORE = {"X:a": "heart", "X:b": "lung failure", "X:c": ["liver", "LIVER  CELLS", "liver-cell b"]}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def spelling() -> Spelling:
    return Spelling(word_piece(), "[SEP]")


def files() -> set[str]:
    return {name for name in os.listdir(home() / opening.FOLDER) if not name.endswith(".lock")}


def names(trie: Trie, kb, spelling: Spelling) -> set[str]:
    """The raw names that the trie leads to; each by the very tokens that it is spelt in."""
    found = set()
    for path, rows in walked(trie).items():
        for row in rows:
            assert tuple(spelling.tokens([kb.surface(row)])[0].tolist()) == path
            found.add(kb.surface(row))
    return found


def test_a_trie_is_made_once_and_found_again(cache, make_kb, spelling) -> None:
    kb = make_kb(CONCEPTS)
    told: list[tuple[int, int]] = []
    trie = open_trie(kb, spelling, lambda done, of: told.append((done, of)))
    assert names(trie, kb, spelling) == set(CONCEPTS.values())
    assert told == [(0, 6), (6, 6)]
    assert names(open_trie(kb, spelling, lambda done, of: told.append((done, of))), kb, spelling) == set(kb.surfaces())
    assert len(told) == 2
    assert files() == {f"{kb.fingerprint}.{spelling.fingerprint[:32]}.{opening.TRIE_VERSION}.trie"}


def test_names_are_spelt_some_at_a_time(cache, make_kb, spelling, monkeypatch) -> None:
    monkeypatch.setattr(opening, "_CHUNK", 2)
    kb = make_kb(CONCEPTS)
    assert names(open_trie(kb, spelling), kb, spelling) == set(CONCEPTS.values())


def test_names_that_are_spelt_alike_share_a_leaf_and_unknown_ones_have_none(cache, make_kb, spelling) -> None:
    kb = make_kb({"X:1": "heart xyz", "X:2": "heart zzz", "X:3": "zzz"})
    found = walked(open_trie(kb, spelling))
    assert list(found.values()) == [[0, 1]]


@pytest.mark.parametrize("grown", [True, False])
def test_a_later_version_takes_over_the_trie_where_enough_of_it_is_old(
    cache, make_kb, spelling, monkeypatch, grown: bool
) -> None:
    monkeypatch.setattr(opening, "_MOST_ADDED", 1 if grown else 8)
    kb = make_kb(CONCEPTS)
    open_trie(kb, spelling)
    entities = [Entity(id, tuple(map(Name, [text] if isinstance(text, str) else text))) for id, text in MORE.items()]
    later = add(kb, cache / "later.kb", entities).kb
    last = retire(later, cache / "last.kb", ["X:2", "X:0", "X:b"]).kb
    trie, retired = open_trie(later, spelling), open_trie(last, spelling)
    assert isinstance(trie, GrownTrie if grown else FlatTrie)
    every = set(later.surfaces())
    assert len(every) == 10
    assert names(trie, later, spelling) == every
    assert names(retired, last, spelling) == every - {"lung", "lung failure"}  # X:a has the name "heart" too
    assert len(files()) == (3 if grown else 2)
    assert [entry.path.name for entry in entries()] == sorted(files())
    assert {entry.kind for entry in entries()} == {"trie"}
    assert {entry.fingerprint for entry in entries()} == set(last.lineage if grown else later.lineage)
    monkeypatch.setenv("NOMINA_HOME", str(cache / "other"))
    assert walked(open_trie(last, spelling)) == walked(retired)


def test_nothing_is_made_for_a_version_that_only_retires(cache, make_kb, spelling) -> None:
    kb = make_kb(CONCEPTS)
    open_trie(kb, spelling)
    later = retire(kb, cache / "later.kb", ["X:1"]).kb
    assert names(open_trie(later, spelling), later, spelling) == set(CONCEPTS.values()) - {"heart attack"}
    assert len(files()) == 1


def test_added_names_of_which_no_token_is_known_change_nothing(cache, make_kb, spelling) -> None:
    kb = make_kb({f"X:{i}": f"heart {'a b ' * i}" for i in range(9)})
    open_trie(kb, spelling)
    later = add(kb, cache / "later.kb", [Entity("X:z", (Name("zzz"),))]).kb
    assert walked(open_trie(later, spelling)) == walked(open_trie(kb, spelling))


@pytest.mark.parametrize("damage", ["damaged", "of no known name"])
def test_an_older_trie_that_cannot_be_used_is_passed_over(cache, make_kb, spelling, monkeypatch, damage: str) -> None:
    monkeypatch.setattr(opening, "_MOST_ADDED", 1)
    kb = make_kb(CONCEPTS if damage == "damaged" else {"X:0": "xxx", "X:1": "zzz"})
    open_trie(kb, spelling)
    if damage == "damaged":
        (home() / opening.FOLDER / files().pop()).write_bytes(b"")
    later = add(kb, cache / "later.kb", [Entity("X:z", (Name("cell disease"),))]).kb
    trie = open_trie(later, spelling)
    assert isinstance(trie, FlatTrie)
    assert "cell disease" in names(trie, later, spelling)


def test_types_and_subtrees_restrict_without_a_new_trie(cache, make_kb, spelling) -> None:
    kb = make_kb(CONCEPTS, parents={"X:1": ["X:0"], "X:5": ["X:3"]}, types={"X:2": ["T1"], "X:1": ["T1"]})
    trie = open_trie(kb, spelling)
    for subset, expected in (
        (kb.subset(types=["T1"]), {"lung", "heart attack"}),
        (kb.subset(under=["X:3"]), {"liver cell", "cell"}),
        (kb.subset(under=["X:0"], types=["T1"]), {"heart attack"}),
        (kb.subset(under=["X:3"], types=["T1"]), set()),
    ):
        found = walked(trie, trie.within(subset.rows))
        assert {kb.surface(row) for rows in found.values() for row in rows} == expected
    assert len(files()) == 1
