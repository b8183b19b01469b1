"""Beam search: against the scores of all names, best-first search and transformers."""

from __future__ import annotations

import numpy as np
import pytest

from nomina.errors import UsageError
from nomina.generation.grown import GrownTrie
from nomina.generation.trie import FlatTrie, Trie

torch = pytest.importorskip("torch", reason="needs the extra train")
pytestmark = pytest.mark.extras

from generation_cases import (  # noqa: E402
    Small,
    SmallDecoding,
    batch_of,
    best_first,
    every_sum,
    names_of,
    noisy,
    taught,
    trie_of,
)

from nomina.generation.device import DeviceTrie  # noqa: E402
from nomina.generation.scoring import score_candidates  # noqa: E402
from nomina.generation.search import Batch, Found, Search, beam_search  # noqa: E402

VOCABULARY = 60
MOST = 20


def searched(generator: Small, trie: Trie, batch: Batch, beams: int = 5, **options: object) -> Found:
    within, starts = options.pop("within", None), options.pop("starts", None)
    device = DeviceTrie(trie, "cpu", VOCABULARY)
    return beam_search(generator, device, batch, Search(beams, MOST, **options), within, starts)


def rows_of(trie: Trie, found: Found) -> list[list[int]]:
    """Rows of each mention, best first; every node must be a leaf."""
    ranked = []
    for nodes, scores in zip(found.nodes.numpy(), found.scores.numpy(), strict=True):
        there = np.isfinite(scores)
        assert (nodes[there] >= 0).all()
        assert (nodes[~there] == -1).all()
        rows, offsets = trie.rows_of(nodes[there])
        assert (np.diff(offsets) >= 1).all()
        ranked.append(rows.tolist())
    return ranked


def test_nearly_all_first_names_are_those_of_exhaustive_scoring() -> None:
    # A decoder that has learnt nothing gives no sign of what comes later, and no narrow search finds its best name.
    first = whole = mentions = 0
    for seed in range(2):
        names = names_of(150, VOCABULARY, seed)
        generator, trie = Small(VOCABULARY, seed, 1.0, 32), trie_of(names)
        taught(generator, names)
        ids, mask = noisy(names, torch.Generator().manual_seed(seed + 1))
        batch = Batch(ids, mask, ids[:, :0], mask[:, :0])
        sums = every_sum(generator, batch, names)
        best = np.argsort(-sums, kind="stable")[:, :5]
        five, twenty = (searched(generator, trie, batch, beams) for beams in (5, 20))
        for i, (narrow, wide) in enumerate(zip(rows_of(trie, five), rows_of(trie, twenty), strict=True)):
            first += narrow[0] == best[i, 0]
            whole += set(wide[:5]) == set(best[i].tolist())
            np.testing.assert_allclose(five.scores[i], sums[i, narrow], atol=1e-4)
            np.testing.assert_allclose(twenty.scores[i], sums[i, wide], atol=1e-4)
            assert five.lengths[i].tolist() == [len(names[row]) + 1 for row in narrow]
        mentions += len(batch.ids)
    assert first >= 0.99 * mentions
    assert whole >= 0.9 * mentions


def test_more_beams_than_names_find_all_in_order() -> None:
    names = names_of(30, VOCABULARY)
    generator, trie, batch = Small(VOCABULARY), trie_of(names), batch_of(20, VOCABULARY)
    found = searched(generator, trie, batch, 40)
    sums = every_sum(generator, batch, names)
    assert found.nodes.shape == (20, 40)
    assert rows_of(trie, found) == np.argsort(-sums, kind="stable").tolist()


def test_best_first_search_finds_the_same() -> None:
    names = names_of(60, VOCABULARY)
    generator, trie, batch = Small(VOCABULARY, 1), trie_of(names), batch_of(10, VOCABULARY)
    found = searched(generator, trie, batch, 60)
    sums = every_sum(generator, batch, names)
    for i in range(10):
        nodes, scores = zip(*best_first(generator, batch, trie, i, 6), strict=True)
        assert list(nodes) == found.nodes[i, :6].tolist()
        np.testing.assert_allclose(scores, found.scores[i, :6], atol=1e-4)
        np.testing.assert_allclose(scores, np.sort(sums[i])[::-1][:6], atol=1e-4)


def test_renormalised_among_what_is_allowed() -> None:
    names = names_of(30, VOCABULARY)
    generator, trie, batch = Small(VOCABULARY), trie_of(names), batch_of(5, VOCABULARY)
    found = searched(generator, trie, batch, 30, renormalise=True)
    sums = every_sum(generator, batch, names, trie)
    np.testing.assert_allclose(np.exp(sums).sum(1), 1, atol=1e-4)
    np.testing.assert_allclose(found.scores, -np.sort(-sums), atol=1e-4)


