"""``paper_tables.py``, ``ablation.py``, ``speed_tables.py``: cells by hand."""

import json


def run(task, base, loss, first, before=None, **more):
    """A run whose encoder alone has so much at 1, and 5 more at 5."""
    test, best = {"dense": {"@1": first, "@5": first + 5}}, {"dense": {"@1": first + 1, "epoch": 2}}
    made = {"name": f"{task}-{base}-{loss}-lr1-seed0", "run": {"task": task, "base": base, "loss": loss}}
    made |= {"test": test, "best": best}
    return made | ({"before": {"@1": before, "@5": before + 5}} if before else {}) | more


def plan(folder, name, runs, **more):
    trained = {"commit": "abc", "device": "a card", "command": "x"}
    text = json.dumps({"metrics": {"runs": runs}, "trained": trained, **more})
    (folder / f"fine_tune_{name}.json").write_text(text, encoding="utf-8")


def embedding(folder, name, value, compared=()):
    system = {"name": name, "primary": {"metric": "acc@1 any", "value": value, "interval": [0.5, 0.9]}}
    result = {
        "encoder": {},
        "corpus": "ncbi",
        "protocol": "clean-kb",
        "metrics": {"systems": [system | {"metrics": {"any": {"5": 0.85}}}]},
    }
    result["metrics"]["comparisons"] = list(compared)
    (folder / f"embedding_{name}_ncbi_clean-kb.json").write_text(json.dumps(result), encoding="utf-8")


def cells(lines, start):
    return [line.split(" | ")[1:] for line in lines if line.startswith(f"| {start} |")]


def test_means_over_seeds_and_no_mean_over_some_folds(script, tmp_path):
    tables = script("paper_tables")
    folds = [run(f"aap-{fold}", "raw", "marginal", 80.0) for fold in range(9)]
    whole = [run(f"aap-{fold}", "attention", "marginal", 80.0 + fold) for fold in range(10)]
    seeds = [run("ncbi", "raw", "marginal", first, 70.0) for first in (90.0, 91.0, 92.0)]
    plan(tmp_path, "seeds", [*folds, *whole, *seeds, run("ncbi", "raw", "ms", 10.0)])
    lines = list(tables.sections(tmp_path, {}))
    assert cells(lines, "**MiniLM**") == [
        ["not fine-tuned", "", *[""] * 6, "70.0 / 75.0 *", "", " |"],
        ["share of the nearest", "train", *[""] * 6, "91.0 / 96.0 ± 1.0 (3)", "", " |"],
    ]
    found = cells(lines, "**ResCNN, attention pooling, distilled (embedded default)**")
    assert [row[7] for row in found] == ["84.5 / 89.5 ± 3.0 (10)"] * 2  # in both tables


def test_the_first_rescnn_is_told_apart_and_both_sets_are_a_row(script, tmp_path):
    tables = script("paper_tables")
    both = {"traindev": {"epochs": 0, "dense": {"@1": 93.0, "@5": 94.0}}}
    plan(tmp_path, "final", [run("ncbi", "attention", "marginal", 90.0)])
    plan(tmp_path, "published", [run("ncbi-published", "attention", "biosyn", 92.0, 91.0, **both)])
    lines = list(tables.sections(tmp_path, {}))
    first = cells(lines, "**ResCNN, attention pooling, distilled from averaged weights**")
    assert [row[8] for row in first] == ["90.0 / 95.0 (1)"] * 2
    later = cells(lines, "**ResCNN, attention pooling, distilled (embedded default)**")
    assert [row[1:3] for row in later[-4:-1]] == [  # the last is that of the development sets
        ["", "91.0 / 96.0 *"],
        ["train", "92.0 / 97.0 (1)"],
        ["train+dev", "93.0 / 94.0 (1) ="],
    ]
    title = "**ResCNN, attention pooling, distilled (embedded default)**"
    dev = lines[lines.index(tables.DEVELOPMENT) :]
    assert cells(dev, title) == [[tables.LOSSES["biosyn"], "93.0 (1)", "", "", " |"]]


def test_what_self_alignment_adds(script, tmp_path):
    tables = script("paper_tables")
    start = {"best": {"dense": {"@1": 70.0, "epoch": 0}}}
    runs = [run("ncbi", "mpnet", "biosyn", 80.0), run("ncbi", "mpnet-aligned", "biosyn", 79.0, **start)]
    plan(tmp_path, "seeds", runs)
    embedding(tmp_path, "raw", 0.8)
    pair = {"b": "raw", "difference": -0.0123, "p_mcnemar": 0.0271}
    embedding(tmp_path, "aligned", 0.7877, [{**pair, "b": "other", "difference": 1.0}, pair])
    lines = list(tables.sections(tmp_path, {}))
    name = "MiniLM, self-aligned (plain)"
    assert cells(lines, name)[0][0] == "MiniLM"
    assert cells(lines, name)[0][8] == "-1.2 (p 0.027)"
    mpnet = cells(lines, "MPNet, self-aligned (plain)")[0]
    assert mpnet[:9] == ["MPNet", tables.LOSSES["biosyn"], *[""] * 6, "-1.0 (1, 1) ="]
    assert cells(lines, f"**{name}**")[0][8] == "78.8 / 85.0 [50.0-90.0]"


