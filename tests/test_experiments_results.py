"""``RESULTS.md``: made of what was measured and what the papers print, and up to date."""

import importlib
import json
from pathlib import Path

import pytest

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"

PUBLISHED = """
[[clean-kb]]
system = "Theirs"
ncbi = [91.06, 95]
cometa = [70.5]
"""
SYSTEM = {
    "name": "dictionary",
    "primary": {"metric": "acc@1 any", "value": 0.61234, "interval": [0.59, 0.6312]},
    "metrics": {"any": {"1": 0.61234, "5": 0.7}, "strict": {"1": 0.5, "5": 0.6}},
    "strata": [{"group": "seen", "name": "new mention", "count": 1234, "value": None}],
}
RESULT = {
    "name": "baselines_ncbi_clean-kb",
    "corpus": "ncbi",
    "protocol": "clean-kb",
    "metrics": {"corpus": {"mentions": 1960}, "dropped": {"overlapping": 3}, "systems": [SYSTEM]},
    "command": "python x.py",
    "seed": 0,
    "commit": "0123456789abcdef+",
    "versions": {"python": "3.11.7"},
    "hardware": "a machine, 2 cores",
}
FOLDS = {
    **RESULT,
    "corpus": "askapatient",
    "metrics": {
        "corpus": {"mentions": 866.4},
        "systems": [{"name": "TF-IDF", "primary": {"metric": "acc@1 strict", "value": 0.5}, "deviation": 0.0123}
                    | {"metrics": {"any": {"1": 0.6, "5": 0.9}, "strict": {"1": 0.5, "5": 0.8}}}],
    },
}  # fmt: skip


@pytest.fixture
def made(monkeypatch):
    monkeypatch.syspath_prepend(EXPERIMENTS)
    return importlib.import_module("make_results")


def test_a_page_of_two_results(made, tmp_path):
    (tmp_path / "published.toml").write_text(PUBLISHED, encoding="utf-8")
    for number, result in enumerate((RESULT, FOLDS)):
        (tmp_path / f"baselines_{number}.json").write_text(json.dumps(result), encoding="utf-8")
    lines = made.page(tmp_path, tmp_path / "published.toml", tmp_path).splitlines()
    start = lines.index("## clean-kb")
    assert lines[start + 4 : start + 11] == [
        "| system | NCBI | AskAPatient | COMETA |",
        "|---|---|---|---|",
        "| Theirs | 91.1 / 95.0 |  | 70.5 |",
        "| **dictionary** | 61.2 / 70.0 [59.0-63.1] |  |  |",
        "| **TF-IDF** |  | 50.0 / 80.0 ± 1.2 |  |",
        "| mentions | 1,960 | 866 |  |",
        "| dropped | 3 overlapping |  |  |",
    ]
    assert "| seen | new mention | 1,234 |  |" in lines
    assert "| baselines_ncbi_clean-kb | `python x.py` | 0 | 0123456789+ | 3.11.7 | a machine, 2 cores |" in lines


ENCODER = {
    **RESULT,
    "name": "embedding_tiny_ncbi_clean-kb",
    "encoder": {"fingerprint": "0" * 64},
    "metrics": {
        "corpus": {"mentions": 1960},
        "systems": [
            {**SYSTEM, "name": "aligned", "strata": [{"group": "seen", "name": "new mention", "value": 0.5}]},
            {**SYSTEM, "name": "raw"},
        ],
        "comparisons": [
            {"a": "aligned", "b": "raw", "difference": 0.0125, "interval": [-0.001, 0.0251], "only_a": 1234}
            | {"only_b": 7, "p_bootstrap": 0.0456, "p_mcnemar": 1.2345e-9}
        ],
    },
}
EXPORT = {
    "name": "export",
    "command": "python y.py",
    "names": 71924,
    "mentions": 787,
    "metrics": {
        "mini": {
            "torch": {"seconds": 9.0},
            "int8": {"bytes": 23456789, "int8": 0.995, "least": 0.9999111, "mean": 0.99998}
            | {"same_top1": 0.995, "or_tied": 0.999, "same_concept": 1.0},
        }
    },
}


