from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nomina.errors import UsageError
from nomina.kb.build import BuildOptions, build
from nomina.kb.update import add
from nomina.types import Entity, Name


def test_a_shared_name_leaves_the_concept_with_more_others(made) -> None:
    kb = made(
        Entity("X:1", (Name("MI", kind="preferred"), Name("a"), Name("b"))),
        Entity("X:2", (Name("c"), Name("mi"))),
        Entity("X:3", (Name("d"), Name("e"), Name("f"), Name("C"), Name("c."))),
        dedup="genbioel",
    )
    assert [[name.text for name in kb[id].names] for id in kb] == [["a", "b"], ["c", "mi"], ["d", "e", "f"]]
    assert kb["X:1"].name == "a"
    assert (kb.manifest.counts.homonyms, kb.manifest.counts.names, kb.manifest.dedup) == (0, 7, "genbioel")
    assert all(len(kb.owners(row)) == 1 for row in range(len(kb.names)))


def test_of_equals_the_one_whose_preferred_name_it_is_keeps_it_then_the_first(made) -> None:
    kb = made(
        Entity("X:1", (Name("a"), Name("b"))),
        Entity("X:2", (Name("b"), Name("c"))),
        Entity("X:3", (Name("c"), Name("d"))),
        Entity("X:4", (Name("e"), Name("d"))),
        dedup="genbioel",
    )
    # All have two names when it is their turn: b is preferred in X:2, c in X:3, d in neither.
    assert [[name.text for name in kb[id].names] for id in kb] == [["a"], ["b"], ["c", "d"], ["e"]]


def test_it_is_off_by_default_and_stays_on_in_later_versions(made, tmp_path: Path) -> None:
    records = Entity("X:1", (Name("a"), Name("b"))), Entity("X:2", (Name("b"),))
    assert made(*records).manifest.counts.homonyms == 1
    kb = made(*records, dedup="genbioel")
    assert kb.owners(1) == ("X:2",)
    later = add(kb, tmp_path / "later.kb", [Entity("X:3", (Name("c"), Name("d"), Name("a")))]).kb
    assert (later.owners(0), later["X:3"].names) == (("X:1",), (Name("c"), Name("d")))


def test_an_unknown_rule_is_refused(made) -> None:
    with pytest.raises(UsageError, match="no rule 'x' to leave shared names to one concept; there are: genbioel"):
        made(Entity("X:1", (Name("a"),)), dedup="x")


concepts = st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4, unique=True), min_size=1, max_size=5)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=concepts)
def test_against_a_slow_loop(names: list[list[str]], tmp_path: Path) -> None:
    """Row by row: while several have the name, the one with most names loses it."""
    expected = [list(own) for own in names]
    for key in dict.fromkeys(name for own in names for name in own):
        preferred = [own[0] == key for own in names]
        owners = [i for i, own in enumerate(expected) if key in own]
        while len(owners) > 1:
            loser = max(owners, key=lambda i: (len(expected[i]), not preferred[i], i))
            owners.remove(loser)
            expected[loser].remove(key)
    records = [Entity(f"X:{i}", tuple(map(Name, own))) for i, own in enumerate(names)]
    kb = build(tmp_path / "a.kb", records, BuildOptions("a", dedup="genbioel"))
    assert [[name.text for name in kb[f"X:{i}"].names] for i in range(len(names))] == expected
    assert max(Counter(key for own in expected for key in own).values()) == 1
