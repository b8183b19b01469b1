"""Pairs out of a model's own beams, against the scores of all names one by one."""

from __future__ import annotations

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from nomina.text import normalise
from nomina.types import Document, Mention, Query

torch = pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")
pytestmark = pytest.mark.extras

from generation_cases import END, Small, every_sum  # noqa: E402

from nomina.generation.opening import open_trie  # noqa: E402
from nomina.generation.prompt import Prompt  # noqa: E402
from nomina.linkers.generative import batch_of, spelling_of  # noqa: E402
from nomina.training.loop import FitOptions, fit  # noqa: E402
from nomina.training.names import Concepts  # noqa: E402
from nomina.training.preference import rounds  # noqa: E402
from nomina.training.preference.examples import PairExamples  # noqa: E402
from nomina.training.preference.mining import Mentions, MineOptions, mine  # noqa: E402
from nomina.training.preference.objective import PreferenceOptions, PreferenceTraining  # noqa: E402
from nomina.training.preference.pairs import PairOptions, Ranked, folds, joined, select  # noqa: E402
from nomina.training.preference.rounds import kept_pairs, kept_reference  # noqa: E402
from nomina.training.similarity.tfidf import TfidfSimilarity  # noqa: E402

WORDS = ["[PAD]", "[SEP]", "[UNK]", *"short tall heart attack finger toe stature seizure is start end of and".split()]
NAMES = {
    "C:1": ("short stature", "stature short", "odd"),
    "C:2": ("tall stature", "stature tall", "strange"),
    "C:3": ("heart attack", "attack heart", "seizure heart"),
    "C:4": ("seizure", "heart seizure", "heart attack"),
    "C:5": ("short finger", "finger short", "toe short"),
    "C:6": ("toe", "tall toe", "heart xyz"),
    "C:7": ("heart abc",),
}
TEXTS = ["short stature", "tall stature", "heart attack", "seizure", "toe", "short toe", "finger", "seizure of heart"]
GOLD = ["C:1", "C:2", "C:3", "C:4", "C:6", "C:5", "C:5", "C:7"]


class Learning(Small):
    """With an answer to ``forward`` out of its steps, so that it can be trained."""

    def forward(self, ids, mask, targets, where=None):
        state = self.encode(ids, mask).hidden[:, 0].repeat_interleave(len(targets) // len(ids), 0)
        found = []
        for column in range(targets.shape[1]):
            state = self.mixed(state, targets[:, column])
            found.append(state @ self.module["out"])
        logits = torch.stack(found, 1)
        return logits if where is None else logits[where]


def generator(seed=0):
    made = Learning(len(WORDS), seed)
    made.tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, "[UNK]"))
    made.tokenizer.normalizer = normalizers.Lowercase()
    made.tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    made.tokenizer.post_processor = processors.TemplateProcessing(single="$A [SEP]", special_tokens=[("[SEP]", END)])
    return made


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="module")
def kb(make_kb):
    return make_kb(NAMES)


