"""The negative-aware stage of a training out of a recipe: pairs, the reference, the objective."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from nomina import generation
from nomina.errors import RecipeError
from nomina.generation.generator import Generator
from nomina.generation.opening import open_trie
from nomina.generation.prompt import Parts, Prompt
from nomina.kb.store import KnowledgeBase
from nomina.linkers.generative import spelling_of
from nomina.text import normalise
from nomina.training.examples import Ints
from nomina.training.kb_text import KbText
from nomina.training.names import Concepts
from nomina.training.preference.crossfit import CrossOptions, World, crossfitted
from nomina.training.preference.examples import PairExamples
from nomina.training.preference.kept import fingerprint, kept
from nomina.training.preference.losses import kind_of
from nomina.training.preference.mining import Mentions, MineOptions, unseen
from nomina.training.preference.objective import PreferenceOptions, PreferenceTraining
from nomina.training.preference.pairs import PairOptions
from nomina.training.preference.recipe import PreferenceRecipe
from nomina.training.preference.rounds import kept_pairs, kept_reference
from nomina.training.recipe import Recipe
from nomina.training.targets import TargetOptions

Say = Callable[[str], None]


def of_names(
    recipe: Recipe, generator: Generator, kb: KnowledgeBase, text: KbText, folder: Path, say: Say
) -> PreferenceTraining:
    """Of the names of a KB: each with its most similar synonym and the most similar names of other concepts.

    Args:
        recipe: see there.
        generator: what is trained; as it is now, it is the reference.
        kb: whose names.
        text: these, with ``similar`` targets.
        folder: where the wrong names and the reference are kept.
        say: told a line of what is prepared.

    Raises:
        RecipeError: there are no pairs, or the reference has other tokens.
        ArtifactError: the reference cannot be loaded, or the folder cannot be written to.
    """
    frozen = _reference(recipe.preference, generator)
    similar, k = text.similar, recipe.preference.others
    assert similar is not None
    say(f"names of other concepts that look like one of {text.count:,}")
    made_of = fingerprint(generator.module, [kb.fingerprint, text.options, k, text.count])
    (others,) = kept(folder / "others", made_of, lambda: [similar.others(k)])
    return _objective(recipe, generator, frozen, PairExamples.of_names(text, others), folder, say)


def of_corpus(
    recipe: Recipe,
    generator: Generator,
    kb: KnowledgeBase,
    concepts: Concepts,
    prompt: Prompt,
    parts: Sequence[Parts],
    gold: Sequence[Ints],
    documents: Sequence[str],
    folder: Path,
    say: Say,
) -> PreferenceTraining:
    """Of the mentions of a corpus: what the generator, or one that has not seen them, ranks for them now.

    Args:
        recipe: see there.
        generator: what is trained; as it is now, it ranks, and is the reference.
        kb: whose names are ranked.
        concepts: who has which name that can be written.
        prompt: how mentions are tokenised.
        parts: the texts of each mention.
        gold: its concepts.
        documents: the id of its document.
        folder: where pairs and reference are kept.
        say: told a line of what is prepared.

    Raises:
        RecipeError: there are no pairs, or the reference has other tokens.
        ArtifactError: the reference cannot be loaded, or the folder cannot be written to.
    """
    wanted = recipe.preference
    frozen = _reference(wanted, generator)
    chosen = PairOptions(wanted.which, wanted.top, wanted.negatives, wanted.missing)
    mentions = Mentions(prompt.of_parts(parts), [normalise(part.mention) for part in parts], gold)
    trie = open_trie(kb, spelling_of(generator, prompt))
    options = MineOptions(chosen, wanted.beams, wanted.own)
    within = None if wanted.seen else unseen(kb, mentions.keys)
    say(f"ranking names for {len(parts):,} mentions")
    if wanted.folds:
        world, texts = World(kb, trie, concepts, prompt, within), [part.mention for part in parts]
        groups = documents if len(set(documents)) < len(documents) else mentions.keys
        cross = _cross_options(recipe)
        pairs = crossfitted(world, mentions, texts, groups, options, cross, generator.device, folder, say)
    else:
        pairs = kept_pairs(folder / "pairs", generator, kb, trie, concepts, mentions, options, within=within)
    examples = PairExamples.of_mentions(mentions.prompted, pairs, concepts.texts, prompt)
    return _objective(recipe, generator, frozen, examples, folder, say)


def _cross_options(recipe: Recipe) -> CrossOptions:
    wanted, names, how = recipe.preference, recipe.generation, recipe.fit
    if not wanted.fold_base:
        raise RecipeError(
            "preference.folds trains models of its own: name the one that they begin as, which has not seen the"
            " corpus, as preference.fold_base"
        )
    targets = TargetOptions(names.target, names.top, how.seed, names.similarity)
    rates = wanted.fold_epochs, wanted.fold_lr, wanted.fold_batch_size
    layers = tuple(int(layer) for layer in names.layers.split())
    return CrossOptions(wanted.fold_base, wanted.folds, *rates, names.smoothing, targets, how.bf16, how.seed, layers)


def _objective(
    recipe: Recipe, generator: Generator, frozen: Generator | None, pairs: PairExamples, folder: Path, say: Say
) -> PreferenceTraining:
    wanted, kind, how = recipe.preference, kind_of(recipe.preference.loss), recipe.fit
    say(f"{pairs.count:,} pairs of a right and a wrong name")
    given = {"beta": wanted.beta, "margin": wanted.margin, "weight": wanted.weight}
    values = tuple((key, given[key]) for key in kind.keys if given[key] or key != "beta")
    reference = None
    if frozen is not None:
        frozen.module.to(generator.device)
        reference = kept_reference(folder / "reference", frozen, pairs, max(how.batch_size, 64), bf16=how.bf16)
    options = PreferenceOptions(wanted.loss, values, wanted.likelihood, how.batch_size, how.seed)
    return PreferenceTraining(generator, pairs, options, reference)


def _reference(wanted: PreferenceRecipe, generator: Generator) -> Generator | None:
    """The generator that is compared with: of a folder, else the one that is trained; None where the loss has none."""
    if not kind_of(wanted.loss).reference:
        return None
    if not wanted.reference:
        return generator
    frozen = generation.load(wanted.reference)
    if frozen.tokenizer.to_str() != generator.tokenizer.to_str():
        raise RecipeError(
            f"{wanted.reference} has other tokens than the model that is trained: name one that it comes from"
        )
    return frozen
