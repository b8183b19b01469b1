"""GSC+ (mention level) and JAX (document level) phenotype annotations, and how they are scored."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

Span = tuple[int, int]
Links = set[tuple[Span, str]]


def read_gsc(path: Path) -> tuple[dict[str, str], dict[str, Links]]:
    """Texts and gold links by document: blocks of id, text and ``start end surface id`` lines, split by empty lines."""
    texts: dict[str, str] = {}
    gold: dict[str, Links] = {}
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        name, text, *rows = block.split("\n")
        texts[name] = text
        gold[name] = set()
        for row in filter(None, rows):
            start, end, _, concept = row.split("\t")
            gold[name].add(((int(start), int(end)), concept.strip()))
    return texts, gold


def read_jax(folder: Path) -> tuple[dict[str, str], dict[str, set[str]]]:
    """Texts and gold concept sets by document."""
    gold = json.loads((folder / "JAX_gold.json").read_text(encoding="utf-8"))
    texts = {p.stem: p.read_text(encoding="utf-8") for p in sorted((folder / "txt").glob("*.txt")) if p.stem in gold}
    return texts, {name: set(gold[name]) for name in texts}


def prf(gold: Iterable[object], found: Iterable[object]) -> dict[str, float]:
    """Precision, recall and F1 in percent of two sets, with their counts."""
    gold, found = set(gold), set(found)
    hits = len(gold & found)
    precision = hits / len(found) if found else 0.0
    recall = hits / len(gold) if gold else 0.0
    f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
    return {
        "precision": round(100 * precision, 2),
        "recall": round(100 * recall, 2),
        "f1": round(100 * f1, 2),
        "gold": len(gold),
        "found": len(found),
    }


def mention_level(gold: Mapping[str, Links], found: Mapping[str, Links]) -> dict[str, float]:
    """Strict: span (from the first to the last character) and id must be right."""
    return prf(
        ((d, span, c) for d in gold for span, c in gold[d]), ((d, span, c) for d in gold for span, c in found[d])
    )


def document_level(gold: Mapping[str, set[str]], found: Mapping[str, Links]) -> dict[str, float]:
    """Sets of ids, pooled over documents."""
    return prf(((d, c) for d in gold for c in gold[d]), ((d, c) for d in gold for _, c in found[d]))


def concepts(links: Mapping[str, Links], live: Callable[[str], str | None]) -> dict[str, set[str]]:
    """Ids by document, retired ones replaced."""
    return {d: {live(c) or c for _, c in rows} for d, rows in links.items()}
