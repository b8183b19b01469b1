"""Probabilities of the default linker's answers, fitted on development mentions; no test data is read.

    python experiments/calibrate.py [--encoder FOLDER] [--work DIR] [--nil 0.2]

For each of two corpora (NCBI and BC5CDR-d, BioSyn's ``processed_dev``, each pair of mention and gold once) on the KB
of its ``train_dictionary.txt``: the dictionary's answers by rule, and the encoder's answers to mentions that the
dictionary does not know. Mentions without a concept (NIL) are made by leaving a mention's concepts out of the KB;
together they weigh ``--nil`` of what the encoder is asked. Judged crosswise: fitted on one corpus, measured on the
other.

Writes ``results/calibration.json``, and what was fitted on both corpora as ``calibration.json`` beside the encoder.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from common import parser, record
from eval_kbs import Workshop
from numpy.typing import NDArray

from nomina import encoders
from nomina.artifact import Artifact
from nomina.corpora import read_corpus
from nomina.encoders.onnx import KIND
from nomina.evaluation.ids import IdMap
from nomina.linkers.calibration import FEATURES, LEAST_PROBABILITY, Calibration, features
from nomina.linkers.cascade import CascadeLinker
from nomina.types import Candidate, Document, Mention

CORPORA = {"ncbi": ("ncbi-disease", "biosyn"), "bc5cdr-d": ("bc5cdr", "biosyn-disease")}
DEPTH = 20  # concepts, so that one is left when the gold ones are taken out
BINS = 10
PENALTY = 1.0  # half of it times the squared weights: there are some hundred cases
FEWEST = 20  # answers under a rule for a share of its own
DICTIONARY = ("exact", "spelling", "inflection", "order", "derivation", "lay term")
"""Rules, most trusted first. Mentions and names are of one case here: "exact" stands for "normalised" as well."""

Floats = NDArray[np.float64]


@dataclass
class Cases:
    """What was answered on a corpus: of the dictionary by rule, of the encoder with features and whether NIL."""

    rules: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    features: list[tuple[float, ...]] = field(default_factory=list)
    right: list[bool] = field(default_factory=list)
    nil: list[bool] = field(default_factory=list)

    def add(self, candidates: list[Candidate], right: bool, nil: bool) -> None:
        """An answer of the encoder."""
        if candidates:
            self.features.append(features(candidates))
            self.right.append(right)
            self.nil.append(nil)

    def arrays(self, nil_share: float) -> tuple[Floats, Floats, Floats, NDArray[np.bool_]]:
        """Features, 1.0 where right, weights (those of NIL sum up to their share), which are NIL."""
        nil = np.array(self.nil)
        known = np.count_nonzero(~nil)
        weight = known * nil_share / (1 - nil_share) / np.count_nonzero(nil)
        return np.array(self.features), np.array(self.right, float), np.where(nil, weight, 1.0), nil


def main() -> None:
    """Answer, fit crosswise, fit on all, write and print."""
    options = parser(__doc__)
    options.add_argument("--encoder", type=Path, default=None, help="default: the one that nomina comes with")
    options.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "nomina-evaluation")
    options.add_argument("--nil", type=float, default=0.2, help="share of NIL in what the encoder is asked")
    arguments = options.parse_args()
    model = Artifact.open(arguments.encoder or encoders.shipped(), KIND)
    shop = Workshop(arguments.shared, arguments.work)
    cases = {name: answered(shop, name, model.folder) for name in CORPORA}
    data = {name: found.arrays(arguments.nil) for name, found in cases.items()}
    crossed = {}
    for judged, (fitted,) in {name: [other for other in CORPORA if other != name] for name in CORPORA}.items():
        crossed[judged] = figures(logistic(data[judged][0], fit(*data[fitted][:3])), *data[judged][1:])
    x, y, weights, _ = (np.concatenate(parts) for parts in zip(*data.values(), strict=True))
    fitted_on_both = fit(x, y, weights)
    rules = shares(cases.values())
    metrics = {
        "encoder": dict(zip(FEATURES, map(float, fitted_on_both.round(4)), strict=True)),
        "rules": rules,
        "rules_counted": {name: counted(found) for name, found in cases.items()},
        "judged_on_the_other_corpus": crossed,
    }
    record("calibration", metrics, nil_share=arguments.nil, model=model.fingerprint, corpora=list(CORPORA))
    # Written last: the file is among the code whose state the record names.
    Calibration(tuple(round(float(value), 4) for value in fitted_on_both), rules).write(model)
    print_figures(metrics)


def answered(shop: Workshop, name: str, folder: Path) -> Cases:
    """What dictionary and encoder say of a corpus's development mentions."""
    kb = shop(f"{name}-clean")
    ids, linker, cases = IdMap(kb, splits=True), CascadeLinker(kb, folder), Cases()
    documents = list(mentions(shop, name))
    known = linker.dictionary.link(documents, k=DEPTH)
    near = linker.embedding.link(documents, k=DEPTH)
    for own, other in zip(known, near, strict=True):
        gold = frozenset[str]().union(*ids.gold(own.mention.gold))
        right = [bool(ids.candidate(c.entity_id) & gold) for c in own.candidates]
        if own.candidates:
            if not own.ambiguous:
                cases.rules[own.candidates[0].rule].append(right[0])
        else:
            first = other.candidates[:1]
            cases.add(list(other.candidates), bool(first) and bool(ids.candidate(first[0].entity_id) & gold), nil=False)
        if all(right):  # without the gold concepts the dictionary knows nothing
            cases.add([c for c in other.candidates if not ids.candidate(c.entity_id) & gold], right=False, nil=True)
    return cases


