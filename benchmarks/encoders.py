"""Encoders on a CPU: names a second on two threads, and linking NCBI disease test with the encoding of its dictionary.

``python benchmarks/encoders.py MINILM [DATA] [--sample N] [--rounds N] [--most N] [--output FILE]`` takes the folder of
all-MiniLM-L6-v2 and the benchmark data (by default ``../shared/benchmarks``) and writes
``benchmarks/results/encoders.json``. It needs the extra ``train``, onnx and onnxscript.

Encoders: ResCNN of the paper's size (768-wide embeddings, four blocks of 256) and a BERT-base, both with random
weights, on which speed does not depend; MiniLM; the encoder that nomina comes with. All have the same word pieces and
get the same names in batches of 64. Settings:

- ``bucketed``: ``Encoder.encode``: names of like length share a batch, which is as wide as its longest name.
- ``padded``: names in the order given, every one padded to 25 tokens, ResCNN and BERT-base by the same library, which
  is how the paper's figures (table 4: 16 to 21 times as fast on a CPU) are most likely made.

Tokenising is part of every time. A sample of the dictionary goes through all encoders in turn, in several rounds; a
figure is the median. The machine's other users slow both sides of a ratio; CPU seconds are given too. ``linking`` is
the whole of the test set: all names of its dictionary encoded (BERT-base: its time for the sample, scaled up, and
marked so), the mentions encoded, and the ten nearest names of each found by exact search.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from startup import ROOT, commit, machine

from nomina.arrays import read
from nomina.encoders.base import Encoder, TrainableEncoder
from nomina.encoders.bert import BertEncoder
from nomina.encoders.export import export
from nomina.encoders.onnx import MODEL, OnnxEncoder, session
from nomina.encoders.rescnn import ResCnnEncoder
from nomina.index.exact import ExactIndex

RESULT = ROOT / "benchmarks/results/encoders.json"
OWN = ROOT / "src/nomina/data/encoder"
NCBI = "ncbi-disease/biosyn"
THREADS, BATCH, LENGTH, K, SEED = 2, 64, 25, 10, 0
RATIOS = {
    "bucketed": (
        ("rescnn onnx", "bert-base torch"),
        ("rescnn torch", "bert-base torch"),
        ("own onnx", "bert-base torch"),
    ),
    "padded": (("rescnn torch", "bert-base torch"), ("rescnn onnx", "bert-base onnx")),
}
"""Of names a second: the first encoder's to the second's."""

Vectors = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Vectors]
Tokens = tuple[NDArray[np.int64], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Made:
    """An encoder under its name, with what runs it on padded tokens."""

    name: str
    encoder: Encoder
    run: Callable[[list[Tokens]], list[Vectors]]

    def bucketed(self, texts: Sequence[str]) -> Vectors:
        """As nomina does it."""
        return self.encoder.encode(texts, BATCH)

    def padded(self, texts: Sequence[str]) -> Vectors:
        """As the paper does it."""
        maker: Any = self.encoder
        encodings = maker.tokenizer.encode_batch_fast(list(texts), add_special_tokens=maker.special_tokens)
        ids = np.full((len(texts), LENGTH), maker.pad_id, np.int64)
        mask = np.zeros(ids.shape, bool)
        for i, row in enumerate(encoding.ids or [maker.pad_id] for encoding in encodings):
            ids[i, : len(row)], mask[i, : len(row)] = row, True
        batches = [slice(start, start + BATCH) for start in range(0, len(texts), BATCH)]
        return np.concatenate(self.run([(ids[batch], mask[batch]) for batch in batches]))


def in_torch(name: str, encoder: TrainableEncoder) -> Made:
    """An encoder run by torch, whose threads share a batch."""

    def run(batches: list[Tokens]) -> list[Vectors]:
        with torch.inference_mode():
            return [encoder.module(torch.from_numpy(ids), torch.from_numpy(mask)).numpy() for ids, mask in batches]

    return Made(f"{name} torch", encoder, run)


def in_onnx(name: str, folder: Path) -> Made:
    """An exported encoder run by onnxruntime, a batch a thread, as ``OnnxEncoder`` does it."""
    runner = session(folder / MODEL, 1)

    def run(batches: list[Tokens]) -> list[Vectors]:
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(lambda batch: runner.run(None, {"ids": batch[0], "mask": batch[1]})[0], batches))

    return Made(f"{name} onnx", OnnxEncoder(folder, THREADS), run)


def encoders(minilm: Path, scratch: Path, sample: Sequence[str]) -> list[Made]:
    """All encoders; what is not there is made in a folder."""
    torch.manual_seed(SEED)
    bert = scratch / "bert-base"
    transformers.BertModel(transformers.BertConfig()).save_pretrained(bert)
    for file in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
        if (minilm / file).exists():
            shutil.copy(minilm / file, bert / file)
    trained = {"bert-base": BertEncoder(bert), "minilm": BertEncoder(minilm, "mean")}
    words = torch.randn(transformers.BertConfig().vocab_size, transformers.BertConfig().hidden_size)
    networks: dict[str, TrainableEncoder] = {"rescnn": ResCnnEncoder(words, trained["minilm"].tokenizer), **trained}
    for name, network in networks.items():
        export(network, scratch / f"{name}-onnx", sample, weights="float32")
    exported = [in_onnx(name, scratch / f"{name}-onnx") for name in networks]
    own = [in_onnx("own", OWN)] if OWN.is_dir() else []
    return [*own, *exported, *(in_torch(name, network) for name, network in networks.items())]


def measured(makers: Sequence[Made], setting: str, sample: Sequence[str], rounds: int) -> dict[str, dict[str, Any]]:
    """Names a second of every encoder, one after the other in each round."""
    taken: dict[str, list[tuple[float, float]]] = {made.name: [] for made in makers}
    for made in makers:
        getattr(made, setting)(sample[:BATCH])
    for _ in range(rounds):
        for made in makers:
            wall, cpu = time.perf_counter(), time.process_time()
            getattr(made, setting)(sample)
            taken[made.name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return {name: speed(len(sample), times) for name, times in taken.items()}


def speed(names: int, times: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Medians, and the seconds of each round."""
    wall, cpu = (statistics.median(column) for column in zip(*times, strict=True))
    return {
        "names_a_second": round(names / wall, 1),
        "names_a_cpu_second": round(names / cpu, 1),
        "seconds": [round(seconds, 2) for seconds, _ in times],
    }


