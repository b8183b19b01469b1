"""Searches over many batches, whose last mentions go on together: what each batch finds alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from nomina.errors import UsageError

torch = pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")
pytestmark = pytest.mark.extras

from generation_cases import Small, SmallDecoding, batch_of, names_of, trie_of  # noqa: E402
from generator_cases import VOCABULARY, inputs, save_bart, save_t5  # noqa: E402

from nomina.generation import load  # noqa: E402
from nomina.generation import pool as pooling  # noqa: E402
from nomina.generation.device import DeviceTrie  # noqa: E402
from nomina.generation.generator import Generator  # noqa: E402
from nomina.generation.pool import Asked, beam_searches  # noqa: E402
from nomina.generation.search import Batch, Found, Run, Search, beam_search  # noqa: E402


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return {"bart": save_bart(tmp_path_factory.mktemp("bart")), "t5": save_t5(tmp_path_factory.mktemp("t5"))}


@pytest.fixture
def joins(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The sizes of what was joined; batches wait after every step but the first, however many are left."""
    found: list[list[int]] = []
    join = Run.join

    def noted(run: Run, others: Sequence[Run]) -> None:
        found.append([len(run), *map(len, others)])
        join(run, others)

    monkeypatch.setattr(Run, "join", noted)
    monkeypatch.setattr(pooling, "_PAUSES", range(2, 100))
    monkeypatch.setattr(pooling, "_SHARE", 1)
    return found


def separate(generator: Generator, trie: DeviceTrie, asked: Sequence[Asked], search: Search) -> list[Found]:
    return [beam_search(generator, trie, each.batch, search, each.within, each.starts) for each in asked]


def same(found: Sequence[Found], expected: Sequence[Found], certain: int | None = None) -> None:
    """Behind the certain ones stand the best that were found until the mention left."""
    assert len(found) == len(expected)
    for new, old in zip(found, expected, strict=True):
        assert new.nodes[:, :certain].tolist() == old.nodes[:, :certain].tolist()
        assert new.lengths[:, :certain].tolist() == old.lengths[:, :certain].tolist()
        torch.testing.assert_close(new.scores[:, :certain], old.scores[:, :certain], rtol=0, atol=1e-4)


def random_batches(pad: int, seed: int) -> list[Batch]:
    """Batches of different sizes, one mention and none among them, and of sources and prefixes of any length."""
    dice = np.random.default_rng(seed)
    sizes = [24, 1, 0, *dice.integers(2, 12, 4).tolist()]
    return [Batch(*inputs(n, pad, int(dice.integers(1, 9)), int(dice.integers(1, 6)))) if n else empty() for n in sizes]


def empty() -> Batch:
    return batch_of(0, VOCABULARY)


@pytest.mark.parametrize("kind", ["bart", "t5"])
@pytest.mark.parametrize(("seed", "certain"), [(0, None), (1, 3), (4, None), (5, None)])
def test_random_batches_find_what_they_find_alone(kind, seed, certain, saved, joins) -> None:
    generator = load(saved[kind])
    torch.manual_seed(seed)
    with torch.no_grad():  # else all sums are nearly alike
        for parameter in generator.module.parameters():
            parameter.add_(torch.randn_like(parameter) * parameter.std() / 2)
    trie = DeviceTrie(trie_of(names_of(150, VOCABULARY, seed, longest=12)), "cpu", generator.vocabulary)
    asked = [Asked(batch) for batch in random_batches(generator.pad_id, seed)]
    search = Search(4, certain=certain)
    expected = separate(generator, trie, asked, search)
    same(beam_searches(generator, trie, iter(asked), search), expected, certain)
    assert joins


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("retired", [False, True])
def test_restrictions_and_starts_stay_with_their_mentions(seed, retired, joins) -> None:
    dice = np.random.default_rng(seed)
    generator, names = Small(VOCABULARY, seed), names_of(200, VOCABULARY, seed, longest=12)
    flat = trie_of(names)
    if retired:
        flat.retire(dice.random(200) < 0.7)
    trie = DeviceTrie(flat, "cpu", VOCABULARY)
    some = [flat.within(dice.random(200) < share) for share in (0.5, 0.2, 0.0)]
    batches = [batch_of(int(n), VOCABULARY, i) for i, n in enumerate(dice.integers(3, 9, 6))]
    nodes = [flat.follow(name[:2]) for name in names[:40]]
    sizes = [len(batch.ids) for batch in batches]
    within = [None, some[0], some[0], *([some[i] for i in dice.integers(0, 3, n)] for n in sizes[3:])]
    within[4] = [None, *within[4][1:]]
    starts = [None, None, dice.choice([flat.root, -1, *nodes], sizes[2]), None, None, dice.choice(nodes, sizes[5])]
    asked = [Asked(*each) for each in zip(batches, within, starts, strict=True)]
    for search in (Search(3), Search(3, length_penalty=0.7), Search(3, certain=1, renormalise=True)):
        expected = separate(generator, trie, asked, search)
        same(beam_searches(generator, trie, asked, search), expected, search.certain)
    assert joins


