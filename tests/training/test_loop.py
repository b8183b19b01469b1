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


def test_an_evaluation_that_is_enough_ends_a_training_and_it_does_not_go_on(tmp_path):
    options, measured = FitOptions(steps=12, evaluate_every=4, folder=tmp_path), []

    def run():
        return fit(Line(), options, evaluate=lambda step: measured.append(step) or {}, enough=lambda step: step >= 8)

    result = run()
    assert (result.steps, result.stopped, measured) == (8, False, [4, 8])
    assert (run().steps, measured) == (8, [4, 8])


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


@pytest.mark.parametrize("factor", [float("nan"), float("inf")])
def test_what_is_not_finite_is_neither_reported_nor_measured_nor_saved(factor, tmp_path):
    broken, measured = Line(), []
    broken.loss = lambda batch: broken.module(batch).square().sum() * factor
    often = ({"report_every": 2}, {"evaluate_every": 2}, {"save_every": 2})
    for options in often:
        rarely = {"report_every": 100, "evaluate_every": 100, "save_every": 100, **options}
        with pytest.raises(RecipeError, match=r"the loss is not finite after step 2: lower fit\.lr"):
            fit(broken, FitOptions(steps=9, folder=tmp_path, **rarely), evaluate=measured.append)
    assert (measured, list(tmp_path.iterdir())) == ([], [])


def test_weights_that_the_last_step_spoilt_are_not_saved(tmp_path):
    broken = Line()
    step = broken.loss

    def loss(batch):
        broken.module[0].weight.register_hook(lambda gradient: gradient * float("nan"))
        return step(batch)

    broken.loss = loss
    with pytest.raises(RecipeError, match="the weights are not finite after step 1: lower"):
        fit(broken, FitOptions(steps=1, folder=tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_cpu_takes_no_bfloat16():
    objective, types = Line(), set()
    loss = objective.loss

    def seen(batch):
        types.add(objective.module(batch).dtype)
        return loss(batch)

    objective.loss = seen
    fit(objective, FitOptions(steps=2, bf16=True))
    assert types == {torch.float32}


def test_faults_are_one_line(tmp_path):
    with pytest.raises(RecipeError, match="no batch"):
        fit(Line(per_epoch=0), FitOptions(steps=3))
    (tmp_path / "state.json").write_text('{"tensors": "gone"}', encoding="utf-8")
    with pytest.raises(ArtifactError, match="holds no checkpoint of this training"):
        fit(Line(), FitOptions(steps=3, folder=tmp_path))
    with pytest.raises(RecipeError, match="above 0"):
        FitOptions(steps=0)


@pytest.mark.parametrize("name", ["state.json", "step-4.safetensors"])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.9])
def test_a_checkpoint_that_was_cut_off_is_one_line_and_an_empty_folder_begins_anew(name, share, tmp_path):
    options = FitOptions(steps=4, folder=tmp_path)
    fit(Line(), options)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ArtifactError, match=r"or a damaged one \(.+\): empty it to begin anew$"):
        fit(Line(), options)
    for path in tmp_path.iterdir():
        path.unlink()
    assert fit(Line(), options).steps == 4
