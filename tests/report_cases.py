"""A made evaluation report for the tests of its renderings: three systems, every part present, known figures."""

import json
import random
from typing import Any

from nomina.evaluation.shape import Report

HOSTILE = '</script><img src="https://example.invalid/x.png" onerror="window.hacked=1"><b>bold</b> & "quoted" | pipe'
GENBIOEL = "overall|single word|multi-word|unseen mention|unseen concept|not direct match|top 100 concepts"
GROUPS = {
    "genbioel": GENBIOEL.split("|"),
    "seen": ["seen mention", "seen concept, new mention", "unseen concept"],
    "similarity": ["0.0-0.2", "0.2-0.4", "0.4-0.6", "0.6-0.8", "0.8-1.0"],
    "name": ["homonym"],
    "form": ["abbreviation", "composite"],
    "length": ["1 word", "2 words", "3 words", "4 words", "5 words or more"],
    "type": ["Disease", "Chemical"],
}
SYSTEMS = {"resnet-cnn": 0.8412, "exact match": 0.6, "train look-up": 0.512, "TF-IDF 3-grams": 0.7594}


def report(values: dict[str, Any]) -> Report:
    """What JSON of these values holds."""
    return Report.from_json(json.dumps(values))


def made_values(errors: int = 45) -> dict[str, Any]:
    """The report as JSON values, with so many errors."""
    rng = random.Random(0)
    return {
        "version": 1,
        "protocol": "clean-kb",
        "corpus": {
            "path": "corpora/ncbi/test.pubtator",
            "documents": 100,
            "mentions": 960,
            "nil": 12,
            "distinct_pairs": 352,
            "coverage": {
                "in_kb": 0.9875,
                "by_rule": {"itself": 900, "prefix removed": 48, "unknown": 12},
                "warning": None,
            },
        },
        "kb": {"name": "MEDIC", "fingerprint": "5d1f0c2a", "concepts": 11915, "names": 71924},
        "train": {"path": "corpora/ncbi/train.pubtator", "documents": 500, "mentions": 5134},
        "dropped": {"overlapping": 3},
        "missing": 2,
        "warnings": ["2 of 960 mentions have no prediction: they count as wrong"],
        "systems": [_system(rng, name, value) for name, value in SYSTEMS.items()],
        "comparisons": _comparisons(),
        "errors": [_error(rng, i) for i in range(errors)],
        "errors_total": errors,
        "made": {
            "command": "nomina evaluate out.jsonl --gold test.pubtator",
            "versions": {"nomina": "0.3"},
            "seed": 13,
        },
    }


def _system(rng: random.Random, name: str, value: float) -> dict[str, Any]:
    metrics = {
        "any": {"1": value, "5": min(1.0, value + 0.08), "10": min(1.0, value + 0.1), "20": min(1.0, value + 0.12)},
        "strict": {"1": value - 0.02, "5": value + 0.07, "10": value + 0.09, "20": value + 0.11},
        "expected": {"1": value - 0.01, "5": value + 0.07, "10": value + 0.09, "20": value + 0.11},
    }
    return {
        "name": name,
        "missing": 2 if name == "resnet-cnn" else 0,
        "primary": {"metric": "acc@1 any", "value": value, "interval": [value - 0.031, value + 0.029]},
        "metrics": {**metrics, "mrr": value + 0.03, "distinct": value - 0.1, "answered": value - 0.05},
        "intervals": {
            "any@1": [value - 0.031, value + 0.029],
            "strict@1": [value - 0.05, value + 0.01],
            "any@5": [value + 0.05, value + 0.1],
        },
        "nil": {"gold": 12, "predicted": 20, "precision": 0.4, "recall": 0.6667, "f1": 0.5},
        "risk_coverage": [[i / 400, (1 - value) * (i / 400) ** 2] for i in range(1, 401)],
        "aurc": (1 - value) / 3,
        "reliability": [[(i + 0.5) / 10, (i + 0.5) / 10 * value + 0.08, 20 + 17 * i] for i in range(10)],
        "end_to_end": None,
        "strata": [_stratum(rng, group, part, value) for group, parts in GROUPS.items() for part in parts],
    }