def test_length_penalty_divides() -> None:
    names = names_of(30, VOCABULARY)
    generator, trie, batch = Small(VOCABULARY), trie_of(names), batch_of(5, VOCABULARY)
    found = searched(generator, trie, batch, 30, length_penalty=0.7)
    sums = every_sum(generator, batch, names) / np.array([len(name) + 1 for name in names]) ** 0.7
    assert rows_of(trie, found) == np.argsort(-sums, kind="stable").tolist()
    np.testing.assert_allclose(found.scores, -np.sort(-sums), atol=1e-4)


def test_a_mention_alone_finds_what_it_finds_among_others() -> None:
    names = names_of(150, VOCABULARY)
    generator, trie, batch = Small(VOCABULARY), trie_of(names), batch_of(64, VOCABULARY)
    together = searched(generator, trie, batch)
    for i in range(64):
        alone = searched(generator, trie, Batch(*(part[i : i + 1] for part in batch)))
        assert alone.nodes[0].tolist() == together.nodes[i].tolist()
        np.testing.assert_allclose(alone.scores[0], together.scores[i], atol=1e-5)


def test_an_early_end_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of(150, VOCABULARY)
    generator, trie, batch = Small(VOCABULARY), trie_of(names), batch_of(64, VOCABULARY)
    early = searched(generator, trie, batch)
    never = torch.zeros(64, dtype=torch.bool)
    monkeypatch.setattr("nomina.generation.search._are_over", lambda *_: never)
    late = searched(generator, trie, batch)
    assert early.nodes.tolist() == late.nodes.tolist()
    np.testing.assert_allclose(early.scores, late.scores, atol=1e-5)


def test_mentions_go_on_alone_once_others_are_over_unless_shapes_are_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of(150, VOCABULARY)
    generator, trie, batch = Small(VOCABULARY), trie_of(names), batch_of(64, VOCABULARY)
    left: list[int] = []
    keep = SmallDecoding.keep

    def counted(decoding: SmallDecoding, mentions: torch.Tensor) -> None:
        left.append(len(mentions))
        keep(decoding, mentions)

    monkeypatch.setattr(SmallDecoding, "keep", counted)
    fewer = searched(generator, trie, batch)
    assert left
    assert left == sorted(left, reverse=True)
    monkeypatch.setattr(SmallDecoding, "fixed", True)
    before = len(left)
    together = searched(generator, trie, batch)
    assert len(left) == before
    assert fewer.nodes.tolist() == together.nodes.tolist()
    np.testing.assert_allclose(fewer.scores, together.scores, atol=1e-5)


def test_fewer_certain_names_end_a_search_earlier() -> None:
    names = names_of(150, VOCABULARY)
    generator, trie, batch = Small(VOCABULARY), trie_of(names), batch_of(64, VOCABULARY)
    steps: list[int] = []
    whole = searched(generator, trie, batch)
    for certain in (1, 3, 5):
        generator.steps = 0
        found = searched(generator, trie, batch, certain=certain)
        steps.append(generator.steps)
        assert found.nodes[:, :certain].tolist() == whole.nodes[:, :certain].tolist()
        np.testing.assert_allclose(found.scores[:, :certain], whole.scores[:, :certain], atol=1e-5)
    assert steps[0] < steps[2]
    assert steps == sorted(steps)


@pytest.mark.parametrize("grown", [False, True])
def test_restrictions_and_retired_names(grown: bool) -> None:
    names = names_of(120, VOCABULARY)
    generator, batch = Small(VOCABULARY), batch_of(20, VOCABULARY)
    trie = GrownTrie(trie_of(names[:110]), trie_of(names[110:], first_row=110)) if grown else trie_of(names)
    rng = np.random.default_rng(0)
    live, rows = rng.random(120) < 0.7, rng.random(120) < 0.3
    sums = every_sum(generator, batch, names)
    every = searched(generator, trie, batch, 120)
    assert rows_of(trie, every) == np.argsort(-sums, kind="stable").tolist()
    trie.retire(live)
    for within, allowed in ((None, live), (trie.within(rows), rows & live)):
        found = searched(generator, trie, batch, 120, within=within)
        expected = np.argsort(np.where(allowed, -sums, np.inf), kind="stable")[:, : allowed.sum()]
        assert rows_of(trie, found) == expected.tolist()


def test_each_mention_has_its_own_restriction() -> None:
    names = names_of(50, VOCABULARY)
    generator, trie, batch = Small(VOCABULARY), trie_of(names), batch_of(3, VOCABULARY)
    rows = np.arange(50) % 2 == 0
    found = searched(generator, trie, batch, 50, within=[trie.within(rows), trie.within(~rows), None])
    even, odd, every = rows_of(trie, found)
    assert sorted(even) == list(range(0, 50, 2))
    assert sorted(odd) == list(range(1, 50, 2))
    assert sorted(every) == list(range(50))


def test_homonyms_share_a_leaf() -> None:
    trie = trie_of([(5, 6), (5, 6), (7,)])
    found = searched(Small(VOCABULARY), trie, batch_of(1, VOCABULARY), 3)
    assert sorted(rows_of(trie, found)[0]) == [0, 1, 2]
    assert torch.isfinite(found.scores).sum() == 2


