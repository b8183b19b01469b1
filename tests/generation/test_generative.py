"""The generative linker: how it ranks, with other linkers' candidates too, and how it is opened."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

import nomina
from nomina.cli.main import main
from nomina.errors import UsageError
from nomina.kb.update import add, retire
from nomina.linkers.base import NO_ROW, Linker, Ranking, Rule
from nomina.linkers.tfidf import TfidfLinker
from nomina.types import Document, Entity, Mention, Name, Query

torch = pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")
pytestmark = pytest.mark.extras

from generation_cases import END, PAD, Small, SmallDecoding, every_sum  # noqa: E402

from nomina.linkers.generative import GenerativeLinker, batch_of  # noqa: E402

NAMES = {
    "C:1": ("short stature", "small stature"),
    "C:2": ("tall stature", "tall"),
    "C:3": ("heart attack", "heart xyz"),
    "C:4": ("heart abc", "seizure"),
    "C:5": ("!!",),
    "C:6": ("short finger", "short toe", "tall toe"),
}
WORDS = ["[PAD]", "[SEP]", "[UNK]", "short", "small", "tall", "stature", "heart", "attack", "seizure", "finger", "toe"]
WORDS += ["is", "start", "end", "of", "and"]
TEXT = "attack of heart and seizure"


def tokenizer() -> Tokenizer:
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, "[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(single="$A [SEP]", special_tokens=[("[SEP]", END)])
    return made


def generator(seed: int = 0) -> Small:
    made = Small(len(WORDS), seed)
    made.tokenizer = tokenizer()
    return made


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="module")
def kb(make_kb):
    return make_kb(NAMES, types={"C:1": ("growth",), "C:2": ("growth",)})


def query(text: str, document: str | None = None) -> Query:
    start = (document or text).index(text)
    return Query(Document("d", document or text), Mention(((start, start + len(text)),), text))


def sums_of(linker: GenerativeLinker, asked: Query) -> dict[int, float]:
    """The summed log-probability of each row, by brute force."""
    paths = {}
    for row, name in enumerate(linker.kb.surfaces()):
        ids = linker.generator.tokenizer.encode(name, add_special_tokens=False).ids
        if any(id != WORDS.index("[UNK]") for id in ids):
            paths[row] = ids
    batch = batch_of(linker.generator, linker.prompt([asked]))
    (sums,) = every_sum(linker.generator, batch, list(paths.values()))
    return dict(zip(paths, sums.tolist(), strict=True))


def test_all_names_are_ranked_by_their_probability(kb) -> None:
    linker = GenerativeLinker(kb, generator(), beams=20)
    asked = [query("heart", TEXT), query("small toe"), query("seizure", TEXT)]
    ranking = linker.rank(asked, 20)
    for i, each in enumerate(asked):
        sums = sums_of(linker, each)
        expected = sorted(sums, key=lambda row: (-round(sums[row], 4), row))
        assert len(expected) == len(kb.names) - 1
        assert ranking.rows[i].tolist() == expected + [NO_ROW] * (20 - len(expected))
        np.testing.assert_allclose(ranking.scores[i, : len(expected)], [1 / (1 - sums[r]) for r in expected], atol=1e-5)
        assert set(ranking.rules[i, : len(expected)]) == {Rule.GENERATIVE}
        assert np.isinf(ranking.scores[i, len(expected) :]).all()


def test_what_is_left_of_many_batches_goes_on_together(make_kb, monkeypatch) -> None:
    joined: list[int] = []
    monkeypatch.setattr("nomina.generation.pool._PAUSES", range(2, 9))
    monkeypatch.setattr("nomina.generation.pool._SHARE", 1)
    join = SmallDecoding.join
    monkeypatch.setattr(SmallDecoding, "join", lambda self, others: (joined.append(len(others)), join(self, others)))
    asked = [query(f"{first} {last}") for first in WORDS[3:] for last in WORDS[3:9]]
    long = [f"{first} {second} toe of short heart" for first in WORDS[3:9] for second in WORDS[3:9]]
    linker = GenerativeLinker(make_kb({"C:1": tuple(WORDS[3:9]), "C:2": tuple(long)}), generator(), batch=10)
    together = linker.rank(asked, 1)
    assert joined
    for i, each in enumerate(asked):
        alone = linker.rank([each], 1)
        assert alone.rows[0].tolist() == together.rows[i].tolist()
        np.testing.assert_allclose(alone.scores[0], together.scores[i], atol=1e-5)


def test_names_that_are_tokenised_alike_share_a_score(kb) -> None:
    linker = GenerativeLinker(kb, generator(), beams=20)
    ranking = linker.rank([query("heart")], 20)
    rows = ranking.rows[0].tolist()
    first, second = (rows.index(row) for row, name in enumerate(kb.surfaces()) if name in ("heart xyz", "heart abc"))
    assert ranking.scores[0, first] == ranking.scores[0, second]
    (prediction,) = linker.link([Document("d", "heart", (Mention(((0, 5),), "heart"),))], k=9)
    ranks = {(c.name, c.rank) for c in prediction.candidates if c.name in ("heart xyz", "heart abc")}
    assert len({rank for _, rank in ranks}) == len(ranks) - 1 == 1


def test_given_names_have_their_probability_whatever_a_search_finds(kb) -> None:
    made = generator()
    linker = GenerativeLinker(kb, made)
    asked = [query("heart", TEXT), query("small toe"), query("??"), query("heart", TEXT)]
    rows = np.array([[3, 1, NO_ROW], [0, 8, 2], [1, 2, 3], [3, 1, NO_ROW]])
    found = linker.log_probabilities(asked, rows)
    assert made.asked == 2
    for each, own, sums in zip(asked, rows.tolist(), found.tolist(), strict=True):
        known = sums_of(linker, each) if each.mention.text != "??" else {}
        assert sums == pytest.approx([known.get(row, -math.inf) for row in own], abs=1e-4)
    assert linker.log_probabilities([], np.zeros((0, 3), np.int64)).shape == (0, 3)
    assert linker.log_probabilities(asked, np.zeros((4, 0), np.int64)).shape == (4, 0)


@pytest.mark.parametrize("rows", [np.zeros((1, 2), int), np.zeros((3, 2), int), np.zeros(2, int)], ids=np.shape)
def test_names_that_are_not_those_of_the_mentions_are_refused(kb, rows) -> None:
    with pytest.raises(UsageError, match=r"2 mentions have as many rows of names, \(n, c\), not \("):
        GenerativeLinker(kb, generator()).log_probabilities([query("heart"), query("toe")], rows)


def test_few_beams_find_few_names(kb) -> None:
    ranking = GenerativeLinker(kb, generator(), beams=2).rank([query("small toe")], 20)
    assert 2 <= (ranking.rows[0] != NO_ROW).sum() <= 3


def test_the_text_around_counts_unless_it_is_not_asked_for(kb) -> None:
    asked = [query("heart", TEXT), query("heart")]
    (first, second), (third, fourth) = (
        GenerativeLinker(kb, generator(), context=context).rank(asked, 5).scores.tolist() for context in (True, False)
    )
    assert first != second == third == fourth


def test_a_generator_that_was_trained_without_context_is_asked_without(kb) -> None:
    asked, bare = [query("heart", TEXT)], generator()
    bare.writing = replace(bare.writing, context=False)
    scores = [
        GenerativeLinker(kb, made, context=context).rank(asked, 5).scores.tolist()
        for made, context in ((bare, None), (generator(), False), (generator(), None), (bare, True))
    ]
    assert scores[0] == scores[1] != scores[2] == scores[3]
    assert GenerativeLinker(kb, bare).prompt.context is False


def test_the_same_mention_is_computed_once(kb) -> None:
    made = generator()
    linker = GenerativeLinker(kb, made)
    linker.rank([query("heart"), query("small toe"), query("heart")], 5)
    assert made.asked == 2


def test_batches_do_not_change_what_is_found(kb) -> None:
    texts = [f"{a} {b}" for a in WORDS[3:8] for b in WORDS[3:12]]
    asked = [query(text, f"{text} {TEXT}" if i % 3 else None) for i, text in enumerate(texts)]
    one, many = (GenerativeLinker(kb, generator(), batch=batch).rank(asked, 5) for batch in (1, 64))
    assert one.rows.tolist() == many.rows.tolist()
    np.testing.assert_allclose(one.scores, many.scores, atol=1e-5)


@pytest.mark.parametrize("text", ["!!", " ", "qqq"])
def test_what_the_tokenizer_does_not_know_has_no_candidate(kb, text: str) -> None:
    made = generator()
    ranking = GenerativeLinker(kb, made).rank([query(text)], 3)
    assert (ranking.rows == NO_ROW).all()
    assert made.asked == 0


def test_filters_and_retired_names(kb, tmp_path) -> None:
    linker = GenerativeLinker(kb, generator(), beams=20)
    within = kb.subset(types=["growth"])
    found = linker.rank([query("heart")], 20, within.rows).rows[0]
    assert sorted(found[found != NO_ROW].tolist()) == np.flatnonzero(within.rows).tolist()
    nothing = linker.rank([query("heart")], 20, np.zeros(len(kb.names), bool))
    assert (nothing.rows == NO_ROW).all()


class Fixed(Linker):
    """Offers the rows that it was told, for any mention."""

    def __init__(self, kb, rows) -> None:
        super().__init__(kb)
        self.rows = rows

    def rank(self, queries, k, within=None):
        ranking = Ranking.empty(len(queries), k)
        ranking.rows[:, : len(self.rows)] = self.rows
        return ranking


def test_candidates_of_another_linker_are_ranked_as_a_search_among_them(kb) -> None:
    rows = [0, 3, 4, 7, 9]
    masked = np.isin(np.arange(len(kb.names)), rows)
    asked = [query("heart", TEXT), query("small toe"), query("seizure", TEXT), query("!!")]
    whole = GenerativeLinker(kb, generator(), beams=20).rank(asked, 8, masked)
    offered = GenerativeLinker(kb, generator(), candidates=Fixed(kb, rows), many=6).rank(asked, 8)
    assert (whole.rows[:3, :4] != NO_ROW).all()
    assert offered.rows.tolist() == whole.rows.tolist()
    np.testing.assert_allclose(offered.scores, whole.scores, atol=1e-5)


def test_each_mention_has_its_own_candidates(kb) -> None:
    linker = GenerativeLinker(kb, generator(), candidates=TfidfLinker(kb), many=4)
    asked = [query("short"), query("tall"), query("seizure", TEXT)]
    found, offered = linker.rank(asked, 4).rows, TfidfLinker(kb).rank(asked, 4).rows
    assert [set(row) for row in found.tolist()] == [set(row) for row in offered.tolist()]
    assert len({tuple(sorted(row)) for row in found.tolist()}) == 3


class Watched(Small):
    """Tells of each decoding whether graphs are wanted, and the shape of its prefixes."""

    def decoding(self, memory, prefixes, prefix_mask, beams, most):
        self.told.append((self.graphs, tuple(prefixes.shape)))
        return super().decoding(memory, prefixes, prefix_mask, beams, most)


def watched() -> Watched:
    made = Watched(len(WORDS))
    made.tokenizer, made.told = tokenizer(), []
    return made


def test_full_batches_of_searches_are_graphed_on_a_gpu_in_few_shapes(kb, monkeypatch) -> None:
    monkeypatch.setattr("nomina.linkers.generative._is_on_gpu", lambda generator: True)
    asked = [query(f"{a} {b}"[:length]) for a in WORDS[3:8] for b in WORDS[3:12] for length in (5, 40)]
    made = watched()
    linker = GenerativeLinker(kb, made, batch=8, graphs=True)
    found = linker.rank(asked, 5)
    full = [shape for graphs, shape in made.told if graphs]
    assert set(full) == {(8, 16)}
    assert len(full) > 2
    assert [shape[0] < 8 for graphs, shape in made.told if not graphs] == [True]
    plain = watched()
    expected = GenerativeLinker(kb, plain, batch=8).rank(asked, 5)
    assert found.rows.tolist() == expected.rows.tolist()
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-5)
    assert not any(graphs for graphs, _ in plain.told)
    made.told.clear()
    linker.log_probabilities(asked, np.tile([1, 2], (len(asked), 1)))
    GenerativeLinker(kb, made, batch=8, graphs=True, candidates=Fixed(kb, [1, 2])).rank(asked, 5)
    assert made.told
    assert not any(graphs for graphs, _ in made.told)


def test_without_a_gpu_nothing_is_graphed(kb) -> None:
    made = watched()
    made.graphs = True
    GenerativeLinker(kb, made, batch=1, graphs=True).rank([query("heart", TEXT)], 5)
    assert made.told == [(False, made.told[0][1])]
    assert made.graphs


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_graphs_on_a_gpu_find_the_same_names(kb, folder: Path) -> None:
    asked = [query(f"{a} {b}", f"{a} {b} {TEXT}") for a in WORDS[3:8] for b in WORDS[3:12]]
    plain, graphed = (GenerativeLinker(kb, folder, batch=16, graphs=graphs) for graphs in (False, True))
    for _ in range(2):  # captured, then replayed
        expected, found = plain.rank(asked, 5), graphed.rank(asked, 5)
        assert found.rows.tolist() == expected.rows.tolist()
        np.testing.assert_allclose(found.scores, expected.scores, atol=1e-4)
    assert graphed.generator._decodings._kept


def test_a_module_in_training_goes_on_in_training(kb) -> None:
    made = generator()
    made.module.train()
    GenerativeLinker(kb, made).rank([query("heart")], 3)
    assert made.module.training


@pytest.mark.parametrize("wrong", [{"many": 0}, {"batch": 0}, {"batch": -1}, {"beams": 0}, {"longest": 0}], ids=str)
def test_options_that_cannot_be(kb, wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="1 or more"):
        GenerativeLinker(kb, generator(), **wrong)


def test_a_generator_in_memory_cannot_be_told_to_another_process(kb) -> None:
    with pytest.raises(UsageError, match="name its folder"):
        GenerativeLinker(kb, generator()).state()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A tiny random BART as Hugging Face saves it."""
    from transformers import BartConfig, BartForConditionalGeneration

    torch.manual_seed(0)
    config = BartConfig(
        vocab_size=len(WORDS), d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, max_position_embeddings=64,
        pad_token_id=PAD, bos_token_id=END, eos_token_id=END, decoder_start_token_id=END, init_std=0.5,
        forced_eos_token_id=None,
    )  # fmt: skip
    made = tmp_path_factory.mktemp("bart")
    BartForConditionalGeneration(config).save_pretrained(made)
    tokenizer().save(str(made / "tokenizer.json"))
    return made


