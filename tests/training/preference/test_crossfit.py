"""Pairs by models that have not seen the mention: which model ranks what, and what is left of a killed call."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")
pytestmark = pytest.mark.extras

import torch  # noqa: E402
from generator_cases import save_bart  # noqa: E402
from training_cases import NAMES  # noqa: E402

from nomina import generation  # noqa: E402
from nomina.errors import RecipeError  # noqa: E402
from nomina.generation.opening import open_trie  # noqa: E402
from nomina.generation.prompt import Parts, Prompt  # noqa: E402
from nomina.linkers.generative import spelling_of  # noqa: E402
from nomina.text import normalise  # noqa: E402
from nomina.training.names import Concepts  # noqa: E402
from nomina.training.preference import crossfit  # noqa: E402
from nomina.training.preference.crossfit import CrossOptions, World, crossfitted  # noqa: E402
from nomina.training.preference.mining import Mentions, MineOptions, mine, unseen  # noqa: E402
from nomina.training.preference.pairs import PairOptions, folds, joined  # noqa: E402

MENTIONS = [
    ("heart attack", "T:1"),
    ("stature", "T:2"),
    ("the seizure", "T:3"),
    ("breast cancer", "T:4"),
    ("fu", "T:5"),
] * 2
MINING = MineOptions(PairOptions(missing="synonym"), beams=6)
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def kb(make_kb):
    return make_kb(NAMES)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return save_bart(tmp_path_factory.mktemp("base"))


class Made:
    """A KB, mentions of two documents for each fold, and the base as it is read."""

    def __init__(self, kb, base):
        self.generator, concepts = generation.load(base), Concepts.of(kb)
        prompt = Prompt.of(self.generator)
        self.world = World(kb, open_trie(kb, spelling_of(self.generator, prompt)), concepts, prompt)
        self.texts = [text for text, _ in MENTIONS]
        gold = [np.array([concepts.ids.index(id)]) for _, id in MENTIONS]
        prompted = prompt.of_parts([Parts("", text, "") for text in self.texts])
        self.mentions = Mentions(prompted, [normalise(text) for text in self.texts], gold)
        self.groups = [f"d{i % 5}" for i in range(len(MENTIONS))]
        self.options = CrossOptions(str(base), folds=3, epochs=3, lr=5e-3, batch_size=2, bf16=False)

    def pairs(self, folder, options=None):
        given = self.world, self.mentions, self.texts, self.groups, MINING, options or self.options
        return crossfitted(*given, CPU, folder, lambda line: None)


@pytest.fixture(scope="module")
def made(kb, base):
    return Made(kb, base)


def told(pairs):
    return [part.tolist() for part in pairs]


def test_each_fold_is_ranked_by_a_model_of_the_others(made, tmp_path):
    found = made.pairs(tmp_path)
    fold, parts, world = folds(made.groups, 3, 0), [], made.world
    for number in range(3):
        held, others = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        texts = [made.texts[i] for i in others]
        trained = crossfit._trained(
            world, made.mentions.take(others), texts, made.options, CPU, tmp_path / f"own-{number}"
        )
        kept = made.mentions.take(held)
        parts.append((held, mine(trained, world.kb, world.trie, world.concepts, kept, MINING)))
    assert told(found) == told(joined(parts))
    assert len(found.mention) > 0
    # What the model makes of it that all begin as is something else.
    assert told(found) != told(mine(made.generator, world.kb, world.trie, world.concepts, made.mentions, MINING))
    assert sorted(path.name for path in tmp_path.iterdir() if "own" not in path.name) == [
        "pairs-0",
        "pairs-1",
        "pairs-2",
    ]


def test_a_mention_is_in_no_training_of_its_own_fold(made, tmp_path, monkeypatch):
    seen, real = [], crossfit._trained

    def spied(world, mentions, texts, *more):
        seen.append(sorted(texts))
        return real(world, mentions, texts, *more)

    monkeypatch.setattr(crossfit, "_trained", spied)
    made.pairs(tmp_path)
    fold = folds(made.groups, 3, 0)
    assert seen == [sorted(made.texts[i] for i in np.flatnonzero(fold != number)) for number in range(3)]


def test_a_killed_call_goes_on_behind_the_folds_that_are_there(made, tmp_path, monkeypatch):
    whole = told(made.pairs(tmp_path / "whole"))
    real, calls = crossfit.mine, []

    def killed(*given):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(crossfit, "mine", killed)
    with pytest.raises(KeyboardInterrupt):
        made.pairs(tmp_path / "parts")
    # The model of the second fold is trained: its checkpoint is there.
    assert sorted(path.name for path in (tmp_path / "parts").iterdir()) == ["fold-1", "pairs-0"]
    assert told(made.pairs(tmp_path / "parts")) == whole
    assert len(calls) == 4
    assert told(made.pairs(tmp_path / "parts")) == whole
    assert len(calls) == 4


def test_other_settings_are_other_pairs(made, tmp_path, monkeypatch):
    made.pairs(tmp_path)
    calls = []
    monkeypatch.setattr(crossfit, "_trained", lambda *given: calls.append(1) or made.generator)
    made.pairs(tmp_path)
    assert not calls
    made.pairs(tmp_path, CrossOptions(made.options.base, folds=3, epochs=1, bf16=False))
    assert len(calls) == 3


def test_more_folds_than_documents_are_refused(made, tmp_path):
    with pytest.raises(RecipeError, match="cannot be dealt into 9 folds"):
        made.pairs(tmp_path, CrossOptions(made.options.base, folds=9))


def test_names_that_are_training_mentions_can_be_kept_out(made):
    kb, world = made.world.kb, made.world
    within = unseen(kb, made.mentions.keys)
    assert {kb.surface(int(row)) for row in np.flatnonzero(~within)} == {
        "heart attack",
        "the seizure",
        "breast cancer",
        "fu",
    }
    given = made.generator, kb, world.trie, world.concepts, made.mentions
    free, found = mine(*given, MINING), mine(*given, MINING, None, within)
    assert within[found.chosen].all()
    assert within[found.rejected].all()
    assert not within[free.chosen].all()
    every = MineOptions(PairOptions(missing="synonym", negatives="tfidf"), beams=6)
    found = mine(*given, every, None, within)
    assert len(found.mention) > 0
    assert within[found.rejected].all()