def test_encoders_stand_beside_the_baselines_and_are_compared(made, tmp_path):
    for result in (RESULT, ENCODER):
        (tmp_path / f"{result['name']}.json").write_text(json.dumps(result), encoding="utf-8")
    (tmp_path / "export.json").write_text(json.dumps(EXPORT), encoding="utf-8")
    (tmp_path / "published.toml").write_text("", encoding="utf-8")
    lines = made.page(tmp_path, tmp_path / "published.toml", tmp_path).splitlines()
    assert [line for line in lines if line.startswith("| **")] == [
        "| **dictionary** | 61.2 / 70.0 [59.0-63.1] |",
        "| **aligned** | 61.2 / 70.0 [59.0-63.1] |",
    ]
    assert "| NCBI | clean-kb | aligned | raw | +1.2 [-0.1, +2.5] | 1,234 / 7 | 0.046 | 1.2e-09 |" in lines
    assert "| mini | int8 | 23.5 MB | 99.5% | 0.999911 | 0.999980 | 99.50% | 99.90% | 100.00% |" in lines
    assert "| group | stratum | mentions | dictionary | aligned |" in lines
    assert "| seen | new mention | 1,234 |  | 50.0 |" in lines


PROBED = {
    **RESULT,
    "name": "probing",
    "title": "ours",
    "split": "dev",
    "sizes": {"ncbi": {"names": 71924}},
    "metrics": {
        "accuracy": {
            "ncbi": {"none": 80.0, "shuffled words": 60.0, "shuffled bigrams": 76.0, "shuffled trigrams": 80.4}
            | {"window 3": 79.92, "window 5": 80.0}
        }
    },
}
PRINTED = """
[[probing]]
system = "Theirs"
ncbi = [90.7, 67.0, 77.7, 82.7, 81.0, 78.8]
bc5cdr-d = [92.9, 77.0, 87.2, 91.4, 84.5, 87.5]
change = [-21.94, -10.62, -5.0, -6.61, -6.35]
sets = 3
"""


def test_probes_with_their_changes(made, tmp_path):
    (tmp_path / "probing.json").write_text(json.dumps(PROBED), encoding="utf-8")
    (tmp_path / "published.toml").write_text(PRINTED, encoding="utf-8")
    lines = made.page(tmp_path, tmp_path / "published.toml", tmp_path).splitlines()
    theirs = "| Theirs |  | 90.7 | 67.0 (-26.1) | 77.7 (-14.3) | 82.7 (-8.8) | 81.0 (-10.7) | 78.8 (-13.1) |"
    ours = "| **ours, dev** | 71,924 | 80.0 | 60.0 (-25.0) | 76.0 (-5.0) | 80.4 (+0.5) | 79.9 (-0.1) | 80.0 (+0.0) |"
    assert theirs in lines
    assert ours in lines
    assert sum(line.startswith("| Theirs |") for line in lines) == 3
    assert "| **ours, dev** |" not in "\n".join(line for line in lines if "(" not in line)  # no mean over one corpus
    assert "| Theirs | -21.6 | -10.2 | -5.2 | -9.9 | -9.5 |" in lines
    assert "| Theirs, as printed, 3 sets | -21.9 | -10.6 | -5.0 | -6.6 | -6.3 |" in lines
    assert "| probing | `python x.py` | 0 | 0123456789+ | 3.11.7 | a machine, 2 cores |" in lines


def test_what_nobody_measured_stays_empty(made, tmp_path):
    (tmp_path / "published.toml").write_text("", encoding="utf-8")
    page = made.page(tmp_path, tmp_path / "published.toml", tmp_path)
    assert "## clean-raw" in page
    assert "dictionary" not in page


def test_the_page_is_that_of_the_results(made):
    assert made.TARGET.read_text(encoding="utf-8") == made.page(made.RESULTS, made.PUBLISHED, made.BENCHMARKS)


def test_what_to_use_when_has_the_figures_of_the_results(made):
    page = importlib.import_module("results_page")
    shown = page.PAGE.read_text(encoding="utf-8").partition(page.MARKS[0])[2].partition(page.MARKS[1])[0]
    assert shown.strip("\n") == "\n".join(page.lines(made.RESULTS, made.BENCHMARKS))


