"""A whole training of a generator out of a recipe: on a KB's names and definitions, or on a corpus (GenBioEL)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import torch

from nomina import generation
from nomina.abbreviations import expander
from nomina.errors import RecipeError
from nomina.evaluation.ids import IdMap
from nomina.generation.generator import Generator
from nomina.generation.prompt import Expanders, Prompt
from nomina.kb.store import KnowledgeBase
from nomina.linkers.base import NO_ROW
from nomina.linkers.generative import GenerativeLinker
from nomina.training import ab3p, gather
from nomina.training.answers import writable
from nomina.training.kb_text import KbText, TextOptions, of_kb
from nomina.training.loop import STATE, FitResult, Objective, Report, fit
from nomina.training.mentions import numbers_of
from nomina.training.names import Concepts
from nomina.training.pieces import Examples
from nomina.training.preference import stage
from nomina.training.preference.objective import PreferenceTraining
from nomina.training.prepare import Say
from nomina.training.recipe import FitRecipe, Recipe
from nomina.training.run import Judge, fit_options, versions_of
from nomina.training.seq2seq import Seq2SeqOptions, Seq2SeqTraining
from nomina.training.targets import MentionExamples, TargetOptions, name_set, targets_of
from nomina.types import Document, Query

AnyTraining: TypeAlias = Seq2SeqTraining | PreferenceTraining

_AT = (1, 5)
_SMALL = 32
"""To less than so many examples no batch is cut so that few of them make more steps."""


class Sample(NamedTuple):
    """A mention in its document, and the concepts of the KB that are right for it."""

    query: Query
    gold: frozenset[int]


def samples(documents: Iterable[Document], kb: KnowledgeBase, ids: Iterable[str]) -> list[Sample]:
    """The mentions of a corpus that have gold; of a composite any part's concept is right. For arguments see ``items``.

    Mentions whose gold the KB lacks have no concepts.
    """
    known = IdMap(kb, splits=True)
    numbers = numbers_of(known, ids)
    found = []
    for document in documents:
        for mention in document.mentions:
            if gold := known.gold(mention.gold):
                concepts = frozenset(n for part in gold for id in part for n in numbers.get(id, ()))
                found.append(Sample(Query(document, mention), concepts))
    return found


@dataclass(frozen=True, slots=True)
class GenerativeTask:
    """What a generator is trained with; see ``prepare.Task``."""

    kb: KnowledgeBase
    concepts: Concepts
    train: Sequence[Sample] | None
    dev: Sequence[Sample] | None
    cache: Path


@dataclass(frozen=True, slots=True)
class TrainedGenerator:
    """What came out; see ``run.Trained``."""

    generator: Generator
    result: FitResult
    before: dict[str, Any]
    best: dict[str, Any]
    steps: int
    versions: dict[str, str]

    @property
    def parameters(self) -> str:
        """One line: how many there are."""
        return parameters_report(self.generator)


def train_generator(
    recipe: Recipe,
    task: GenerativeTask,
    device: torch.device,
    *,
    say: Say,
    report: Report | None = None,
    stop: Callable[[], bool] | None = None,
) -> TrainedGenerator:
    """Train as the recipe says; for arguments and errors see ``run.train``."""
    ab3p.program_of(recipe.generation.ab3p)  # before hours of training on names
    generator = generator_of(recipe, device)
    say(f"{generator.kind}: {parameters_report(generator)}")
    objective = (_names if recipe.data.source == "names" else _corpus)(recipe, generator, task, say)
    dev = None if task.dev is None else GenerativeDev(recipe, generator, task)
    judge = Judge(generator, objective, dev, task.cache)
    if not (task.cache / STATE).exists():
        judge.first(report)
    options, trained = fit_options(recipe, objective, task.cache), cast("Objective[Any]", objective)
    enough = judge.enough(recipe, options)
    result = fit(trained, options, evaluate=judge, report=report, stop=stop, enough=enough)
    gather.wait()
    if not result.stopped and recipe.fit.keep == "best":
        judge.take_best()
    before, best = judge.figures(result, recipe.fit.keep, say)
    versions = versions_of(next(generator.module.parameters()))
    return TrainedGenerator(generator, result, before, best, options.steps, versions)


def generator_of(recipe: Recipe, device: torch.device) -> Generator:
    """The generator to start from, on its device.

    Raises:
        ArtifactError: the base cannot be loaded.
        RecipeError: there is none.
    """
    if not recipe.encoder.base:
        raise RecipeError("no model to start from: name a folder or an encoder with --base, or as encoder.base")
    torch.manual_seed(recipe.fit.seed)
    generator = generation.begin(recipe.encoder.base, [int(layer) for layer in recipe.generation.layers.split()])
    if not recipe.generation.prompt:
        generator.writing = replace(generator.writing, prompt="")
    generator.module.to(device)
    return generator


def parameters_report(generator: Generator) -> str:
    """One line: how many parameters there are."""
    return f"{sum(p.numel() for p in generator.module.parameters()):,} parameters"


def _names(recipe: Recipe, generator: Generator, task: GenerativeTask, say: Say) -> AnyTraining:
    wanted, data, prefers = recipe.generation, recipe.data, recipe.preference.loss != "none"
    generator.writing = replace(generator.writing, context=_context(recipe, generator, say), window=wanted.window)
    prompt = Prompt.of(generator)
    options = TextOptions(
        context=wanted.around,
        others=wanted.others,
        noise=data.noise,
        copies=data.copies,
        bare=wanted.bare,
        similar=wanted.similar or prefers,
        seed=recipe.fit.seed,
    )
    text = KbText(of_kb(task.kb), prompt, options)
    if prefers:
        return stage.of_names(recipe, generator, task.kb, text, task.cache, say)
    say(f"{text.count:,} names, each a mention once in an epoch")
    return _writing(recipe, generator, text, say)


def _context(recipe: Recipe, generator: Generator, say: Say) -> bool:
    """Whether mentions are read in their texts: as the recipe says, else as the base reads them."""
    wanted = recipe.generation
    if wanted.context is not None:
        return wanted.context
    if not generator.context:
        base = recipe.encoder.base
        say(f"mentions are read without the text around, as {base} reads them (generation.context=yes: with it)")
    return generator.context and (recipe.data.source == "corpus" or wanted.bare < 1)


def _writing(recipe: Recipe, generator: Generator, examples: Examples, say: Say) -> Seq2SeqTraining:
    size = _batch_size(recipe.fit, examples.count)
    objective = Seq2SeqTraining(generator, examples, Seq2SeqOptions(size, recipe.generation.smoothing, recipe.fit.seed))
    steps, planned = fit_options(recipe, objective, Path()).steps, round(recipe.fit.epochs * objective.steps)
    if size < recipe.fit.batch_size or (steps > planned and not recipe.fit.steps):
        say(
            f"{examples.count:,} examples are few: {steps:,} steps of {min(size, examples.count):,} in place of"
            f" {recipe.fit.epochs:g} epochs of batches of {recipe.fit.batch_size:,}; set fit.steps for other ones"
        )
    return objective


def _batch_size(fit: FitRecipe, examples: int) -> int:
    """The batch size that is wanted; of few examples one at which their epochs have ``least_steps``, or a small one."""
    if fit.steps or not fit.least_steps or fit.epochs * (examples // fit.batch_size) >= fit.least_steps:
        return fit.batch_size
    size, processes = max(int(fit.epochs * examples / fit.least_steps), _SMALL), gather.share()[1]
    return min(-(-size // processes) * processes, fit.batch_size)


def _corpus(recipe: Recipe, generator: Generator, task: GenerativeTask, say: Say) -> AnyTraining:
    if task.train is None:
        raise RecipeError("the recipe fine-tunes on a corpus: name one with --corpus")
    wanted, seed = recipe.generation, recipe.fit.seed
    generator.writing = replace(generator.writing, context=_context(recipe, generator, say), window=wanted.window)
    prompt = Prompt.of(generator)
    names = writable(name_set(task.concepts, wanted.names, seed), prompt)
    named = frozenset(names.concept.tolist())
    known = [(query, np.array(sorted(gold & named), np.int64)) for query, gold in task.train if gold & named]
    if not known:
        raise RecipeError("no mention of the corpus has a concept of the KB: is it the corpus's own?")
    left_out = f"{len(task.train) - len(known):,} left out (no name in the KB that can be written)"
    say(f"{len(known):,} mentions to train on; {left_out}")
    expanders = _expanders(recipe, [query.document.text for query, _ in known], say)
    parts, gold = [prompt.parts(query, expanders) for query, _ in known], [own for _, own in known]
    if recipe.preference.loss != "none":
        documents = [query.document.id for query, _ in known]
        return stage.of_corpus(recipe, generator, task.kb, names, prompt, parts, gold, documents, task.cache, say)
    options = TargetOptions(wanted.target, wanted.top, seed, wanted.similarity)
    targets = targets_of([part.mention for part in parts], gold, names, options)
    examples = MentionExamples(prompt.of_parts(parts), targets, names.texts, prompt, seed)
    return _writing(recipe, generator, examples, say)


def _expanders(recipe: Recipe, texts: Sequence[str], say: Say) -> Expanders:
    """What writes abbreviations of the corpus out; which one it is, is said."""
    program = ab3p.program_of(recipe.generation.ab3p)
    say(f"abbreviations by {'the rules of nomina' if program is None else f'Ab3P ({program})'}")
    return expander if program is None else ab3p.expanders(program, texts)


class GenerativeDev:
    """Accuracy on a development corpus: names are searched as ``GenerativeLinker`` does.

    Args:
        recipe: which names may be written, and with how many beams.
        generator: see there.
        task: its ``dev`` is asked.

    Raises:
        RecipeError: the corpus has no mention with gold that the KB has.
    """

    def __init__(self, recipe: Recipe, generator: Generator, task: GenerativeTask) -> None:
        self._samples = list(task.dev or ())
        if not any(gold for _, gold in self._samples):
            raise RecipeError(f"the KB {task.kb.manifest.name} has the gold of no mention of the development corpus")
        wanted = recipe.generation
        self._linker = GenerativeLinker(task.kb, generator, beams=wanted.beams)
        self._owners = task.concepts.owners()
        self._within = None
        if wanted.names != "all":
            self._within = np.zeros(len(task.concepts.texts), np.bool_)
            self._within[name_set(task.concepts, wanted.names, recipe.fit.seed).row] = True

    def accuracy(self) -> dict[str, float]:
        """Percentages of the mentions of which a right concept owns one of the best 1 and 5 names."""
        ranking = self._linker.rank([query for query, _ in self._samples], max(_AT), self._within)
        found = {}
        for k in _AT:
            right = [
                any(concept in gold for row in rows[:k] if row != NO_ROW for concept in self._owners[row])
                for rows, (_, gold) in zip(ranking.rows.tolist(), self._samples, strict=True)
            ]
            found[f"acc@{k}"] = round(100 * float(np.mean(right)), 2)
        return found
