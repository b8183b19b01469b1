"""Record what ``fine_tune.py`` brought back: ``python experiments/tune_record.py OUT/tune.json --plan final``.

Writes ``results/fine_tune_<plan>.json``: of each run its options, the accuracy on the development set that it
started from, its best figures there by form and, where it saw it, those on the test set; of the runs with a test their
means and spreads over seeds or folds; and which runs of the plan are not there. Forms: ``dense`` is the encoder alone;
``names`` has the training mentions as further names of the KB; ``ngram`` adds a share of the 3-gram cosine that the
development set chose, ``learnt`` the one that training came to.
"""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

from common import parser, record
from tune_tasks import FORMS, PUBLISHED


def main() -> None:
    """Read, sum up, record."""
    options = parser(__doc__)
    options.add_argument("tune", type=Path)
    options.add_argument("--plan", required=True)
    options.add_argument("--trained-at", required=True, help="the commit that it ran at")
    options.add_argument("--trained-by", required=True, help="the command that ran there")
    options.add_argument("--missing", default="cut off by time", help="why runs of the plan are not there")
    arguments = options.parse_args()
    found = json.loads(arguments.tune.read_text(encoding="utf-8"))
    runs = [trimmed(run) for run in found["figures"].values()]
    protocols = {"as-published" if run["run"]["task"].endswith(PUBLISHED) else "clean-kb" for run in runs}
    record(
        f"fine_tune_{arguments.plan}",
        {"test": summary(runs), "runs": runs},
        seed="of each run",
        protocol=" and ".join(sorted(protocols)),
        missing=missing(arguments.plan, runs, arguments.missing),
        trained={**found["versions"], "commit": arguments.trained_at, "command": arguments.trained_by},
    )


def trimmed(run: dict[str, Any]) -> dict[str, Any]:
    """A run with the first line of its log in place of all."""
    start = {form: figure for form, figure in run["log"][0].items() if form in FORMS}
    return {key: value for key, value in run.items() if key != "log"} | {"start": start}


def missing(plan: str, runs: list[dict[str, Any]], why: str) -> dict[str, Any]:
    """The runs of a plan that are not there, and why."""
    from tune_plans import PLANS  # which needs torch

    there = {run["name"] for run in runs}
    names = [run.name for run in PLANS[plan] if run.name not in there]
    return {"why": why, "runs": names} if names else {}


def summary(runs: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """By corpus and kind of encoder, and where there are several of these by recipe: means and spreads over seeds."""
    recipes: defaultdict[str, dict[str, list[dict[str, Any]]]] = defaultdict(dict)
    for run in runs:
        if "test" in run:
            how, task = run["run"], run["run"]["task"]
            name = f"{'askapatient' if task.startswith('aap-') else task}:{run['kind']}"
            recipe = f"{name}:{how['base']}:{how['loss']}:{how.get('learns', 'dev')}"
            recipes[name].setdefault(recipe, []).append(run["test"])
    return {
        name if len(found) == 1 else recipe: {"runs": len(tests)} | _forms(tests)
        for name, found in recipes.items()
        for recipe, tests in found.items()
    }


def _forms(tests: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    return {form: _spread(tests, form) for form in FORMS if form in tests[0]}


def _spread(tests: list[dict[str, Any]], form: str) -> dict[str, float]:
    first = [test[form]["@1"] for test in tests]
    fifth = [test[form]["@5"] for test in tests]
    spread = statistics.stdev(first) if len(first) > 1 else 0.0
    return {
        "@1": round(statistics.mean(first), 2),
        "deviation": round(spread, 2),
        "@5": round(statistics.mean(fifth), 2),
    }


if __name__ == "__main__":
    main()