def test_a_batch_that_ends_early_among_others(joins) -> None:
    flat = trie_of(names_of(150, VOCABULARY, longest=12))
    generator, trie = Small(VOCABULARY), DeviceTrie(flat, "cpu", VOCABULARY)
    short = np.array([len(path) < 3 for path in names_of(150, VOCABULARY, longest=12)])
    none = np.zeros(150, bool)
    asked = [Asked(batch_of(n, VOCABULARY, n)) for n in (20, 5, 6, 7, 8)]
    asked[1], asked[3] = Asked(asked[1].batch, flat.within(short)), Asked(asked[3].batch, flat.within(none))
    found = beam_searches(generator, trie, asked, Search(3))
    same(found, separate(generator, trie, asked, Search(3)))
    assert found[1].lengths.max() <= 3 < found[0].lengths.max()
    assert (found[3].nodes == -1).all()
    assert joins


def test_fewer_steps_are_made_and_memory_is_bounded(joins, monkeypatch) -> None:
    trie = DeviceTrie(trie_of(names_of(400, VOCABULARY, longest=20)), "cpu", VOCABULARY)
    generator, asked = Small(VOCABULARY), [Asked(batch_of(32, VOCABULARY, seed)) for seed in range(20)]
    search = Search(3, certain=1)
    separate(generator, trie, asked, search)
    alone, generator.steps = generator.steps, 0
    waiting: list[int] = []
    ready = pooling._Pool._ready

    def noted(pool):
        run = ready(pool)
        waiting.append(sum(len(run) for runs in pool.waiting.values() for run in runs))
        return run

    monkeypatch.setattr(pooling._Pool, "_ready", noted)
    monkeypatch.setattr(pooling, "_SHARE", 0.5)
    monkeypatch.setattr(pooling, "_WAITING", 2)
    beam_searches(generator, trie, asked, search)
    assert generator.steps < 0.7 * alone
    assert 32 < max(waiting) <= 2 * 32
    assert max(map(sum, joins)) <= 32


def test_what_waits_holds_its_copies_of_weights_together(saved, joins, monkeypatch) -> None:
    trie = DeviceTrie(trie_of(names_of(150, VOCABULARY, longest=12)), "cpu", VOCABULARY)
    generator = load(saved["bart"])
    held: list[int] = []
    ready = pooling._Pool._ready

    def noted(pool):
        held.append(len({id(run.decoding.fused) for runs in pool.waiting.values() for run in runs}))
        return ready(pool)

    monkeypatch.setattr(pooling._Pool, "_ready", noted)
    asked = [Asked(Batch(*inputs(n, generator.pad_id))) for n in (20, 5, 6, 7)]
    same(beam_searches(generator, trie, asked, Search(3)), separate(generator, trie, asked, Search(3)))
    assert joins
    assert max(held) == 1


