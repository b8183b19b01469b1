"""What every linker of ``nomina.linkers.LINKERS`` owes its users."""

from __future__ import annotations

import multiprocessing
import pickle
import random
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from linker_cases import load_linker

from nomina.kb.store import KnowledgeBase
from nomina.linkers import LINKERS
from nomina.linkers.base import NO_ROW, Linker, Ranking, Rule
from nomina.types import Document, Mention, Query

ROOT = Path(__file__).parents[2]
ORGANS = "heart kidney liver lung stomach retina skin tongue".split()
FINDINGS = ["disease", "failure of the {}", "{} stenosis", "tumour", "abnormality of the {}"]
MENTIONS = [
    "Heart disease",
    "stenosis of the retina",
    "kidney failures",
    "tumor of skin",
    "liver abnormality",
    "tongue",
    "MI",
    "lung tumour",
]
UNKNOWN = "0-9"


@pytest.fixture(scope="module")
def kb(make_kb) -> KnowledgeBase:
    names = {
        f"A:{organ}-{i}": finding.format(organ) if "{}" in finding else f"{organ.capitalize()} {finding}"
        for organ in ORGANS
        for i, finding in enumerate(FINDINGS)
    }
    homonyms = {"B:1": ("Myocardial infarction", "MI"), "B:2": ("Mitral insufficiency", "mi"), "B:3": "Lung Disease"}
    return make_kb({**names, **homonyms}, types={id: ("organ",) for id in names})


@pytest.fixture(params=list(LINKERS))
def linker(request: pytest.FixtureRequest, kb: KnowledgeBase) -> Linker:
    return load_linker(request.param, kb).linker


def queries(*texts: str) -> list[Query]:
    return [Query(Document("d", text), Mention(((0, len(text)),), text)) for text in texts]


def same(one: Ranking, other: Ranking) -> bool:
    return all(np.array_equal(first, second) for first, second in zip(one, other, strict=True))


@pytest.mark.parametrize("name", list(LINKERS))
def test_has_a_section_in_the_docs(name: str) -> None:
    page = (ROOT / "docs" / "linkers.md").read_text(encoding="utf-8")
    sections = {
        re.sub(r"\W", "", title).casefold(): body for title, body in re.findall(r"^## (.+)\n([^#]*)", page, re.M)
    }
    assert LINKERS[name].rsplit(".", 1)[1] in sections[name]


@pytest.mark.parametrize("name", list(LINKERS))
def test_the_table_names_a_linker_with_a_default_threshold(name: str) -> None:
    module, kind = LINKERS[name].rsplit(".", 1)
    found = getattr(import_module(module), kind)
    assert issubclass(found, Linker)
    assert found.default_threshold >= 0.0


def test_finds_the_very_name_first(linker: Linker, kb: KnowledgeBase) -> None:
    surfaces = list(kb.surfaces())
    ranking = linker.rank(queries(*surfaces), 1)
    assert ranking.rows[:, 0].tolist() == list(range(len(surfaces)))


def test_shapes_types_and_the_tail(linker: Linker, kb: KnowledgeBase) -> None:
    ranking = linker.rank(queries(*MENTIONS, UNKNOWN), 7)
    assert {part.shape for part in ranking} == {(len(MENTIONS) + 1, 7)}
    assert (ranking.rows.dtype, ranking.scores.dtype, ranking.rules.dtype) == (np.int64, np.float32, np.uint8)
    filled = ranking.rows != NO_ROW
    assert filled[:-1].any(axis=1).sum() >= 6
    assert np.all(filled[:, :-1] >= filled[:, 1:])
    assert np.isfinite(ranking.scores[filled]).all()
    assert np.isneginf(ranking.scores[~filled]).all()
    assert {Rule(rule) for rule in ranking.rules[filled].tolist()} <= set(Rule)
    assert ranking.rows.max() < len(kb.names)


def test_order_is_by_score_then_by_row_and_no_row_comes_twice(linker: Linker) -> None:
    ranking = linker.rank(queries(*MENTIONS), 30)
    for rows, scores in zip(ranking.rows.tolist(), ranking.scores.tolist(), strict=True):
        pairs = [(-score, row) for row, score in zip(rows, scores, strict=True) if row != NO_ROW]
        assert pairs == sorted(pairs)
        assert len({row for _, row in pairs}) == len(pairs)


def test_the_same_every_time_and_from_another_handle(linker: Linker, kb: KnowledgeBase) -> None:
    asked = queries(*MENTIONS)
    first = linker.rank(asked, 9)
    other = type(linker).from_state(KnowledgeBase.open(kb.path), linker.state())
    assert same(first, linker.rank(asked, 9))
    assert same(first, other.rank(asked, 9))