def ratios(setting: str, speeds: dict[str, dict[str, Any]]) -> dict[str, dict[str, float]]:
    """How many times as fast one encoder is as another, by the clock and by CPU time."""
    kinds = {"by_clock": "names_a_second", "by_cpu": "names_a_cpu_second"}
    return {
        f"{one} / {other}": {kind: round(speeds[one][key] / speeds[other][key], 1) for kind, key in kinds.items()}
        for one, other in RATIOS[setting]
    }


def check(makers: Sequence[Made], sample: Sequence[str]) -> None:
    """Both settings must give the same vectors: otherwise their times say nothing."""
    for made in makers:
        apart = np.abs(made.bucketed(sample) - made.padded(sample)).max()
        if apart > 1e-5:
            raise SystemExit(f"{made.name}: padding changes a vector by {apart}")


def linking(made: Made, setting: str, names: Sequence[str], mentions: Sequence[str], sampled: int) -> dict[str, Any]:
    """Seconds of all work on a test set; of a sample of the names only, and scaled up, where ``sampled`` is not 0."""
    encode: Encode = getattr(made, setting)
    start = time.perf_counter()
    vectors = encode(names[:sampled] if sampled else names)
    encoding = (time.perf_counter() - start) * (len(names) / sampled if sampled else 1)
    start = time.perf_counter()
    queries = encode(mentions)
    asking = time.perf_counter() - start
    if sampled:
        # The time of an exact search depends on the number of rows and their length.
        vectors = np.random.default_rng(SEED).standard_normal((len(names), vectors.shape[1]), np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    searching = search(vectors, queries)
    parts = {"encode_names": encoding, "encode_mentions": asking, "search": searching}
    return {
        "seconds": round(sum(parts.values()), 1),
        "parts": {name: round(seconds, 2) for name, seconds in parts.items()},
        "names": len(names),
        "mentions": len(mentions),
        **({"sampled": sampled} if sampled else {}),
    }


def search(vectors: Vectors, queries: Vectors) -> float:
    """Seconds of the ten nearest rows of each query."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "index")
        ExactIndex.write(file, [ExactIndex.planes(vectors)], *vectors.shape)
        index = ExactIndex(read(file))
        start = time.perf_counter()
        index.search(queries, K)
        return time.perf_counter() - start


def linked(makers: Sequence[Made], names: list[str], mentions: list[str], sampled: int) -> dict[str, Any]:
    """Linking in both settings by ResCNN and by BERT-base, and how many times as long the latter takes."""
    by_name = {made.name: made for made in makers}
    found: dict[str, Any] = {}
    for setting, (one, other) in {"bucketed": RATIOS["bucketed"][0], "padded": RATIOS["padded"][0]}.items():
        fast = linking(by_name[one], setting, names, mentions, 0)
        slow = linking(by_name[other], setting, names, mentions, sampled)
        ratio = round(slow["seconds"] / fast["seconds"], 1)
        found[setting] = {one: fast, other: slow, f"{one} / {other}": ratio}
    return found


def ncbi(folder: Path, rng: random.Random) -> tuple[list[str], list[str]]:
    """Names of the test set's dictionary in a random order, and the test set's mentions."""
    listed = (folder / "test_dictionary.txt").read_text("utf-8").splitlines()
    names = [line.split("||")[1] for line in listed]
    rng.shuffle(names)
    concepts = [
        line for file in sorted((folder / "processed_test").glob("*.concept")) for line in file.open(encoding="utf-8")
    ]
    return names, [line.split("||")[3] for line in concepts]


def main() -> None:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("minilm", type=Path)
    parser.add_argument("data", type=Path, nargs="?", default=ROOT.parent / "shared/benchmarks")
    parser.add_argument("--sample", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--most", type=int, help="names of the dictionary, for a trial")
    parser.add_argument("--output", type=Path, default=RESULT)
    given = parser.parse_args()
    torch.set_num_threads(THREADS)
    names, mentions = ncbi(given.data / NCBI, random.Random(SEED))
    sample = names[: given.sample]
    with tempfile.TemporaryDirectory() as scratch:
        makers = encoders(given.minilm, Path(scratch), sample[:200])
        check(makers, sample[:200])
        speeds = {setting: measured(makers, setting, sample, given.rounds) for setting in RATIOS}
        whole = linked(makers, names[: given.most], mentions[: given.most], len(sample))
    report = {
        "command": shlex.join(["python", "benchmarks/encoders.py", *sys.argv[1:]]),
        "commit": commit(),
        "machine": machine(),
        "versions": {name: metadata.version(name) for name in ("torch", "transformers", "onnxruntime", "tokenizers")},
        "threads": THREADS,
        "batch": BATCH,
        "sample": len(sample),
        "speeds": speeds,
        "ratios": {setting: ratios(setting, found) for setting, found in speeds.items()},
        "linking": whole,
    }
    text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
