"""What fine-tuned generators get wrong on development mentions, a sample of it sorted by kind.

    python experiments/generative_errors.py link --data DATA --models WORK --of ncbi=ft-ncbi-long-0 aap-0=... bc5cdr=...
    python experiments/generative_errors.py sort

``link``: mentions without their texts, all names of the dictionary without mentions, 5 beams. Of the distinct pairs of
mention and gold whose first name is wrong ``SAMPLE`` in all are drawn, as many of each corpus; they are written to
``results/generative_errors.json``. ``sort`` adds the kinds that a reader gave them, in ``generative_error_kinds.tsv``
(corpus, mention, kind); ``RESULTS.md`` counts them.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from common import RESULTS, ROOT, parser, record
from generative_eval import Dictionary, Item, Judge, items

from nomina import generation
from nomina.files import atomic
from nomina.generation.prompt import Parts, Prompt
from nomina.text import normalise

KINDS = ROOT / "experiments" / "generative_error_kinds.tsv"
FILE = RESULTS / "generative_errors.json"
SAMPLE, SEED, BEAMS, BATCH = 100, 0, 5, 64


def main() -> None:
    """Link or sort."""
    options = parser(__doc__)
    options.add_argument("what", choices=["link", "sort"])
    options.add_argument("--data", type=Path)
    options.add_argument("--models", type=Path)
    options.add_argument("--of", nargs="*", default=[], help="corpus=model")
    arguments = options.parse_args()
    if arguments.what == "link":
        link(arguments)
    else:
        sort()


def link(arguments: Any) -> None:  # noqa: ANN401
    """Ask each model, draw, record."""
    found, wrong = {}, {}
    for corpus, _, model in (each.partition("=") for each in arguments.of):
        dictionary = Dictionary.read(arguments.data, corpus)
        asked = items(arguments.data, corpus, "dev")
        seen = {normalise(item.parts.mention) for item in items(arguments.data, corpus, "train")}
        cases, right = errors(arguments.models / model, dictionary, asked, seen)
        found[corpus] = {"model": model, "mentions": len(asked), "right": right, "distinct_errors": len(cases)}
        wrong[corpus] = cases
        print(corpus, found[corpus], flush=True)
    rng = random.Random(SEED)
    drawn = []
    for place, (corpus, cases) in enumerate(sorted(wrong.items())):
        share = SAMPLE // len(wrong) + (place < SAMPLE % len(wrong))
        chosen = rng.sample(sorted(cases, key=lambda case: (case["mention"], case["gold"])), min(share, len(cases)))
        drawn += [{"corpus": corpus, **case} for case in chosen]
    record("generative_errors", {"corpora": found, "errors": drawn}, seed=SEED)


def errors(model: Path, dictionary: Dictionary, asked: list[Item], seen: set[str]) -> tuple[list[dict[str, Any]], int]:
    """The distinct pairs of mention and gold that a model gets wrong, and how many mentions it gets right."""
    generator = generation.load(model)
    generator.module.to("cuda" if torch.cuda.is_available() else "cpu")
    judge = Judge(generator, dictionary, asked)
    texts = [Parts("", item.parts.mention, "") for item in asked]
    distinct = list(dict.fromkeys(texts))
    best = dict(zip(distinct, judge.best(Prompt.of(generator, context=False), distinct, BEAMS, BATCH), strict=True))
    cases: dict[tuple[str, frozenset[str]], dict[str, Any]] = {}
    right = 0
    for item, text in zip(asked, texts, strict=True):
        hits = [any(dictionary.ids[row] & item.gold for row in rows) for rows in best[text]]
        if hits[:1] == [True]:
            right += 1
            continue
        names = [dictionary.concepts.texts[row] for row in _rows(dictionary, item)]
        case = {
            "mention": item.parts.mention,
            "gold": sorted(item.gold),
            "gold_names": names[:4],
            "answers": [dictionary.texts[rows[0]] for rows in best[text][:3]],
            "place": hits.index(True) + 1 if True in hits else None,
            "seen": normalise(item.parts.mention) in seen,
        }
        cases.setdefault((item.parts.mention, item.gold), {**case, "count": 0})["count"] += 1
    return list(cases.values()), right


def _rows(dictionary: Dictionary, item: Item) -> list[int]:
    """The names of the concepts that are right."""
    wanted = set(dictionary.numbers(item.gold).tolist())
    concepts = dictionary.concepts
    return [
        row for number, row in zip(concepts.concept.tolist(), concepts.row.tolist(), strict=True) if number in wanted
    ]


def sort() -> None:
    """Add the kinds to the file."""
    lines = KINDS.read_text(encoding="utf-8").splitlines()[1:]
    kinds = {(corpus, mention): kind for corpus, mention, kind in (line.split("\t") for line in lines)}
    result = json.loads(FILE.read_text(encoding="utf-8"))
    for case in result["metrics"]["errors"]:
        case["kind"] = kinds[case["corpus"], case["mention"]]
    with atomic(FILE) as temporary:
        temporary.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(Counter(case["kind"] for case in result["metrics"]["errors"]))


if __name__ == "__main__":
    main()
