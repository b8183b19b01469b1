"""Negative-aware training of generative linkers on one GPU (ANGEL): of a pre-trained one, of a fine-tuned one.

    python experiments/angel.py others --data DATA --model MODEL --out DATA
    python experiments/angel.py names --data DATA --model PRETRAINED --out OUT --minutes 6
    python experiments/angel.py corpus --data DATA --model TUNED --base PRETRAINED --corpus ncbi --out OUT --only paper

``DATA`` is that of ``generative.py``. ``others`` looks up, without a GPU, the names of other concepts most similar to
each (``DATA/others.npy``; of MODEL, which may be an encoder, it needs the tokenizer alone); ``names`` trains a model,
pre-trained with ``generative.py pretrain --similar``, on them.
``corpus`` trains a fine-tuned model anew for each of ``--only``: what is mined once is used by all that mine alike.
Results go to ``OUT/NAME.json``. Weights are chosen on the development set, where the start may be what is best; a test
set is looked at with ``--test``, with the chosen weights.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import multiprocessing
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from generative import AnyTraining, Record, common_options, concepts, prepared, saved, tuned, zero_shot
from generative_eval import Bench, Dictionary, Item
from sapbert_align import say

from nomina import generation
from nomina.generation.generator import Generator
from nomina.generation.prompt import Parts, Prompt
from nomina.text import normalise
from nomina.training.kb_text import KbText, TextOptions
from nomina.training.loop import FitOptions, fit
from nomina.training.preference.crossfit import CrossOptions, World, crossfitted
from nomina.training.preference.examples import PairExamples
from nomina.training.preference.losses import kind_of
from nomina.training.preference.mining import Mentions, MineOptions, mine, unseen
from nomina.training.preference.objective import Floats, PreferenceOptions, PreferenceTraining, reference_of
from nomina.training.preference.pairs import Missing, Negatives, PairOptions, Pairs, Which
from nomina.training.preference.similar import Similar
from nomina.training.targets import TargetOptions

STARTED = time.monotonic()
OTHERS = "others.npy"
CHUNK = 300
"""Concepts that a process looks up at a time."""


class Variant(NamedTuple):
    """How pairs are made, and which loss is over them; the defaults are the paper's."""

    loss: str = "dpo"
    likelihood: float = 0.0
    which: Which = "above"
    top: int = 5
    negatives: Negatives = "beams"
    missing: Missing = "skip"
    own: bool = True
    seen: bool = True
    folds: int = 0

    @property
    def mining(self) -> tuple[object, ...]:
        """What pairs depend on."""
        return self[2:]


VARIANTS = {
    "paper": Variant(),
    "likelihood": Variant(likelihood=1.0),
    "synonym": Variant(missing="synonym"),
    "own": Variant(own=False, missing="synonym"),
    "unseen": Variant(seen=False, missing="synonym"),
    "crossfit": Variant(folds=5, missing="synonym"),
    "crossfit-likelihood": Variant(folds=5, missing="synonym", likelihood=1.0),
    "pairwise": Variant("pairwise"),
    "cpo": Variant("cpo"),
    "simpo": Variant("simpo"),
    "tfidf": Variant(negatives="tfidf"),
    "all": Variant(which="all"),
    "top-10": Variant(top=10),
}
"""The remedies of the first trial's harm, the losses of table D, the pairs of table 2."""


class Listed:
    """As much of a KB as mining asks for: the names of a dictionary."""

    def __init__(self, dictionary: Dictionary) -> None:
        self.names = [normalise(text) for text in dictionary.texts]
        self.fingerprint = hashlib.sha256("\n".join(self.names).encode()).hexdigest()
        self._rows = {name: row for row, name in reversed(list(enumerate(self.names)))}

    def row(self, key: str) -> int | None:
        """The row of a name."""
        return self._rows.get(key)