class World:
    """A KB, a random generator, mentions twice over in different contexts."""

    def __init__(self, kb, seed=0):
        self.kb, self.generator, self.concepts = kb, generator(seed), Concepts.of(kb)
        self.prompt = Prompt.of(self.generator)
        self.trie = open_trie(kb, spelling_of(self.generator, self.prompt))
        queries = [self.query(text, around) for around in ("{}", "heart and {} of toe") for text in TEXTS]
        gold = [np.array([self.concepts.ids.index(id)]) for id in GOLD * 2]
        self.mentions = Mentions(self.prompt(queries), [normalise(text) for text in TEXTS * 2], gold)

    @staticmethod
    def query(text, around):
        document, start = around.format(text), around.index("{")
        return Query(Document("d", document), Mention(((start, start + len(text)),), text))

    def mine(self, **options):
        pairs = PairOptions(**{k: options.pop(k) for k in ("top", "which", "missing", "negatives") if k in options})
        # So many beams that nothing is missed.
        return mine(
            self.generator, self.kb, self.trie, self.concepts, self.mentions, MineOptions(pairs, beams=30, **options)
        )

    def name(self, row):
        return self.kb.surface(row)

    def told(self, pairs):
        columns = (part.tolist() for part in pairs)
        return [(i, self.name(chosen), self.name(rejected)) for i, chosen, rejected in zip(*columns, strict=True)]

    def by_hand(self, top=5, *, own=True):
        """The spellings of each mention by the sum of every one, and which are right."""
        spellings = {}
        for row, text in enumerate(self.kb.surfaces()):
            ids = self.generator.tokenizer.encode(text, add_special_tokens=False).ids
            if set(ids) != {WORDS.index("[UNK]")}:
                spellings.setdefault(tuple(ids), []).append(row)
        owners = self.concepts.owners()
        sums = every_sum(self.generator, batch_of(self.generator, self.mentions.prompted), list(spellings))
        rows, right = [], []
        for number, (key, gold) in enumerate(zip(self.mentions.keys, self.mentions.gold, strict=True)):
            order = np.argsort(-sums[number], kind="stable")
            chosen = [list(spellings.values())[place] for place in order.tolist()]
            if not own:
                chosen = [spelt for spelt in chosen if normalise(self.name(spelt[0])) != key]
            good = [[row for row in spelt if set(owners[row]) & set(gold.tolist())] for spelt in chosen[:top]]
            rows.append([(own_ or spelt)[0] for own_, spelt in zip(good, chosen, strict=False)])
            right.append([bool(own_) for own_ in good])
        return Ranked(np.array(rows), np.array(right))


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize(("top", "which"), [(5, "above"), (10, "above"), (5, "all")])
def test_pairs_are_those_of_all_names_scored_one_by_one(kb, top, which, own):
    world = World(kb)
    found = world.told(world.mine(top=top, which=which, own=own, batch=3))
    assert len(found) > 10
    assert found == world.told(select(world.by_hand(top, own=own), PairOptions(which, top)))


def test_no_name_that_a_right_concept_has_is_rejected(kb):
    for seed in range(4):
        world = World(kb, seed)
        for number, chosen, rejected in world.told(world.mine(top=10, which="all")):
            names = {"heart abc", "heart xyz"} if GOLD[number % 8] in ("C:6", "C:7") else set()
            own = names | set(NAMES[GOLD[number % 8]])
            assert chosen in own
            assert rejected not in own


def test_a_homonym_is_right_for_both_of_its_concepts(kb):
    told = [World.told(world, world.mine(top=10, which="all")) for world in (World(kb, seed) for seed in range(4))]
    of_four = [rejected for pairs in told for number, _, rejected in pairs if GOLD[number % 8] == "C:4"]
    assert of_four
    assert "heart attack" not in of_four


def test_the_mentions_own_name_can_be_forbidden(kb):
    world = World(kb)
    with_own = {name for i, *names in world.told(world.mine(top=10)) for name in names if name == TEXTS[i % 8]}
    without = {
        name for i, *names in world.told(world.mine(top=10, own=False)) for name in names if name == TEXTS[i % 8]
    }
    assert with_own
    assert not without


def test_a_synonym_stands_in_where_nothing_is_right(kb):
    world = World(kb)
    ranked, found = world.by_hand(2, own=False), world.told(world.mine(top=2, missing="synonym", own=False))
    nearest = {"C:1": "stature short", "C:2": "stature tall", "C:4": "heart seizure", "C:6": "tall toe"}
    seen = set()
    for number in np.flatnonzero(~ranked.right.any(axis=1)).tolist():
        pairs = [pair[1:] for pair in found if pair[0] == number]
        assert [rejected for _, rejected in pairs] == [world.name(row) for row in ranked.rows[number].tolist()]
        if id := nearest.get(GOLD[number % 8]):
            assert {chosen for chosen, _ in pairs} == {id}
            seen.add(id)
    assert len(seen) > 1


def test_similar_wrong_names_can_take_the_place_of_beams(kb):
    world = World(kb)
    keys, owners = list(kb.names), world.concepts.owners()
    similar, found = (
        TfidfSimilarity(keys).cosine,
        world.told(world.mine(top=2, negatives="tfidf", missing="synonym", own=False)),
    )
    for number, gold in enumerate(GOLD * 2):
        text, right = TEXTS[number % 8], world.concepts.ids.index(gold)
        scores = {
            i: round(similar(text, key), 6) for i, key in enumerate(keys) if right not in owners[i] and key != text
        }
        best = sorted((i for i in scores if scores[i] > 0), key=lambda i: (-scores[i], i))[:2]
        assert [rejected for i, _, rejected in found if i == number] == [world.name(row) for row in best]


