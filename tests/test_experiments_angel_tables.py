"""ANGEL's tables: which runs are compared, and from how many on a difference has an interval."""

import importlib
import json
from pathlib import Path

import pytest

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"
SYSTEMS = ("KRISSBERT", "KRISSBERT (r)", "Prompt-BioEL (r)", "GenBioEL, pre-trained and fine-tuned (r)",
           "ANGEL on GenBioEL, fine-tuned", "ANGEL on GenBioEL, pre-trained and fine-tuned", "BioBART, fine-tuned (r)",
           "ANGEL on BioBART, fine-tuned", "BART, fine-tuned (r)", "ANGEL on BART, fine-tuned")  # fmt: skip
FIGURES = {"ncbi": [91.0], "bc5cdr": [93.1, 95.7]}
PAPERS = {
    "as-published-generative": [{"system": name, **FIGURES} for name in SYSTEMS],
    "angel-ways": {"cpo": [85.9]}, "angel-targets": {"target-nli": [90.1, 71.9]},
    "angel-stages": {"GenBioEL": [58.2, 33.1, 50.6, 91.0, 93.1, 89.3]},
}  # fmt: skip


@pytest.fixture
def tables(monkeypatch):
    monkeypatch.syspath_prepend(EXPERIMENTS)
    return importlib.import_module("angel_tables")


def figures(first: float, form: str = "clean ") -> dict[str, float]:
    return {f"{form}acc@1": first, f"{form}acc@5": first + 5}


def pairs_of(model: str, variant: str, before: float, best: float, last: float, test: float) -> dict[str, object]:
    run = {"variant": variant, "before": figures(before), "best": {"step": int(best > before), **figures(best)},
           "last": figures(last), "test": figures(test)}  # fmt: skip
    return {"stage": "corpus", "model": model, "runs": [run]}


@pytest.fixture
def results(tmp_path):
    def write(angel: dict[str, object], tuned: dict[str, float]) -> Path:
        runs = {name: {"runs": [{"best": figures(80.0), "test": figures(test)}]} for name, test in tuned.items()}
        for name, metrics in (("angel_runs", angel), ("generative_runs", runs)):
            (tmp_path / f"{name}.json").write_text(json.dumps({"metrics": metrics}), encoding="utf-8")
        return tmp_path

    return write


def row(lines, start: str) -> list[str]:
    return next(line for line in lines if line.startswith(f"| {start}")).strip("| ").split(" | ")


def test_a_run_is_compared_with_the_model_it_began_as_and_three_have_an_interval(tables, results) -> None:
    angel = {f"angel-aap-{i}": pairs_of(f"pre-aap-{i}-0", "paper", 80.0, 80.0 + i, 79.0, 85.0 + i) for i in range(3)}
    lines = list(tables.section(results(angel, {f"pre-aap-{i}": 84.0 + 2 * i for i in range(3)}), PAPERS))
    assert (
        row(lines, "ours, pre-trained, fine-tuned, own beams: DPO |")[-1]
        == "86.0 ± 1.0 / 91.0 (+0.0 [-2.5, +2.5]; 2 of 3)"
    )
    assert row(lines, "own beams, DPO")[3] == "+1.0 / -1.0 [-1.0, -1.0] (3)"


def test_two_runs_have_a_mean_alone(tables, results) -> None:
    angel = {f"angel-aap-{i}": pairs_of(f"pre-aap-{i}-0", "cpo", 80.0, 81.0, 79.0 + i, 85.0) for i in range(2)}
    lines = list(tables.section(results(angel, {"pre-aap-0": 84.0}), PAPERS))
    assert row(lines, "table D: CPO")[3:] == ["+1.0 / -0.5 (2)", "85.9"]


def test_a_slower_rate_has_a_row_of_its_own(tables, results) -> None:
    angel = {
        "angel-aap-0": pairs_of("pre-aap-0-0", "paper", 80.0, 80.0, 75.0, 85.0),
        "slow-aap-0": pairs_of("pre-aap-0-0", "paper", 80.0, 82.0, 81.0, 85.0),
    }
    lines = list(tables.section(results(angel, {"pre-aap-0": 84.0}), PAPERS))
    assert row(lines, "own beams, DPO")[3] == "+0.0 / -5.0 (1)"
    assert row(lines, "slower: DPO")[3] == "+2.0 / +1.0 (1)"


def test_without_results_there_is_no_section(tables, tmp_path) -> None:
    assert list(tables.section(tmp_path, PAPERS)) == []


