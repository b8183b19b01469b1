"""The figures of ``docs/results.md`` out of results and benchmarks: ``python experiments/results_page.py``.

They stand between two marks and take the place of what is there; the rest of the page is written by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import angel_tables
import tune_tables
from common import RESULTS, ROOT
from make_results import BENCHMARKS
from tables import percent, read, table, trainings

PAGE = ROOT / "docs" / "results.md"
MARKS = ("<!-- figures by experiments/results_page.py -->", "<!-- end of figures -->")
CLEAN = ("ncbi", "bc5cdr-d")
UNTRAINED = {
    "dictionary": "names, spelling, abbreviations, word order",
    "TF-IDF": "character 3-grams",
    "default-tiers": "the default: dictionary, then the ResCNN that nomina comes with",
    "mini-tiers": "dictionary, then `checkpoints/sapbert-mini`",
}
GENERATORS = {"ncbi": "NCBI, BioSyn's dictionary", "bc5cdr": "BC5CDR joint", "askapatient": "AskAPatient, ten folds"}
CASCADES = {"ncbi": "NCBI", "bc5cdr-d": "BC5CDR-d", "bc5cdr-c": "BC5CDR-c", "aap-0": "AskAPatient, fold 0"}


def main() -> None:
    """Fill in the page."""
    text = PAGE.read_text(encoding="utf-8")
    start, end = MARKS
    before, _, rest = text.partition(start)
    filled = [before + start, "", *lines(RESULTS, BENCHMARKS), "", end + rest.partition(end)[2]]
    PAGE.write_text("\n".join(filled), encoding="utf-8")


def lines(results: Path, benchmarks: Path) -> Iterator[str]:
    """Four tables: without training, encoders and generators with a training set, cascades."""
    speeds = {name: json.loads((benchmarks / f"{name}.json").read_text(encoding="utf-8"))
              for name in ("default", "tfidf", "decoding_cpu", "decoding_gpu")}  # fmt: skip
    yield "**No training data** (clean-kb: test sets, a KB without the corpus's own mentions; at 1 and 5, any id):\n"
    yield from table(["linker", "NCBI", "BC5CDR-d", "new mentions a second, two cores"], _untrained(results, speeds))
    yield "\n**A training set: an encoder fine-tuned on it** (clean-kb; over seeds or folds; =1/3: one untrained):\n"
    head = ["encoder", "NCBI", "BC5CDR-d", "AskAPatient, its own labels"]
    yield from table(head, _encoders(results))
    yield "\n**A training set: a generator** (as-published-generative, another protocol: columns do not compare):\n"
    yield from table(["generator", *GENERATORS.values()], _generators(results))
    yield f"\n{_generator_speed(speeds)}\n"
    yield "**A cascade** of the default's encoder and a fine-tuned generator, by folds of development sets (at 1):\n"
    yield from table(["development set", "cascade", "its best part", "p"], _cascades(results))


def _untrained(results: Path, speeds: dict[str, Any]) -> Iterator[list[str]]:
    new = speeds["default"]["mentions"]
    tfidf = speeds["tfidf"]["figures"]["speed"]["ncbi_train_dictionary"]["mentions_per_second"]["rank_distinct"]
    told = {
        "dictionary": f"{new['dictionary']['new']['a_second']:,}",
        "TF-IDF": f"{tfidf:,}",
        "default-tiers": f"{new['encoder']['new']['a_second']:,}, where the dictionary knows nothing",
    }
    for name, what in UNTRAINED.items():
        yield [what, *(_clean(results, name, corpus) for corpus in CLEAN), told.get(name, "")]


def _clean(results: Path, name: str, corpus: str) -> str:
    """A system's figures of clean-kb; of a baseline, or of what a result of its own is about."""
    own = read(results, f"embedding_{name}_{corpus}_clean-kb.json")
    found = own or read(results, f"baselines_{corpus}_clean-kb.json")
    systems = [system for result in found for system in result["metrics"]["systems"]]
    system = systems[0] if own else next(system for system in systems if system["name"] == name)
    five = system["metrics"]["any"].get("5")
    return " / ".join([percent(system["primary"]["value"]), *([percent(five)] if five is not None else [])])


def _encoders(results: Path) -> Iterator[list[str]]:
    for base, plan, what in (
        ("aligned", "final", "self-aligned MiniLM"),
        ("attention", "final", "ResCNN of the default's kind"),
    ):
        for form, told in (("dense", ""), ("names", ", training mentions as names")):
            corpora = (*CLEAN, "askapatient")
            runs = [tune_tables.runs_of(results, plan, base, corpus) for corpus in corpora]
            yield [what + told, *(tune_tables.spread(each, form) if len(each) > 2 else "" for each in runs)]


def _generators(results: Path) -> Iterator[list[str]]:
    angel, tuned = (trainings(results, name) for name in ("angel_runs", "generative_runs"))
    levels = (angel_tables.before_level(tuned, corpus) for corpus in GENERATORS)
    yield ["pre-trained on names, fine-tuned (GenBioEL)", *levels]
    pairs = (angel_tables.after_level(angel, tuned, corpus, "likelihood") for corpus in GENERATORS)
    yield ["and on pairs of its own beams, with the likelihood (ANGEL)", *pairs]


def _generator_speed(speeds: dict[str, Any]) -> str:
    """What a generator costs."""
    slow, fast = speeds["decoding_cpu"], speeds["decoding_gpu"]
    tf32 = {
        kind: max(v for title, v in fast[kind].items() if title.startswith("tf32"))
        for kind in ("mentions_a_second", "mentions_a_second_first_name")
    }
    best = max(slow["mentions_a_second"].values())
    return (
        f"A generator writes five names for {best:.0f} mentions a second on {slow['machine']['cpu cores']} cores"
        f" ({slow['names']:,} names) and for {tf32['mentions_a_second']:,.0f} on one {fast['machine']['card']}"
        f" ({fast['names']:,} names, TF32; {tf32['mentions_a_second_first_name']:,.0f} for the first name alone)."
    )


def _cascades(results: Path) -> Iterator[list[str]]:
    for corpus, told in CASCADES.items():
        found = read(results, f"cascade_{corpus}.json")
        if not found:
            continue
        one = found[0]["metrics"][corpus]
        parts = {
            name: each
            for name, each in one["against"].items()
            if name not in ("default", "all parts for every mention")
        }
        name, best = max(parts.items(), key=lambda part: part[1]["accuracy"])
        shown = {"generative": "generator", "tfidf": "TF-IDF"}.get(name, name)
        p = "< 0.001" if best["mcnemar_p"] < 0.001 else f"{best['mcnemar_p']:.3f}"
        yield [told, percent(one["accuracy"]), f"{best['accuracy']:.1f} ({shown})", p]


if __name__ == "__main__":
    main()