def test_a_folder_is_opened_by_load_and_on_the_command_line(kb, folder: Path, tmp_path: Path, capsys) -> None:
    pipeline = nomina.load(folder, kb)
    assert isinstance(pipeline.linker, GenerativeLinker)
    (prediction,) = pipeline.link_mentions(["heart attack"])
    assert prediction.candidates[0].rule == "generative"
    assert 0 < prediction.candidates[0].score < 1
    assert not prediction.abstained
    mentions = tmp_path / "mentions.tsv"
    mentions.write_text("heart attack\n", encoding="utf-8")
    arguments = [
        "link",
        "--mentions",
        str(mentions),
        "--kb",
        str(kb.path),
        "--linker",
        str(folder),
        "--format",
        "jsonl",
        "--batch",
        "3",
    ]
    assert main(arguments) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["candidates"][0]["entity_id"] == prediction.candidates[0].entity_id


def test_several_batches_are_asked_together_also_of_lists(kb, folder: Path, monkeypatch) -> None:
    assert GenerativeLinker(kb, generator()).together == 512
    assert GenerativeLinker(kb, generator(), batch=100).together == 800
    assert GenerativeLinker(kb, generator(), batch=100, candidates=TfidfLinker(kb)).together == 512
    sizes, rank = [], GenerativeLinker.rank

    def counted(linker, queries, *more):
        sizes.append(len(queries))
        return rank(linker, queries, *more)

    monkeypatch.setattr(GenerativeLinker, "rank", counted)
    pipeline = nomina.load(folder, kb, batch=200, k=1)
    mention = Document("d", "heart", (Mention(((0, 5),), "heart"),))
    assert len(list(pipeline.link([mention] * 1200))) == 1200
    assert sizes[0] > 512
    sizes.clear()
    assert len(pipeline.link_mentions(["heart"] * 1200)) == 1200
    assert sizes[0] == 1200


def test_another_process_opens_the_folder_again(kb, folder: Path) -> None:
    linker = GenerativeLinker(kb, folder, beams=3, context=False)
    again = pickle.loads(pickle.dumps(linker))
    asked = [query("heart", TEXT)]
    assert again.rank(asked, 5).rows.tolist() == linker.rank(asked, 5).rows.tolist()
    assert again.state() == linker.state()


def test_names_of_a_later_version(kb, folder: Path, tmp_path: Path) -> None:
    GenerativeLinker(kb, folder)
    grown = tmp_path / "grown.kb"
    add(kb, grown, [Entity("C:9", (Name("small finger"),))])
    retire(nomina.KnowledgeBase.open(grown), tmp_path / "later.kb", ["C:3"])
    later = nomina.KnowledgeBase.open(tmp_path / "later.kb")
    (prediction,) = GenerativeLinker(later, folder, beams=20).link(
        [Document("d", "small", (Mention(((0, 5),), "small"),))], k=10
    )
    assert {c.entity_id for c in prediction.candidates} == {"C:1", "C:2", "C:4", "C:6", "C:9"}
    assert all(math.isfinite(c.score) for c in prediction.candidates)