def main() -> None:
    """Do a stage."""
    options = common_options(__doc__, ["others", "names", "corpus"])
    options.add_argument("--model", type=Path, required=True, help="the generator that is trained")
    options.add_argument("--base", type=Path, help="the one that models of folds begin as")
    options.add_argument("--corpus", default="ncbi", help="ncbi, bc5cdr or aap-0")
    options.add_argument("--no-context", action="store_true")
    options.add_argument("--only", nargs="*", choices=list(VARIANTS), default=["paper"])
    options.add_argument("--seeds", type=int, nargs="*", default=[0])
    options.add_argument("--epochs", type=float, default=1.0)
    options.add_argument("--beta", type=float, default=0.1)
    options.add_argument("--likelihood", type=float, default=0.0, help="of the training on names")
    options.add_argument("--fold-epochs", type=float, default=8.0)
    options.add_argument("--fold-lr", type=float, default=1e-4)
    options.add_argument("--fold-batch", type=int, default=64)
    options.add_argument("--others", type=int, default=1, help="wrong names of each name")
    options.add_argument("--processes", type=int, help="of others; by default one a core")
    options.add_argument("--minutes", type=float, default=6.0, help="of the training on names")
    options.add_argument("--repeat", type=int, default=1)
    options.add_argument("--merge", action=argparse.BooleanOptionalAction, default=True)
    options.add_argument("--test", action="store_true")
    arguments = options.parse_args()
    arguments.name = arguments.name or "-".join(
        ["angel", arguments.stage, *([arguments.corpus] if arguments.stage == "corpus" else [])]
    )
    device, record = prepared(arguments)
    {"others": others, "names": on_names, "corpus": on_corpus}[arguments.stage](arguments, device, record)
    record.add("seconds", round(time.monotonic() - STARTED, 1))


def text_of(arguments: argparse.Namespace, generator: Generator) -> KbText:
    """All names, each with its most similar synonym."""
    prompt = Prompt.of(generator, window=arguments.window)
    return KbText(concepts(arguments), prompt, TextOptions(similar=True))


def others(arguments: argparse.Namespace, device: torch.device, record: Record) -> None:
    """Look up the wrong names of each name."""
    del device
    text = text_of(arguments, generation.begin(arguments.model))
    assert text.similar is not None
    spans = list(text.similar.concepts())
    parts = [spans[start : start + CHUNK] for start in range(0, len(spans), CHUNK)]
    # Forked, and nothing of it in the tasks, so that the lists of all grams are there once and are not sent about.
    forked = multiprocessing.get_context("fork")
    shared: list[Similar] = [text.similar]
    with forked.Pool(arguments.processes, _share, (shared,)) as pool:
        found = np.concatenate(list(pool.imap(functools.partial(others_of, arguments.others), parts)))
    np.save(arguments.out / OTHERS, found.astype(np.int32))
    record.add("names", text.count)


_shared: list[Similar] = []
"""What the processes that look names up share."""


def _share(similar: list[Similar]) -> None:
    """Begin a process: what a fork has is not copied."""
    _shared[:] = similar


def others_of(k: int, spans: list[tuple[int, int]]) -> np.ndarray:
    """The wrong names of the names of some concepts."""
    return np.concatenate([_shared[0].others_of(span, k) for span in spans])


def on_names(arguments: argparse.Namespace, device: torch.device, record: Record) -> None:
    """Negative-aware pre-training; zero-shot figures on development sets before, on the way, after."""
    generator = generation.load(arguments.model)
    generator.module.to(device)
    text = text_of(arguments, generator)
    pairs = PairExamples.of_names(text, np.load(arguments.data / OTHERS).astype(np.int64)[:, : arguments.others])
    size, bf16 = arguments.batch or 256, device.type == "cuda"
    say(f"{pairs.count} pairs after {time.monotonic() - STARTED:.0f} s")
    reference = reference_of(generator, pairs, 4 * size, bf16=bf16)
    say(f"reference after {time.monotonic() - STARTED:.0f} s")
    options = PreferenceOptions("dpo", (("beta", arguments.beta),), arguments.likelihood, size)
    objective = PreferenceTraining(generator, pairs, options, reference)
    measure = zero_shot(arguments, generator)
    record.log({"step": 0, **measure(0)})
    how = FitOptions(
        min(round(arguments.epochs * objective.steps), arguments.steps),
        arguments.lr or 1e-5,
        warmup=arguments.warmup,
        clip=arguments.clip,
        seconds=arguments.minutes * 60,
        bf16=bf16,
        report_every=200,
        evaluate_every=arguments.evaluate_every or 1000,
    )
    result = fit(objective, how, evaluate=measure, report=record.log)
    record.add("steps", result.steps)
    record.add("pairs_per_s", round(result.steps * size / max(result.seconds, 1e-9)))
    saved(arguments, generator, arguments.name)


