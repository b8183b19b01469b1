"""Fine-tune encoders on corpora, several runs side by side on one GPU; the development set chooses, seeds are repeated.

    python experiments/fine_tune.py --data DATA --out OUT [--bases FOLDER] [--plan NAME] [--minutes 7] [--test]

``DATA`` is what ``open_names.py`` and ``tune_data.py`` write. Each run of a plan ends with its best epoch on the
development set. ``--repeat N``: then the best run of each corpus and kind of encoder once more with N other seeds;
only these then see the test set, and only with ``--test``. The plan ``final`` holds what ``grid`` chose, with its
seeds. Comes out: ``OUT/tune.json`` (all runs) and ``OUT/tune.tar.00N``. A plan that was cut off goes on with ``--done
FILE``, ``runs.jsonl`` or ``tune.json`` of before: what stands there is in ``OUT/tune.json`` too, not trained again.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from sapbert_align import say
from train_embedding import pack
from tune_plans import PLANS, Run
from tune_worker import tune

from nomina.encoders.base import WEIGHTS

STARTED = time.monotonic()


def main() -> None:
    """Run a plan, repeat the best, write what came out."""
    arguments = command_line().parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    arguments.work.mkdir(parents=True, exist_ok=True)
    runs = [run for run in PLANS[arguments.plan] if not arguments.only or run.task in arguments.only]
    arguments.may_test = arguments.test and not arguments.repeat
    earlier = {name: record for path in arguments.done for name, record in done(path).items()}
    before = [earlier[run.name] for run in runs if run.name in earlier]
    records = work(arguments, [run for run in runs if run.name not in earlier], arguments.minutes * 60)
    if arguments.repeat:
        arguments.may_test = arguments.test
        others = [run for run in repeated([*before, *records], arguments.repeat) if run.name not in earlier]
        records += work(arguments, others, arguments.deadline)
    chosen = keep(arguments, records) if arguments.keep else []
    pack(arguments, "tune", arguments.work, chosen, {record["name"]: record for record in [*before, *records]})


def command_line() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--work", type=Path, default=Path("/tmp/nomina-tuning"))
    options.add_argument("--bases", type=Path, help="holds a folder for each encoder that the plan names")
    options.add_argument("--plan", choices=PLANS, default="grid")
    options.add_argument("--only", nargs="*", help="corpora")
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--threads", type=int, default=2, help="of each worker")
    options.add_argument("--minutes", type=float, default=5.0, help="after which no more of the plan is waited for")
    options.add_argument("--repeat", type=int, default=0, help="further seeds of the best runs")
    options.add_argument("--deadline", type=float, default=540, help="seconds after which repeats are cut off")
    options.add_argument("--test", action="store_true")
    options.add_argument("--done", type=Path, nargs="*", default=[], help="files of runs that are through")
    options.add_argument("--keep", nargs="*", help="CORPUS:KIND of models to pack, like ncbi:bert")
    options.add_argument("--limit", type=int, help="only so many names, few mentions, two epochs (to try things out)")
    options.set_defaults(may_test=False)
    return options


def done(path: Path) -> dict[str, dict[str, Any]]:
    """The runs of an earlier ``runs.jsonl``, whose last line may have been cut off, or ``tune.json``, by name."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return dict(json.loads(text)["figures"])
    records = [json.loads(line) for line in text.split("\n")[:-1]]
    return {record["name"]: record for record in records}


def work(arguments: argparse.Namespace, runs: Sequence[Run], until: float) -> list[dict[str, Any]]:
    """The records of the runs that are through when so many seconds have passed since the start."""
    records = []
    with multiprocessing.get_context("spawn").Pool(arguments.workers) as pool:
        results = pool.imap_unordered(tune, [(arguments, run) for run in runs])
        for _ in runs:
            try:
                records.append(results.next(max(until - (time.monotonic() - STARTED), 1)))
            except multiprocessing.TimeoutError:
                say(f"{len(runs) - len(records)} runs cut off or failed")
                break
            except Exception as error:  # One run's fault must not cost the others.
                say(f"a run failed: {type(error).__name__}: {error}")
                continue
            say(summary(records[-1]))
            with (arguments.out / "runs.jsonl").open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(records[-1]) + "\n")
        pool.terminate()
    return records


def summary(record: dict[str, Any]) -> str:
    """One line."""
    dev = {form: [best["@1"], best["@5"], best["epoch"]] for form, best in record["best"].items()}
    seen = f"[{time.monotonic() - STARTED:.0f} s] {record['name']} {record['seconds']} s {json.dumps(dev)}"
    tests = {key: record[key] for key in ("before", "test", "traindev") if key in record}
    return f"{seen} {json.dumps(tests)}" if tests else seen


def repeated(records: Iterable[dict[str, Any]], seeds: int) -> Iterable[Run]:
    """The best run of each corpus and kind of encoder with other seeds, then with its own one."""
    best: dict[tuple[str, str], dict[str, Any]] = {}
    for record in records:
        key = (record["run"]["task"], record["kind"])
        if key not in best or worth(record) > worth(best[key]):
            best[key] = record
    for seed in range(seeds):
        for record in best.values():
            yield replace(Run(**record["run"]), seed=seed + 1)


def worth(record: dict[str, Any]) -> float:
    """What runs are chosen by: accuracy on dev, with the dictionary alone and with the training mentions."""
    return float(sum(record["best"][form]["@1"] for form in ("dense", "names") if form in record["best"]))


def keep(arguments: argparse.Namespace, records: Sequence[dict[str, Any]]) -> list[str]:
    """The folders of the best models of the corpora and kinds that ``--keep`` names; frozen embeddings are left out."""
    chosen = []
    for wanted in arguments.keep:
        of_kind = [record for record in records if f"{record['run']['task']}:{record['kind']}" == wanted]
        if of_kind:
            best = max(of_kind, key=worth)
            chosen.append(best["name"])
            if best["kind"] == "rescnn":
                path = arguments.work / best["name"] / WEIGHTS
                save_file({k: v for k, v in load_file(path).items() if k != "embeddings.weight"}, path)
    return chosen


if __name__ == "__main__":
    main()
