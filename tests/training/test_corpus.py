"""Fine-tuning on a corpus: what stands beside a mention, which rows are right, both losses."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from nomina.training.corpus import CorpusOptions, CorpusTuning  # noqa: E402
from nomina.training.examples import TokenTable  # noqa: E402
from nomina.training.loop import FitOptions, fit  # noqa: E402
from nomina.training.metric import multi_similarity  # noqa: E402

CONCEPT = np.array([7, 7, 2, 2, 2, 5])
GOLD = [np.array([7]), np.array([2, 5]), np.array([], dtype=np.int64), np.array([5])]


class Looked(torch.nn.Module):
    """A vector a row, looked up by its only token."""

    def __init__(self, vectors):
        super().__init__()
        self.table = torch.nn.Parameter(torch.as_tensor(vectors, dtype=torch.float32))

    def forward(self, ids, mask):
        return torch.nn.functional.normalize(self.table[ids[:, 0]], dim=-1)


class Encoder:
    def __init__(self, rows, seed=0):
        self.module = Looked(np.random.default_rng(seed).normal(size=(rows, 8)))


def tuning(rows=10, times=None, apart=None, **options):
    table = TokenTable(torch.arange(rows).unsqueeze(1), torch.ones(rows, dtype=torch.long))
    made = CorpusOptions(**{"batch_size": 3, "positives": 2, "negatives": 2, "pool": 4, **options})
    return CorpusTuning(Encoder(rows), table, CONCEPT, GOLD, made, times, apart)


def right(objective, mention, name):
    own = set(GOLD[mention]) if mention < len(GOLD) else {CONCEPT[mention - len(GOLD)]}
    return CONCEPT[name] in own


def test_a_batch_holds_mentions_with_right_names_and_wrong_ones():
    (batch,) = list(tuning().batches(0))
    assert batch.shape == (3, 5)
    assert sorted(batch[:, 0] - 6) == [0, 1, 3]
    for mention, *names in batch:
        assert [right(None, mention - 6, name) for name in names] == [True, True, False, False]


def test_the_first_right_name_is_the_nearest_and_wrong_ones_are_among_the_nearest():
    objective = tuning(pool=6)
    vectors = torch.nn.functional.normalize(objective.module.table, dim=1).detach().numpy()
    scores = vectors[6:10] @ vectors[:6].T
    assert objective.nearest(np.arange(6, 10)).tolist() == np.argsort(-scores, axis=1).tolist()
    (batch,) = list(objective.batches(0))
    for mention, first, *_ in batch:
        of_right = [name for name in range(6) if right(None, mention - 6, name)]
        assert first == max(of_right, key=lambda name: scores[mention - 6, name])


def test_epochs_differ_and_come_again():
    objective = tuning(times=np.array([2, 3, 4, 1]))
    first = [batch.tolist() for batch in objective.batches(0)]
    assert first == [batch.tolist() for batch in objective.batches(0)]
    assert first != [batch.tolist() for batch in objective.batches(1)]
    assert len(first) == objective.steps == 2
    counted = np.bincount(np.concatenate(first)[:, 0] - 6, minlength=4)
    assert counted.tolist() == [2, 3, 0, 1]


@pytest.mark.parametrize("stop", [1, 3, 4, 7])
def test_a_training_resumes_to_the_same_weights_wherever_it_was_in_its_epoch(stop, tmp_path):
    options = {"steps": 8, "lr": 0.1, "warmup": 1}
    more = {"times": np.array([4, 4, 1, 4]), "batch_size": 3}
    whole = tuning(**more)
    assert whole.steps == 4
    fit(whole, FitOptions(**options))
    count = []
    fit(tuning(**more), FitOptions(**options, folder=tmp_path), stop=lambda: count.append(1) or len(count) == stop)
    resumed = tuning(**more)
    fit(resumed, FitOptions(**options, folder=tmp_path))
    assert torch.equal(resumed.module.table, whole.module.table)


def test_the_scales_of_multi_similarity():
    objective = tuning(positive_scale=2.0, negative_scale=50.0, base=0.4, margin=0.1)
    batch = np.array([[6, 0, 1, 3, 5], [9, 5, 5, 0, 3]])
    vectors = torch.nn.functional.normalize(objective.module.table[[0, 1, 3, 5, 6, 9]], dim=1)
    labels = torch.tensor([7, 7, 2, 5, 7, 5])
    expected = multi_similarity(vectors, labels, positive_scale=2.0, negative_scale=50.0, base=0.4, margin=0.1)
    assert objective.loss(batch).item() == pytest.approx(expected.item(), rel=1e-6)
    assert objective.loss(batch).item() != pytest.approx(tuning().loss(batch).item(), rel=1e-3)


def test_names_of_the_knowledge_base_are_mentions_too():
    objective = tuning(rows=16, names=3, batch_size=6)
    (batch,) = list(objective.batches(0))
    extra = batch[batch[:, 0] >= 10]
    assert len(extra) == 3
    for mention, *names in extra:
        assert [right(None, mention - 6, name) for name in names] == [True, True, False, False]


def test_multi_similarity_is_that_of_the_rows_and_their_concepts():
    objective = tuning()
    batch = np.array([[6, 0, 1, 3, 5], [9, 5, 5, 0, 3]])
    rows = [0, 1, 3, 5, 6, 9]
    vectors = torch.nn.functional.normalize(objective.module.table[rows], dim=1)
    expected = multi_similarity(vectors, torch.tensor([7, 7, 2, 5, 7, 5]))
    assert objective.loss(batch).item() == pytest.approx(expected.item(), rel=1e-6)


def test_any_of_several_concepts_is_right():
    objective = tuning(loss="marginal", temperature=0.5)
    batch = np.array([[7, 2, 5, 0, 1], [6, 0, 0, 3, 5]])
    vectors = torch.nn.functional.normalize(objective.module.table, dim=1).detach().double().numpy()
    names = [0, 1, 2, 3, 5]
    expected = []
    for mention, of_right in ((7, {2, 3, 5}), (6, {0, 1})):
        closeness = {name: np.exp(vectors[mention] @ vectors[name] / 0.5) for name in names}
        expected.append(-np.log(sum(closeness[name] for name in of_right) / sum(closeness.values())))
    assert objective.loss(batch).item() == pytest.approx(np.mean(expected), rel=1e-5)


@pytest.mark.parametrize("loss", ["ms", "marginal"])
def test_training_finds_the_concepts(loss):
    objective = tuning(loss=loss)
    fit(objective, FitOptions(steps=150, lr=0.05, warmup=5))
    nearest = objective.nearest(np.array([6, 7, 9]))[:, 0]
    assert [right(None, mention, name) for mention, name in zip((0, 1, 3), nearest, strict=True)] == [True] * 3


def test_what_is_kept_apart_stands_beside_no_mention_unless_nothing_else_is_right():
    none = np.array([], dtype=np.int64)
    objective = tuning(apart=[np.array([0, 2]), none, none, np.array([5])], pool=4, positives=3, negatives=2)
    for epoch in range(5):
        for mention, *names in next(objective.batches(epoch)):
            if mention == 6:
                assert names[:3] == [1, 1, 1]
                assert 2 not in names
            if mention == 9:
                assert names[:3] == [5, 5, 5]
