"""The plans of ``fine_tune.py``: which runs, most wanted first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from tune_tasks import PUBLISHED, Dictionary

from nomina.training.corpus import Loss


@dataclass(frozen=True, slots=True)
class Run:
    """One training.

    Attributes:
        task: corpus.
        base: encoder to start from; see ``tune_worker.base_of``.
        prefix: what stands before a mention, not before a name, so that a mention can leave the very name for another.
        most: how often a mention comes in an epoch at most; else the square root of its count.
        names: how many of the dictionary's own names an epoch takes for mentions.
        learns: the dictionary whose names it is trained on; see ``tune_tasks.Dictionary``.
        traindev: train on both sets as well, for the epochs that the development set chose, and test that too.
    """

    task: str
    base: str
    lr: float
    epochs: int
    loss: Loss | Literal["biosyn"] = "ms"
    prefix: str = ""
    names: int = 0
    batch: int = 32
    positives: int = 2
    negatives: int = 10
    pool: int = 20
    temperature: float = 0.05
    most: int = 3
    seed: int = 0
    learns: Dictionary = "dev"
    traindev: bool = False

    @property
    def name(self) -> str:
        """What sets it apart, as a file name."""
        prefix = "-prefix" if self.prefix else ""
        prefix += "" if self.learns == "dev" else f"-{self.learns}"
        return f"{self.task}-{self.base}-{self.loss}-lr{self.lr:g}-names{self.names}{prefix}-seed{self.seed}"


PREFIX = "? "
_NAMES = {"prefix": PREFIX, "names": 4000}
_BERT = Run("ncbi", "raw", 5e-5, 10, batch=64)
_RESCNN = Run("ncbi", "attention", 5e-4, 15, batch=64)
_BIOSYN = ("ncbi", "bc5cdr-d")


def _grid() -> Iterator[Run]:
    """One thing changed at a time, on both corpora of abstracts; then AskAPatient."""
    variants = [
        replace(_BERT, **_NAMES),
        replace(_BERT, **_NAMES, loss="marginal"),
        replace(_RESCNN, **_NAMES),
        _BERT,
        replace(_BERT, **_NAMES, base="aligned"),
        replace(_RESCNN, **_NAMES, loss="marginal"),
        replace(_BERT, loss="marginal"),
        replace(_BERT, **_NAMES, lr=1e-4),
        _RESCNN,
        replace(_BERT, names=4000),
        replace(_BERT, **_NAMES, lr=2e-5),
        replace(_RESCNN, **_NAMES, base="fresh-attention", lr=1e-3),
        replace(_RESCNN, **_NAMES, base="max"),
        replace(_BERT, base="aligned"),
        replace(_RESCNN, base="fresh-max", lr=1e-3),
    ]
    social = [
        Run("aap-0", "raw", 7e-5, 10, batch=128),
        Run("aap-0", "aligned", 7e-5, 10, batch=128),
        Run("aap-0", "raw", 7e-5, 10, loss="marginal", batch=128),
        Run("aap-0", "attention", 1e-3, 20, batch=128),
    ]
    for i, variant in enumerate(variants):
        yield from (replace(variant, task=task) for task in _BIOSYN)
        yield from social[i - 5 : i - 4] if i >= 5 else ()


def _final() -> Iterator[Run]:
    """What was best on the development sets, with three seeds; AskAPatient's ten folds are their own spread."""
    for seed in (1, 2, 3):
        for task in _BIOSYN:
            yield replace(_BERT, **_NAMES, task=task, base="aligned", loss="marginal", epochs=9, seed=seed)
    yield from (Run(f"aap-{fold}", "aligned", 7e-5, 9, "marginal", batch=128, seed=1) for fold in range(10))
    for seed in (1, 2, 3):
        yield from (replace(_RESCNN, **_NAMES, task=task, loss="marginal", epochs=11, seed=seed) for task in _BIOSYN)


def _published() -> Iterator[Run]:
    """As-published: three losses from four encoders, ResCNNs on both sets too; chemicals; BioSyn's loss on clean-kb."""
    bert, rescnn = replace(_BERT, epochs=8), replace(_RESCNN, epochs=10, traindev=True)
    tasks = [task + PUBLISHED for task in _BIOSYN]
    for loss, task, start in product(("marginal", "biosyn", "ms"), tasks, ("mini", "attention")):
        yield replace(bert if start == "mini" else rescnn, task=task, base=start, loss=loss)
    chemicals = {"task": "bc5cdr-c" + PUBLISHED, "loss": "marginal"}
    yield replace(bert, **chemicals, base="mini", epochs=4)
    yield replace(rescnn, **chemicals, epochs=5)
    for base, loss, task in product(("raw", "max"), ("marginal", "biosyn", "ms"), tasks):
        yield replace(bert if base == "raw" else rescnn, task=task, base=base, loss=loss)
    for task, start in product(_BIOSYN, (replace(bert, base="mini"), replace(rescnn, traindev=False))):
        yield replace(start, task=task, loss="biosyn")
    yield from (replace(bert, task=task, base="mini", loss="marginal", learns="train") for task in tasks)