def test_mining_is_the_same_again_and_leaves_the_model_as_it_was(kb):
    world = World(kb)
    world.generator.module.train()
    told = []
    options = MineOptions(batch=5)
    given = (world.generator, world.kb, world.trie, world.concepts, world.mentions, options)
    first = mine(*given, progress=lambda done, of: told.append((done, of)))
    assert world.generator.module.training
    assert world.told(first) == world.told(mine(*given))
    assert told == [(5, 16), (10, 16), (15, 16), (16, 16)]


def test_a_killed_and_resumed_round_has_the_same_pairs_and_reference(kb, tmp_path, monkeypatch):
    world = World(kb)

    def pairs():
        return kept_pairs(tmp_path / "pairs", world.generator, kb, world.trie, world.concepts, world.mentions)

    def reference(found):
        examples = PairExamples.of_mentions(world.mentions.prompted, found, world.concepts.texts, world.prompt)
        return kept_reference(tmp_path / "reference", world.generator, examples)

    first = pairs()
    before = np.array(reference(first))
    assert before.shape == (len(first.mention), 2)

    def never(*given):
        raise AssertionError

    with monkeypatch.context() as patch:
        patch.setattr(rounds, "mine", never)
        patch.setattr(rounds, "reference_of", never)
        again = pairs()
        assert world.told(again) == world.told(first)
        assert np.array_equal(reference(again), before)
    with torch.no_grad():
        world.generator.module["out"].add_(torch.randn(16, len(WORDS)))
    assert world.told(pairs()) != world.told(again)


def test_the_reference_is_the_sum_of_every_name_of_a_pair(kb):
    world = World(kb)
    found = world.mine()
    examples = PairExamples.of_mentions(world.mentions.prompted, found, world.concepts.texts, world.prompt)
    reference = rounds.reference_of(world.generator, examples, batch_size=3)
    for (number, *rows), sums in zip(zip(*(p.tolist() for p in found), strict=True), reference.tolist(), strict=True):
        paths = [world.generator.tokenizer.encode(world.name(row), add_special_tokens=False).ids for row in rows]
        batch = batch_of(world.generator, [world.mentions.prompted[number]])
        assert sums == pytest.approx(every_sum(world.generator, batch, paths)[0].tolist(), rel=1e-4)


def test_folds_are_mined_by_their_own_models_and_joined(kb):
    world, others = World(kb), [World(kb, seed) for seed in (1, 2)]
    fold = folds([str(i % 8) for i in range(16)], 2)
    parts = []
    for number, other in enumerate(others):
        held = np.flatnonzero(fold == number)
        pairs = mine(other.generator, kb, world.trie, world.concepts, world.mentions.take(held))
        parts.append((held, pairs))
    whole = world.told(joined(parts))
    for number, other in enumerate(others):
        expected = [pair for pair in world.told(mine(other.generator, kb, world.trie, world.concepts, world.mentions))
                    if fold[pair[0]] == number]  # fmt: skip
        assert [pair for pair in whole if fold[pair[0]] == number] == expected


@pytest.mark.parametrize("loss", ["dpo", "simpo"])
def test_a_round_makes_right_names_likelier_than_the_wrong_ones_above_them(kb, loss):
    world = World(kb)
    pairs = world.mine()
    examples = PairExamples.of_mentions(world.mentions.prompted, pairs, world.concepts.texts, world.prompt)
    reference = rounds.reference_of(world.generator, examples)
    objective = PreferenceTraining(world.generator, examples, PreferenceOptions(loss), reference)
    fit(objective, FitOptions(steps=40, lr=1e-2, warmup=1))
    now = rounds.reference_of(world.generator, examples)
    assert (now[:, 0] > now[:, 1]).sum() > (reference[:, 0] > reference[:, 1]).sum() + len(now) // 2