def on_corpus(arguments: argparse.Namespace, device: torch.device, record: Record) -> None:
    """Negative-aware fine-tuning, a training a variant and seed."""
    bench = Bench(arguments)
    dictionary = bench.dictionary
    known = [item for item in bench.splits["train"] if len(dictionary.numbers(item.gold))]
    mined: dict[tuple[object, ...], Pairs] = {}
    runs = []
    for name in arguments.only:
        variant = VARIANTS[name]
        for seed in arguments.seeds:
            torch.manual_seed(seed)
            generator = generation.load(arguments.model)
            generator.module.to(device)
            begun = time.monotonic()
            if variant.mining not in mined:
                mined[variant.mining] = pairs_of(arguments, generator, bench, known, variant)
            pairs = mined[variant.mining]
            found = {"variant": name, "seed": seed, "pairs": len(pairs.mention)}
            found["mentions"] = len(np.unique(pairs.mention))
            found["mined_s"] = round(time.monotonic() - begun, 1)
            objective = objective_of(arguments, generator, dictionary, known, pairs, variant, seed)
            training = AnyTraining(objective, objective.steps, seed)
            run = tuned(arguments, generator, training, bench.judges(generator, "dev"), record)
            if arguments.test:
                run["test"] = bench.judges(generator, "test")()
            runs.append({**found, **run})
            record.log(runs[-1])
            record.add("runs", runs)
            saved(arguments, generator, f"{arguments.name}-{name}-{seed}", pack=arguments.pack and len(runs) == 1)


def prompted_of(arguments: argparse.Namespace, generator: Generator, known: list[Item]) -> tuple[Prompt, list[Parts]]:
    """The prompt, and the parts of each mention, without context where that is wanted."""
    parts = [Parts("", item.parts.mention, "") if arguments.no_context else item.parts for item in known]
    return Prompt.of(generator, window=arguments.window, context=not arguments.no_context), parts


def pairs_of(
    arguments: argparse.Namespace, generator: Generator, bench: Bench, known: list[Item], variant: Variant
) -> Pairs:
    """What the generator, or models of folds, rank for the training mentions, as pairs."""
    dictionary = bench.dictionary
    prompt, parts = prompted_of(arguments, generator, known)
    texts = [item.parts.mention for item in known]
    gold = [dictionary.numbers(item.gold) for item in known]
    mentions = Mentions(prompt.of_parts(parts), [normalise(text) for text in texts], gold)
    kb: Any = Listed(dictionary)
    trie = bench.trie(generator)
    pairs = PairOptions(variant.which, variant.top, variant.negatives, variant.missing)
    mining = MineOptions(pairs, arguments.beams, variant.own)
    within = None if variant.seen else unseen(kb, mentions.keys)
    if not variant.folds:
        return mine(generator, kb, trie, dictionary.concepts, mentions, mining, None, within)
    world = World(kb, trie, dictionary.concepts, prompt, within)
    documents = ["".join("".join(item.parts).split()) for item in known]
    options = CrossOptions(
        str(arguments.base),
        variant.folds,
        arguments.fold_epochs,
        arguments.fold_lr,
        arguments.fold_batch,
        arguments.smoothing,
        TargetOptions(),
    )
    folder = arguments.work / f"{arguments.name}-folds"
    return crossfitted(world, mentions, texts, documents, mining, options, generator.device, folder, say)


def examples_of(
    arguments: argparse.Namespace, generator: Generator, dictionary: Dictionary, known: list[Item], pairs: Pairs
) -> PairExamples:
    """Pairs of mentions as tokens."""
    prompt, parts = prompted_of(arguments, generator, known)
    return PairExamples.of_mentions(prompt.of_parts(parts), pairs, dictionary.texts, prompt)


def objective_of(
    arguments: argparse.Namespace,
    generator: Generator,
    dictionary: Dictionary,
    known: list[Item],
    pairs: Pairs,
    variant: Variant,
    seed: int,
    reference: Floats | None = None,
) -> PreferenceTraining:
    """The training on pairs; the reference is what the generator makes of them now, where none is given."""
    examples = examples_of(arguments, generator, dictionary, known, pairs)
    kind, size = kind_of(variant.loss), arguments.batch or 16
    values = (("beta", arguments.beta),) if variant.loss == "dpo" else ()
    if kind.reference and reference is None:
        reference = reference_of(generator, examples, 256, bf16=generator.device.type == "cuda")
    options = PreferenceOptions(variant.loss, values, variant.likelihood, size, seed)
    return PreferenceTraining(generator, examples, options, reference)


if __name__ == "__main__":
    main()
