"""What a corpus asks of a generator, and how its accuracy is counted."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch")

from encoder_cases import WORDS, tokenizer
from generation_cases import Small
from training_cases import NAMES

from nomina.errors import RecipeError
from nomina.linkers.base import NO_ROW
from nomina.linkers.generative import GenerativeLinker
from nomina.training import generative
from nomina.training.generative import GenerativeDev, Sample, samples
from nomina.training.names import Concepts
from nomina.training.recipe import Recipe, load
from nomina.types import Document, Mention, Query


@pytest.fixture
def kb(make_kb):
    return make_kb({"A": ["heart attack", "infarct"], "B": "stroke", "C": "infarct"})


def document(*gold):
    text = "a heart attack"
    return Document("d", text, tuple(Mention(((2, 14),), "heart attack", gold=parts) for parts in gold))


def test_a_mention_is_asked_with_its_document_and_all_concepts_of_its_parts(kb):
    concepts = Concepts.of(kb)
    made = document((("A",), ("B", "Z")), (("Z",),), ())
    found = samples([made], kb, concepts.ids)
    assert [sample.query.document for sample in found] == [made, made]
    assert [sorted(concepts.ids[n] for n in sample.gold) for sample in found] == [["A", "B"], []]


class Ranks:
    """Answers with given rows."""

    def __init__(self, rows):
        self.rows = rows

    def __call__(self, kb, generator, *, beams):
        self.beams = beams
        return self

    def rank(self, queries, k, within=None):
        self.within = within
        return SimpleNamespace(rows=np.array(self.rows)[: len(queries), :k])


def dev(monkeypatch, kb, rows, gold, recipe=None):
    linker = Ranks(rows)
    monkeypatch.setattr(generative, "GenerativeLinker", linker)
    asked = [Sample(Query(document(), Mention(((2, 14),), "heart attack")), frozenset(each)) for each in gold]
    task = generative.GenerativeTask(kb, Concepts.of(kb), None, asked, None)
    return GenerativeDev(recipe or Recipe(), None, task), linker


def test_a_mention_is_right_if_a_right_concept_owns_one_of_the_best_names(monkeypatch, kb):
    # Rows: 0 "heart attack" of A, 1 "infarct" of A and C, 2 "stroke" of B.
    rows = [[0, 2, NO_ROW, NO_ROW, NO_ROW], [1, 0, 2, NO_ROW, NO_ROW], [0, 2, 1, NO_ROW, NO_ROW], [NO_ROW] * 5]
    measured, linker = dev(monkeypatch, kb, rows, [{0}, {2}, {1}, {0}])
    assert measured.accuracy() == {"acc@1": 50.0, "acc@5": 75.0}
    assert linker.beams == 5
    assert linker.within is None


def test_only_the_chosen_names_may_be_written(monkeypatch, kb):
    recipe = load("genbioel-corpus", {"generation.names": "shortest"})
    measured, linker = dev(monkeypatch, kb, [[0] * 5], [{0}], recipe)
    measured.accuracy()
    assert linker.within.tolist() == [False, True, True]


def test_a_development_corpus_of_another_kb_is_refused(monkeypatch, kb):
    with pytest.raises(RecipeError, match="the gold of no mention"):
        dev(monkeypatch, kb, [[0] * 5], [set(), set()])


@pytest.mark.parametrize(
    ("examples", "fit", "size"),
    [
        (32, {}, 32),
        (1_000, {}, 32),
        (2_000, {}, 60),
        (33_000, {}, 990),
        (1_000_000, {}, 1024),
        (2_000, {"fit.batch_size": 48}, 48),
        (2_000, {"fit.batch_size": 8}, 8),
        (2_000, {"fit.steps": 10}, 1024),
        (2_000, {"fit.epochs": 2}, 1024),
        (2_000, {"fit.least_steps": 0}, 1024),
    ],
)
def test_of_few_examples_batches_are_smaller_but_not_small(examples, fit, size):
    assert generative._batch_size(load("genbioel", fit).fit, examples) == size


def test_a_smaller_batch_is_one_that_the_processes_divide(monkeypatch):
    monkeypatch.setattr(generative.gather, "share", lambda: (0, 7))
    assert generative._batch_size(load("genbioel").fit, 100) == 35


@pytest.fixture
def prepared(make_kb, tmp_path, monkeypatch):
    """A generator that is about to be trained, what it is trained on, and what was said."""
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path / "home"))
    kb = make_kb(NAMES)

    def run(recipe, settings, *, context=True):
        generator, said = Small(len(WORDS) + 4), []
        generator.tokenizer, generator.longest = tokenizer(), 512
        generator.writing = replace(generator.writing, context=context)
        asked = Sample(Query(document(), Mention(((2, 14),), "heart attack")), frozenset({0}))
        task = generative.GenerativeTask(kb, Concepts.of(kb), [asked], [asked], tmp_path)
        make = generative._corpus if recipe.endswith("-corpus") else generative._names
        make(load(recipe, {"encoder.base": "begun", **settings}), generator, task, said.append)
        return generator, task, said

    return run


@pytest.mark.parametrize("recipe", ["genbioel", "genbioel-corpus"])
def test_a_generator_is_asked_with_the_window_and_the_context_it_was_trained_with(prepared, recipe):
    generator, task, _ = prepared(recipe, {"generation.window": "200"})
    assert generator.window == 200
    text = "the " * 300 + "heart attack" + " of" * 300
    query = Query(Document("d", text), Mention(((1200, 1212),), "heart attack"))
    for linker in (GenerativeLinker(task.kb, generator), GenerativeDev(Recipe(), generator, task)._linker):
        ((source, _),) = linker.prompt([query])
        assert len(source) == 200


@pytest.mark.parametrize("recipe", ["genbioel", "genbioel-corpus", "angel-negatives", "angel-negatives-corpus"])
@pytest.mark.parametrize(
    ("base", "settings", "reads"),
    [
        (True, {}, True),
        (False, {}, False),
        (False, {"generation.context": "yes"}, True),
        (True, {"generation.context": "no"}, False),
    ],
)
def test_mentions_are_read_as_the_base_reads_them_unless_the_recipe_says(prepared, recipe, base, settings, reads):
    if recipe.startswith("angel"):
        settings = {**settings, "preference.loss": "simpo", "preference.missing": "synonym"}
    generator, task, said = prepared(recipe, settings, context=base)
    assert generator.context is reads
    assert GenerativeDev(load(recipe), generator, task)._linker.prompt.context is reads
    inherited = "mentions are read without the text around, as begun reads them (generation.context=yes: with it)"
    assert (inherited in said) is not (base or reads)