def test_one_name() -> None:
    names = [(5, 6, 7)]
    generator, trie, batch = Small(VOCABULARY), trie_of(names), batch_of(4, VOCABULARY)
    found = searched(generator, trie, batch)
    assert rows_of(trie, found) == [[0]] * 4
    np.testing.assert_allclose(found.scores[:, 0], every_sum(generator, batch, names)[:, 0], atol=1e-5)


def test_names_that_are_too_long_are_not_found() -> None:
    generator, trie, batch = Small(VOCABULARY), trie_of([(5, 6, 7, 8), (5,), (9, 9)]), batch_of(4, VOCABULARY)
    found = beam_search(generator, DeviceTrie(trie, "cpu", VOCABULARY), batch, Search(5, 3))
    assert [sorted(rows) for rows in rows_of(trie, found)] == [[1, 2]] * 4


def test_starts_of_different_depths_and_none() -> None:
    names = [(5, 6), (5, 7), (8,), (5,), (5, 6, 9)]
    generator, trie, batch = Small(VOCABULARY), trie_of(names), batch_of(4, VOCABULARY)
    starts = np.array([trie.follow([5]), trie.follow([5, 6]), trie.root, trie.follow([4, 4])])
    found = searched(generator, trie, batch, 5, starts=starts)
    assert [sorted(rows) for rows in rows_of(trie, found)] == [[0, 1, 3, 4], [0, 4], [0, 1, 2, 3, 4], []]
    # What is written behind the start alone counts: the batch's prefixes hold the start.
    behind = every_sum(generator, Batch(*(part[1:2] for part in batch)), [(), (9,)])[0]
    np.testing.assert_allclose(found.scores[1, :2], np.sort(behind)[::-1], atol=1e-5)


def test_nothing_is_allowed() -> None:
    generator, trie, batch = Small(VOCABULARY), trie_of([(5,), (6,)]), batch_of(3, VOCABULARY)
    for options in ({"within": trie.within(np.zeros(2, bool))}, {"starts": np.full(3, -1)}):
        found = searched(generator, trie, batch, 5, **options)
        assert rows_of(trie, found) == [[], [], []]
        assert found.lengths.tolist() == [[0] * 5] * 3


def test_a_trie_without_names() -> None:
    trie = FlatTrie(trie_of([]).arrays)
    found = searched(Small(VOCABULARY), trie, batch_of(2, VOCABULARY))
    assert rows_of(trie, found) == [[], []]


def test_no_mentions() -> None:
    generator, trie, batch = Small(VOCABULARY), trie_of([(5,)]), batch_of(0, VOCABULARY)
    assert searched(generator, trie, batch).nodes.shape == (0, 5)


@pytest.mark.parametrize("options", [{"beams": 0}, {"most": 0}, {"length_penalty": -1.0}, {"certain": 6}])
def test_options_that_cannot_be(options: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=r"1 or more|from 1 to"):
        Search(**options)


@pytest.mark.parametrize("grown", [False, True])
def test_candidates_are_scored_as_a_search_among_them_finds_them(grown: bool) -> None:
    names = names_of(100, VOCABULARY)
    generator, batch = Small(VOCABULARY), batch_of(6, VOCABULARY)
    trie = GrownTrie(trie_of(names[:90]), trie_of(names[90:], first_row=90)) if grown else trie_of(names)
    dice = np.random.default_rng(0)
    rows = np.stack([dice.permutation(100)[:40] for _ in range(6)])
    rows[2, 7:], rows[3] = -1, -1
    masks = [np.isin(np.arange(100), row) for row in rows]
    scores = score_candidates(generator, trie, batch, rows)
    found = searched(generator, trie, batch, 40, within=[trie.within(mask) for mask in masks])
    small, starts = trie.of_rows([row[row >= 0] for row in rows])
    for i, ranked in enumerate(rows_of(trie, found)):
        order = np.argsort(-scores[i], kind="stable")[: (rows[i] >= 0).sum()]
        assert ranked == rows[i, order].tolist()
        np.testing.assert_allclose(found.scores[i, : len(order)], scores[i, order], atol=1e-4)
    assert rows_of(small, searched(generator, small, batch, 40, starts=starts)) == rows_of(trie, found)
    assert (scores[rows < 0] == -np.inf).all()


def test_candidates_that_are_retired_or_have_no_path() -> None:
    trie = trie_of([(5,), (6,), (7, 8)], rows=[0, 1, 3])
    trie.retire(np.array([True, False, True, True]))
    scores = score_candidates(
        Small(VOCABULARY), trie, batch_of(2, VOCABULARY), np.array([[0, 1, 2, 3], [-1, -1, 1, 2]])
    )
    assert np.isfinite(scores).tolist() == [[True, False, False, True], [False] * 4]


def test_homonyms_among_candidates_have_one_score() -> None:
    trie = trie_of([(5, 6), (5, 6), (7,)])
    ((first, second, third),) = score_candidates(
        Small(VOCABULARY), trie, batch_of(1, VOCABULARY), np.array([[0, 1, 2]])
    )
    assert first == second != third