def _seeds() -> Iterator[Run]:
    """More seeds and bases: AskAPatient, raw MiniLM and ResCNNs not aligned, chemicals, as-published winners."""
    rescnn = Run("aap-0", "attention", 1e-3, 12, "marginal", batch=128, seed=1)
    yield from (replace(rescnn, task=f"aap-{fold}", base=base) for base in ("attention", "max") for fold in range(10))
    clean = replace(_BERT, **_NAMES, loss="marginal", epochs=8)
    small = replace(_RESCNN, **_NAMES, loss="marginal", epochs=11)
    yield from (replace(clean, task=task, seed=seed) for seed in (1, 2, 3) for task in _BIOSYN)
    yield from (replace(small, task=task, base="max", seed=seed) for seed in (1, 2, 3) for task in _BIOSYN)
    chemicals = {"task": "bc5cdr-c", "loss": "marginal", "seed": 1}
    yield replace(_BERT, **chemicals, **_NAMES, epochs=4)
    yield replace(_RESCNN, **chemicals, **_NAMES, epochs=5)
    for base, task in product(("fresh-attention", "fresh-max"), _BIOSYN):
        yield replace(small, task=task, base=base, lr=1e-3, seed=1)
        yield replace(_RESCNN, task=task + PUBLISHED, base=base, loss="marginal", lr=1e-3, seed=1, traindev=True)
    yield from (Run(f"aap-{fold}", "raw", 7e-5, 9, "marginal", batch=128, seed=1) for fold in range(10))
    for seed, task in product((1, 2), _BIOSYN):
        start = {"task": task + PUBLISHED, "loss": "biosyn", "seed": seed}
        yield replace(_BERT, **start, epochs=8)
        yield replace(_RESCNN, **start, epochs=10, traindev=True)
        yield replace(_RESCNN, **start, base="max", epochs=10, traindev=True)


def _mpnet() -> Iterator[Run]:
    """A base five times as large, before and after self-alignment."""
    for base, task in product(("mpnet-aligned", "mpnet"), _BIOSYN):
        yield replace(_BERT, **_NAMES, task=task, base=base, loss="marginal", lr=3e-5, epochs=5, seed=1)
    for base, task in product(("mpnet-aligned", "mpnet"), _BIOSYN):
        yield Run(task + PUBLISHED, base, 3e-5, 3, "biosyn", batch=64, seed=1)


def _probe() -> Iterator[Run]:
    """What ``probing.py`` probes: the recipe of ``final``, and BioSyn's loss from an encoder not aligned."""
    for task in _BIOSYN:
        yield replace(_BERT, **_NAMES, task=task, base="mini", loss="marginal", epochs=8, seed=1)
        yield replace(_BERT, task=task, loss="biosyn", epochs=8, seed=1)


def _cascade() -> Iterator[Run]:
    """Encoders that a cascade asks beside generators of the same corpora."""
    for task in (*_BIOSYN, "bc5cdr-c"):
        yield replace(_BERT, **_NAMES, task=task, base="mini", loss="marginal", epochs=5, seed=1)
    yield Run("aap-0", "mini", 7e-5, 9, "marginal", batch=128, seed=1)


PLANS: dict[str, list[Run]] = {
    "smoke": [
        Run("ncbi", "raw", 5e-5, 1, prefix=PREFIX, names=64, loss="marginal", negatives=4),
        Run("ncbi", "attention", 5e-4, 1),
        Run("aap-0", "fresh-max", 1e-3, 1),
        Run("bc5cdr-d", "aligned", 5e-5, 1, negatives=4),
    ],
    "smoke-published": [
        Run("ncbi-published", "raw", 5e-5, 1, "biosyn", batch=16, traindev=True),
        Run("bc5cdr-d-published", "attention", 5e-4, 1, "marginal", traindev=True),
        Run("bc5cdr-c-published", "fresh-max", 1e-3, 2, negatives=4, traindev=True),
        Run("ncbi-published", "attention", 5e-4, 1, learns="train"),
        Run("ncbi", "attention", 5e-4, 1, "biosyn"),
    ],
    "grid": list(_grid()),
    "final": list(_final()),
    "published": list(_published()),
    "seeds": list(_seeds()),
    "mpnet": list(_mpnet()),
    "probe": list(_probe()),
    "cascade": list(_cascade()),
}