def _stratum(rng: random.Random, group: str, name: str, value: float) -> dict[str, Any]:
    share = min(0.99, max(0.02, value + rng.uniform(-0.3, 0.12)))
    half = rng.uniform(0.01, 0.12)
    count = 960 if name == "overall" else 40 + 7 * len(name)
    bounds = [max(0.0, share - half), min(1.0, share + half)]
    return {"group": group, "name": name, "count": count, "value": share, "interval": bounds}


def _comparisons() -> list[dict[str, Any]]:
    return [
        {
            "a": "resnet-cnn",
            "b": other,
            "difference": SYSTEMS["resnet-cnn"] - SYSTEMS[other],
            "interval": [SYSTEMS["resnet-cnn"] - SYSTEMS[other] - 0.02, SYSTEMS["resnet-cnn"] - SYSTEMS[other] + 0.02],
            "p_bootstrap": 0.001,
            "p_mcnemar": 0.00004,
            "p_mcnemar_holm": 0.0123,
            "angel": {"t": 40.2, "p": 1e-60},
            "only_a": 140,
            "only_b": 12,
        }
        for other in ("exact match", "TF-IDF 3-grams")
    ]


MENTIONS = ["colon tumours", "APC", "hereditary nonpolyposis colorectal cancer", "MI", "inherited breast cancer"]
BEFORE = "Germline mutations were found in families in which several members had "
AFTER = ", which suggests that the gene acts early; the same was seen in sporadic cases of the disease."


def _error(rng: random.Random, i: int) -> dict[str, Any]:
    mention = MENTIONS[i % 5] if i < 40 else f"{MENTIONS[i % 5]} {i}"
    kind = ("wrong", "wrong", "wrong", "abstained", "missing")[i // 5 % 5]
    rank = (2, 4, None)[i % 3] if kind == "wrong" else None
    count = 0 if kind == "missing" else 5
    start = rng.randrange(2000)
    return {
        "document_id": str(9000000 + i // 4),
        "start": start,
        "end": start + len(mention),
        "mention": mention,
        "context_before": BEFORE,
        "context_after": AFTER,
        "gold": [[{"id": f"D{i:06}", "name": "Colonic Neoplasms"}]],
        "candidates": [_candidate(i, place, place + 1 == rank) for place in range(count)],
        "kind": kind,
        "rank_of_gold": rank,
        "strata": ["overall", ("single word", "multi-word")[i % 2], ("Disease", "Chemical")[i % 5 == 3]],
    }


def _candidate(i: int, place: int, right: bool) -> dict[str, Any]:
    return {
        "id": f"D{i:06}" if right else f"D9{place:05}",
        "preferred": "Colonic Neoplasms" if right else f"Colorectal Neoplasms, type {place + 1}",
        "name": "colon tumor" if right else f"colorectal tumor {place + 1}",
        "score": round(0.93 - 0.07 * place, 6),
        "rank": place + 1,
        "rule": "embedding",
    }


def hostile_values() -> dict[str, Any]:
    """Markup in every text that a corpus, a KB or a command line can bring."""
    report = made_values(3)
    report["corpus"]["path"] = HOSTILE
    report["corpus"]["coverage"]["warning"] = HOSTILE
    report["systems"][0]["name"] = HOSTILE
    report["comparisons"][0]["a"] = HOSTILE
    report["dropped"] = {HOSTILE: 1}
    report["kb"]["name"] = HOSTILE
    report["made"]["command"] = HOSTILE
    for system in report["systems"]:
        system["strata"].append({"group": "type", "name": HOSTILE, "count": 5, "value": 0.5, "interval": [0.1, 0.9]})
    first = report["errors"][0]
    first |= {
        "kind": "wrong",
        "mention": HOSTILE,
        "context_before": HOSTILE,
        "context_after": HOSTILE,
        "document_id": HOSTILE,
    }
    first["gold"] = [[{"id": HOSTILE, "name": HOSTILE}]]
    first["strata"] = ["overall", HOSTILE]
    first["candidates"] = [{**_candidate(0, 0, False), "id": HOSTILE, "preferred": HOSTILE, "name": HOSTILE}]
    return report