def test_batches_whose_prefixes_leave_different_room_are_kept_apart(saved, joins) -> None:
    generator = load(saved["bart"])
    names = names_of(150, VOCABULARY, 1, longest=16)
    trie = DeviceTrie(trie_of(names), "cpu", generator.vocabulary)
    given = ((12, 3), (5, 54), (5, 54), (6, 3), (6, 3))
    asked = [Asked(Batch(*inputs(n, generator.pad_id, 5, prefix))) for n, prefix in given]
    found = beam_searches(generator, trie, asked, Search(3))
    same(found, separate(generator, trie, asked, Search(3)))
    assert found[1].lengths.max() <= 10 < found[0].lengths.max()
    assert {tuple(sizes) for sizes in joins} >= {(5, 5), (6, 6)}


def test_with_fixed_shapes_batches_go_on_alone(joins, monkeypatch) -> None:
    trie = DeviceTrie(trie_of(names_of(150, VOCABULARY)), "cpu", VOCABULARY)
    generator, asked = Small(VOCABULARY), [Asked(batch_of(6, VOCABULARY, seed)) for seed in range(4)]
    expected = separate(generator, trie, asked, Search(3))
    monkeypatch.setattr(SmallDecoding, "fixed", True)
    same(beam_searches(generator, trie, asked, Search(3)), expected)
    assert not joins


def test_no_batches_and_no_mentions() -> None:
    trie = DeviceTrie(trie_of([(5,)]), "cpu", VOCABULARY)
    assert beam_searches(Small(VOCABULARY), trie, []) == []
    (found,) = beam_searches(Small(VOCABULARY), trie, [Asked(empty())])
    assert found.nodes.shape == (0, 5)


@pytest.mark.parametrize("kind", ["bart", "t5"])
def test_decodings_of_different_depths_are_not_joined(kind, saved) -> None:
    generator = load(saved[kind])
    given = Batch(*inputs(2, generator.pad_id))
    with torch.inference_mode():
        memory = generator.encode(given.ids, given.mask)
    one, other = (generator.decoding(memory, given.prefixes, given.prefix_mask, 3, 5) for _ in range(2))
    one.step(torch.full((2, 3), 5))
    with pytest.raises(
        UsageError, match=r"^decodings that have made different numbers of steps cannot go on together$"
    ):
        one.join([other])


@pytest.mark.parametrize("kind", ["bart", "t5"])
def test_joined_decodings_write_as_they_would_have_alone(kind, saved) -> None:
    generator = load(saved[kind])
    dice = torch.Generator().manual_seed(0)
    parts = [inputs(n, generator.pad_id, longest, prefix) for n, longest, prefix in ((2, 3, 5), (3, 9, 1), (1, 1, 40))]
    ends = np.cumsum([0, *(len(part.ids) for part in parts)]).tolist()
    spans = [slice(*pair) for pair in pairwise(ends)]
    alone, joined = (
        [generator.decoding(generator.encode(p.ids, p.mask), p.prefixes, p.prefix_mask, 3, 20) for p in parts]
        for _ in range(2)
    )
    for step in range(20):
        parents = torch.randint(0, 3, (ends[-1], 3), generator=dice)
        tokens = torch.randint(4, VOCABULARY, (ends[-1], 3), generator=dice)
        expected = []
        for decoding, span in zip(alone, spans, strict=True):
            decoding.reorder(parents[span])
            expected.append(decoding.step(tokens[span]))
        if step == 7:
            joined[0].join(joined[1:])
            joined, spans_now = joined[:1], [slice(0, ends[-1])]
        elif step < 7:
            spans_now = spans
        found = []
        for decoding, span in zip(joined, spans_now, strict=True):
            decoding.reorder(parents[span])
            found.append(decoding.step(tokens[span]))
        torch.testing.assert_close(torch.cat(found), torch.cat(expected), rtol=1e-5, atol=1e-5)