def mentions(shop: Workshop, name: str) -> Iterator[Document]:
    """Each pair of mention and gold once, as a text of its own."""
    seen = set()
    for document in read_corpus(shop.file(*CORPORA[name], "processed_dev"), "biosyn"):
        for mention in document.mentions:
            if (mention.text, mention.gold) not in seen:
                seen.add((mention.text, mention.gold))
                alone = Mention(((0, len(mention.text)),), mention.text, gold=mention.gold)
                yield Document(str(len(seen)), mention.text, (alone,))


def fit(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Weights of a logistic regression by Newton's steps; the constant is not penalised."""
    penalty = np.eye(x.shape[1]) * PENALTY
    penalty[0, 0] = 0
    found = np.zeros(x.shape[1])
    for _ in range(50):
        p = logistic(x, found)
        slope = x.T @ (weights * (p - y)) + penalty @ found
        found = found - np.linalg.solve((x * (weights * p * (1 - p))[:, None]).T @ x + penalty, slope)
    return found


def logistic(x: Floats, weights: Floats) -> Floats:
    """Probabilities of rows of features."""
    return 1 / (1 + np.exp(-x @ weights))


def figures(p: Floats, y: Floats, weights: Floats, nil: NDArray[np.bool_]) -> dict[str, Any]:
    """Brier score, expected calibration error over bins, and what abstention leaves."""
    place = np.minimum((p * BINS).astype(int), BINS - 1)
    bins = [
        {
            "count": int(np.count_nonzero(place == i)),
            "weight": float(weights[place == i].sum() / weights.sum()),
            "probability": float(np.average(p[place == i], weights=weights[place == i])),
            "right": float(np.average(y[place == i], weights=weights[place == i])),
        }
        for i in range(BINS)
        if (place == i).any()
    ]
    given = p >= LEAST_PROBABILITY
    base = float(np.average(y, weights=weights))
    return {
        "cases": len(y),
        "nil": int(np.count_nonzero(nil)),
        "brier": float(np.average((p - y) ** 2, weights=weights)),
        "brier_of_the_mean": base * (1 - base),
        "expected_calibration_error": sum(b["weight"] * abs(b["probability"] - b["right"]) for b in bins),
        "accuracy_without_abstention": float(y[~nil].mean()),
        "answered": float(given[~nil].mean()),
        "precision_of_the_answered": float(y[given & ~nil].mean()) if (given & ~nil).any() else None,
        "nil_answered": float(given[nil].mean()),
        "bins": bins,
    }


def shares(cases: Iterable[Cases]) -> dict[str, float]:
    """The share of right answers by rule, of both corpora; two cases at the mean are added to each.

    A rule with fewer than ``FEWEST`` answers is pooled with the rules of next lower trust, the last with those before.
    An abbreviation has the share of all rules together, as its long form may be known under any.
    """
    found = [counted(each) for each in cases]
    for each in found:
        each["exact"] = tuple(np.add(each.get("exact", (0, 0)), each.pop("normalised", (0, 0))).tolist())
    total = {rule: np.sum([each.get(rule, (0, 0)) for each in found], axis=0) for rule in DICTIONARY}
    every = np.sum(list(total.values()), axis=0)
    pools = {rule: pooled(total, place) for place, rule in enumerate(DICTIONARY)}
    pools |= {"normalised": pools["exact"], "abbreviation": every}
    mean = every[0] / every[1]
    return {rule: round(float((right + 2 * mean) / (count + 2)), 4) for rule, (right, count) in pools.items()}


def pooled(total: dict[str, NDArray[np.int64]], place: int) -> NDArray[np.int64]:
    """Right answers and all answers of a rule and of as many next to it as make ``FEWEST``."""
    pool = total[DICTIONARY[place]]
    for other in (*DICTIONARY[place + 1 :], *reversed(DICTIONARY[:place])):
        if pool[1] >= FEWEST:
            break
        pool = pool + total[other]
    return pool


def counted(cases: Cases) -> dict[str, tuple[int, int]]:
    """Right answers and all answers by rule."""
    return {rule: (sum(right), len(right)) for rule, right in sorted(cases.rules.items())}


def print_figures(metrics: dict[str, Any]) -> None:
    """A line a corpus, and the rules."""
    for name, found in metrics["judged_on_the_other_corpus"].items():
        print(name, {key: round(value, 3) for key, value in found.items() if isinstance(value, int | float)})
    print("encoder", metrics["encoder"])
    print("rules", metrics["rules"])


if __name__ == "__main__":
    main()
