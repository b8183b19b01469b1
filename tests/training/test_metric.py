"""Metric losses and the miner: by brute force, and against pytorch-metric-learning where it is installed."""

import math

import pytest

torch = pytest.importorskip("torch")

from nomina.training import metric  # noqa: E402


def batch(rows, concepts, seed=0, spread=1.0):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, concepts, (rows,), generator=generator)
    centres = torch.randn(concepts, 16, generator=generator)
    raw = centres[labels] + spread * torch.randn(rows, 16, generator=generator)
    return raw.double().requires_grad_(), labels


def unit(raw):
    return torch.nn.functional.normalize(raw, dim=-1)


@pytest.mark.parametrize("spread", [0.6, 1.5])
def test_the_miner_finds_the_pairs_of_all_hard_triplets(spread):
    raw, labels = batch(14, 4, spread=spread)
    vectors = unit(raw.detach())
    positive, negative = torch.zeros(14, 14, dtype=torch.bool), torch.zeros(14, 14, dtype=torch.bool)
    for a in range(14):
        for p in range(14):
            for n in range(14):
                if a == p or labels[a] != labels[p] or labels[a] == labels[n]:
                    continue
                closer = torch.dist(vectors[a], vectors[n]) - torch.dist(vectors[a], vectors[p])
                if closer <= 0.2:
                    positive[a, p] = negative[a, n] = True
    found = metric.mine(vectors @ vectors.T, labels)
    assert positive.any()
    assert not positive.all()
    assert torch.equal(found[0], positive)
    assert torch.equal(found[1], negative)


def test_a_triplet_on_the_paper_side_of_the_margin_is_not_hard():
    # Eq. (1) as printed keeps only triplets whose negative is nearer by the margin; here it is farther by 0.1 and kept.
    angles = torch.tensor([0.0, 0.5, -0.6, 3.0], dtype=torch.float64)
    vectors = torch.stack([angles.cos(), angles.sin()], dim=1)
    labels = torch.tensor([0, 0, 1, 2])
    positive, negative = metric.mine(vectors @ vectors.T, labels)
    assert positive[0].tolist() == [False, True, False, False]
    assert negative[0].tolist() == [False, False, True, False]


def test_multi_similarity_by_hand():
    vectors = torch.eye(3, dtype=torch.float64)[[0, 0, 1]]
    labels = torch.tensor([0, 1, 1])
    # Row 0: one negative at 1; row 1: positive at 0, negative at 1; row 2: positive at 0, negative at 0.
    pulled = math.log1p(math.exp(0.5))
    pushed_near = math.log1p(math.exp(60 * 0.5)) / 60
    pushed_far = math.log1p(math.exp(-60 * 0.5)) / 60
    expected = (pushed_near + (pulled + pushed_near) + (pulled + pushed_far)) / 3
    assert metric.multi_similarity(vectors, labels, margin=None).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "loss", [metric.multi_similarity, metric.info_nce, metric.nca], ids=["multi_similarity", "info_nce", "nca"]
)
@pytest.mark.parametrize("labels", [[0, 0, 0], [0, 1, 2]], ids=["no negatives", "no positives"])
def test_a_batch_without_pairs_gives_no_gradient_that_is_no_number(loss, labels):
    raw, _ = batch(3, 3)
    value = loss(unit(raw), torch.tensor(labels))
    value.backward()
    assert value.item() >= 0
    assert torch.isfinite(raw.grad).all()


def _theirs(name):
    losses = pytest.importorskip("pytorch_metric_learning.losses")
    miners = pytest.importorskip("pytorch_metric_learning.miners")
    if name == "mined":
        miner, loss = miners.TripletMarginMiner(0.2, type_of_triplets="all"), losses.MultiSimilarityLoss(1, 60, 0.5)
        return lambda vectors, labels: loss(vectors, labels, miner(vectors, labels))
    return {
        "all": losses.MultiSimilarityLoss(1, 60, 0.5),
        "info_nce": losses.NTXentLoss(0.07),
        "nca": losses.NCALoss(softmax_scale=1),
    }[name]


OURS = {
    "mined": metric.multi_similarity,
    "all": lambda vectors, labels: metric.multi_similarity(vectors, labels, margin=None),
    "info_nce": metric.info_nce,
    "nca": metric.nca,
}


@pytest.mark.extras
@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize(("rows", "concepts", "spread"), [(40, 9, 1.0), (64, 50, 1.0), (96, 30, 0.3)])
def test_values_and_gradients_equal_the_library(name, rows, concepts, spread):
    library = _theirs(name)
    raw, labels = batch(rows, concepts, seed=rows, spread=spread)
    theirs = library(unit(raw), labels)
    (expected,) = torch.autograd.grad(theirs, raw)
    ours = OURS[name](unit(raw), labels)
    (found,) = torch.autograd.grad(ours, raw)
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-9, abs=1e-12)
    assert torch.allclose(found, expected, atol=1e-9)
