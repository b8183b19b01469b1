"""Training a generator: which tokens the loss is over, batches, several processes, resuming."""

import socket
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from nomina.errors import RecipeError  # noqa: E402
from nomina.training.loop import FitOptions, fit  # noqa: E402
from nomina.training.pieces import Drawn, Examples, Pieces  # noqa: E402
from nomina.training.seq2seq import Seq2SeqOptions, Seq2SeqTraining  # noqa: E402

VOCABULARY, PAD, END = 12, 0, 1


class Sums(torch.nn.Module):
    """Logits out of the sum over the source and over the targets so far: causal, and sensitive to every token."""

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.table = torch.nn.Parameter(torch.randn(VOCABULARY, 8, generator=generator))

    def forward(self, ids, mask, targets, where=None):
        source = (self.table[ids] * mask.unsqueeze(-1)).sum(dim=1, keepdim=True)
        hidden = torch.tanh(source + self.table[targets].cumsum(dim=1))
        hidden = hidden if where is None else hidden[where]
        return hidden @ self.table.T


class Made(Examples):
    """Example i reads [2, i mod 5 + 3, ...] (i % 3 + 1 of them), and writes [4] * (i % 2 + 1) behind [2, 3]."""

    def __init__(self, count):
        self.count, self.pieces = count, Pieces()
        self.rows = [[2] + [i % 5 + 3] * (i % 3 + 1) for i in range(count)]
        self.targets = [[4 + i % 7] * (i % 2 + 1) for i in range(count)]
        self.source, self.prefix = self.pieces.add(self.rows), self.pieces.add([[2, 3]])
        self.target = self.pieces.add(self.targets)

    def drawn(self, epoch):
        def examples(numbers):
            column = numbers[:, None]
            return Drawn(self.source + column, np.full_like(column, self.prefix), self.target + column)

        return examples


def training(count=12, **options):
    module = Sums()
    generator = SimpleNamespace(module=module, pad_id=PAD, eos_id=END, device=torch.device("cpu"), forward=module)
    return Seq2SeqTraining(generator, Made(count), Seq2SeqOptions(**{"batch_size": 4, **options}))


def by_hand(objective, numbers, smoothing):
    """The mean of the smoothed losses of all target tokens and ends, one example at a time."""
    losses, examples = [], objective.examples
    for i in numbers:
        source, prefix, target = examples.rows[i], [2, 3], [*examples.targets[i], END]
        written = torch.tensor([[*prefix, *target]])
        logits = objective.module(torch.tensor([source]), torch.ones(1, len(source)), written[:, :-1])
        chances = logits.log_softmax(dim=-1)[0, len(prefix) - 1 :]
        for row, token in zip(chances, target, strict=True):
            losses.append(-(1 - smoothing) * row[token] - smoothing * row.mean())
    return torch.stack(losses).mean()


def numbers_of(objective, batch):
    return (batch.examples.source[:, 0] - objective.examples.source).tolist()


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_over_the_name_and_its_end_and_not_over_the_prompt(smoothing):
    objective = training(smoothing=smoothing)
    for batch in objective.batches(0):
        expected = by_hand(objective, numbers_of(objective, batch), smoothing)
        assert objective.loss(batch).item() == pytest.approx(expected.item(), rel=1e-5)


def test_an_epoch_has_each_example_once_in_batches_of_like_length():
    objective = training(count=240)
    batches = list(objective.batches(0))
    assert len(batches) == objective.steps == 60
    assert sorted(n for batch in batches for n in numbers_of(objective, batch)) == list(range(240))
    lengths = [objective.pieces.lengths(batch.examples.source) for batch in batches]
    assert np.mean([np.ptp(length) for length in lengths]) < 0.8


def test_epochs_differ_and_come_again():
    objective = training(count=40)
    first = [numbers_of(objective, batch) for batch in objective.batches(0)]
    assert first == [numbers_of(objective, batch) for batch in objective.batches(0)]
    assert first != [numbers_of(objective, batch) for batch in objective.batches(1)]


def test_what_does_not_fill_a_batch_is_left_out_unless_it_is_all():
    assert [len(numbers_of(training(), b)) for b in training(count=11).batches(0)] == [4, 4]
    objective = training(count=3)
    (batch,) = objective.batches(0)
    assert sorted(numbers_of(objective, batch)) == [0, 1, 2]


def test_it_learns_to_write_the_targets():
    objective = training(count=12, smoothing=0.0)
    before = by_hand(objective, range(12), 0.0).item()
    fit(objective, FitOptions(steps=150, lr=5e-2, warmup=5, clip=0.1))
    assert by_hand(objective, range(12), 0.0).item() < before / 2


def test_a_stopped_training_goes_on_to_the_same_weights(tmp_path):
    whole = training(count=24)
    fit(whole, FitOptions(steps=9, lr=1e-2, warmup=1, clip=0.1))
    asked = iter([False, False, False, True])
    options = FitOptions(steps=9, lr=1e-2, warmup=1, clip=0.1, folder=tmp_path)
    assert fit(training(count=24), options, stop=lambda: next(asked)).stopped
    resumed = training(count=24)
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
    objective = training(count=24)
    first = next(iter(objective.batches(0)))
    loss = objective.loss(first).item()
    fit(objective, FitOptions(steps=5, lr=1e-2, warmup=1, clip=0.1))
    queue.put((rank, len(first.examples.source), loss, objective.module.table.detach().numpy()))
    distributed.barrier()
    distributed.destroy_process_group()


@pytest.mark.extras
def test_two_processes_come_to_the_loss_and_the_weights_of_one():
    context = torch.multiprocessing.get_context("spawn")
    queue, port = context.Queue(), _free_port()
    processes = [context.Process(target=_one_of_two, args=(rank, port, queue)) for rank in range(2)]
    for process in processes:
        process.start()
    found = [queue.get(timeout=120) for _ in processes]
    for process in processes:
        process.join(60)
    alone = training(count=24)
    loss = alone.loss(next(iter(alone.batches(0)))).item()
    fit(alone, FitOptions(steps=5, lr=1e-2, warmup=1, clip=0.1))
    for _, size, own, table in found:
        assert size == 2
        assert own == pytest.approx(loss, rel=1e-5)
        assert np.allclose(table, alone.module.table.detach().numpy(), atol=1e-5)


def test_processes_must_divide_a_batch(monkeypatch):
    monkeypatch.setattr("nomina.training.seq2seq.share", lambda: (0, 3))
    with pytest.raises(RecipeError, match="cannot share batches of 4"):
        training()