def test_a_wider_ranking_begins_with_the_narrower_one(linker: Linker) -> None:
    wide, narrow = (linker.rank(queries(*MENTIONS), k) for k in (12, 2))
    assert same(Ranking(*(part[:, :2] for part in wide)), narrow)


def test_alone_as_among_500_of_all_lengths(linker: Linker) -> None:
    chosen = random.Random(11)
    words = [word for mention in MENTIONS for word in mention.split()] + ["of", "the", "severe"]
    texts = [" ".join(chosen.choices(words, k=1 + i % 40)) for i in range(500 - len(MENTIONS))]
    places = [i * 60 for i in range(len(MENTIONS))]
    for place, mention in zip(places, MENTIONS, strict=True):
        texts.insert(place, mention)
    together = linker.rank(queries(*texts), 5)
    assert len(together.rows) == 500
    for place, mention in zip(places, MENTIONS, strict=True):
        alone = linker.rank(queries(mention), 5)
        assert alone.rows[0].tolist() == together.rows[place].tolist()
        assert alone.rules[0].tolist() == together.rules[place].tolist()
        assert alone.scores[0] == pytest.approx(together.scores[place], abs=1e-6)


def test_names_only_rows_within(linker: Linker, kb: KnowledgeBase) -> None:
    asked, k = queries(*MENTIONS), len(kb.names)
    within = np.arange(k) % 3 != 0
    masked, free = linker.rank(asked, k, within), linker.rank(asked, k)
    for i in range(len(asked)):
        expected = [
            (row, score)
            for row, score in zip(free.rows[i].tolist(), free.scores[i].tolist(), strict=True)
            if row != NO_ROW and within[row]
        ]
        got = list(zip(masked.rows[i].tolist(), masked.scores[i].tolist(), strict=True))[: len(expected)]
        assert got == expected
        assert (masked.rows[i, len(expected) :] == NO_ROW).all()
    assert (linker.rank(asked, 3, np.zeros(k, np.bool_)).rows == NO_ROW).all()


def test_the_filter_acts_before_the_choice(linker: Linker, kb: KnowledgeBase) -> None:
    document = Document("d", "Lung disease", (Mention(((0, 12),), "Lung disease"),))
    subset = kb.subset(types=["organ"])
    (free,) = linker.link([document], k=1, threshold=0.0)
    (filtered,) = linker.link([document], k=1, threshold=0.0, within=subset)
    assert {c.entity_id for c in free.candidates} >= {"A:lung-0"}
    assert [c.entity_id for c in filtered.candidates] == ["A:lung-0"]


def test_homonyms_are_offered_together(linker: Linker) -> None:
    (prediction,) = linker.link([Document("d", "Mi", (Mention(((0, 2),), "Mi"),))], k=1)
    assert [(c.entity_id, c.rank) for c in prediction.candidates] == [("B:1", 1), ("B:2", 1)]
    assert prediction.ambiguous


def test_no_queries(linker: Linker) -> None:
    assert {part.shape for part in linker.rank([], 4)} == {(0, 4)}
    assert list(linker.link([])) == []


def test_more_asked_for_than_the_kb_has(linker: Linker, kb: KnowledgeBase) -> None:
    k = 3 * len(kb.names)
    ranking = linker.rank(queries("heart disease"), k)
    assert ranking.rows.shape == (1, k)
    rows = [row for row in ranking.rows[0].tolist() if row != NO_ROW]
    assert 1 <= len(rows) == len(set(rows)) <= len(kb.names)


@pytest.mark.parametrize("mention", [UNKNOWN, "", " ", "+"])
def test_an_unknown_mention_gives_no_row(linker: Linker, mention: str) -> None:
    query = Query(Document("d", mention or " "), Mention(((0, max(1, len(mention))),), mention))
    assert (linker.rank([query], 5).rows == NO_ROW).all()


def test_pickles_small_and_opens_again(linker: Linker) -> None:
    pickled = pickle.dumps(linker)
    assert len(pickled) < 2000
    assert same(pickle.loads(pickled).rank(queries(*MENTIONS), 5), linker.rank(queries(*MENTIONS), 5))


def test_works_in_spawned_processes_which_make_nothing_anew(linker: Linker, nomina_home: Path) -> None:
    def files() -> dict[Path, tuple[int, int]]:
        return {
            path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in nomina_home.rglob("*") if path.is_file()
        }

    before = files()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        answers = pool.starmap(linker.rank, [(queries(*MENTIONS), 5)] * 4, chunksize=1)
    assert all(same(answer, linker.rank(queries(*MENTIONS), 5)) for answer in answers)
    assert files() == before
