"""Self-align an encoder on the names of open terminologies (SapBERT), chosen on the development sets.

    python experiments/sapbert_align.py --data DATA --base DATA/minilm --out MODEL [--minutes 7] [--noise 0.3] ...

``DATA`` is what ``open_names.py`` writes. Evaluates at intervals, keeps the best weights in ``MODEL``, checkpoints in
``--checkpoints`` (goes on from there), and writes ``MODEL/log.json``. Near concepts for ``--hard`` are looked up anew
at each evaluation, so with it a resumed run follows the first one only nearly.
"""

from __future__ import annotations

import argparse
import functools
import json
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from align_data import NOISE, Names, pairs_and_weights, read
from dev_sets import DevSets

from nomina.encoders.base import TrainableEncoder
from nomina.encoders.bert import BertEncoder, device_of
from nomina.training.align import AlignOptions, SelfAlignment, near_concepts
from nomina.training.examples import TokenTable
from nomina.training.loop import FitOptions, fit
from nomina.training.metric import MetricLoss, info_nce, multi_similarity, nca
from nomina.training.names import noisy_copies

LOSSES = ("ms", "infonce", "nca")
NEIGHBOURS = 16


def main() -> None:
    """Read, train, evaluate, save."""
    arguments = command_line(__doc__).parse_args()
    started = time.monotonic()
    device = device_of(arguments.device)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    say(versions(device))
    encoder = BertEncoder(arguments.base, arguments.pooling, arguments.length)
    encoder.module.to(device)
    say(encoder.parameters_report())
    names, objective = prepare(arguments, encoder)
    dev = DevSets(arguments.data, arguments.limit)
    say(f"{len(names.texts)} names, {len(objective.pairs)} pairs, ready after {time.monotonic() - started:.0f} s")
    keeper = Keeper(encoder, dev, arguments.out)

    def evaluate(step: int) -> dict[str, Any]:
        if arguments.hard:
            objective.neighbours = neighbours(encoder, objective.table, names)
        return keeper(step)

    evaluate(0)
    result = fit(objective, fit_options(arguments), evaluate=evaluate, report=say)
    speed = result.steps * arguments.batch / result.seconds
    finish(arguments, device, result.log, keeper, {"steps": result.steps, "pairs_per_s": round(speed)})