def test_bases_before_and_after(script, tmp_path):
    tables = script("paper_tables")
    plan(tmp_path, "mpnet", [run("ncbi-published", base, "biosyn", 80.0, start)
                             for base, start in (("mpnet", 90.2), ("mpnet-aligned", 91.5))])  # fmt: skip
    pairs = {corpus: [[67.6, 77.0], [91.6, 95.2]] for corpus in ("ncbi", "bc5cdr-d", "bc5cdr-c-ctd", "askapatient")}
    lines = list(tables.bases(tmp_path, tables.tuned(tmp_path), {"bases": [{"base": "BERT", **pairs}]}))
    assert cells(lines, "SapBERT paper: BERT")[0][:2] == ["67.6 → 91.6 (+24.0)"] * 2
    assert cells(lines, "**MPNet, self-aligned (plain)**") == [["90.2 → 91.5 (+1.3)", "", "", " |"]]


def test_targets_are_met_by_the_best_row(script, tmp_path):
    targets = script("targets")
    for name, value in (("raw", 0.8), ("aligned", 0.841)):
        embedding(tmp_path, name, value)
    plan(tmp_path, "final", [run("ncbi", "aligned", "marginal", first) for first in (88.0, 89.5)])
    plan(tmp_path, "seeds", [run("ncbi", "raw", "marginal", 95.0), run("aap-1", "raw", "marginal", 95.0)])
    rows = {(row[0], row[1]): row[2:] for row in targets.rows(tmp_path)}
    assert rows["clean-kb, no training on the corpus", "NCBI"] == ["84.0", "84.1", "aligned", "met"]
    assert rows["clean-kb, trained", "NCBI"][1::2] == ["88.8", "missed"]
    assert rows["as-published, trained", "AskAPatient"] == ["91.5", "", "", "not measured"]


def test_cascades_count_among_trained_systems(script, tmp_path):
    targets = script("targets")
    cells = (
        ("ncbi", "clean-kb", "", 0.91, 0.903),
        ("bc5cdr", "as-published-generative", "", 0.93, 0.94),
        ("bc5cdr", "as-published-generative", "_other", 0.92, 0.95),  # better on the test set alone
        ("aap-0", "as-published", "", 0.99, 0.99),
    )
    for corpus, protocol, name, dev, value in cells:
        systems = [{"name": "cascade", "metrics": {"any": {"1": value}}}]
        made = {"corpus": corpus, "protocol": protocol, "metrics": {"systems": systems, "dev": {"accuracy": dev}}}
        (tmp_path / f"cascade_test_{corpus}_{protocol}{name}.json").write_text(json.dumps(made), encoding="utf-8")
    plan(tmp_path, "final", [run("ncbi", "aligned", "marginal", 88.0)])
    rows = {(row[0], row[1]): row[2:] for row in targets.rows(tmp_path)}
    assert rows["clean-kb, trained", "NCBI"] == ["89.0", "90.3", "fitted cascade", "met"]
    assert rows["as-published, trained", "BC5CDR joint"] == ["95.5", "94.0", "fitted cascade", "missed"]
    assert rows["as-published, trained", "AskAPatient"] == ["91.5", "", "", "not measured"]  # ten folds are meant


def test_generators_count_among_trained_systems(script, tmp_path):
    targets = script("targets")

    def made(key, dpo, likelihood):
        return [
            {"variant": how, "test": {f"{key} acc@1": first}}
            for how, first in (("paper", dpo), ("likelihood", likelihood))
        ]

    tuned = {f"pre-bc5cdr-{n}": {"runs": [{"test": {"clean acc@1": at}}]} for n, at in enumerate((99.0, 87.0))}
    tuned["none-bc5cdr-0"] = {"runs": [{"test": {"clean acc@1": 99.9}}]}
    tuned |= {f"pre-aap-{fold}": {"runs": [{"test": {"clean acc@1": 80.0 + fold}}]} for fold in range(10)}
    angel = {f"angel-bc5cdr-{seed}": {"runs": made("clean", 90.0, 93.0 + seed)} for seed in range(2)}
    angel |= {f"angel-aap-{fold}": {"runs": made("clean", 90.0, 99.0)} for fold in range(9)}
    angel |= {"angel-ncbi-0": {"runs": made("published", 94.0, 93.0)}, "negative": {"before": {}}}
    angel |= {"angel-pt-ncbi-0": {"runs": made("published", 98.0, 98.0)}, "losses-bc5cdr": {"runs": [{}]}}
    for name, metrics in (("generative_runs", tuned), ("angel_runs", angel)):
        (tmp_path / f"{name}.json").write_text(json.dumps({"metrics": metrics}), encoding="utf-8")
    rows = {row[1]: row[2:] for row in targets.rows(tmp_path) if row[0] == "as-published, trained"}
    likelihood, dpo = targets.GENERATORS["likelihood"], targets.GENERATORS["paper"]
    assert rows["BC5CDR joint"] == ["95.5", "93.5", likelihood, "missed"]  # of two kinds the higher mean
    assert rows["NCBI"] == ["93.5", "94.0", dpo, "met"]  # not those behind negatives of names
    assert rows["AskAPatient"] == ["91.5", "84.5", targets.GENERATORS[""], "missed"]  # nine folds do not count
    assert rows["BC5CDR-d"][-1] == "not measured"


