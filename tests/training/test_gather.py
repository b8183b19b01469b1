"""Several processes with one batch: the loss, the gradient and the trained weights are those of one process."""

import json
import os
import socket

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from nomina.errors import RecipeError  # noqa: E402
from nomina.training import gather  # noqa: E402
from nomina.training.align import AlignOptions, SelfAlignment  # noqa: E402
from nomina.training.examples import Pairs, TokenTable  # noqa: E402
from nomina.training.loop import FitOptions, fit  # noqa: E402
from nomina.training.metric import multi_similarity  # noqa: E402

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="torch is built without distributed")


class Encoder:
    """One vector a row, through a layer that all rows share."""

    def __init__(self):
        torch.manual_seed(3)
        self.module = torch.nn.Sequential(torch.nn.Embedding(24, 8), torch.nn.Linear(8, 6))
        self.module.forward = self.vectors

    def vectors(self, ids, mask):
        return torch.nn.functional.normalize(self.module[1](self.module[0](ids[:, 0])), dim=-1)


def alignment(batch_size=4):
    encoder = Encoder()
    table = TokenTable(torch.arange(24).unsqueeze(1), torch.ones(24, dtype=torch.long))
    pairs = Pairs.of([range(i, i + 3) for i in range(0, 24, 3)])
    return SelfAlignment(encoder, table, pairs, 24, AlignOptions(batch_size, seed=5))


def trained():
    """The loss of the first batch, and the weights after some steps."""
    objective = alignment()
    loss = objective.loss(next(iter(objective.batches(0)))).item()
    log = fit(objective, FitOptions(steps=7, lr=0.01, warmup=2, report_every=7, seconds=600)).log
    weights = [value for p in objective.module.parameters() for value in p.detach().flatten().tolist()]
    return {"first": loss, "last": log[-1]["loss"], "weights": weights}


def process(rank, processes, port, folder):
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(processes)}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    gather.join()
    found = trained()
    clock = gather.the_first_says(100.0 + rank, torch.device("cpu"))
    (folder / f"{rank}.json").write_text(
        json.dumps({**found, "clock": clock, "share": gather.share()}), encoding="utf-8"
    )
    with pytest.raises(RecipeError, match="2 processes cannot share batches of 5"):
        alignment(5)
    torch.distributed.barrier()  # one that leaves while the other still listens can abort it
    torch.distributed.destroy_process_group()


def test_two_processes_give_what_one_gives(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(process, (2, port, tmp_path), nprocs=2)
    one = trained()
    for rank in (0, 1):
        found = json.loads((tmp_path / f"{rank}.json").read_text(encoding="utf-8"))
        assert found["share"] == [rank, 2]
        assert found["clock"] == 100.0
        assert found["first"] == pytest.approx(one["first"], rel=1e-5)
        assert found["last"] == pytest.approx(one["last"], abs=2e-5)  # the log rounds to five decimals
        assert found["weights"] == pytest.approx(one["weights"], abs=1e-4)  # a step is up to 1e-2


def test_alone_nothing_is_gathered():
    vectors = torch.nn.functional.normalize(torch.randn(6, 4, generator=torch.Generator().manual_seed(0)), dim=1)
    labels = torch.tensor([0, 0, 1, 1, 2, 2])
    assert gather.share() == (0, 1)
    assert gather.gathered(vectors) is vectors
    assert gather.over_all(multi_similarity)(vectors, labels) == multi_similarity(vectors, labels)
    assert gather.the_first_says(1.5, torch.device("cpu")) == 1.5
    assert gather.join() is None
    assert gather.wait() is None
    assert gather.leave() is None
