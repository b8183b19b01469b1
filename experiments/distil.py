"""Distil small encoders on the names of open terminologies, several variants side by side on one GPU.

    python experiments/distil.py --data DATA --teachers RAW ALIGNED --shares 1 0.5 --out OUT --only attention ...

The teacher is one encoder, or several with their vectors side by side, each times its share; it gives its vectors of
all names and of their noisy copies, cut to their principal directions and cached as float16 in ``--work``. A student
is drawn to them, and its names to each other by the metric loss. Names are read and tokenised once; teacher and
variants are processes of their own, which do not inherit the tokenizer's threads (forked ones crashed).
``OUT/distil.json`` holds the development figures of the teacher and of all variants, ``OUT/distil.tar.00N`` (put
together with ``cat``) the best weights of each, frozen embeddings left out.
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import tarfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import transformers
from align_data import Names, pairs_and_weights, read
from dev_sets import DevSets
from safetensors.torch import save
from sapbert_align import Keeper, all_texts, command_line, finish, fit_options, say, table_vectors, versions

from nomina.encoders.base import Encoder, TrainableEncoder
from nomina.encoders.bert import BertEncoder, device_of
from nomina.encoders.rescnn import ResCnnEncoder
from nomina.training.align import AlignOptions, DistilledAlignment, principal
from nomina.training.examples import TokenTable
from nomina.training.loop import fit

_SAMPLE = 8
"""Every so manieth vector goes into the principal directions."""
PART = 15 * 2**20


class Variant(NamedTuple):
    """A student and how it is taught.

    ``student``: a ResCNN's pooling, or ``bert``, which starts as the last teacher. ``noisy``: the share that the
    teacher's vector of a noisy copy has in its target; the rest is that of the name itself. ``weight``: of the metric
    loss.
    """

    student: str = "attention"
    tuned: bool = False
    noisy: float = 1.0
    weight: float = 0.5
    lr: float = 1e-3


VARIANTS = {
    "attention": Variant(),
    "attention-clean": Variant(noisy=0.0),
    "attention-half": Variant(noisy=0.5),
    "attention-light": Variant(noisy=0.5, weight=0.1),
    "attention-tuned": Variant(tuned=True, noisy=0.5),
    "max": Variant("max", noisy=0.5),
    "bert": Variant("bert", noisy=0.5, lr=1e-4),
    "bert-light": Variant("bert", noisy=0.5, weight=0.1, lr=1e-4),
    "bert-metric": Variant("bert", noisy=0.5, weight=2.0, lr=1e-4),
}


class Task(NamedTuple):
    """What all variants share."""

    arguments: argparse.Namespace
    names: Names
    texts: list[str]
    tables: dict[bool, TokenTable]
    """Of the students, by whether a text has special tokens; on the CPU."""
    taught: list[TokenTable]
    """Of each teacher; one for all whose tokenizers are the same."""
    dev: DevSets


def main() -> None:
    """Teach all variants."""
    arguments = options().parse_args()
    started = time.monotonic()
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    arguments.out.mkdir(parents=True, exist_ok=True)
    arguments.work.mkdir(parents=True, exist_ok=True)
    task = prepare(arguments)
    say(f"{len(task.names.texts)} names, {len(task.texts)} texts, tokenised after {time.monotonic() - started:.0f} s")
    targets = arguments.work / "targets.npy"
    if not targets.exists():
        apart(teach_targets, task, targets)
        say(f"targets after {time.monotonic() - started:.0f} s")
    processes = [begun(student, task, name, targets) for name in arguments.only]
    for process in processes:
        process.join()
    pack(arguments)


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = command_line(__doc__)
    for action in parser._actions:
        if action.dest == "base":
            action.required = False
    parser.set_defaults(batch=1024, noise=0.5, copies=2)
    parser.add_argument("--teachers", type=Path, nargs="+", required=True, help="folders of saved BERT-type encoders")
    parser.add_argument(
        "--shares",
        type=float,
        nargs="+",
        action="append",
        required=True,
        help="of each teacher; given several times, those that are best on the development sets are taken",
    )
    parser.add_argument("--only", nargs="+", choices=list(VARIANTS), default=["attention"])
    parser.add_argument("--work", type=Path, default=Path("/tmp/nomina-distil"))
    return parser


def prepare(arguments: argparse.Namespace) -> Task:
    """Names, noisy copies and their tokens, on the CPU."""
    names = read(arguments.data, merge=not arguments.no_merge, limit=arguments.limit)
    texts = all_texts(arguments, names)
    teachers = [BertEncoder(folder, arguments.pooling, arguments.length) for folder in arguments.teachers]
    made = {teacher.tokenizer.to_str(): teacher for teacher in reversed(teachers)}
    tables_of = {tokenizer: TokenTable.of(teacher, texts) for tokenizer, teacher in made.items()}
    taught, whole = [tables_of[teacher.tokenizer.to_str()] for teacher in teachers], teachers[0]
    bare = ResCnnEncoder(whole.word_embeddings, whole.tokenizer, "max", arguments.length)
    tables = {True: taught[0]}
    if any(VARIANTS[name].student != "bert" for name in arguments.only):
        tables[False] = TokenTable.of(bare, texts)
    return Task(arguments, names, texts, tables, taught, DevSets(arguments.data, arguments.limit))


def begun(work: Any, *arguments: Any) -> Any:  # noqa: ANN401
    """A started process."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=arguments)
    process.start()
    return process


