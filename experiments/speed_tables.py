"""Table 4 of the ResCNN paper out of ``benchmarks/results``: how long linking a test set takes on CPU and GPU."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tables import table

HEAD = """## Inference time (ResCNN paper, table 4)

Seconds to tokenise and encode the dictionary and the mentions of NCBI disease's test set and to find the nearest names.
Padded: every text to 25 tokens, as the paper does most likely; bucketed: names of like length share a batch; bf16:
bucketed in bfloat16, here slower than float32: batches of 64 short names leave an H200 waiting for launches, and casts
add some (not profiled). BERT-base on a CPU encodes a sample, its time is scaled up. Weights of the paper's sizes,
random. The paper has five corpora, here NCBI alone was timed. GPU host: {gpu}, `benchmarks/encoders_gpu.py` at
{gpu_commit}. Two cores: {cpu}, `benchmarks/encoders.py` at {cpu_commit}, with other work of low priority on the
machine, which slows both sides of a ratio.
"""
SETTINGS = ("padded", "bucketed", "bf16")


def section(benchmarks: Path, papers: dict[str, Any]) -> Iterator[str]:
    """The table, and what it says of ResCNN on a CPU against BERT on a GPU."""
    paths = [benchmarks / name for name in ("encoders_gpu.json", "encoders.json")]
    if not all(path.exists() for path in paths):
        return
    gpu, cpu = (json.loads(path.read_text(encoding="utf-8")) for path in paths)
    host = f"{gpu['machine']['card']}, {gpu['machine']['cpu cores']} CPU cores"
    here = cpu["machine"]["cpu"]
    yield HEAD.format(gpu=host, gpu_commit=gpu["commit"], cpu=here, cpu_commit=cpu["commit"])
    if "note" in gpu:
        yield f"On the GPU host's figures: {gpu['note']}\n"
    yield from table(["where", "BERT-base", "ResCNN", "times as fast"], rows(gpu, cpu, papers))
    yield ""
    yield compared(gpu, papers)
    yield ""


def rows(gpu: dict[str, Any], cpu: dict[str, Any], papers: dict[str, Any]) -> Iterator[list[str]]:
    """The papers' rows, then ours."""
    for paper in papers.get("speed", ()):
        for device in ("cpu", "gpu"):
            yield _row(f"ResCNN paper, {device.upper()}", paper[device]["BERT-base"], paper[device]["ResCNN"])
    for where, seconds in gpu["seconds"].items():
        device, setting = where.split(", ")
        shown = "GPU" if device == "cuda" else f"its {gpu['machine']['cpu cores']} CPU cores"
        yield _row(f"**{shown}, {setting}**", seconds.get("BERT-base"), seconds.get("ResCNN"))
    for setting, found in cpu["linking"].items():
        times = {name.split()[0]: part["seconds"] for name, part in found.items() if isinstance(part, dict)}
        libraries = {name.split()[0]: name.split()[1] for name, part in found.items() if isinstance(part, dict)}
        title = f"**two CPU cores, {setting}** ({libraries['bert-base']}; ResCNN: {libraries['rescnn']})"
        yield _row(title, times["bert-base"], times["rescnn"])


def _row(where: str, bert: float | None, rescnn: float | None) -> list[str]:
    ratio = f"{bert / rescnn:.1f}" if bert and rescnn else ""
    return [where, *("" if seconds is None else f"{seconds:,.1f}" for seconds in (bert, rescnn)), ratio]


def compared(gpu: dict[str, Any], papers: dict[str, Any]) -> str:
    """A sentence: ResCNN on the CPU against BERT on the GPU."""
    times = [("in the paper", p["gpu"]["BERT-base"] / p["cpu"]["ResCNN"]) for p in papers.get("speed", ())]
    for setting in SETTINGS[:2]:
        ratio = gpu["ratios"].get(f"BERT-base on the GPU / ResCNN on the CPU, {setting}")
        times += [(f"{setting}, on this host", ratio)] if ratio else []
    shown = "; ".join(f"{where} {ratio:.1f} times as fast" for where, ratio in times)
    return f"ResCNN on a CPU against BERT on a GPU: {shown}."
