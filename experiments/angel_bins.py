"""Figures 3 and 4 of ANGEL: two generators' margins and errors, by how like the mention wrong and right names are.

    python experiments/angel_bins.py --data DATA --before MODELS/NAME --after MODELS/NAME

``DATA``: what ``generative_data.py`` wrote. Different development mentions, ``--sample`` of them, drawn, without their
texts, 5 beams, the dictionary without mentions. Likeness is the cosine by character 3-grams (TF-IDF). Wrong names are
those that either model has among its first five; both score all of them, and all right names. Writes
``results/angel_bins.json``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from common import parser, record
from generative_eval import Bench, Dictionary, Item, Judge
from numpy.typing import NDArray

from nomina import generation
from nomina.generation.prompt import Parts, Prompt
from nomina.generation.scoring import score_candidates
from nomina.linkers.base import NO_ROW
from nomina.linkers.generative import batch_of, evaluating
from nomina.text import normalise
from nomina.training.preference.mining import rights_of
from nomina.training.similarity.tfidf import TfidfSimilarity

SEED = 0
BEAMS, BATCH = 5, 64
MODELS = ("before", "after")
BINS = {"accuracy": 5, "margins": 10}

Floats = NDArray[np.float64]


class Asked(NamedTuple):
    """Mentions, the rows of the names that are right for each, and the cosine with the most similar of these."""

    items: list[Item]
    rights: list[list[int]]
    near: Floats


def main() -> None:
    """Measure, record."""
    options = parser(__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--before", type=Path, required=True, help="folder of a generator")
    options.add_argument("--after", type=Path, required=True, help="that of the one made of it")
    options.add_argument("--corpus", default="bc5cdr")
    options.add_argument("--sample", type=int, default=1500, help="mentions")
    options.add_argument("--limit", type=int, help="only so many mentions and names, to try it out")
    arguments = options.parse_args()
    torch.set_num_threads(1)
    found = measured(Bench(arguments), {name: getattr(arguments, name) for name in MODELS}, arguments.sample)
    facts = {name: getattr(arguments, name).name for name in MODELS}
    record("angel_bins", {arguments.corpus: found}, seed=SEED, beams=BEAMS, models=facts)


def measured(bench: Bench, models: dict[str, Path], sample: int) -> dict[str, Any]:
    """The figures of both models."""
    dictionary = bench.dictionary
    similar = TfidfSimilarity([normalise(text) for text in dictionary.texts])
    asked = asked_of(bench, similar, sample)
    judges: dict[str, Judge] = {}
    for name, folder in models.items():
        trie = judges[MODELS[0]].trie if judges else None
        judges[name] = Judge(generation.load(folder), dictionary, asked.items, trie=trie)
    texts = [item.parts for item in asked.items]
    written = {
        name: judge.best(Prompt.of(judge.generator, context=False), texts, BEAMS, BATCH)
        for name, judge in judges.items()
    }
    first = {name: np.array([right(dictionary, *each) for each in zip(asked.items, rows, strict=True)])
             for name, rows in written.items()}  # fmt: skip
    return {
        "mentions": len(asked.items),
        "accuracy": accuracy(asked.near, first),
        "margins": margins(asked, wrong_of(dictionary, asked.items, list(written.values())), judges, similar),
    }


def asked_of(bench: Bench, similar: TfidfSimilarity, sample: int) -> Asked:
    """Different development mentions that have a right name, some drawn, in the order of the corpus."""
    dictionary = bench.dictionary
    items = list(dict.fromkeys(Item(Parts("", one.parts.mention, ""), one.gold) for one in bench.splits["dev"]))
    known = [item for item in items if len(dictionary.numbers(item.gold))]
    drawn = np.sort(np.random.default_rng([SEED, 11]).permutation(len(known))[:sample])
    items = [known[i] for i in drawn.tolist()]
    rights = list(map(sorted, rights_of(dictionary.concepts, [dictionary.numbers(item.gold) for item in items])))
    near = [max(cosines_of(dictionary, similar, item, rows).tolist()) for item, rows in zip(items, rights, strict=True)]
    return Asked(items, rights, np.array(near))


def cosines_of(dictionary: Dictionary, similar: TfidfSimilarity, item: Item, rows: Sequence[int]) -> Floats:
    """How similar names are to a mention."""
    key = normalise(item.parts.mention)
    return np.array([similar.cosine(key, normalise(dictionary.texts[row])) for row in rows])


def right(dictionary: Dictionary, item: Item, written: Sequence[Sequence[int]]) -> bool:
    """Whether the first name is right; of names tokenised alike any."""
    return any(dictionary.ids[row] & item.gold for row in written[0]) if written else False


def wrong_of(
    dictionary: Dictionary, items: Sequence[Item], written: Sequence[Sequence[Sequence[Sequence[int]]]]
) -> list[list[int]]:
    """For each mention the rows of the wrong names that any model wrote, each once; of names tokenised alike one."""
    found = []
    for number, item in enumerate(items):
        names = [rows for one in written for rows in one[number]]
        wrong = [rows[0] for rows in names if not any(dictionary.ids[row] & item.gold for row in rows)]
        found.append(list(dict.fromkeys(wrong)))
    return found


def scores(judge: Judge, items: Sequence[Item], rows: Sequence[Sequence[int]]) -> list[Floats]:
    """How likely given names of each mention are, log p; -inf of one that cannot be written."""
    prompted = Prompt.of(judge.generator, context=False).of_parts([item.parts for item in items])
    # Those with like many names together.
    order = sorted(range(len(items)), key=lambda i: (len(rows[i]), len(prompted[i].source)))
    found = [np.zeros(0)] * len(items)
    with evaluating(judge.generator):
        for start in range(0, len(order), BATCH):
            part = order[start : start + BATCH]
            asked = np.full((len(part), len(rows[part[-1]])), NO_ROW)
            for place, i in enumerate(part):
                asked[place, : len(rows[i])] = rows[i]
            tensors = batch_of(judge.generator, [prompted[i] for i in part], to=8)
            sums = score_candidates(judge.generator, judge.trie, tensors, asked).astype(np.float64)
            for place, i in enumerate(part):
                found[i] = sums[place, : len(rows[i])]
    return found


def accuracy(near: Floats, first: dict[str, NDArray[np.bool_]]) -> list[dict[str, Any]]:
    """Figure 4: by bins of the cosine with the most similar right name, which first names are right.

    Args:
        near: that cosine of each mention.
        first: by model, whether its first name is right.
    """
    was, now = (first[name] for name in MODELS)
    return [
        {
            "bin": label,
            "mentions": int(which.sum()),
            **{name: int(first[name][which].sum()) for name in MODELS},
            "fixed": int((which & ~was & now).sum()),
            "broken": int((which & was & ~now).sum()),
        }
        for label, which in binned(near, BINS["accuracy"])
    ]


def margins(
    asked: Asked, wrong: Sequence[Sequence[int]], judges: dict[str, Judge], similar: TfidfSimilarity
) -> list[dict[str, Any]]:
    """Figure 3: by bins of a wrong name's cosine with its mention, log p of the best right name less its own.

    Names that cannot be written are left out.
    """
    dictionary, names = (
        judges[MODELS[0]].dictionary,
        [[*own, *other] for own, other in zip(asked.rights, wrong, strict=True)],
    )
    of = {}
    for model, judge in judges.items():
        each = zip(scores(judge, asked.items, names), asked.rights, strict=True)
        of[model] = np.concatenate([sums[: len(own)].max() - sums[len(own) :] for sums, own in each])
    cosines = np.concatenate([cosines_of(dictionary, similar, *each) for each in zip(asked.items, wrong, strict=True)])
    there = np.logical_and.reduce([np.isfinite(each) for each in of.values()])
    return [
        {"bin": label, "pairs": int(which.sum()), **{model: told(each[there][which]) for model, each in of.items()}}
        for label, which in binned(cosines[there], BINS["margins"])
    ]


def told(margin: Floats) -> dict[str, float]:
    """The mean of margins, and the share of those that the wrong name wins; nothing of none."""
    if not len(margin):
        return {}
    return {"mean": round(float(margin.mean()), 3), "lost": round(float((margin < 0).mean()), 4)}


def binned(values: Floats, many: int) -> list[tuple[str, NDArray[np.bool_]]]:
    """Bins of equal width from 0 to 1, which is in the last one, by name; which values are in each."""
    place = np.clip((values * many).astype(np.int64), 0, many - 1)
    return [(f"{i / many:.1f}-{(i + 1) / many:.1f}", place == i) for i in range(many)]


if __name__ == "__main__":
    main()