def test_the_table_of_losses_has_a_row_for_each_score_and_set(made, tmp_path):
    (tmp_path / "published.toml").write_text("", encoding="utf-8")
    first = {"run": {"task": "ncbi-published", "base": "mini", "loss": "biosyn", "learns": "dev"}}
    first |= {"best": {"dense": {"@1": 90, "epoch": 0}, "learnt": {"epoch": 2}}}
    first |= {"before": {"@1": 91, "@5": 95}, "test": {"dense": {"@1": 92, "@5": 96}, "learnt": {"@1": 92.5, "@5": 97}}}
    second = {"run": {"task": "bc5cdr-d-published", "base": "mini", "loss": "biosyn", "learns": "dev"}}
    second |= {
        "best": {"dense": {"@1": 90, "epoch": 1}},
        "before": {"@1": 93, "@5": 96},
        "test": {"dense": {"@1": 94, "@5": 97}},
    }
    second |= {"traindev": {"epochs": 0, "dense": {"@1": 94.5, "@5": 97.5}}}
    result = {
        "name": "fine_tune_published",
        "command": "r",
        "metrics": {"runs": [first, second, {"run": {"base": "raw"}}]},
        "trained": {"commit": "abc", "device": "GPU", "command": "x"},
    }
    (tmp_path / "fine_tune_published.json").write_text(json.dumps(result), encoding="utf-8")
    lines = made.page(tmp_path, tmp_path / "published.toml", tmp_path).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| encoder | loss | score"))
    name, loss, sets = made.labels.ENCODERS["mini"], "share, learnt weight (BioSyn)", "encoder alone"
    assert lines[start + 2 : start + 7] == [
        f"| {name} | none | {sets} |  | 91.0 / 95.0 | 93.0 / 96.0 |  |  |  |",
        f"| {name} | {loss} | {sets} | train | 92.0 / 96.0 = | 94.0 / 97.0 |  |  |  |",
        f"| {name} | {loss} | and the learnt share of it | train | 92.5 / 97.0 |  |  |  |  |",
        f"| {name} | {loss} | {sets} | train+dev |  | 94.5 / 97.5 = |  |  |  |",
        "",
    ]


def test_means_of_fine_tuning_leave_out_single_seeds(made, tmp_path):
    def run(task, first, epoch):
        how = {"task": task, "base": "raw", "loss": "marginal"}
        return {"run": how, "best": {"dense": {"epoch": epoch}}, "test": {"dense": {"@1": first, "@5": first + 5}}}

    seeds = [run("ncbi", first, epoch) for first, epoch in ((90.02, 1), (90.04, 0), (90.12, 0))]
    runs = [*seeds, run("aap-0", 80.0, 3), run("bc5cdr-d-published", 80.0, 3)]
    (tmp_path / "fine_tune_seeds.json").write_text(json.dumps({"metrics": {"runs": runs}}), encoding="utf-8")
    lines = list(made.tuned(tmp_path))
    assert lines[1:4] == [
        "| encoder | form | NCBI | BC5CDR-d | AskAPatient, 1,042 labels |",
        "|---|---|---|---|---|",
        "| MiniLM | encoder alone | 90.1 / 95.1 ± 0.1 =2/3 |  |  |",
    ]


def test_commands_have_no_scratch_folders_and_say_what_trained(made, tmp_path):
    trained = {"commands": ["python a.py", "python b.py"], "commit": "abcdef0123456-dirty", "device": "a card"}
    command = "python x.py .work/models/raw a=.work/b/c /some/place/d"
    result = {**RESULT, "name": "tuned", "seed": None, "command": command}
    (tmp_path / "tuned.json").write_text(json.dumps(result | {"trained": trained}), encoding="utf-8")
    lines = list(made.provenance.runs(tmp_path, tmp_path))
    assert lines[-3:-1] == [
        "| tuned | `python x.py MODELS/raw a=MODELS/c MODELS/d` |  | 0123456789+ | 3.11.7 | a machine, 2 cores |",
        "| tuned: trained | `python a.py`; `python b.py` |  | abcdef0123-dirty |  | a card |",
    ]


def test_commands_of_trainings_tell_them_apart(made):
    recorder = importlib.import_module("generative_record")
    given = {"stage": "finetune", "corpus": "ncbi", "lr": 0.1, "model": "/tmp/m/pre", "base": None, "seeds": [0]}
    given |= {"no_prompt": False, "test": False, "similarity": "", "bare": 0.5}
    start = "python experiments/generative.py finetune --corpus ncbi --model"
    changes = {"seeds": [1, 2], "no_prompt": True, "test": True, "similarity": "/tmp/base", "model": "/tmp/none"}
    lines = {key: recorder.command(given | {key: value}) for key, value in changes.items()}
    assert lines == {
        "seeds": f"{start} pre --lr 0.1 --seeds 1 2",
        "no_prompt": f"{start} pre --lr 0.1 --no-prompt --seeds 0",
        "test": f"{start} pre --lr 0.1 --seeds 0 --test",
        "similarity": f"{start} pre --lr 0.1 --similarity base --seeds 0",
        "model": f"{start} none --lr 0.1 --seeds 0",
    }
    names = {"stage": "names", "only": ["paper"], "model": "/tmp/m/pre", "seeds": [7], "test": True}
    assert recorder.command(names) == "python experiments/angel.py names --model pre"
    assert recorder.seeds([given, names]) == 0
    assert recorder.seeds([given, given | {"seeds": [2, 1]}]) == "0, 1, 2"