def apart(work: Any, *arguments: Any) -> None:  # noqa: ANN401
    """Run in a process of its own, whose memory on the GPU is free again afterwards."""
    process = begun(work, *arguments)
    process.join()
    if process.exitcode:
        raise SystemExit(f"{work.__name__} failed with {process.exitcode}")


class Teacher(Encoder):
    """Several encoders' vectors side by side, each times its share, cut to some directions."""

    def __init__(self, encoders: Sequence[TrainableEncoder], shares: Sequence[float]) -> None:
        self.encoders, self.shares = encoders, shares
        self.projection: torch.Tensor | None = None
        self._kept: dict[tuple[str, ...], list[torch.Tensor]] = {}
        self.dim = sum(encoder.dim for encoder in encoders)

    def joined(self, parts: Sequence[torch.Tensor]) -> torch.Tensor:
        """One vector of length 1 of each encoder's."""
        together = torch.cat([part.float() * share for part, share in zip(parts, self.shares, strict=True)], dim=1)
        if self.projection is not None:
            together = together @ self.projection
        return torch.nn.functional.normalize(together, dim=1)

    def encode(self, texts: Sequence[str], batch_size: int = 256) -> np.ndarray:
        """See ``Encoder``."""
        if (key := tuple(texts)) not in self._kept:
            self._kept[key] = [
                torch.from_numpy(encoder.encode(texts, batch_size)).to(encoder.device) for encoder in self.encoders
            ]
        return self.joined(self._kept[key]).cpu().numpy()


def teach_targets(task: Task, path: Path) -> None:
    """Write the teacher's vectors of all texts, (texts, most directions), float16, the strongest directions first."""
    arguments, device = task.arguments, device_of(task.arguments.device)
    say(versions(device))
    encoders = [BertEncoder(folder, arguments.pooling, arguments.length) for folder in arguments.teachers]
    for encoder in encoders:
        encoder.module.to(device)
    teacher, mixed = Teacher(encoders, arguments.shares[0]), {}
    for shares in arguments.shares:
        teacher.shares = shares
        mixed[" ".join(map(str, shares))] = task.dev.accuracy(teacher)
        say({"shares": shares, **mixed[" ".join(map(str, shares))]})
    best = max(mixed, key=lambda shares: mixed[shares]["dev"])
    teacher.shares = [float(share) for share in best.split()]
    rows = np.arange(len(task.texts))
    parts = [
        table_vectors(encoder, on(table, device), rows) for encoder, table in zip(encoders, task.taught, strict=True)
    ]
    whole = mixed[best]
    directions = encoders[0].dim
    teacher.projection = principal(teacher.joined([part[::_SAMPLE] for part in parts]), directions)
    chunks = zip(*(part.split(1 << 16) for part in parts), strict=True)
    np.save(path, torch.cat([teacher.joined(chunk).half().cpu() for chunk in chunks]).numpy())
    figures = {"teacher": whole, f"teacher, {directions}": task.dev.accuracy(teacher)}
    teacher.projection = teacher.projection[:, :256]
    figures["teacher, 256"] = task.dev.accuracy(teacher)
    say(figures)
    figures["shares"] = mixed
    (path.parent / "teacher.json").write_text(json.dumps(figures) + "\n", encoding="utf-8")


