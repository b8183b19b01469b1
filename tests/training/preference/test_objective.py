"""Training on pairs: what the loss is, batches, the reference, several processes, resuming."""

import math
import socket
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from nomina.errors import RecipeError  # noqa: E402
from nomina.training.loop import FitOptions, fit  # noqa: E402
from nomina.training.pieces import Pieces  # noqa: E402
from nomina.training.preference.examples import PairExamples  # noqa: E402
from nomina.training.preference.losses import LOSSES  # noqa: E402
from nomina.training.preference.objective import (  # noqa: E402
    PreferenceOptions,
    PreferenceTraining,
    log_probabilities,
    reference_of,
)

VOCABULARY, PAD, END = 12, 0, 1


class Sums(torch.nn.Module):
    """Logits out of the sum over the source and over the answer so far; dropout where it is being trained."""

    def __init__(self, drop=0.0):
        super().__init__()
        dice = torch.Generator().manual_seed(0)
        self.table = torch.nn.Parameter(torch.randn(VOCABULARY, 8, generator=dice))
        self.drop = torch.nn.Dropout(drop)
        self.read = 0

    def forward(self, ids, mask, targets, where=None):
        self.read += len(ids)
        source = (self.table[ids] * mask.unsqueeze(-1)).sum(dim=1, keepdim=True)
        source = source.repeat_interleave(len(targets) // len(ids), 0)
        hidden = self.drop(torch.tanh(source + self.table[targets].cumsum(dim=1)))
        return (hidden if where is None else hidden[where]) @ self.table.T


def made(count):
    """Pair i as lists of tokens: source, prefix, chosen, rejected, of mixed lengths."""
    return [
        ([2] + [i % 5 + 3] * (i % 3 + 1), [2] * (i % 2 + 1), [4 + i % 7] * (i % 2 + 1), [3 + i % 4] * (i % 3 + 1))
        for i in range(count)
    ]


def training(count=12, drop=0.0, reference=None, **options):
    module, pieces, rows = Sums(drop), Pieces(), made(count)
    generator = SimpleNamespace(
        module=module, pad_id=PAD, eos_id=END, device=torch.device("cpu"), forward=module, graphs=False
    )
    columns = [pieces.add(list(part)) + np.arange(count)[:, None] for part in zip(*rows, strict=True)]
    pairs = PairExamples(pieces, *columns)
    if reference is None:
        reference = np.random.default_rng(0).normal(-5, 1, (count, 2)).astype(np.float32)
    return PreferenceTraining(generator, pairs, PreferenceOptions(**{"batch_size": 4, **options}), reference)


def sums_of(module, row):
    """log p of both names, token after token, with as many tokens."""
    source, prefix, *names = row
    found = []
    for name in names:
        written = [*prefix, *name, END]
        logits = module(torch.tensor([source]), torch.ones(1, len(source)), torch.tensor([written[:-1]]))
        chances = logits[0].double().log_softmax(-1)
        found.append(sum(chances[i - 1, written[i]].item() for i in range(len(prefix), len(written))))
    return found


def numbers_of(objective, batch):
    return (batch.pairs.source[:, 0] - objective.pairs.source[0, 0]).tolist()


def by_hand(objective, numbers, name, likelihood):
    terms, likelihoods, tokens, rows = [], 0.0, 0, made(objective.pairs.count)
    for i in numbers:
        w, l = sums_of(objective.module, rows[i])  # noqa: E741
        lengths = [len(part) + 1 for part in rows[i][2:]]
        r = objective._reference[i].tolist()
        margin = {
            "dpo": 0.1 * (w - r[0] - l + r[1]),
            "pairwise": 0.1 * (w - l),
            "cpo": 0.1 * (w - l),
            "simpo": 2 * w / lengths[0] - 2 * l / lengths[1] - 1,
        }[name]
        terms.append(math.log1p(math.exp(-margin)) - (w if name == "cpo" else 0))
        likelihoods, tokens = likelihoods + w, tokens + lengths[0]
    return np.mean(terms) - likelihood * likelihoods / tokens


@pytest.mark.parametrize("likelihood", [0.0, 0.5])
@pytest.mark.parametrize("name", LOSSES)
def test_the_loss_of_a_batch_is_that_of_its_pairs_one_by_one(name, likelihood):
    objective = training(loss=name, likelihood=likelihood)
    for batch in objective.batches(0):
        expected = by_hand(objective, numbers_of(objective, batch), name, likelihood)
        assert objective.loss(batch).item() == pytest.approx(expected, rel=1e-5)


def test_a_source_is_read_once_for_both_names():
    objective = training()
    batch = next(iter(objective.batches(0)))
    objective.module.read = 0
    objective.loss(batch)
    assert objective.module.read == 4


def test_an_epoch_has_each_pair_once_and_comes_again():
    objective = training(count=240)
    told = [numbers_of(objective, batch) for batch in objective.batches(0)]
    assert len(told) == objective.steps == 60
    assert sorted(n for batch in told for n in batch) == list(range(240))
    assert told == [numbers_of(objective, batch) for batch in objective.batches(0)]
    assert told != [numbers_of(objective, batch) for batch in objective.batches(1)]


def test_a_reference_is_that_of_each_pair_without_dropout():
    objective = training(count=11, drop=0.5)
    objective.module.train()
    found = reference_of(objective.generator, objective.pairs, batch_size=4)
    assert objective.module.training
    objective.module.eval()
    expected = [sums_of(objective.module, row) for row in made(11)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_model_itself_as_reference_begins_at_log_two():
    plain = training()
    objective = training(reference=reference_of(plain.generator, plain.pairs))
    for batch in objective.batches(0):
        assert objective.loss(batch).item() == pytest.approx(math.log(2), rel=1e-5)


@pytest.mark.parametrize("name", LOSSES)
def test_it_learns_to_prefer_the_chosen_names(name):
    # Beside much of the likelihood there is no room for the pairs in so small a model.
    objective = training(count=12, loss=name, values=(("weight", 0.02),) if name == "cpo" else ())

    def ahead():
        sums, tokens = log_probabilities(objective.generator, objective.pairs)
        worth = sums / tokens if name == "simpo" else sums
        return (worth[:, 0] - worth[:, 1]).mean().item()

    before = ahead()
    fit(objective, FitOptions(steps=60, lr=2e-2, warmup=5, clip=1.0))
    assert ahead() > before + 1


def test_dpo_without_a_reference_and_an_empty_list_are_refused():
    objective = training()
    with pytest.raises(RecipeError, match="compares with a reference"):
        PreferenceTraining(objective.generator, objective.pairs)
    PreferenceTraining(objective.generator, objective.pairs, PreferenceOptions("simpo"))
    with pytest.raises(RecipeError, match="no pair"):
        objective.pairs.take(np.zeros(0, np.int64))


def test_a_stopped_training_goes_on_to_the_same_weights(tmp_path):
    whole = training(count=24, drop=0.2)
    fit(whole, FitOptions(steps=9, lr=1e-2, warmup=1))
    asked = iter([False, False, False, True])
    options = FitOptions(steps=9, lr=1e-2, warmup=1, folder=tmp_path)
    assert fit(training(count=24, drop=0.2), options, stop=lambda: next(asked)).stopped
    resumed = training(count=24, drop=0.2)
    fit(resumed, options)
    assert torch.equal(resumed.module.table, whole.module.table)


def _free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def _one_of_two(rank, port, queue):
    import os

    from torch import distributed

    os.environ.update(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    distributed.init_process_group("gloo")
    objective = training(count=24, likelihood=0.5)
    loss = objective.loss(next(iter(objective.batches(0)))).item()
    fit(objective, FitOptions(steps=5, lr=1e-2, warmup=1))
    queue.put((rank, loss, objective.module.table.detach().numpy()))
    distributed.barrier()
    distributed.destroy_process_group()


@pytest.mark.extras
def test_two_processes_come_to_the_loss_and_the_weights_of_one():
    context = torch.multiprocessing.get_context("spawn")
    queue, port = context.Queue(), _free_port()
    processes = [context.Process(target=_one_of_two, args=(rank, port, queue)) for rank in range(2)]
    for process in processes:
        process.start()
    found = sorted([queue.get(timeout=120) for _ in processes], key=lambda told: told[0])
    for process in processes:
        process.join()
    alone = training(count=24, likelihood=0.5)
    expected = alone.loss(next(iter(alone.batches(0)))).item()
    fit(alone, FitOptions(steps=5, lr=1e-2, warmup=1))
    for _, loss, table in found:
        assert loss == pytest.approx(expected, rel=1e-5)
        np.testing.assert_allclose(table, alone.module.table.detach().numpy(), atol=1e-5)
