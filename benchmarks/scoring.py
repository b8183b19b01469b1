"""How long scoring 100,000 predictions takes, and of what it is made.

``python benchmarks/scoring.py`` makes predictions and gold (5,000 documents of 20 mentions, 5 and 20 candidates each,
every tenth with ties, every fiftieth mention of two concepts) and writes ``benchmarks/results/scoring.json``: seconds
of the whole ``nomina evaluate`` (reading, scoring, 2,000 bootstrap samples, 2,000 mistakes, JSON), and of each step.
Steps are in CPU seconds, because others use the machine too; ``to_json`` is a step as a multiple of what ``json.loads``
takes for the same lines.
"""

from __future__ import annotations

import gc
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import TypeVar

from startup import ROOT, commit, figures, machine, run

from nomina.corpora import read_corpus
from nomina.evaluation.figures import system
from nomina.evaluation.ids import IdMap
from nomina.evaluation.match import pair
from nomina.evaluation.outcome import outcome
from nomina.evaluation.strata import strata
from nomina.output import read_predictions, write_jsonl
from nomina.types import Candidate, Document, Mention, Prediction

RESULT = ROOT / "benchmarks/results/scoring.json"
DOCUMENTS, MENTIONS, CONCEPTS = 5_000, 20, 30_000
DEPTHS = (5, 20)
REPEAT = 3
SEED = 0

Made = TypeVar("Made")


def documents() -> Iterator[Document]:
    """Gold."""
    random.seed(SEED)
    text = "a mention " * MENTIONS
    for number in range(DOCUMENTS):
        mentions = [_mention(place * 10) for place in range(MENTIONS)]
        yield Document(str(number), text, tuple(mentions))


def _mention(start: int) -> Mention:
    parts = 2 if random.random() < 0.02 else 1
    return Mention(((start, start + 9),), "a mention", "Disease", tuple((_id(),) for _ in range(parts)))


def _id() -> str:
    return f"D{random.randrange(CONCEPTS):06}"


def predictions(gold: list[Document], depth: int) -> Iterator[Prediction]:
    """Right in three of four cases, most often at the first place."""
    random.seed(SEED + depth)
    for document in gold:
        for mention in document.mentions:
            ids = list(dict.fromkeys(_id() for _ in range(depth)))
            if random.random() < 0.75:
                ids[min(int(random.expovariate(1)), len(ids) - 1)] = mention.gold[0][0]
            tied = random.random() < 0.1
            candidates = [
                Candidate(id, f"Preferred {id}", f"name of {id}", 1 / (i + 1), i - i % 2 * tied + 1, "tfidf", i)
                for i, id in enumerate(ids)
            ]
            yield Prediction(document.id, mention, tuple(candidates))


def seconds(work: Callable[[], Made]) -> tuple[float, Made]:
    """The least CPU seconds of some runs, and what the last one made."""
    taken = []
    for _ in range(REPEAT):
        gc.collect()
        start = time.process_time()
        made = work()
        taken.append(time.process_time() - start)
    return min(taken), made


def measure(folder: Path, depth: int) -> dict[str, object]:
    """The whole command, and its steps."""
    gold_file, file = folder / "gold.jsonl", folder / f"{depth}.jsonl"
    gold = list(documents())
    with open(gold_file, "w", encoding="utf-8") as stream:
        for document in gold:
            mentions = [{"spans": m.spans, "text": m.text, "type": m.type, "gold": m.gold} for m in document.mentions]
            stream.write(json.dumps({"id": document.id, "text": document.text, "mentions": mentions}) + "\n")
    with open(file, "w", encoding="utf-8") as stream:
        write_jsonl(predictions(gold, depth), stream)
    command = [sys.executable, "-m", "nomina", "evaluate", file, "--gold", gold_file, "-o", folder / "report.json"]
    whole = figures([run(*command) for _ in range(REPEAT)])
    return {"megabytes": round(file.stat().st_size / 1e6), "whole_command": whole, "steps": steps(gold_file, file)}


def steps(gold_file: Path, file: Path) -> dict[str, dict[str, float]]:
    """CPU seconds of each step."""
    lines = file.read_text(encoding="utf-8").splitlines()
    gc.disable()  # as while predictions are read
    parsing, _ = seconds(lambda: sum(1 for line in lines if json.loads(line)))
    read_gold, gold = seconds(lambda: list(read_corpus(gold_file)))
    ids = IdMap()
    read, paired = seconds(lambda: pair(gold, read_predictions(file), ids))
    judge, found = seconds(lambda: outcome(paired.items, ids, "concept"))
    group, groups = seconds(lambda: strata(paired.items, documents=gold))
    count, _ = seconds(lambda: system("system", found, paired.items, "strict", groups))
    gc.enable()
    taken = {"read_gold": read_gold, "read_and_pair": read, "judge": judge, "strata": group, "figures": count}
    return {name: {"cpu_seconds": round(s, 2), "to_json": round(s / parsing, 2)} for name, s in taken.items()}


def main() -> None:
    """Measure, print and write the figures."""
    versions = {name: metadata.version(name) for name in ("numpy", "pydantic")}
    with tempfile.TemporaryDirectory() as folder:
        found = {f"{depth}_candidates": measure(Path(folder), depth) for depth in DEPTHS}
    size = {"predictions": DOCUMENTS * MENTIONS, "documents": DOCUMENTS}
    report = {"machine": machine(), "versions": versions, "commit": commit(), "size": size, "figures": found}
    text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
