"""Why a small generator does not gain by pairs out of its own beams (ANGEL): which pairs, which gradient, which errors.

    python experiments/angel_analysis.py --data DATA --models WORK --of ncbi=ft-ncbi-long-0 aap-0=ft-aap-0-long-0

``DATA`` and models are those of ``angel.py``, whose mining, losses and training these are: mentions without their
texts, 5 beams, the dictionary without mentions. On a CPU. Pairs are of ``--sample`` training mentions, drawn, and for
comparison of all development mentions. Generators of the corpora ``--train`` are trained on these for ``EPOCHS``, by
each of ``LEARNT``, and development mentions linked before, on the way, after. Writes ``results/NAME.json``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import angel
import angel_gradients
import numpy as np
import torch
from angel_errors import Told, cases, changed, counts, told_of, winners
from angel_ranking import KINDS, Ranking, kinds_of, mass, ranking_of, scores_of, standing
from common import parser, record
from generative_eval import Bench, Item
from sapbert_align import say

from nomina import generation
from nomina.generation.generator import Generator
from nomina.generation.search import Search
from nomina.text import normalise
from nomina.training.examples import Ints
from nomina.training.loop import FitOptions, fit
from nomina.training.preference.examples import PairExamples
from nomina.training.preference.mining import Mentions, rights_of
from nomina.training.preference.objective import Floats, reference_of
from nomina.training.preference.pairs import PairOptions, Pairs, Ranked, select
from nomina.training.similarity.tfidf import TfidfSimilarity

LEARNT = ("paper", "likelihood")
SEED = 0
BATCH, RATE, BETA, BEAMS = 16, 2e-5, 0.1, 5
EPOCHS = 2
PROBED = 64
"""Pairs of each kind whose gradients are taken, and which are watched in training."""
NARROW = Search(BEAMS)
WIDE = {"text": Search(10), "names": Search(10, renormalise=True)}
"""How names are found whose probabilities are added up: those among all texts, those among all names."""
WEIGHED = 64
"""Mentions of each set for which that is done."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class Case(NamedTuple):
    """A corpus, the generator that was fine-tuned on it, and the options of ``angel.py``."""

    arguments: argparse.Namespace
    bench: Bench
    generator: Generator


class Set(NamedTuple):
    """Mentions, what the generator ranks for them, their pairs, of which kind each is, and these as tokens."""

    items: list[Item]
    ranking: Ranking
    pairs: Pairs
    kinds: Ints
    examples: PairExamples


class Probe(NamedTuple):
    """Pairs that are watched, what the generator made of them before, and of which kind each is."""

    examples: PairExamples
    before: Floats
    kinds: Ints


