"""One name for each model, in all tables of ``RESULTS.md``."""

from __future__ import annotations

BERTS = {
    "raw": "MiniLM",
    "aligned": "MiniLM, self-aligned (plain)",
    "mini": "sapbert-mini (distilled from MiniLM and its self-aligned self)",
    "mpnet": "MPNet",
    "mpnet-aligned": "MPNet, self-aligned (plain)",
}
"""By base of ``fine_tune.py``. ``aligned``: the mean of the weights of two self-alignments, ``ms`` and
``infonce-hard``."""
RESCNNS = {
    "fresh-attention": "ResCNN, attention pooling, fresh",
    "attention": "ResCNN, attention pooling, distilled (embedded default)",
    "attention-averaged": "ResCNN, attention pooling, distilled from averaged weights",
    "fresh-max": "ResCNN, max pooling, fresh",
    "max": "ResCNN, max pooling, distilled from averaged weights",
}
"""Averaged weights: the mean of those of MiniLM and of its self-aligned self (``base+recipe``), as the teacher."""
ENCODERS = BERTS | RESCNNS
AVERAGED = "final"
"""The plan whose ``attention`` is the ResCNN that was distilled first, from averaged weights."""
DEFAULT = "embedded default (its ResCNN behind the dictionary)"
MINI_TIERS = "sapbert-mini, behind the dictionary"
TUNED = f"{RESCNNS['attention-averaged']}, fine-tuned on clean-kb"
LOSSES = {
    "ms": "multi-similarity (SapBERT)",
    "marginal": "share of the nearest",
    "biosyn": "share, learnt weight (BioSyn)",
}
SCORES = {"dense": "encoder alone", "ngram": "and a share of the 3-gram cosine", "learnt": "and the learnt share of it"}
CHEMICALS = {"bc5cdr-c": "BC5CDR-c, MeSH dictionary", "bc5cdr-c-ctd": "BC5CDR-c, CTD dictionary"}
"""Ours, and that of the papers, which is not to be had."""


def encoder(base: str, plan: str) -> str:
    """The key in ``ENCODERS`` of a plan's base."""
    return "attention-averaged" if plan == AVERAGED and base == "attention" else base


def at_start(chosen: int, runs: int) -> str:
    """The mark of a figure: of so many runs the development set chose epoch 0, the weights not trained, for some."""
    if not chosen:
        return ""
    return " =" if chosen == runs else f" ={chosen}/{runs}"
