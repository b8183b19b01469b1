"""Probes of what an encoder makes of the order of words (ResCNN paper, section 2.2, tables 1 and 2)."""

from __future__ import annotations

import random


def shuffled(text: str, n: int, seed: int | str = 0) -> str:
    """The text's n-grams of words in a random order.

    Words are what white space parts; they are taken n by n from the left, so the last n-gram may be shorter; within
    an n-gram the order stays. The order depends on text, n and seed alone. Mentions and names need different seeds:
    with one, a mention that equals a name would be put in the very same order as the name.

    Args:
        text: A mention or a name.
        n: Words that stay together: 1, 2 or 3 in the paper.
        seed: Of the order.
    """
    words = text.split()
    grams = [words[i : i + n] for i in range(0, len(words), n)]
    random.Random(f"{seed} {n} {text}").shuffle(grams)
    return " ".join(word for gram in grams for word in gram)
