"""Linking a test set on a CPU and on a GPU, by ResCNN and by a BERT of base size (ResCNN paper, table 4).

``python benchmarks/encoders_gpu.py MINILM DICTIONARY MENTIONS --output FILE [--commit C] [--sample N] [--most N]``:
MINILM is the folder of all-MiniLM-L6-v2, of which the tokenizer is taken; DICTIONARY and MENTIONS are
``dictionary.txt.xz`` and ``mentions.tsv.xz`` of ``experiments/open_names.py`` and ``tune_data.py``. It needs torch and
transformers alone. The committed figures: ``benchmarks/results/encoders_gpu.json``.

Weights are random, on which speed does not depend. A time is that of all of it: the names of the dictionary and the
mentions of NCBI disease's test set tokenised and encoded in batches of 64, ten nearest names found by a matrix product.
``padded``: every text is padded to 25 tokens, float32, as the paper does most likely; ``bucketed``: names of like
length share a batch, as nomina does it; ``bf16``: that in bfloat16. On the CPU BERT encodes a sample of the names only;
its time is scaled up. Both encoders run on the same library and the same machine.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import platform
import random
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from nomina.encoders.base import TrainableEncoder
from nomina.encoders.bert import BertEncoder
from nomina.encoders.rescnn import ResCnnEncoder

LENGTH, BATCH, K, SEED = 25, 64, 10, 0
SETTINGS = ("padded", "bucketed", "bf16")


def main() -> None:
    """Measure, print, write."""
    given = command_line().parse_args()
    with lzma.open(given.dictionary, "rt", encoding="utf-8") as stream:
        names = [line.rstrip("\n").split("\t")[1] for line in stream]
    random.Random(SEED).shuffle(names)
    with lzma.open(given.mentions, "rt", encoding="utf-8") as stream:
        rows = [line.rstrip("\n").split("\t") for line in stream]
    names, mentions = names[: given.most], [row[2] for row in rows if row[:2] == ["ncbi", "test"]][: given.most]
    facts = facts_of(given, len(names), len(mentions))
    seconds: dict[str, dict[str, float]] = {}
    for title, encoder in encoders(given.minilm).items():
        for device in ["cuda", "cpu"] if torch.cuda.is_available() else ["cpu"]:
            encoder.module.to(device)
            sampled = given.sample if device == "cpu" and title == "BERT-base" else 0
            for setting in SETTINGS[: 3 if device == "cuda" else 2]:
                found = linking(encoder, setting, names, mentions, sampled)
                seconds.setdefault(f"{device}, {setting}", {})[title] = round(found, 2)
                print(f"{title} {device} {setting}: {found:.2f} s", flush=True)
                write(given.output, facts, seconds)


def facts_of(given: argparse.Namespace, names: int, mentions: int) -> dict[str, Any]:
    """What the figures depend on."""
    card = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    libraries = {"torch": torch.__version__, "transformers": transformers.__version__}
    return {
        "commit": given.commit,
        "machine": {"cpu cores": os.cpu_count(), "threads": torch.get_num_threads(), "card": card},
        "versions": {"python": platform.python_version(), **libraries},
        "names": names,
        "mentions": mentions,
        "sampled": given.sample,
    }


def write(path: Path, facts: dict[str, Any], seconds: dict[str, dict[str, float]]) -> None:
    """Write what there is so far: a run that is cut off keeps it."""
    report = {**facts, "seconds": seconds, "ratios": ratios(seconds)}
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    temporary.replace(path)


def command_line() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("minilm", type=Path)
    options.add_argument("dictionary", type=Path)
    options.add_argument("mentions", type=Path)
    options.add_argument("--output", type=Path, required=True)
    options.add_argument("--commit", default="unknown")
    options.add_argument("--sample", type=int, default=4000, help="names that BERT encodes on the CPU")
    options.add_argument("--most", type=int, help="names and mentions, for a trial")
    return options


def encoders(minilm: Path) -> dict[str, TrainableEncoder]:
    """ResCNN of the paper's size with max pooling over 768 dimensions, and BERT-base, random weights."""
    torch.manual_seed(SEED)
    with tempfile.TemporaryDirectory() as scratch:
        config = transformers.BertConfig()
        transformers.BertModel(config).save_pretrained(scratch)
        for file in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
            if (minilm / file).exists():
                shutil.copy(minilm / file, scratch)
        bert = BertEncoder(scratch, "cls", LENGTH)
    words = torch.randn(config.vocab_size, config.hidden_size)
    return {"ResCNN": ResCnnEncoder(words, bert.tokenizer, "max", LENGTH), "BERT-base": bert}


def linking(
    encoder: TrainableEncoder, setting: str, names: Sequence[str], mentions: Sequence[str], sampled: int
) -> float:
    """Seconds; ``sampled``: of so many names, the time for names scaled up."""
    encode = padded if setting == "padded" else bucketed
    encode(encoder, names[: 4 * BATCH])  # kernels are chosen at the first call
    with torch.autocast(encoder.device.type, torch.bfloat16, enabled=setting == "bf16"):
        clock = time.perf_counter()
        vectors = encode(encoder, names[:sampled] if sampled else names)
        taken = (time.perf_counter() - clock) * (len(names) / len(vectors))
        clock = time.perf_counter()
        queries = encode(encoder, mentions)
        taken += time.perf_counter() - clock
    rows = np.resize(vectors, (len(names), encoder.dim))
    clock = time.perf_counter()
    table, asked = (torch.from_numpy(each).to(encoder.device) for each in (rows, queries))
    (asked @ table.T).topk(min(K, len(names)), dim=1).indices.cpu()
    return taken + time.perf_counter() - clock


def bucketed(encoder: TrainableEncoder, texts: Sequence[str]) -> np.ndarray:
    """As nomina does it."""
    return encoder.encode(texts, BATCH)


@torch.inference_mode()
def padded(encoder: TrainableEncoder, texts: Sequence[str]) -> np.ndarray:
    """In the order given, all texts of one length."""
    ids = np.full((len(texts), LENGTH), encoder.pad_id, np.int64)
    mask = np.zeros(ids.shape, bool)
    for i, row in enumerate(encoder.tokenise(texts)):
        ids[i, : len(row)], mask[i, : len(row)] = row, True
    found = [
        encoder.module(
            torch.from_numpy(ids[start : start + BATCH]).to(encoder.device),
            torch.from_numpy(mask[start : start + BATCH]).to(encoder.device),
        )
        for start in range(0, len(texts), BATCH)
    ]
    return torch.cat(found).float().cpu().numpy()


def ratios(seconds: dict[str, dict[str, float]]) -> dict[str, float]:
    """How many times as long BERT takes, on one device and against ResCNN on the CPU, as far as both are measured."""
    found = {
        where: round(times["BERT-base"] / times["ResCNN"], 2) for where, times in seconds.items() if len(times) == 2
    }
    for setting in SETTINGS[:2]:
        on_gpu = seconds.get(f"cuda, {setting}", {}).get("BERT-base")
        on_cpu = seconds.get(f"cpu, {setting}", {}).get("ResCNN")
        if on_gpu and on_cpu:
            found[f"BERT-base on the GPU / ResCNN on the CPU, {setting}"] = round(on_gpu / on_cpu, 2)
    return found


if __name__ == "__main__":
    main()