def test_generators_that_were_not_pre_trained_have_rows_of_their_own_and_may_come_from_elsewhere(tables, results):
    angel = {"angel-none-ncbi-0": pairs_of("none-ncbi-0-0", "likelihood", 60.0, 61.0, 60.5, 0.0)}
    angel["angel-none-ncbi-0"]["runs"][0]["test"] = figures(63.5, "published ")
    folder = results({"angel-aap-0": pairs_of("pre-aap-0-0", "paper", 80.0, 80.0, 75.0, 85.0)}, {"pre-aap-0": 84.0})
    runs = {"none-ncbi-0": {"runs": [{"best": figures(60.0), "test": figures(62.0, "published ")}]}}
    for name, metrics in (("angel_runs_cpu", angel), ("generative_runs_cpu", runs)):
        (folder / f"{name}.json").write_text(json.dumps({"metrics": metrics}), encoding="utf-8")
    lines = list(tables.section(folder, PAPERS))
    assert row(lines, "ours, not pre-trained, fine-tuned |")[1] == "62.0 / 67.0"
    assert (
        row(lines, "ours, not pre-trained, fine-tuned, own beams: DPO and likelihood")[1]
        == "63.5 / 68.5 (+1.5; 1 of 1)"
    )
    assert row(lines, "ours, pre-trained, fine-tuned, own beams: DPO |")[-1] == "85.0 / 90.0 (+1.0; 0 of 1)"
    assert row(lines, "not pre-trained: and the target's")[1] == "+1.0 / +0.5 (1)"


def test_a_control_without_pairs_stands_beside_the_remedies(tables, results) -> None:
    folder = results({"angel-aap-0": pairs_of("pre-aap-0-0", "paper", 80.0, 80.0, 75.0, 85.0)}, {"pre-aap-0": 84.0})
    run = {"before": figures(80.0), "best": figures(80.5), "last": figures(79.5)}
    runs = {"more-aap-0": {"runs": [run]}, "more-none-ncbi": {"runs": [run | {"last": figures(81.0)}]}}
    (folder / "generative_runs_cpu.json").write_text(json.dumps({"metrics": runs}), encoding="utf-8")
    lines = list(tables.section(folder, PAPERS))
    assert row(lines, "control")[1:4] == ["", "", "+0.5 / -0.5 (1)"]
    assert row(lines, "not pre-trained: control")[1] == "+0.5 / +1.0 (1)"


def test_the_papers_rows_stand_beside_ours_that_begin_alike_and_may_have_no_figures(tables, results) -> None:
    folder = results({"angel-aap-0": pairs_of("pre-aap-0-0", "paper", 80.0, 80.0, 75.0, 85.0)}, {"pre-aap-0": 84.0})
    lines = list(tables.section(folder, PAPERS))
    starts = [line.split(" | ")[0] for line in lines]
    assert starts.index("| BART, fine-tuned (r)") < starts.index("| ours, not pre-trained, fine-tuned")
    assert row(lines, "BART, fine-tuned (r)")[1:3] == ["91.0", "93.1 / 95.7"]
    assert row(lines, "BioBERT-NLI")[1:] == ["", "", "", "90.1 / 71.9"]


def test_stages_stand_beside_the_papers_and_what_was_not_measured_is_empty(tables, results) -> None:
    zero = {f"{corpus}{how} acc@{k}": 50.0 for corpus in ("ncbi", "bc5cdr") for how in ("", "+context") for k in (1, 5)}
    stage = {"stage": "pretrain", "steps": 2, "before": zero, "after": zero}
    folder = results({"positive": stage, "negative": stage}, {"pre-aap-0": 84.0})
    runs = {"pre-aap-0": {"runs": [{"before": figures(60.0), "best": figures(80.0), "test": figures(84.0)}]}}
    (folder / "generative_runs.json").write_text(json.dumps({"metrics": runs}), encoding="utf-8")
    lines = list(tables.section(folder, PAPERS))
    both = "50.0 / 50.0; text: 50.0 / 50.0"
    assert row(lines, "paper, GenBioEL") == ["paper, GenBioEL", "58.2", "33.1", "50.6", "91.0", "93.1", "89.3"]
    assert row(lines, "ours, long")[1:] == [both, both, "60.0 / 65.0", "", "", "84.0 / 89.0"]
    assert row(lines, "ours, positive")[1:] == [both, both]  # nothing behind