def command_line(description: str | None) -> argparse.ArgumentParser:
    """The options that training on names has, whatever is trained."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--base", type=Path, required=True, help="folder of the encoder to start from")
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--checkpoints", type=Path)
    options.add_argument("--device", default="auto")
    options.add_argument("--pooling", default="mean")
    options.add_argument("--length", type=int, default=25)
    options.add_argument("--loss", choices=LOSSES, default="ms")
    options.add_argument("--temperature", type=float, default=0.05, help="of infonce")
    options.add_argument("--minutes", type=float, default=7.0)
    options.add_argument("--steps", type=int, default=1_000_000)
    options.add_argument("--batch", type=int, default=512, help="pairs")
    options.add_argument("--lr", type=float, default=2e-4)
    options.add_argument("--warmup", type=int, default=200)
    options.add_argument("--noise", type=float, default=0.0, help="share of the left names that are noisy")
    options.add_argument("--copies", type=int, default=2, help="noisy copies of each name")
    options.add_argument("--hard", type=float, default=0.0, help="share of a batch that are near concepts")
    options.add_argument("--repeat", type=int, default=1, help="how often disease pairs come in an epoch")
    options.add_argument("--no-merge", action="store_true", help="do not join concepts across terminologies")
    options.add_argument("--every", type=int, default=2500, help="steps between evaluations")
    options.add_argument("--compile", action="store_true")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--limit", type=int, help="only so many concepts, to try things out")
    return options


def prepare(arguments: argparse.Namespace, encoder: TrainableEncoder) -> tuple[Names, SelfAlignment]:
    """Names, and the objective over them."""
    names = read(arguments.data, merge=not arguments.no_merge, limit=arguments.limit)
    pairs, weights = pairs_and_weights(names, arguments.repeat, arguments.seed)
    texts = all_texts(arguments, names)
    table = TokenTable.of(encoder, texts)
    options = AlignOptions(arguments.batch, arguments.noise, arguments.hard, arguments.seed)
    return names, SelfAlignment(encoder, table, pairs, len(names.texts), options, loss_of(arguments), weights)


def all_texts(arguments: argparse.Namespace, names: Names) -> list[str]:
    """The names, and behind them their noisy copies."""
    return names.texts + noisy_copies(names.texts, arguments.copies, arguments.seed, NOISE)


def loss_of(arguments: argparse.Namespace) -> MetricLoss:
    """The loss that ``--loss`` names."""
    losses: dict[str, MetricLoss] = {
        "ms": multi_similarity,
        "infonce": functools.partial(info_nce, temperature=arguments.temperature),
        "nca": functools.partial(nca, scale=10.0),
    }
    return losses[arguments.loss]


def fit_options(arguments: argparse.Namespace) -> FitOptions:
    """How ``fit`` trains."""
    return FitOptions(
        steps=arguments.steps,
        seconds=arguments.minutes * 60,
        lr=arguments.lr,
        warmup=arguments.warmup,
        bf16=torch.cuda.is_available(),
        compiled=arguments.compile,
        seed=arguments.seed,
        folder=arguments.checkpoints,
        save_every=arguments.every,
        report_every=500,
        evaluate_every=arguments.every,
    )


@torch.inference_mode()
def table_vectors(encoder: TrainableEncoder, table: TokenTable, rows: np.ndarray, batch: int = 4096) -> torch.Tensor:
    """Vectors of rows of a table, (rows, dim), float16 on the device; bf16 arithmetic on a GPU."""
    encoder.module.eval()
    device = encoder.device
    vectors = torch.empty(len(rows), encoder.dim, dtype=torch.float16, device=device)
    order = np.argsort(table.lengths.numpy()[rows], kind="stable")
    for start in range(0, len(order), batch):
        chosen = order[start : start + batch]
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            found = encoder.module(*table.batch(torch.from_numpy(rows[chosen])))
        vectors[torch.from_numpy(chosen).to(device)] = found.half()
    return vectors


def neighbours(encoder: TrainableEncoder, table: TokenTable, names: Names) -> np.ndarray:
    """The near concepts of each concept, by the vectors of their first names."""
    training = encoder.module.training
    vectors = table_vectors(encoder, table, names.first[:-1])
    if vectors.device.type == "cpu":
        vectors = vectors.float()
    found = near_concepts(vectors, min(NEIGHBOURS, len(vectors) - 1))
    encoder.module.train(training)
    return found


class Keeper:
    """Evaluates on the development sets and keeps the best weights on disk, as float16."""

    def __init__(self, encoder: TrainableEncoder, dev: DevSets, out: Path) -> None:
        self.encoder, self.dev, self.out, self.best, self.first = encoder, dev, out, -1.0, {}
        self.best_figures: dict[str, float] = {}

    def __call__(self, step: int) -> dict[str, Any]:
        """The figures of the weights as they are."""
        figures = self.dev.accuracy(self.encoder)
        if step == 0:
            self.first = figures
            say({"step": 0, **figures})
        elif figures["dev"] > self.best:
            self.best, self.best_figures = figures["dev"], {"step": step, **figures}
            self.encoder.save(self.out, half=True)
        return figures


def finish(
    arguments: argparse.Namespace,
    device: torch.device,
    log: list[dict[str, Any]],
    keeper: Keeper,
    facts: dict[str, Any],
) -> None:
    """Write ``log.json``: options, versions, figures before and at the best step, the whole log."""
    options = {key: str(value) if isinstance(value, Path) else value for key, value in vars(arguments).items()}
    record = {
        "options": options,
        "versions": versions(device),
        "before": keeper.first,
        "best": keeper.best_figures,
        **facts,
        "log": log,
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "log.json").write_text(json.dumps(record, indent=1, default=str) + "\n", encoding="utf-8")
    say({"best": keeper.best_figures, **facts})


def versions(device: torch.device) -> dict[str, str]:
    """Versions and the card."""
    card = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or "cpu"
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "device": card,
    }


def say(facts: object) -> None:
    """One line on standard output, at once."""
    print(json.dumps(facts) if isinstance(facts, dict) else facts, flush=True)


if __name__ == "__main__":
    main()
