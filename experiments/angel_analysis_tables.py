"""What pairs of a small generator's own beams are, where they push it, what they break, for ``RESULTS.md``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generative_tables import NAMES
from tables import percent, table

HEAD = """## Why learning from negatives does not help a small generator
"""
KINDS = ("preserve", "lower", "repair")
SETS = ("train", "dev")
PARTS = ("right", "wrong", "other", "rest")
COSINES = ("mention, chosen", "mention, rejected", "chosen, rejected")

Found = dict[str, dict[str, Any]]


def section(results: Path) -> Iterator[str]:
    """Pairs, gradients, what training does to names, probabilities and development mentions."""
    path = results / "angel_analysis.json"
    if not path.exists():
        return
    result = json.loads(path.read_text(encoding="utf-8"))
    found: Found = result["metrics"]
    yield HEAD.format(**result["options"])
    for part in (_mentions, _pairs, _gradients, _effects):
        yield from part(found)
        yield ""
    learnt = {corpus: one for corpus, one in found.items() if "training" in one}
    for part in (_moved, _mass, _errors):
        yield from part(learnt)
        yield ""


def _sets(found: Found) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for corpus, one in found.items():
        for name in SETS:
            yield NAMES[corpus], name, one["pairs"][name]


def _mentions(found: Found) -> Iterator[str]:
    """A row a set of mentions: where their right names stand, and how many pairs of each kind they give."""
    rows = []
    for corpus, name, one in _sets(found):
        places = [percent(one[key] / one["mentions"]) for key in ("first", "below", "none")]
        old = percent(one["first of seen"] / one["seen"]) if one["seen"] else ""
        new = one["mentions"] - one["seen"]
        fresh = percent((one["first"] - one["first of seen"]) / new) if new else ""
        pairs = [one["kinds"][kind]["pairs"] for kind in KINDS]
        shown = [f"{count} ({percent(count / max(sum(pairs), 1))})" for count in pairs]
        rows.append([corpus, name, str(one["mentions"]), *places, old, fresh, str(one["paired"]), *shown])
    head = ["corpus", "set", "mentions", "first name right", "one below", "none", "first right: seen", "new",
            "with a pair", *KINDS]  # fmt: skip
    yield from table(head, rows)


def _pairs(found: Found) -> Iterator[str]:
    """A row a kind of pairs of a set."""
    rows = []
    for corpus, name, one in _sets(found):
        for kind in KINDS:
            facts = one["kinds"][kind]
            if facts["pairs"]:
                cosines = [f"{facts['cosine'][key]:.2f}" for key in COSINES]
                rows.append([corpus, name, kind, *cosines, *(f"{value:.2f}" for value in facts["margin"])])
    yield from table(["corpus", "set", "pairs", *COSINES, "margin: 5%", "25%", "median", "75%", "95%"], rows)


def _gradients(found: Found) -> Iterator[str]:
    """A row a corpus."""
    rows = []
    for corpus, one in found.items():
        of = one["gradients"]
        share = [percent(of["share"][kind]) if kind in of["share"] else "" for kind in KINDS]
        norms = [f"{of['norm'][name]:.2f}" for name in ("dpo", "likelihood")]
        rows.append([NAMES[corpus], *norms, f"{of['cosine']:.2f}", f"{of['chosen against rejected']:.2f}", *share])
    shares = [f"of DPO: {kind}" for kind in KINDS]
    yield from table(["corpus", "DPO", "likelihood", "cosine", "chosen, rejected: cosine", *shares], rows)


def _effects(found: Found) -> Iterator[str]:
    """A row a corpus and a loss, a column a kind of pairs."""
    ways = [f"{name} {kind}" for name in SETS for kind in KINDS]
    rows = []
    for corpus, one in found.items():
        for step, effects in one["gradients"]["effects"].items():
            cells = [f"{effects[way]['chosen']:+.1f} / {effects[way]['rejected']:+.1f}" if way in effects else ""
                     for way in ways]  # fmt: skip
            rows.append([NAMES[corpus], step, *cells])
    yield from table(["corpus", "step of", *ways], rows)


def _runs(found: Found) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for corpus, one in found.items():
        for name, run in one["training"].items():
            if name != "before":
                yield corpus, name, run


def _moved(found: Found) -> Iterator[str]:
    """A row a training and a step, a column a kind of pairs."""
    rows, ways = [], [(name, kind) for name in SETS for kind in KINDS]
    for corpus, variant, run in _runs(found):
        for line in run["log"]:
            there = [line[name].get(kind) for name, kind in ways]
            cells = [f"{one['chosen']:+.2f} / {one['rejected']:+.2f}" if one else "" for one in there]
            weights = [f"{one['weight'] / 0.5:.2f}" for one in there[: len(KINDS)] if one]
            rows.append([NAMES[corpus], variant, str(line["step"]), *cells, ", ".join(weights)])
    yield from table(["corpus", "training", "step", *(" ".join(way) for way in ways), "weight"], rows)


def _mass(found: Found) -> Iterator[str]:
    """A row a set and a training: shares of the probability of all texts, then of that of all names."""
    rows = []
    for corpus, one in found.items():
        for name in SETS:
            for variant, run in one["training"].items():
                mass = run["mass"][name]
                cells = [percent(mass[among][part]) for among in ("text", "names") for part in PARTS]
                rows.append([NAMES[corpus], name, variant, *cells])
    head = ["corpus", "set", "after", *(f"{among}: {part}" for among in ("texts", "names") for part in PARTS)]
    yield from table(head, rows)


def _errors(found: Found) -> Iterator[str]:
    """A row a training and an answer to a question about mentions."""
    rows = []
    for corpus, variant, run in _runs(found):
        of = run["dev"]
        kinds = [("all", "", of["all"])]
        kinds += [(question, answer, one) for question, each in of["kinds"].items() for answer, one in each.items()]
        for question, answer, one in kinds:
            rows.append([NAMES[corpus], variant, question, answer, *(str(value) for value in one.values())])
    head = ["corpus", "training", "by", "", "mentions", "right before", "fixed", "broken", "lost from 5", "found in 5"]
    yield from table(head, rows)
