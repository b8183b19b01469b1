"""The training loop: schedule, resuming, faults."""

import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from nomina.errors import ArtifactError, RecipeError  # noqa: E402
from nomina.training.loop import FitOptions, Objective, fit  # noqa: E402


class Line(Objective):
    """Least squares with dropout, so that random numbers matter."""

    def __init__(self, per_epoch=5):
        torch.manual_seed(7)
        self.module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
        self.per_epoch = per_epoch

    def batches(self, epoch):
        for i in range(self.per_epoch):
            generator = torch.Generator().manual_seed(100 * epoch + i)
            yield torch.randn(16, 4, generator=generator)

    def loss(self, batch):
        return (self.module(batch).squeeze(1) - batch.sum(dim=1)).square().mean()


def weights(objective):
    return torch.cat([p.detach().flatten() for p in objective.module.parameters()])


def test_training_lowers_the_loss_and_reports_it():
    seen = []
    result = fit(Line(), FitOptions(steps=300, lr=0.02, warmup=10, report_every=50), report=seen.append)
    assert [record["step"] for record in seen] == [50, 100, 150, 200, 250, 300]
    assert seen == result.log
    assert seen[-1]["loss"] < seen[0]["loss"] / 2
    assert seen[-1]["lr"] == 0.0
    assert result.steps == 300


@pytest.mark.parametrize("stop", [3, 5, 7])
def test_a_resumed_training_follows_the_same_trajectory(stop, tmp_path):
    options = {"lr": 0.02, "warmup": 4, "save_every": stop, "folder": tmp_path}
    whole = Line()
    fit(whole, FitOptions(steps=12, lr=0.02, warmup=4))

    class Stopped(Exception):
        pass

    def stop_here(step):
        raise Stopped

    broken = Line()
    with pytest.raises(Stopped):
        fit(broken, FitOptions(steps=12, evaluate_every=stop + 1, **options), evaluate=stop_here)
    assert json.loads((tmp_path / "state.json").read_text(encoding="utf-8"))["steps"] == stop
    torch.manual_seed(99)
    resumed = Line()
    result = fit(resumed, FitOptions(steps=12, **options))
    assert result.steps == 12
    assert torch.equal(weights(resumed), weights(whole))
    assert len(list(tmp_path.glob("step-*"))) == 1


def test_a_training_that_is_told_to_stop_saves_and_goes_on_from_there(tmp_path):
    whole = Line()
    fit(whole, FitOptions(steps=12, lr=0.02, warmup=4))
    asked = []
    stopped = fit(
        Line(),
        FitOptions(steps=12, lr=0.02, warmup=4, folder=tmp_path),
        evaluate=lambda step: asked.append(step) or {},
        stop=lambda: asked.append("stop") or len(asked) == 6,
    )
    assert (stopped.steps, stopped.stopped, set(asked)) == (6, True, {"stop"})
    assert json.loads((tmp_path / "state.json").read_text(encoding="utf-8"))["steps"] == 6
    resumed = Line()
    result = fit(resumed, FitOptions(steps=12, lr=0.02, warmup=4, folder=tmp_path), stop=lambda: False)
    assert (result.steps, result.stopped) == (12, False)
    assert torch.equal(weights(resumed), weights(whole))


def test_the_rate_rises_and_falls_in_lines():
    seen = []
    fit(Line(), FitOptions(steps=10, lr=1.0, warmup=4, report_every=1, clip=1e-9), report=seen.append)
    assert [round(record["lr"], 6) for record in seen] == [0.5, 0.75, 1.0, 1.0, 0.833333, 0.666667, 0.5, 0.333333,
                                                           0.166667, 0.0]  # fmt: skip


def test_seconds_end_a_training():
    result = fit(Line(), FitOptions(steps=10**9, seconds=0.05))
    assert 0 < result.steps < 10**5


def test_evaluation_runs_without_dropout_and_at_the_end():
    objective, seen = Line(), []

    def evaluate(step):
        seen.append((step, objective.module.training))
        return {"accuracy": 1.0}

    result = fit(objective, FitOptions(steps=10, evaluate_every=4), evaluate=evaluate)
    assert seen == [(4, False), (8, False), (10, False)]
    assert result.log[-1]["accuracy"] == 1.0


def test_faults_are_one_line(tmp_path):
    with pytest.raises(RecipeError, match="no batch"):
        fit(Line(per_epoch=0), FitOptions(steps=3))
    broken = Line()
    broken.loss = lambda batch: broken.module(batch).sum() * float("nan")
    with pytest.raises(RecipeError, match="no number"):
        fit(broken, FitOptions(steps=3, report_every=1))
    (tmp_path / "state.json").write_text('{"tensors": "gone"}', encoding="utf-8")
    with pytest.raises(ArtifactError, match="holds no checkpoint of this training"):
        fit(Line(), FitOptions(steps=3, folder=tmp_path))
    with pytest.raises(RecipeError, match="above 0"):
        FitOptions(steps=0)
