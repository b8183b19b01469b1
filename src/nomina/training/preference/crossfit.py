"""Cross-fitted mining: each mention's names are ranked by a model that was trained without it.

A model knows its training mentions by heart, and its errors on them are few and not those that it makes on new text.
Here documents are dealt into folds; for each fold a model is trained on the mentions of the others, positive-only, and
ranks names for those of the fold. Not in the paper.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from nomina import generation
from nomina.errors import RecipeError
from nomina.generation.generator import Generator
from nomina.generation.grown import GrownTrie
from nomina.generation.prompt import Prompt
from nomina.generation.trie import FlatTrie
from nomina.kb.store import KnowledgeBase
from nomina.training import gather
from nomina.training.examples import Ints
from nomina.training.loop import FitOptions, fit
from nomina.training.names import Concepts
from nomina.training.preference.kept import fingerprint, kept
from nomina.training.preference.mining import Mentions, MineOptions, mine
from nomina.training.preference.pairs import Pairs, folds, joined
from nomina.training.preference.rounds import told
from nomina.training.seq2seq import Seq2SeqOptions, Seq2SeqTraining
from nomina.training.targets import MentionExamples, TargetOptions, targets_of

Say = Callable[[str], None]

_WARMUP, _CLIP = 100, 0.1


@dataclass(frozen=True, slots=True)
class CrossOptions:
    """How the models of folds are trained.

    Attributes:
        base: the folder of the generator that each begins as.
        folds: how many.
        epochs, lr, batch_size: of each training.
        smoothing: of labels.
        targets: which names the mentions are to be written as.
        bf16: see ``FitOptions``.
        seed: of the folds, and of all trainings.
        layers: of a base that is an encoder, see ``generation.begin``.
    """

    base: str
    folds: int = 5
    epochs: float = 10.0
    lr: float = 5e-5
    batch_size: int = 32
    smoothing: float = 0.1
    targets: TargetOptions = field(default_factory=TargetOptions)
    bf16: bool = True
    seed: int = 0
    layers: tuple[int, ...] = (1, 3, 5)


class World(NamedTuple):
    """What names are ranked of, and how they are written.

    Attributes:
        kb: whose names.
        trie: of them.
        concepts: who has which.
        prompt: how mentions and names are tokenised.
        within: (rows of the KB,) those that may be ranked; all where None.
    """

    kb: KnowledgeBase
    trie: FlatTrie | GrownTrie
    concepts: Concepts
    prompt: Prompt
    within: NDArray[np.bool_] | None = None


def crossfitted(
    world: World,
    mentions: Mentions,
    texts: Sequence[str],
    groups: Sequence[str],
    mining: MineOptions,
    options: CrossOptions,
    device: torch.device,
    folder: Path,
    say: Say,
) -> Pairs:
    """The pairs of all mentions, those of each fold by its model; a killed call goes on where it stood.

    Args:
        world: see there.
        mentions: see there.
        texts: of the mentions.
        groups: what stays together in a fold: the document of each mention.
        mining: which pairs are made.
        options: see there.
        device: where models are trained.
        folder: where pairs, and checkpoints until they are there, are kept.
        say: told a line of each fold.

    Raises:
        RecipeError: there are several processes, or fewer documents than folds, or the base has other tokens.
        ArtifactError: the base cannot be loaded, or the folder cannot be written to.
    """
    if gather.share()[1] > 1:
        raise RecipeError(
            "models of folds are trained in one process: leave out torchrun, or set preference.folds to 0"
        )
    base = _begun(options, device)
    if base.tokenizer.to_str() != world.prompt.tokenizer.to_str():
        raise RecipeError(
            f"{options.base} has other tokens than the model that is trained: name one that it comes from"
        )
    made_of = fingerprint(base.module, [*told(world.kb, world.concepts, mentions, mining, world.within), options])
    fold, parts = folds(groups, options.folds, options.seed), []
    for number in range(options.folds):
        held = np.flatnonzero(fold == number)
        path = folder / f"pairs-{number}"

        def make(held: Ints = held, number: int = number) -> Pairs:
            say(f"fold {number + 1} of {options.folds}: a model that has not seen {len(held):,} mentions ranks")
            others = np.setdiff1d(np.arange(len(texts)), held)
            own, place = [texts[i] for i in others.tolist()], folder / f"fold-{number}"
            trained = _trained(world, mentions.take(others), own, options, device, place)
            return mine(trained, world.kb, world.trie, world.concepts, mentions.take(held), mining, None, world.within)

        parts.append((held, Pairs(*kept(path, f"{made_of} {number}", make))))
        shutil.rmtree(folder / f"fold-{number}", ignore_errors=True)
    return joined(parts)


def _begun(options: CrossOptions, device: torch.device) -> Generator:
    torch.manual_seed(options.seed)
    generator = generation.begin(options.base, options.layers)
    generator.module.to(device)
    return generator


def _trained(
    world: World, mentions: Mentions, texts: Sequence[str], options: CrossOptions, device: torch.device, folder: Path
) -> Generator:
    """A model trained positive-only on some mentions, from its checkpoint on where there is one."""
    generator = _begun(options, device)
    targets = targets_of(texts, mentions.gold, world.concepts, options.targets)
    examples = MentionExamples(mentions.prompted, targets, world.concepts.texts, world.prompt, options.seed)
    objective = Seq2SeqTraining(
        generator, examples, Seq2SeqOptions(options.batch_size, options.smoothing, options.seed)
    )
    epoch = max(objective.steps, 1)
    steps = max(round(options.epochs * epoch), 1)
    how = FitOptions(
        steps,
        options.lr,
        warmup=min(_WARMUP, steps // 2),
        clip=_CLIP,
        bf16=options.bf16,
        seed=options.seed,
        folder=folder,
        save_every=epoch,
        report_every=epoch,
    )
    fit(objective, how)
    return generator
