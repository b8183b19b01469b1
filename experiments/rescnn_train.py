"""Train a small ResCNN on the names of open terminologies: drawn to a teacher's vectors, and self-aligned.

    python experiments/rescnn_train.py --data DATA --base TEACHER --out MODEL [--pooling attention] [--weight 0.5] ...

The teacher (an encoder that ``sapbert_align.py`` has saved) gives the frozen word-piece embeddings and the targets: its
vectors of all names and of their noisy copies, projected to the student's width along their principal directions.
``--teacher-free``: the metric loss alone. Development figures of the teacher, whole and projected, come first.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
import transformers
from align_data import DevSets, Names, pairs_and_weights, read
from sapbert_align import Keeper, all_texts, command_line, finish, fit_options, loss_of, say, table_vectors, versions

from nomina.encoders import load
from nomina.encoders.base import Encoder, TrainableEncoder
from nomina.encoders.bert import device_of
from nomina.encoders.rescnn import ResCnnEncoder
from nomina.training.align import AlignOptions, DistilledAlignment, SelfAlignment, principal
from nomina.training.examples import TokenTable
from nomina.training.loop import fit

_SAMPLE = 8
"""Every so manieth vector goes into the principal directions."""


def main() -> None:
    """Read, train, evaluate, save."""
    arguments = options().parse_args()
    started = time.monotonic()
    device = device_of(arguments.device)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    say(versions(device))
    teacher = load(arguments.base)
    teacher.module.to(device)
    student = ResCnnEncoder(
        teacher.word_embeddings.cpu(),
        teacher.tokenizer,
        arguments.pooling,
        arguments.length,
        tune_embeddings=arguments.tune_embeddings,
    )
    student.module.to(device)
    say(student.parameters_report())
    dev = DevSets(arguments.data, arguments.limit)
    names = read(arguments.data, merge=not arguments.no_merge, limit=arguments.limit)
    objective = prepare(arguments, names, teacher, student, dev)
    say(f"{len(names.texts)} names, {len(objective.pairs)} pairs, ready after {time.monotonic() - started:.0f} s")
    keeper = Keeper(student, dev, arguments.out)
    how = replace(fit_options(arguments), weight_decay=0.0)
    result = fit(objective, how, evaluate=keeper, report=say)
    speed = result.steps * arguments.batch / result.seconds
    finish(arguments, device, result.log, keeper, {"steps": result.steps, "pairs_per_s": round(speed)})


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = command_line(__doc__)
    parser.set_defaults(pooling="max", lr=1e-3, batch=1024, noise=0.5)
    parser.add_argument("--weight", type=float, default=0.5, help="of the metric loss beside the teacher's")
    parser.add_argument("--teacher-free", action="store_true")
    parser.add_argument("--tune-embeddings", action="store_true")
    return parser


def prepare(
    arguments: argparse.Namespace, names: Names, teacher: TrainableEncoder, student: TrainableEncoder, dev: DevSets
) -> SelfAlignment:
    """The objective over the names, with the teacher's vectors as targets."""
    pairs, weights = pairs_and_weights(names, arguments.repeat, arguments.seed)
    texts = all_texts(arguments, names)
    table = TokenTable.of(student, texts)
    made = AlignOptions(arguments.batch, arguments.noise, 0.0, arguments.seed)
    if arguments.teacher_free:
        return SelfAlignment(student, table, pairs, len(names.texts), made, loss_of(arguments), weights)
    vectors = table_vectors(teacher, TokenTable.of(teacher, texts), np.arange(len(texts)))
    projection = principal(vectors[::_SAMPLE].float(), student.dim)
    say({"teacher": dev.accuracy(teacher), "projected": dev.accuracy(Projected(teacher, projection))})
    targets = torch.cat([projected(chunk, projection) for chunk in vectors.split(1 << 16)])
    return DistilledAlignment(student, table, pairs, len(names.texts), made, targets, arguments.weight, weights)


def projected(vectors: torch.Tensor, projection: torch.Tensor) -> torch.Tensor:
    """Projected vectors with length 1 again, float16."""
    return torch.nn.functional.normalize(vectors.float() @ projection, dim=1).half()


class Projected(Encoder):
    """A teacher's vectors along the principal directions: what the student can reach."""

    def __init__(self, teacher: TrainableEncoder, projection: torch.Tensor) -> None:
        self.teacher, self.device, self.projection = teacher, teacher.device, projection
        self.dim = projection.shape[1]

    def encode(self, texts: Sequence[str], batch_size: int = 256) -> np.ndarray:
        """See ``Encoder``."""
        vectors = torch.from_numpy(self.teacher.encode(texts, batch_size)).to(self.device)
        return projected(vectors, self.projection).float().cpu().numpy()


if __name__ == "__main__":
    main()
