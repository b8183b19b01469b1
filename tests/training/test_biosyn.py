"""Right names among candidates of two kinds: the loss by hand, the learnt weight, candidates found anew."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from nomina.errors import RecipeError  # noqa: E402
from nomina.training.biosyn import BioSynTuning, sparse_scores  # noqa: E402
from nomina.training.corpus import CorpusOptions  # noqa: E402
from nomina.training.examples import TokenTable  # noqa: E402
from nomina.training.loop import FitOptions, fit  # noqa: E402

CONCEPT = np.array([7, 7, 2, 2, 2, 5])
GOLD = [np.array([7]), np.array([2, 5]), np.array([], dtype=np.int64), np.array([5])]
SPARSE = torch.tensor(
    [
        [0.1, 0.2, 0.9, 0.8, 0.0, 0.3],
        [0.9, 0.0, 0.1, 0.2, 0.3, 0.8],
        [0.0] * 6,
        [0.5, 0.4, 0.3, 0.2, 0.1, 0.0],
    ]
)


class Looked(torch.nn.Module):
    """A vector a row, looked up by its only token."""

    def __init__(self, vectors):
        super().__init__()
        self.table = torch.nn.Parameter(torch.as_tensor(vectors, dtype=torch.float32))

    def forward(self, ids, mask):
        return torch.nn.functional.normalize(self.table[ids[:, 0]], dim=-1)


class Encoder:
    def __init__(self, rows):
        self.module = Looked(np.random.default_rng(0).normal(size=(rows, 8)))


def tuning(rows=10, apart=None, sparse=SPARSE, **options):
    table = TokenTable(torch.arange(rows).unsqueeze(1), torch.ones(rows, dtype=torch.long))
    made = CorpusOptions(**{"batch_size": 3, "pool": 4, "temperature": 0.5, **options})
    return BioSynTuning(Encoder(rows), table, CONCEPT, GOLD, made, sparse, apart=apart)


def cosines(objective):
    vectors = torch.nn.functional.normalize(objective.module.encoder.table, dim=1).detach().double().numpy()
    return vectors[6:10] @ vectors[:6].T


def test_sparse_scores_are_cosines_of_3_gram_vectors_by_hand():
    names, queries = ["ab", "Bc", "ab"], ["AB", "b", "zz"]
    # Grams of " ab ": " ab", "ab "; of " bc ": " bc", "bc "; of " b ": " b ". idf is ln(1 + 3 / df).
    found = sparse_scores(names, queries, torch.device("cpu"))
    assert (found.shape, found.dtype) == ((3, 3), torch.float16)
    assert found.tolist() == [[pytest.approx(1.0, abs=1e-3), 0.0, pytest.approx(1.0, abs=1e-3)], [0.0] * 3, [0.0] * 3]
    left, right = np.log(1 + 3 / 2), np.log(1 + 3 / 1)
    (shared,) = sparse_scores(["ab", "abc", "q"], ["abd"], torch.device("cpu")).tolist()
    # "abd" has " ab" (df 2), "abd" and "bd " (df 0, counted as 1); "ab" has " ab" and "ab " (df 1).
    expected = left**2 / (np.hypot(left, right) * np.sqrt(left**2 + 2 * right**2))
    assert shared[0] == pytest.approx(expected, abs=1e-3)
    assert shared[2] == 0.0


def test_half_of_the_candidates_are_the_sparsely_nearest_the_others_the_densely_nearest():
    objective = tuning()
    dense = cosines(objective)
    for mention, found in zip((0, 1, 3), objective.nearest(np.array([6, 7, 9])).tolist(), strict=True):
        first = np.argsort(-SPARSE[mention].numpy(), kind="stable")[:2].tolist()
        others = [name for name in np.argsort(-dense[mention]).tolist() if name not in first]
        assert found == first + others[:2]


def test_the_loss_is_minus_the_log_share_of_the_right_candidates():
    objective = tuning()
    objective.module.weight.data.fill_(0.3)
    batch = np.array([[6, 2, 3, 0, 5], [7, 0, 5, 2, 1]])
    scores = np.exp((cosines(objective) + 0.3 * SPARSE.double().numpy()) / 0.5)
    expected = [
        -np.log(scores[0, 0] / scores[0, [2, 3, 0, 5]].sum()),
        -np.log(scores[1, [5, 2]].sum() / scores[1, [0, 5, 2, 1]].sum()),
    ]
    assert objective.loss(batch).item() == pytest.approx(np.mean(expected), rel=1e-5)


def test_a_mention_without_a_right_candidate_counts_for_nothing():
    objective = tuning()
    with_one = objective.loss(np.array([[6, 0, 2, 3, 4]])).item()
    assert objective.loss(np.array([[6, 0, 2, 3, 4], [9, 0, 1, 2, 3]])).item() == pytest.approx(with_one, rel=1e-6)
    none = objective.loss(np.array([[9, 0, 1, 2, 3]]))
    none.backward()
    assert none.item() == 0
    assert objective.module.encoder.table.grad.abs().sum() == 0


def test_the_weight_follows_what_the_sparse_score_is_worth():
    helpful, misleading = torch.zeros(4, 6), torch.zeros(4, 6)
    for mention, gold in enumerate(GOLD):
        helpful[mention, np.flatnonzero(np.isin(CONCEPT, gold))] = 1
    misleading = 1 - helpful
    for sparse, sign in ((helpful, -1), (misleading, 1)):
        objective = tuning(sparse=sparse, pool=6)
        objective.loss(next(objective.batches(0))).backward()
        assert np.sign(objective.module.weight.grad.item()) == sign


def test_the_weight_has_a_rate_of_its_own():
    objective = tuning(pool=6)
    before = objective.module.encoder.table.detach().clone()
    fit(objective, FitOptions(steps=1, lr=1e-6, warmup=0, weight_decay=0.0))
    assert abs(objective.weight) == pytest.approx(0.005, rel=1e-3)
    assert (objective.module.encoder.table - before).abs().max().item() <= 1.1e-6


def test_candidates_are_found_anew_each_epoch():
    objective = tuning()
    (first,) = objective.batches(0)
    objective.module.encoder.table.data = -objective.module.encoder.table.data
    objective.module.encoder.table.data[:6] *= -1
    (again,) = objective.batches(0)
    (second,) = objective.batches(1)
    assert again.tolist() == first.tolist()

    def of(batch):
        return {row[0]: row[1:].tolist() for row in batch}

    assert of(second) != of(first)
    assert all(of(second)[row] == objective.nearest(np.array([row]))[0].tolist() for row in (6, 7, 9))


def test_a_mention_s_own_text_is_no_candidate():
    apart = [np.array([2, 0]), np.array([], dtype=np.int64), np.array([], dtype=np.int64), np.array([5])]
    found = {row[0] - 6: set(row[1:].tolist()) for row in next(tuning(apart=apart).batches(0))}
    assert found[0] == {1, 3, 4, 5}
    assert 5 not in found[3]
    assert len(found[3]) == 4


def test_names_cannot_be_mentions_here():
    with pytest.raises(RecipeError, match=r"data\.names to 0"):
        tuning(rows=16)


def test_training_finds_the_concepts_and_resumes(tmp_path):
    options = {"steps": 60, "lr": 0.05, "warmup": 5}
    objective = tuning(pool=6)
    fit(objective, FitOptions(**options))
    scores = cosines(objective) + objective.weight * SPARSE.double().numpy()
    assert [CONCEPT[scores[mention].argmax()] in GOLD[mention] for mention in (0, 1, 3)] == [True] * 3
    count = []
    fit(tuning(pool=6), FitOptions(**options, folder=tmp_path), stop=lambda: count.append(1) or len(count) == 7)
    resumed = tuning(pool=6)
    fit(resumed, FitOptions(**options, folder=tmp_path))
    assert resumed.weight == objective.weight
    assert torch.equal(resumed.module.encoder.table, objective.module.encoder.table)
