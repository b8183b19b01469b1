"""Names that are long for a decoder: they do not get in the way of others."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nomina.cli.main import main
from nomina.errors import UsageError
from nomina.linkers.base import NO_ROW, Ranking
from nomina.linkers.tfidf import TfidfLinker
from nomina.types import Document, Mention, Query

torch = pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")
pytestmark = pytest.mark.extras

from generation_cases import Small, batch_of, trie_of  # noqa: E402
from generator_cases import save_bart, save_base, save_t5  # noqa: E402

from nomina import generation  # noqa: E402
from nomina.generation.device import DeviceTrie  # noqa: E402
from nomina.generation.scoring import score_candidates  # noqa: E402
from nomina.generation.search import Asked, Batch, Search, begin  # noqa: E402
from nomina.linkers.generative import MOST, GenerativeLinker  # noqa: E402

LONG = " ".join(["heart", "attack"] * 60)
"""A name of 121 tokens, its end included."""

MIDDLE = " ".join(["seizure"] * MOST)
NAMES = {"C:1": ("heart attack", "short stature"), "C:2": (LONG, "breast cancer"), "C:3": ("heart", MIDDLE)}


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="module")
def kb(make_kb):
    return make_kb(NAMES)


@pytest.fixture(scope="module")
def bart(tmp_path_factory) -> Path:
    """The decoder of 64 positions has none for long names."""
    return save_bart(tmp_path_factory.mktemp("bart"))


def asked(text: str) -> Query:
    return Query(Document("d", text), Mention(((0, len(text)),), text))


def rows_of(kb, *names: str) -> list[int]:
    surfaces = list(kb.surfaces())
    return [surfaces.index(name) for name in names]


def found(ranking: Ranking, i: int = 0) -> set[int]:
    return {row for row in ranking.rows[i].tolist() if row != NO_ROW}


def test_names_that_do_not_fit_the_decoder_are_not_scored_and_the_others_are() -> None:
    generator, batch = Small(20), batch_of(2, 20)
    generator.longest = batch.prefixes.shape[1] + 4
    trie, rows = trie_of([(5,), (6, 7, 8), (6, 7, 8, 9), (5, 6)]), np.array([[2, 1, 0, 3], [2, -1, 0, -1]])
    scores = score_candidates(generator, trie, batch, rows)
    assert np.isfinite(scores).tolist() == [[False, True, True, True], [False, False, True, False]]
    short = score_candidates(generator, trie, batch, rows, 3)
    assert np.isfinite(short).tolist() == [[False, False, True, True], [False, False, True, False]]
    generator.longest = 64
    whole = score_candidates(generator, trie, batch, rows)
    np.testing.assert_allclose(scores[np.isfinite(scores)], whole[np.isfinite(scores)], atol=1e-5)
    np.testing.assert_allclose(short[np.isfinite(short)], whole[np.isfinite(short)], atol=1e-5)


def test_a_long_candidate_does_not_lose_the_other_answers(kb, bart) -> None:
    linker = GenerativeLinker(kb, bart, candidates=TfidfLinker(kb))
    queries, long = [asked("heart attack"), asked("breast cancer"), asked("seizure")], set(rows_of(kb, LONG, MIDDLE))
    ranking, offered = linker.rank(queries, 5), TfidfLinker(kb).rank(queries, 5)
    assert found(offered) & long
    for i in range(3):
        assert found(ranking, i) == found(offered, i) - long


def test_a_name_fits_behind_every_mention_or_behind_none(make_kb, kb, bart) -> None:
    linker = GenerativeLinker(kb, bart)
    room = linker.generator.longest - linker.prompt.longest
    names = [" ".join(["seizure"] * tokens) for tokens in (room - 1, room)]
    linker = GenerativeLinker(make_kb({"C:1": names}), bart)
    long = asked(" ".join(["short"] * 60))
    for queries in ([asked("heart")], [long], [asked("heart"), long]):
        sums = linker.log_probabilities(queries, np.array([[0, 1]] * len(queries)))
        assert np.isfinite(sums).tolist() == [[True, False]] * len(queries)


def test_a_decoder_that_reads_everything_again_scores_names_of_some_length_only(kb, tmp_path) -> None:
    linker = GenerativeLinker(kb, save_t5(tmp_path))
    rows = np.array([rows_of(kb, "heart attack", MIDDLE, LONG)])
    assert np.isfinite(linker.log_probabilities([asked("heart")], rows)).tolist() == [[True, False, False]]


@pytest.fixture(scope="module")
def shallow(tmp_path_factory) -> Path:
    """A decoder of 512 positions."""
    made = generation.begin(save_base(tmp_path_factory.mktemp("base")), layers=(1,))
    folder = tmp_path_factory.mktemp("shallow")
    made.save(folder)
    return folder


def test_a_search_finds_names_of_any_length_that_fits(kb, shallow) -> None:
    linker = GenerativeLinker(kb, shallow, beams=12)
    assert found(linker.rank([asked("heart attack")], 12)) == set(range(len(kb.names)))
    assert linker.remark == ""
    shorter = GenerativeLinker(kb, shallow, beams=12, longest=MOST)
    long = set(rows_of(kb, MIDDLE, LONG))
    assert found(shorter.rank([asked("heart attack")], 12)) == set(range(len(kb.names))) - long
    assert shorter.remark == "2 names of the KB are longer than the 64 tokens that can be written, and not found"
    assert pickle.loads(pickle.dumps(shorter)).remark == shorter.remark
    scored = GenerativeLinker(kb, shallow, longest=MOST + 1).log_probabilities([asked("heart")], np.arange(6)[None])
    assert set(np.flatnonzero(np.isinf(scored[0])).tolist()) == set(rows_of(kb, LONG))


def test_searches_with_graphs_and_of_what_reads_all_again_are_of_some_length(kb, shallow, tmp_path) -> None:
    graphed, t5 = GenerativeLinker(kb, shallow, graphs=True), save_t5(tmp_path)
    assert graphed.remark.startswith("2 names of the KB are longer than the 64 tokens")
    assert np.isfinite(graphed.log_probabilities([asked("heart")], np.arange(6)[None])).all()
    assert GenerativeLinker(kb, shallow, graphs=True, longest=200).remark == ""
    assert GenerativeLinker(kb, t5).remark.startswith("2 names of the KB are longer than the 64 tokens")
    assert GenerativeLinker(kb, t5, longest=MOST + 1).remark.startswith("1 name of the KB is longer than the 65 tokens")


def test_searches_of_one_trie_are_equal_whatever_their_prefixes() -> None:
    generator, trie = Small(20), DeviceTrie(trie_of([(5,), (6, 7, 8)]), "cpu", 20)
    batch = batch_of(4, 20)
    shorter = Batch(*(part[:, -2:] if i > 1 else part for i, part in enumerate(batch)))
    runs = [begin(generator, trie, Asked(each), Search(), []) for each in (batch, shorter)]
    assert [run and run.search for run in runs] == [Search(most=4)] * 2


def test_names_that_are_too_long_are_told_on_the_command_line(kb, bart, tmp_path, capsys) -> None:
    (tmp_path / "mentions.txt").write_text("heart\n", encoding="utf-8")
    command = ["link", "--kb", str(kb.path), "--linker", str(bart), "--mentions", str(tmp_path / "mentions.txt")]
    assert main(command) == 0
    assert "nomina: 2 names of the KB are longer than the " in capsys.readouterr().err


def test_a_prompt_that_leaves_no_room_for_a_name_is_refused(kb, bart) -> None:
    generator = generation.load(bart)
    generator.writing = replace(generator.writing, prompt="{mention} of the" + " heart" * 60)
    with pytest.raises(UsageError, match="leaves no room for a name in the decoder's 64 positions"):
        GenerativeLinker(kb, generator)