def on(table: TokenTable, device: torch.device) -> TokenTable:
    """The table with its ids on a device."""
    return TokenTable(table.ids.to(device), table.lengths)


def student(task: Task, name: str, targets: Path) -> None:
    """Teach one variant."""
    variant, arguments, device = VARIANTS[name], task.arguments, device_of(task.arguments.device)
    source = arguments.teachers[-1 if variant.student == "bert" else 0]
    encoder: TrainableEncoder = BertEncoder(source, arguments.pooling, arguments.length)
    if variant.student != "bert":
        encoder = ResCnnEncoder(
            encoder.word_embeddings.cpu(),
            encoder.tokenizer,
            variant.student,
            arguments.length,
            tune_embeddings=variant.tuned,
        )
    encoder.module.to(device)
    say(f"[{name}] {encoder.parameters_report()}")
    goal = blended(np.load(targets, mmap_mode="r"), encoder.dim, len(task.names.texts), variant.noisy, device)
    pairs, weights = pairs_and_weights(task.names, arguments.repeat, arguments.seed)
    made = AlignOptions(arguments.batch, arguments.noise, 0.0, arguments.seed)
    table = on(task.tables[variant.student == "bert"], device)
    objective = DistilledAlignment(encoder, table, pairs, len(task.names.texts), made, goal, variant.weight, weights)
    arguments.out = arguments.work / name
    keeper = Keeper(encoder, task.dev, arguments.out)
    how = replace(fit_options(arguments), lr=variant.lr, weight_decay=0.0 if variant.student != "bert" else 0.01)
    result = fit(objective, how, evaluate=keeper, report=lambda facts: report(name, facts))
    speed = result.steps * arguments.batch / result.seconds
    finish(
        arguments, device, result.log, keeper, {"steps": result.steps, "pairs_per_s": round(speed), **variant._asdict()}
    )


def report(name: str, facts: dict[str, Any]) -> None:
    """Print what matters of a record."""
    if "dev" in facts or facts["step"] % 2000 == 0:
        say(f"[{name}] {json.dumps(facts)}")


def blended(vectors: np.ndarray, dim: int, names: int, noisy: float, device: torch.device) -> torch.Tensor:
    """The targets of a student, (texts, dim), float16, unit rows: noisy copies drawn to their names."""
    parts = []
    for start in range(0, len(vectors), names):
        own = torch.from_numpy(vectors[start : start + names, :dim]).to(device).float()
        if start and noisy < 1:
            name = parts[0][: len(own)].float()
            own = noisy * torch.nn.functional.normalize(own, dim=1) + (1 - noisy) * name
        parts.append(torch.nn.functional.normalize(own, dim=1).half())
    return torch.cat(parts)


def pack(arguments: argparse.Namespace) -> None:
    """The best weights of each variant (of the large ones: of the best one) and all logs, in parts."""
    archive = io.BytesIO()
    logs = {name: arguments.work / name / "log.json" for name in arguments.only}
    logs["teacher"] = arguments.work / "teacher.json"
    record = {name: json.loads(path.read_text(encoding="utf-8")) for name, path in logs.items() if path.exists()}
    large = [name for name in record if name in VARIANTS and VARIANTS[name].student == "bert"]
    best = max(large, key=lambda name: record[name]["best"].get("dev", 0), default=None)
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name in (name for name in record if name in VARIANTS and (name not in large or name == best)):
            for path in sorted((arguments.work / name).iterdir()):
                data = lean(path, VARIANTS[name]) if path.suffix == ".safetensors" else path.read_bytes()
                entry = tarfile.TarInfo(f"{name}/{path.name}")
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
    (arguments.out / "distil.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    data = archive.getvalue()
    for number, start in enumerate(range(0, len(data), PART)):
        (arguments.out / f"distil.tar.{number:03}").write_bytes(data[start : start + PART])


def lean(path: Path, variant: Variant) -> bytes:
    """The weights without embeddings that are the teacher's."""
    from safetensors.torch import load_file

    state = load_file(path)
    if variant.student != "bert" and not variant.tuned:
        del state["embeddings.weight"]
    return save(state, metadata={"format": "pt"})


if __name__ == "__main__":
    main()
