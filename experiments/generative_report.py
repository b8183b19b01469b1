"""Fine-tuned generators on test sets: sub-populations, similarity bins, candidates against all names, cases.

    python experiments/generative_report.py --data DATA --models MODELS --work WORK
        --of ncbi=ft-ncbi-long-0 bc5cdr=ft-bc5cdr-long-0 aap-0=ft-aap-0-long-0

``DATA``: what ``generative_data.py`` wrote. Mentions without their texts, 5 beams. NCBI with both dictionaries: without
the corpora's mentions (clean), and with those of the sets before (published). Candidates, of clean dictionaries alone,
are the nearest names by ``checkpoints/sapbert-mini`` or what ``--encoder`` names, as many as the development set
chooses. Development sets are asked first, test sets once: answers are kept in ``WORK``. Writes
``results/NAME.json``, anew behind each corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import generative_cases
from common import parser, record
from generative_answers import BEAMS, ENCODER, NONE, Asking, Task, accuracy, evaluated, percent, places
from generative_eval import CLEAN, FORMS, items

from nomina.encoders import shipped
from nomina.evaluation.significance import mcnemar
from nomina.evaluation.strata import strata
from nomina.linkers.generative import CANDIDATES

MANY = (16, CANDIDATES)
"""Numbers of candidates that are tried on development sets."""
GROUPS = ("genbioel", "similarity")


def main() -> None:
    """Development sets, then test sets, recorded as they come."""
    options = parser(__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--models", type=Path, required=True)
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--of", nargs="+", required=True, help="corpus=model")
    options.add_argument("--encoder", nargs="*", default=[], help="corpus=folder, or corpus= for the embedded default")
    options.add_argument("--candidates", nargs="*", help="corpora to find candidates in; by default all")
    options.add_argument("--name", default="generative_report", help="of the result")
    arguments = options.parse_args()
    named = dict(each.split("=", 1) for each in arguments.encoder)
    encoders = {corpus: Path(folder or shipped()) for corpus, folder in named.items()}
    tasks = [
        Task(corpus, form, arguments.models / model)
        for corpus, _, model in (each.partition("=") for each in arguments.of)
        for form in FORMS.get(corpus, (CLEAN,))
    ]
    metrics: dict[str, dict[str, Any]] = {}
    for split, measure in (("dev", development), ("test", test)):
        for task in tasks:
            encoder = encoders.get(task.corpus, ENCODER)
            found = metrics.setdefault(task.name, {"model": task.model.name, "encoder": encoder.name})
            asking = Asking(task, split, arguments.data, arguments.work, encoder)
            tried = task.form == CLEAN and task.corpus in (arguments.candidates or [task.corpus])
            found.update(measure(asking, MANY if tried else (), found))
            print(task.name, split, {key: value for key, value in found[split].items() if key != "strata"}, flush=True)
            record(arguments.name, metrics, beams=BEAMS)


def development(asking: Asking, tried: Sequence[int], _: dict[str, Any]) -> dict[str, Any]:
    """The figures of a development set, and how many candidates are best by it, the fewest of equals."""
    figures = {**against_all(asking), "among": {str(many): among(asking, many) for many in tried}}
    chosen = max(tried, key=lambda many: (figures["among"][str(many)]["acc@1"], -many), default=None)
    return {"dev": figures, "chosen": chosen}


def test(asking: Asking, _: Sequence[int], found: dict[str, Any]) -> dict[str, Any]:
    """The figures of a test set, by sub-population too; of the corpus of the paper's cases, ours."""
    chosen = [found["chosen"]] if found["chosen"] else []
    figures = {**against_all(asking), "among": {str(many): among(asking, many) for many in chosen}}
    figures["strata"] = by_stratum(asking)
    if (asking.task.corpus, asking.task.form) != generative_cases.CORPUS:
        return {"test": figures}
    train = items(asking.data, asking.task.corpus, "train")
    return {
        "test": figures,
        "cases": generative_cases.cases(asking.mentions, asking.full(), train, asking.dictionary),
    }


def against_all(asking: Asking) -> dict[str, Any]:
    """All names of the dictionary."""
    figures = accuracy(places(asking.mentions, asking.full()))
    return {"mentions": len(asking.mentions), "distinct": len(asking.texts), "full": figures}


def among(asking: Asking, many: int) -> dict[str, Any]:
    """Candidates alone, mention by mention against all names; ``offered``: mentions with a right candidate."""
    full, chosen, offered = (
        places(asking.mentions, answers) for answers in (asking.full(), asking.among(many), asking.offered(many))
    )
    paired = mcnemar(full == 0, chosen == 0)
    return {
        **accuracy(chosen),
        "offered": percent(offered < NONE),
        "only_full": paired.only_a,
        "only_among": paired.only_b,
        "p": round(paired.p_exact, 4),
    }


def by_stratum(asking: Asking) -> list[dict[str, Any]]:
    """Sub-populations of GenBioEL, table 8, and similarity bins of its figure 2; the KB is what is linked to."""
    mentions, train = (evaluated(asking.data, asking.task.corpus, split) for split in (asking.split, "train"))
    found = places(asking.mentions, asking.full())
    return [
        {"group": one.group, "name": one.name, "count": int(one.mask.sum()), **accuracy(found[one.mask])}
        for one in strata(mentions, asking.kb, train)
        if one.group in GROUPS
    ]


if __name__ == "__main__":
    main()