def test_missing_runs_are_named_once(script, tmp_path):
    gone = {
        "why": "no time",
        "runs": ["aap-1-raw-marginal-lr7-seed1", "aap-2-raw-marginal-lr7-seed1", "ncbi-max-ms-lr1"],
    }
    plan(tmp_path, "seeds", [run("ncbi", "raw", "marginal", 90.0)], missing=gone)
    lines = list(script("provenance").trainings(tmp_path))
    row = next(line for line in lines if line.startswith("| seeds |"))
    assert row == "| seeds | 1 | 0 | 3, no time: 2 of askapatient-raw-marginal, ncbi-max-ms |"


def test_a_try_is_read_from_where_it_stands(script):
    ablation = script("ablation")
    figures = {"ncbi@1": 84.24, "bc5cdr-d@1": 81.33}
    assert ablation.figure({"untrained": figures}, "untrained", "bc5cdr-d") == "81.3"
    assert ablation.figure({"metrics": {"variants": {"a": {"best": figures}}}}, "variants a best", "ncbi") == "84.2"
    runs = [{"name": f"ncbi-raw-ms-seed{i}", "start": {"ngram": 80.0 + i}, "best": {"dense": {"@1": 90.0 + i}}}
            for i in (0, 1)]  # fmt: skip
    tuned = {"metrics": {"runs": runs}}
    assert ablation.figure(tuned, "raw-ms start ngram", "ncbi") == "80.5 (2)"
    assert ablation.figure(tuned, "raw-ms best dense", "ncbi") == "90.5 (2)"
    assert ablation.figure(tuned, "raw-ms best dense", "bc5cdr-d") == ""
    assert ablation.figure({"metrics": {"ncbi": {"0.02": 85.01}}}, "0.02", "ncbi") == "85.0"
    runs[0]["best"]["dense"]["epoch"] = 0
    assert ablation.figure(tuned, "raw-ms best dense", "ncbi") == "90.5 (2) =1/2"


def test_every_try_is_there(script):
    ablation, common = script("ablation"), script("common")
    shown = list(ablation.rows(common.RESULTS))
    empty = [what for what, ncbi, *_ in shown if not ncbi and not what.startswith("**")]
    assert empty == ["(c) from MPNet, self-aligned"]  # out of memory there


def test_a_row_without_one_side_has_no_ratio(script, tmp_path):
    speed = script("speed_tables")
    gpu = {"machine": {"card": "a card", "cpu cores": 16}, "commit": "abc", "note": "A note."}
    gpu |= {"seconds": {"cuda, padded": {"ResCNN": 4.0, "BERT-base": 14.0}, "cpu, padded": {"ResCNN": 17.5}}}
    gpu |= {"ratios": {"BERT-base on the GPU / ResCNN on the CPU, padded": 0.8}}
    parts = {
        "rescnn onnx": {"seconds": 10.0},
        "bert-base torch": {"seconds": 1234.0},
        "rescnn onnx / bert-base torch": 1,
    }
    cpu = {"machine": {"cpu": "a CPU"}, "commit": "def", "linking": {"bucketed": parts}}
    for name, result in (("encoders_gpu", gpu), ("encoders", cpu)):
        (tmp_path / f"{name}.json").write_text(json.dumps(result), encoding="utf-8")
    paper = {"cpu": {"BERT-base": 534, "ResCNN": 33}, "gpu": {"BERT-base": 58, "ResCNN": 18}}
    lines = list(speed.section(tmp_path, {"speed": [paper]}))
    assert [line for line in lines if line.startswith(("| ResCNN", "| **"))] == [
        "| ResCNN paper, CPU | 534.0 | 33.0 | 16.2 |",
        "| ResCNN paper, GPU | 58.0 | 18.0 | 3.2 |",
        "| **GPU, padded** | 14.0 | 4.0 | 3.5 |",
        "| **its 16 CPU cores, padded** |  | 17.5 |  |",
        "| **two CPU cores, bucketed** (torch; ResCNN: onnx) | 1,234.0 | 10.0 | 123.4 |",
    ]
    assert lines[-2] == (
        "ResCNN on a CPU against BERT on a GPU: in the paper 1.8 times as fast; padded, on this host 0.8 times as fast."
    )