def main() -> None:
    """Measure, record."""
    options = parser(__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--models", type=Path, required=True)
    options.add_argument("--of", nargs="+", required=True, help="corpus=model")
    options.add_argument("--train", nargs="*", default=["ncbi"], help="the corpora that are trained on")
    options.add_argument("--sample", type=int, default=800, help="training mentions")
    options.add_argument("--name", default="angel_analysis", help="of the result")
    arguments = options.parse_args()
    torch.set_num_threads(1)
    found = {}
    for corpus, _, model in (each.partition("=") for each in arguments.of):
        case = case_of(arguments.data, corpus, arguments.models / model)
        found[corpus] = {"model": model, **analysed(case, arguments.sample, learns=corpus in arguments.train)}
    facts = {"batch": BATCH, "lr": RATE, "epochs": EPOCHS, "beta": BETA, "beams": BEAMS, "sample": arguments.sample}
    record(arguments.name, found, seed=SEED, options={**facts, "probed": PROBED, "weighed": WEIGHED})


def case_of(data: Path, corpus: str, model: Path) -> Case:
    """Read a corpus and its generator."""
    facts = {"data": data, "corpus": corpus, "limit": None, "window": 128, "no_context": True}
    given = argparse.Namespace(**facts, beams=BEAMS, beta=BETA, batch=BATCH, model=model)
    return Case(given, Bench(given), generation.load(model))


def analysed(case: Case, sample: int, *, learns: bool) -> dict[str, Any]:
    """All that is measured on a corpus."""
    bench, rng = case.bench, np.random.default_rng([SEED, 8])
    known = [item for item in bench.splits["train"] if len(bench.dictionary.numbers(item.gold))]
    drawn = [known[i] for i in np.sort(rng.permutation(len(known))[:sample]).tolist()]
    pairs = angel.pairs_of(case.arguments, case.generator, bench, drawn, angel.VARIANTS["paper"])
    sets = {"train": set_of(case, drawn, pairs), "dev": set_of(case, bench.splits["dev"])}
    say({name: len(one.pairs.mention) for name, one in sets.items()})
    similar = TfidfSimilarity([normalise(text) for text in bench.dictionary.texts])
    seen = {normalise(item.parts.mention) for item in bench.splits["train"]}
    found: dict[str, Any] = {"pairs": {name: pairs_told(case, one, similar, seen) for name, one in sets.items()}}
    probes = {name: probe_of(case.generator, one, rng) for name, one in sets.items()}
    found["gradients"] = gradients(case.generator, sets, probes)
    say(found["gradients"])
    if learns:
        found["training"] = learnt(case, sets, probes, rng)
    return found


def asked(case: Case, items: Sequence[Item]) -> Mentions:
    """Mentions as mining takes them."""
    prompt, parts = angel.prompted_of(case.arguments, case.generator, list(items))
    gold = [case.bench.dictionary.numbers(item.gold) for item in items]
    return Mentions(prompt.of_parts(parts), [normalise(item.parts.mention) for item in items], gold)


def ranked(case: Case, generator: Generator, items: Sequence[Item], search: Search = NARROW) -> Ranking:
    """What a generator ranks highest for mentions."""
    mentions, trie = asked(case, items), case.bench.trie(generator)
    return ranking_of(generator, trie, mentions, rights_of(case.bench.dictionary.concepts, mentions.gold), search)


def set_of(case: Case, items: list[Item], pairs: Pairs | None = None) -> Set:
    """Rank the names of mentions; pairs that are not given are made as the paper's are.

    Raises:
        SystemExit: the pairs are not those of the ranking.
    """
    ranking = ranked(case, case.generator, items)
    own = select(Ranked(ranking.rows, ranking.right), PairOptions())
    if pairs is not None and not all(np.array_equal(one, other) for one, other in zip(own, pairs, strict=True)):
        raise SystemExit("the pairs that were mined are not those of the names that were ranked")
    examples = angel.examples_of(case.arguments, case.generator, case.bench.dictionary, items, own)
    return Set(items, ranking, own, kinds_of(ranking, own), examples)


def pairs_told(case: Case, of: Set, similar: TfidfSimilarity, seen: set[str]) -> dict[str, Any]:
    """Which pairs mentions give."""
    texts, (ranking, pairs) = case.bench.dictionary.texts, of[1:3]
    place, keys = standing(ranking), [normalise(item.parts.mention) for item in of.items]
    old = np.array([key in seen for key in keys])
    scores = scores_of(ranking, pairs)
    chosen, rejected = ([normalise(texts[row]) for row in rows.tolist()] for rows in pairs[1:])
    mentions = [keys[number] for number in pairs.mention.tolist()]
    cosines = np.array([[similar.cosine(*two) for two in ((m, c), (m, r), (c, r))]
                        for m, c, r in zip(mentions, chosen, rejected, strict=True)])  # fmt: skip
    kinds = {}
    for number, kind in enumerate(KINDS):
        which = of.kinds == number
        facts: dict[str, Any] = {"pairs": int(which.sum())}
        if which.any():
            names = ("mention, chosen", "mention, rejected", "chosen, rejected")
            facts["cosine"] = dict(zip(names, np.round(cosines[which].mean(0), 3).tolist(), strict=True))
            margins = scores[which, 0] - scores[which, 1]
            facts["margin"] = np.round(np.quantile(margins, QUANTILES), 2).tolist()
            facts["chosen"] = round(float(scores[which, 0].mean()), 3)
        kinds[kind] = facts
    return {
        "mentions": len(of.items),
        "distinct": len(set(keys)),
        "first": int((place == 0).sum()),
        "below": int((place > 0).sum()),
        "none": int((place < 0).sum()),
        "paired": len(np.unique(pairs.mention)),
        "seen": int(old.sum()),
        "first of seen": int((place[old] == 0).sum()),
        "kinds": kinds,
    }


def probe_of(generator: Generator, of: Set, rng: np.random.Generator) -> Probe:
    """Some pairs of each kind."""
    found = [rng.permutation(np.flatnonzero(of.kinds == number))[:PROBED] for number in range(len(KINDS))]
    places = np.concatenate(found)
    examples = of.examples.take(places)
    return Probe(examples, reference_of(generator, examples, BATCH), of.kinds[places])


def gradients(generator: Generator, sets: dict[str, Set], probes: dict[str, Probe]) -> dict[str, object]:
    """Which way the pairs push at the start."""
    sides = []
    for name, probe in probes.items():
        there = [(number, kind) for number, kind in enumerate(KINDS) if (probe.kinds == number).any()]
        share = {kind: float((sets[name].kinds == number).mean()) for number, kind in there}
        mean = {
            kind: angel_gradients.mean_gradients(generator, probe.examples.take(np.flatnonzero(probe.kinds == number)))
            for number, kind in there
        }
        sides.append(angel_gradients.Side(share, mean))
    train = sets["train"].examples
    tokens = float((train.pieces.lengths(train.chosen) + 1).mean())
    return {"tokens": round(tokens, 2), **angel_gradients.compared(*sides, BETA, 1.0, tokens)}


def moved(generator: Generator, probes: dict[str, Probe]) -> dict[str, Any]:
    """How log p of both names of watched pairs has changed, and what each pair now weighs of beta."""
    found: dict[str, Any] = {}
    for name, probe in probes.items():
        change = (reference_of(generator, probe.examples, BATCH) - probe.before).astype(np.float64)
        weight = 1 / (1 + np.exp(BETA * (change[:, 0] - change[:, 1])))
        found[name] = {}
        for number, kind in enumerate(KINDS):
            if (which := probe.kinds == number).any():
                chosen, rejected = change[which].mean(0).round(3).tolist()
                facts = {"chosen": chosen, "rejected": rejected, "weight": round(float(weight[which].mean()), 4)}
                found[name][kind] = {**facts, "chosen falls": round(float((change[which, 0] < 0).mean()), 3)}
    return found


def learnt(case: Case, sets: dict[str, Set], probes: dict[str, Probe], rng: np.random.Generator) -> dict[str, Any]:
    """A short training on the pairs by each variant: what becomes of names, probabilities, development mentions."""
    train, dev = sets["train"], sets["dev"]
    reference = reference_of(case.generator, train.examples, 256)
    texts = {name: distinct(one, rng) for name, one in sets.items()}
    before = wide(case, case.generator, texts)
    told = told_of(dev.items, dev.ranking, case.bench.splits["train"], train.pairs)
    found: dict[str, Any] = {"before": {"mass": weighed(before, before)}}
    for name in LEARNT:
        torch.manual_seed(SEED)
        generator = generation.load(case.arguments.model)
        log, after = trained(case, generator, sets, name, reference, probes)
        facts = {"mass": weighed(before, wide(case, generator, texts)), "dev": errors(case, sets, told, after)}
        found[name] = {"steps": log[-1]["step"], "log": log, **facts}
        say({name: found[name]})
    return found


Wide = dict[str, dict[str, Ranking]]


def wide(case: Case, generator: Generator, texts: dict[str, list[Item]]) -> Wide:
    """More names of some mentions of each set, with their probabilities among all texts and among all names."""
    return {
        name: {among: ranked(case, generator, items, search) for among, search in WIDE.items()}
        for name, items in texts.items()
    }


def weighed(before: Wide, after: Wide) -> dict[str, dict[str, dict[str, float]]]:
    """Where the probability is, see ``mass``."""
    return {
        name: {among: mass(ranking, after[name][among]) for among, ranking in each.items()}
        for name, each in before.items()
    }


def distinct(of: Set, rng: np.random.Generator) -> list[Item]:
    """Some of a set's mentions that have pairs, each text once."""
    texts = {of.items[number].parts.mention: of.items[number] for number in np.unique(of.pairs.mention).tolist()}
    items = list(texts.values())
    return [items[i] for i in np.sort(rng.permutation(len(items))[:WEIGHED]).tolist()]


def trained(
    case: Case, generator: Generator, sets: dict[str, Set], name: str, reference: Floats, probes: dict[str, Probe]
) -> tuple[list[dict[str, Any]], Ranking]:
    """Train as ``angel.py`` does; what became of watched pairs and of development mentions on the way, and the end."""
    variant, of, dev = angel.VARIANTS[name], sets["train"], sets["dev"]
    objective = angel.objective_of(
        case.arguments, generator, case.bench.dictionary, of.items, of.pairs, variant, SEED, reference
    )
    steps = EPOCHS * objective.steps
    how = FitOptions(
        steps,
        RATE,
        warmup=min(200, steps // 10),
        clip=0.1,
        seed=SEED,
        report_every=max(steps // 3, 1),
        evaluate_every=max(steps // 3, 1),
    )
    found: list[Ranking] = []

    def watched(step: int) -> dict[str, Any]:
        found.append(ranked(case, generator, dev.items))
        return {**moved(generator, probes), "mentions": counts(dev.ranking, found[-1])}

    result = fit(objective, how, evaluate=watched, report=say)
    lines = [{key: line[key] for key in ("step", *probes, "mentions")} for line in result.log if "train" in line]
    return lines, found[-1]


def errors(case: Case, sets: dict[str, Set], told: list[Told], after: Ranking) -> dict[str, Any]:
    """Which development mentions are right now and were not, and the other way round."""
    dev = sets["dev"]
    facts = {"winners": winners(dev.ranking, after, sets["train"].pairs)}
    texts = cases(dev.items, dev.ranking, after, case.bench.dictionary.texts)
    return {**changed(dev.ranking, after, told), **facts, "cases": texts}


if __name__ == "__main__":
    main()
