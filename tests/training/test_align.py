"""Self-alignment: what is in a batch, near concepts, a teacher's vectors."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from nomina.training.align import (  # noqa: E402
    AlignOptions,
    DistilledAlignment,
    SelfAlignment,
    near_concepts,
    principal,
)
from nomina.training.examples import Pairs, TokenTable  # noqa: E402
from nomina.training.loop import FitOptions, fit  # noqa: E402
from nomina.training.metric import info_nce, multi_similarity  # noqa: E402

CONCEPTS, NAMES = 8, 24
"""Three names each: concept c has 3c, 3c + 1, 3c + 2."""


class Looked(torch.nn.Module):
    """A vector a row, looked up by its only token."""

    def __init__(self, vectors):
        super().__init__()
        self.table = torch.nn.Parameter(torch.as_tensor(vectors, dtype=torch.float32))

    def forward(self, ids, mask):
        return torch.nn.functional.normalize(self.table[ids[:, 0]], dim=-1)


class Encoder:
    def __init__(self, rows, seed=0):
        self.module = Looked(np.random.default_rng(seed).normal(size=(rows, 6)))


def alignment(copies=0, lengths=None, targets=None, weights=None, encoder=None, **options):
    rows = NAMES * (1 + copies)
    lengths = torch.ones(rows, dtype=torch.long) if lengths is None else torch.as_tensor(lengths)
    table = TokenTable(torch.arange(rows).unsqueeze(1).repeat(1, int(lengths.max())), lengths)
    pairs = Pairs.of([range(3 * c, 3 * c + 3) for c in range(CONCEPTS)])
    given = encoder or Encoder(rows), table, pairs, NAMES, AlignOptions(**{"batch_size": 6, **options})
    first = np.arange(0, NAMES, 3)
    if targets is not None:
        return DistilledAlignment(*given, targets, 0.5, weights, first=first)
    return SelfAlignment(*given, weights=weights, first=first)


def test_a_batch_is_left_names_right_names_and_their_concept():
    objective = alignment()
    batches = list(objective.batches(0))
    assert len(batches) == objective.steps == 4
    assert {batch.shape for batch in batches} == {(3, 6)}
    left, right, concept = np.concatenate(batches, axis=1)
    assert (left // 3 == concept).all()
    assert (right // 3 == concept).all()
    pairs = {tuple(sorted(pair)) for pair in zip(left.tolist(), right.tolist(), strict=True)}
    assert len(pairs) == 24


def test_sides_are_drawn_at_random():
    (left, right, _), *_ = [np.concatenate(list(alignment().batches(epoch)), axis=1) for epoch in range(1)]
    swapped = int((left > right).sum())
    assert 4 < swapped < 20


def test_epochs_differ_and_come_again():
    objective = alignment(copies=1, noise=0.5)
    first = [batch.tolist() for batch in objective.batches(0)]
    assert first == [batch.tolist() for batch in objective.batches(0)]
    assert first != [batch.tolist() for batch in objective.batches(1)]
    assert first != [batch.tolist() for batch in alignment(copies=1, noise=0.5, seed=1).batches(0)]


def test_weights_say_how_often_a_pair_comes():
    weights = np.ones(24, dtype=np.int64)
    weights[0], weights[1] = 4, 3
    objective = alignment(weights=weights, batch_size=1)
    left, right, _ = np.concatenate(list(objective.batches(0)), axis=1)
    counts = {}
    for pair in zip(left.tolist(), right.tolist(), strict=True):
        key = tuple(sorted(pair))
        counts[key] = counts.get(key, 0) + 1
    assert objective.steps == 29
    assert (counts[0, 1], counts[0, 2], counts[1, 2]) == (4, 3, 1)


def test_pairs_of_like_length_share_a_batch():
    lengths = np.repeat(np.arange(1, 9), 3)
    spreads = [np.ptp(batch[2]) for batch in alignment(lengths=lengths, batch_size=3).batches(0)]
    assert spreads == [0] * 8


@pytest.mark.parametrize(("noise", "least", "most"), [(0.0, 0, 0), (1.0, 24, 24), (0.5, 5, 19)])
def test_so_many_left_names_are_noisy_copies_of_themselves(noise, least, most):
    batches = list(alignment(copies=2, noise=noise).batches(0))
    left, right, concept = np.concatenate(batches, axis=1)
    assert least <= (left >= NAMES).sum() <= most
    assert (left % NAMES // 3 == concept).all()
    assert (right < NAMES).all()
    if noise == 1.0:
        assert set(left // NAMES) == {1, 2}


def test_a_name_with_itself_is_always_noisy():
    table = TokenTable(torch.arange(8).unsqueeze(1), torch.ones(8, dtype=torch.long))
    own = np.arange(4)
    objective = SelfAlignment(Encoder(8), table, Pairs(own, own, own), 4, AlignOptions(batch_size=4))
    ((left, right, _),) = list(objective.batches(0))
    assert (left == right + 4).all()


def test_the_hard_share_of_a_batch_is_near_to_the_rest():
    objective = alignment(hard=0.5)
    objective.neighbours = np.array([[(c + 1) % CONCEPTS] for c in range(CONCEPTS)])
    for left, right, concept in objective.batches(3):
        kept, replaced = concept[:3], concept[3:]
        assert set(replaced) <= {(c + 1) % CONCEPTS for c in kept}
        assert (left // 3 == concept).all()
        assert (right // 3 == concept).all()


def test_concepts_without_a_pair_do_not_replace():
    pairs = Pairs.of([range(3), range(3, 4), range(4, 6), range(6, 7)])
    table = TokenTable(torch.arange(7).unsqueeze(1), torch.ones(7, dtype=torch.long))
    objective = SelfAlignment(Encoder(7), table, pairs, 7, AlignOptions(batch_size=4, hard=0.5))
    for near in (1, 3):
        objective.neighbours = np.full((4, 1), near)
        ((_, _, concept),) = list(objective.batches(0))
        assert sorted(concept.tolist()) == [0, 0, 0, 2]


def test_near_concepts_are_looked_up_when_first_needed_and_kept_in_the_state():
    objective = alignment(hard=0.5)
    assert objective.state() == {}
    first = [batch.tolist() for batch in objective.batches(0)]
    vectors = torch.nn.functional.normalize(objective.module.table[0::3], dim=1).detach().double().numpy()
    scores = vectors @ vectors.T
    np.fill_diagonal(scores, -2)
    assert (objective.neighbours == np.argsort(-scores, axis=1)[:, :7]).all()
    other = alignment(hard=0.5, encoder=Encoder(NAMES, seed=9))
    other.restore(objective.state())
    assert [batch.tolist() for batch in other.batches(0)] == first
    other.renew()
    assert (other.neighbours != objective.neighbours).any()


def test_near_concepts_by_brute_force():
    vectors = torch.nn.functional.normalize(torch.randn(11, 5, generator=torch.Generator().manual_seed(2)), dim=1)
    expected = []
    for i in range(11):
        others = [(float(vectors[i] @ vectors[j]), j) for j in range(11) if j != i]
        expected.append([j for _, j in sorted(others, reverse=True)[:3]])
    for chunk in (4096, 4, 1):
        assert near_concepts(vectors, 3, chunk).tolist() == expected


def test_the_loss_is_that_of_all_names_of_a_batch():
    objective = alignment()
    batch = next(iter(objective.batches(0)))
    rows = np.concatenate([batch[0], batch[1]])
    vectors = torch.nn.functional.normalize(objective.module.table[rows], dim=1)
    labels = torch.from_numpy(np.concatenate([batch[2], batch[2]]))
    assert objective.loss(batch).item() == pytest.approx(multi_similarity(vectors, labels).item(), rel=1e-6)


def test_another_loss():
    table = TokenTable(torch.arange(4).unsqueeze(1), torch.ones(4, dtype=torch.long))
    pairs = Pairs(np.array([0, 1]), np.array([0, 2]), np.array([1, 3]))
    objective = SelfAlignment(Encoder(4), table, pairs, 4, AlignOptions(batch_size=2), info_nce)
    vectors = torch.nn.functional.normalize(objective.module.table[[0, 2, 1, 3]], dim=1)
    expected = info_nce(vectors, torch.tensor([0, 1, 0, 1])).item()
    batch = np.array([[0, 2], [1, 3], [0, 1]])
    assert objective.loss(batch).item() == pytest.approx(expected, rel=1e-6)


def test_a_teacher_draws_each_vector_to_its_own():
    targets = torch.nn.functional.normalize(torch.randn(NAMES, 6, generator=torch.Generator().manual_seed(4)), dim=1)
    objective = alignment(targets=targets.half())
    batch = np.array([[0, 3], [1, 4], [0, 1]])
    rows = [0, 3, 1, 4]
    vectors = torch.nn.functional.normalize(objective.module.table, dim=1).detach().double().numpy()
    halves = targets.half().double().numpy()
    away = np.mean([1 - sum(a * b for a, b in zip(vectors[row], halves[row], strict=True)) for row in rows])
    metric = multi_similarity(torch.tensor(vectors[rows]), torch.tensor([0, 1, 0, 1])).item()
    assert objective.loss(batch).item() == pytest.approx(away + 0.5 * metric, rel=1e-5)
    objective.weight = 0.0
    assert objective.loss(batch).item() == pytest.approx(away, rel=1e-5)


def test_training_draws_names_of_a_concept_together():
    objective = alignment(hard=0.3)
    fit(objective, FitOptions(steps=200, lr=0.05, warmup=5))
    vectors = torch.nn.functional.normalize(objective.module.table, dim=1).detach()
    scores = vectors @ vectors.T
    scores.fill_diagonal_(-1)
    assert (scores.argmax(dim=1) // 3 == torch.arange(NAMES) // 3).float().mean() == 1.0


def test_a_training_with_near_concepts_resumes_to_the_same_weights(tmp_path):
    options = {"steps": 12, "lr": 0.05, "warmup": 2}

    def looked_up(objective, stops):
        return lambda step: (objective.renew(), stops.append(step))[2:] or {}

    whole = alignment(hard=0.5)
    fit(whole, FitOptions(**options, evaluate_every=3), evaluate=looked_up(whole, []))
    broken, seen = alignment(hard=0.5), []
    fit(
        broken,
        FitOptions(**options, evaluate_every=3, folder=tmp_path),
        evaluate=looked_up(broken, seen),
        stop=lambda: len(seen) == 2,
    )
    resumed = alignment(hard=0.5, encoder=Encoder(NAMES, seed=5))
    result = fit(
        resumed, FitOptions(**options, evaluate_every=3, folder=tmp_path), evaluate=looked_up(resumed, [])
    )  # fmt: skip
    assert result.steps == 12
    assert torch.equal(resumed.module.table, whole.module.table)


def test_principal_directions_are_the_first_right_singular_vectors():
    vectors = torch.nn.functional.normalize(torch.randn(40, 7, generator=torch.Generator().manual_seed(0)), dim=1)
    vectors[:, 0] *= 5
    projection = principal(vectors, 3)
    assert projection.shape == (7, 3)
    right = torch.linalg.svd(vectors.double(), full_matrices=False).Vh[:3].T
    assert torch.allclose((projection.double() * right).sum(dim=0).abs(), torch.ones(3, dtype=torch.double), atol=1e-5)
    kept = (vectors @ projection) @ (vectors @ projection).T
    best = vectors @ right.float() @ right.float().T @ vectors.T
    assert torch.allclose(kept, best, atol=1e-4)
