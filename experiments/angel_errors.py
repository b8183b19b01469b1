"""Which mentions a training has made right, and which wrong, by what is known of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from angel_ranking import Ranking, standing
from generative_eval import Item
from numpy.typing import NDArray

from nomina.linkers.base import NO_ROW
from nomina.text import normalise
from nomina.training.preference.pairs import Pairs

Told = dict[str, str]
"""Of a mention: what it is, by question."""
MOST = 8
"""Texts that are shown as cases."""
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
    flips = _flips(before, after)
    kinds: dict[str, dict[str, Any]] = {}
    for question in told[0] if told else ():
        answers = np.array([one[question] for one in told])
        kinds[question] = {
            answer: {name: int((which & (answers == answer)).sum()) for name, which in flips.items()}
            for answer in sorted(set(answers.tolist()))
        }
    return {"all": counts(before, after), "kinds": kinds}


def counts(before: Ranking, after: Ranking) -> dict[str, int]:
    """How many mentions were right, became right or wrong at 1, left or came among the five."""
    return {name: int(which.sum()) for name, which in _flips(before, after).items()}


def _flips(before: Ranking, after: Ranking) -> dict[str, NDArray[np.bool_]]:
    was, now = (standing(one) for one in (before, after))
    return {
        "mentions": np.ones(len(was), np.bool_),
        "right": was == 0,
        "fixed": (was != 0) & (now == 0),
        "broken": (was == 0) & (now != 0),
        "lost": (was >= 0) & (now < 0),
        "found": (was < 0) & (now >= 0),
    }


def cases(items: Sequence[Item], before: Ranking, after: Ranking, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Of mentions that became right or wrong: how many different texts, and the most frequent with their names.

    Args:
        items: the mentions.
        before: what is ranked for them before.
        after: what is ranked for them now.
        names: all of the dictionary.
    """
    flips, rows = _flips(before, after), np.stack([before.rows[:, 0], after.rows[:, 0]], 1)
    found = {}
    for kind in ("fixed", "broken"):
        each = [
            (items[i].parts.mention.lower(), *("" if row == NO_ROW else names[row] for row in rows[i].tolist()))
            for i in np.flatnonzero(flips[kind]).tolist()
        ]
        most = [
            {"mention": mention, "was": was, "is": now, "count": count}
            for (mention, was, now), count in Counter(each).most_common(MOST)
        ]
        found[kind] = {"texts": len({mention for mention, _, _ in each}), "most": most}
    return found


def winners(before: Ranking, after: Ranking, pairs: Pairs) -> dict[str, dict[str, int]]:
    """Which part the name that now stands first has in pairs, of mentions that became right or wrong."""
    was, now = (standing(one) == 0 for one in (before, after))
    return {
        name: dict(sorted(Counter(_part(row, pairs) for row in after.rows[which, 0].tolist()).items()))
        for name, which in (("fixed", ~was & now), ("broken", was & ~now))
    }
