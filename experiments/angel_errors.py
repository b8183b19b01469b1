"""Which mentions a training has made right, and which wrong, by what is known of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from angel_ranking import Ranking, standing
from generative_eval import Item

from nomina.text import normalise
from nomina.training.preference.pairs import Pairs

Told = dict[str, str]
"""Of a mention: what it is, by question."""
NEAR = {0: "first", -1: "not among the five"}


def told_of(items: Sequence[Item], ranking: Ranking, train: Sequence[Item], pairs: Pairs) -> list[Told]:
    """What is known of mentions before the training.

    Args:
        items: the mentions.
        ranking: what is ranked for them before.
        train: all training mentions.
        pairs: what is learnt from.
    """
    texts = {normalise(item.parts.mention) for item in train}
    ids = {id for item in train for id in item.gold}
    found = []
    for item, place, row in zip(items, standing(ranking).tolist(), ranking.rows[:, 0].tolist(), strict=True):
        seen = "mention seen" if normalise(item.parts.mention) in texts else "mention new"
        concept = "concept seen" if item.gold & ids else "concept new"
        near = NEAR.get(place, "among the five")
        found.append({"training": f"{concept}, {seen}", "right name": near, "first name": _part(row, pairs)})
    return found


def _part(row: int, pairs: Pairs) -> str:
    """Which part a name has in pairs."""
    chosen, rejected = bool((pairs.chosen == row).any()), bool((pairs.rejected == row).any())
    return {(True, True): "in both", (True, False): "chosen in pairs", (False, True): "rejected in pairs"}.get(
        (chosen, rejected), "in no pair"
    )


def changed(before: Ranking, after: Ranking, told: Sequence[Told]) -> dict[str, Any]:
    """How many mentions were right, are, became right or wrong; at 1 and among the five, and by what is known."""
    was, now = (standing(one) for one in (before, after))
    flips = {
        "mentions": np.ones(len(was), np.bool_),
        "right": was == 0,
        "fixed": (was != 0) & (now == 0),
        "broken": (was == 0) & (now != 0),
        "lost": (was >= 0) & (now < 0),
        "found": (was < 0) & (now >= 0),
    }
    kinds: dict[str, dict[str, Any]] = {}
    for question in told[0] if told else ():
        answers = np.array([one[question] for one in told])
        kinds[question] = {
            answer: {name: int((which & (answers == answer)).sum()) for name, which in flips.items()}
            for answer in sorted(set(answers.tolist()))
        }
    return {"all": {name: int(which.sum()) for name, which in flips.items()}, "kinds": kinds}


def winners(before: Ranking, after: Ranking, pairs: Pairs) -> dict[str, dict[str, int]]:
    """Which part the name that now stands first has in pairs, of mentions that became right or wrong."""
    was, now = (standing(one) == 0 for one in (before, after))
    return {
        name: dict(sorted(Counter(_part(row, pairs) for row in after.rows[which, 0].tolist()).items()))
        for name, which in (("fixed", ~was & now), ("broken", was & ~now))
    }
