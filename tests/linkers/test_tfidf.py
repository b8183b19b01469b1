import multiprocessing
import pickle
import random

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from nomina.errors import UsageError
from nomina.kb.build import build as build_kb
from nomina.kb.sources import default_kb
from nomina.kb.store import KnowledgeBase
from nomina.linkers.base import NO_ROW, Rule
from nomina.linkers.postings import build, occurrences
from nomina.linkers.tfidf import TfidfLinker, search
from nomina.types import Document, Entity, Mention, Name, Query

NAMES = {
    "C:1": ["Short stature", "Small stature"],
    "C:2": ["Tall stature"],
    "C:3": ["Myocardial infarction", "MI"],
    "C:4": ["Seizure", "Fits"],
    "C:5": ["Febrile seizure"],
    "C:6": ["Q"],
    "C:7": ["Vomiting"],
}


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    entities = [Entity(id, tuple(map(Name, names))) for id, names in NAMES.items()]
    return build_kb(tmp_path_factory.mktemp("kb") / "made.kb", entities)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def linker(kb, home):
    return TfidfLinker(kb)


def queries(*texts):
    return [Query(Document("d", text), Mention(((0, len(text)),), text)) for text in texts]


def cosines(names, keys):
    """All cosines by scipy: float64 (keys, names). A gram that no name has is as rare as one that a single name has."""
    found = occurrences([*names, *keys])
    counts = scipy.sparse.csr_array(
        (found.times, (found.text, found.gram)), shape=(len(names) + len(keys), len(found.grams)), dtype=np.float64
    )
    rarity = np.maximum((counts[: len(names)] > 0).sum(axis=0), 1)
    weighted = counts @ scipy.sparse.diags_array(np.log1p(len(names) / rarity))
    lengths = np.sqrt(weighted.multiply(weighted).sum(axis=1))
    unit = scipy.sparse.diags_array(1 / np.where(lengths > 0, lengths, 1.0)) @ weighted
    return (unit[len(names) :] @ unit[: len(names)].T).toarray()


def check(names, keys, k, within=None):
    """Every hit has its true cosine, no better row is missing, and the order is by score, then by row."""
    expected = cosines(names, keys)
    if within is not None:
        expected *= within
    found = list(search(build(names), keys, k, within))
    assert len(found) == len(keys)
    for (rows, scores), true in zip(found, expected, strict=True):
        best = np.sort(true[true > 0])[::-1][:k]
        assert scores == pytest.approx(best, abs=2e-6)
        assert true[rows] == pytest.approx(scores, abs=2e-6)
        pairs = list(zip((-scores).tolist(), rows.tolist(), strict=True))
        assert pairs == sorted(set(pairs))


TEXT = st.text("ab c", min_size=1, max_size=8)


@given(st.lists(TEXT, min_size=1, max_size=30, unique=True), st.lists(TEXT, max_size=5), st.integers(1, 12))
def test_the_best_k_are_those_of_all_cosines(names, keys, k):
    check(names, keys, k)


@given(st.lists(TEXT, min_size=3, max_size=30, unique=True), TEXT, st.integers(1, 5), st.data())
def test_the_filter_acts_before_the_choice(names, key, k, data):
    within = np.array(data.draw(st.lists(st.booleans(), min_size=len(names), max_size=len(names))))
    check(names, [key], k, within)
    assert all(within[hits.rows].all() for hits in search(build(names), [key], k, within))


def test_many_names_against_scipy():
    words = "atrial septal defect short stature renal hypoplasia febrile seizure of the left arm 2 ii b".split()
    chosen = random.Random(7)
    names = list(dict.fromkeys(" ".join(chosen.choices(words, k=chosen.randint(1, 6))) for _ in range(3000)))
    keys = [" ".join(chosen.choices([*words, "zz", "sezure"], k=chosen.randint(1, 6))) for _ in range(200)]
    for k in (1, 7, 400):
        check(names, keys, k)


def test_names_of_equal_vectors_tie_exactly_and_stand_by_row():
    names = ["abdabcab", "xyz", "abcabdab"]
    for key in ("abdabcab", "abcabdab", "abcab", "dabc"):
        (hits,) = search(build(names), [key], 3)
        assert hits.rows.tolist() == [0, 2]
        assert hits.scores[0] == hits.scores[1] > 0


def test_what_rounding_makes_equal_stands_by_row_even_at_the_last_place():
    scored = np.array([0.5, 0.4, 0.4 + 1e-9, 0.1])
    made = build(["a"])._replace(
        size=4, starts=np.array([0, 4]), rows=np.arange(4, dtype=np.int32), weights=scored.astype(np.float32)
    )
    (hits,) = search(made, ["a"], 2)
    assert hits.rows.tolist() == [0, 1]
    assert hits.scores.tolist() == [0.5, 0.4]


def test_the_very_name_scores_one_and_none_more():
    names = ["short stature", "mi", "q", "aaaaaaaa", "a" * 300, "γ", "löfgren"]
    for row, hits in enumerate(search(build(names), names, 1)):
        assert (hits.rows.tolist(), hits.scores.tolist()) == ([row], [1.0])


def test_no_keys_and_keys_without_a_known_gram():
    made = build(["short stature"])
    assert list(search(made, [], 5)) == []
    assert [len(hits.rows) for hits in search(made, ["", "zzz", "short"], 5)] == [0, 0, 1]


def test_an_unknown_gram_lowers_the_score():
    made = build(["short stature", "vomiting"])
    (alone, beside) = search(made, ["vomiting", "vomiting 症候群"], 1)
    assert alone.scores[0] == 1.0
    assert 0.5 < beside.scores[0] < 0.9


def test_a_ranking_has_rows_scores_rules_and_an_empty_tail(kb, linker):
    ranking = linker.rank(queries("short stature", "?zzz?", "Q", "mi", " "), 6)
    assert [part.shape for part in ranking] == [(5, 6)] * 3
    assert [part.dtype for part in ranking] == [np.int64, np.float32, np.uint8]
    assert ranking.rows[:, 0].tolist() == [kb.row("short stature"), NO_ROW, kb.row("q"), kb.row("mi"), NO_ROW]
    assert ranking.scores[:, 0].tolist() == [1.0, -np.inf, 1.0, 1.0, -np.inf]
    assert ranking.rules[0, 0] == Rule.TFIDF
    assert ranking.rows[0, 1:3].tolist() == [kb.row("tall stature"), kb.row("small stature")]  # the shorter first
    assert (ranking.rows == NO_ROW).tolist() == (ranking.scores == -np.inf).tolist()


def test_no_queries_are_no_rows(linker):
    assert [part.shape for part in linker.rank([], 3)] == [(0, 3)] * 3


def test_a_mention_alone_and_among_500_others_scores_the_same(linker):
    chosen = random.Random(3)
    texts = ["".join(chosen.choices("short seizure\t?γ", k=chosen.randint(1, 400))) for _ in range(500)]
    texts[250] = "febrile seizures"
    batch = linker.rank(queries(*texts), 4)
    for i in (0, 17, 250, 499):
        alone = linker.rank(queries(texts[i]), 4)
        assert all(np.array_equal(one[0], many[i]) for one, many in zip(alone, batch, strict=True))


def test_equal_keys_share_their_answer(linker):
    ranking = linker.rank(queries("MI", "seizure", "mi", "Mi."), 2)
    assert np.array_equal(ranking.rows[0], ranking.rows[2])
    assert np.array_equal(ranking.scores[0], ranking.scores[3])
    assert not np.array_equal(ranking.rows[0], ranking.rows[1])


def test_predictions_carry_concept_name_and_rule(linker):
    document = Document("d", "Febrile seizures", (Mention(((0, 16),), "Febrile seizures"),))
    (prediction,) = linker.link([document], k=2)
    assert [(c.entity_id, c.name, c.rule, c.rank) for c in prediction.candidates] == [
        ("C:5", "Febrile seizure", "tfidf", 1),
        ("C:4", "Seizure", "tfidf", 2),
    ]
    assert not prediction.abstained


def test_a_subtree_or_type_filter_reaches_below_better_names(kb, linker):
    within = np.zeros(len(kb.names), np.bool_)
    within[kb.row("seizure")] = True
    ranking = linker.rank(queries("febrile seizure"), 2, within)
    assert ranking.rows[0].tolist() == [kb.row("seizure"), NO_ROW]
    unfiltered = linker.rank(queries("febrile seizure"), 2)
    assert ranking.scores[0, 0] == unfiltered.scores[0, 1]


def test_it_abstains_from_what_looks_like_nothing(linker):
    text = "mitral dostarlimab"
    (prediction,) = linker.link([Document("d", text, (Mention(((0, len(text)),), text),))])
    assert prediction.abstained
    assert prediction.candidates[0].score < TfidfLinker.default_threshold


def test_a_second_start_makes_nothing_anew(kb, linker, home, monkeypatch):
    monkeypatch.setattr("nomina.linkers.tfidf.write", lambda *_: pytest.fail("made again"))
    again = TfidfLinker(KnowledgeBase.open(kb.path))
    assert np.array_equal(again.rank(queries("fits"), 3).scores, linker.rank(queries("fits"), 3).scores)
    assert [path.name for path in home.rglob("*.postings")] == [f"{kb.fingerprint}.1.postings"]


def test_a_handle_reopens_the_same_file_in_two_spawned_workers(linker, home):
    asked = queries("short statures", "vomitting", "zzz")
    (made,) = home.rglob("*.postings")
    before = made.stat()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        answers = pool.starmap(linker.rank, [(asked, 3)] * 2)
    here = linker.rank(asked, 3)
    for answer in answers:
        assert all(np.array_equal(one, other) for one, other in zip(answer, here, strict=True))
    after = made.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert len(pickle.dumps(linker)) < 1000


def test_a_cache_folder_that_cannot_be_made_is_one_clear_line(kb, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(UsageError, match="set NOMINA_HOME") as caught:
        TfidfLinker(kb)
    assert "\n" not in str(caught.value)


def test_a_full_disk_is_one_clear_line(kb, home, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("nomina.linkers.tfidf.write", full)
    with pytest.raises(UsageError, match=r"cannot write .*postings \(No space left on device\): free some space"):
        TfidfLinker(kb)
    assert list(home.rglob("*.postings")) == []


@pytest.fixture(scope="module")
def hpo(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NOMINA_HOME", str(tmp_path_factory.mktemp("home")))
        yield TfidfLinker(default_kb())


def link(linker, text):
    (prediction,) = linker.link([Document("d", text, (Mention(((0, len(text)),), text),))])
    return prediction


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Coronary Artery Aneurysms", "HP:0030882"),
        ("Delayed Meconium Passage", "HP:6000224"),
        ("Ground glass opacities", "HP:0025179"),
        ("Ground-glass opacities", "HP:0025179"),
        ("restrictive deficit on pulmonary function test", "HP:0002091"),
        ("Lipoma", "HP:0012032"),
        ("Lipomas", "HP:0001012"),
        ("oedema", "HP:0000969"),
        ("Anæmia", "HP:0001903"),
        ("microcephally", "HP:0000252"),
    ],
)
def test_users_names_in_hpo(hpo, text, expected):
    prediction = link(hpo, text)
    assert prediction.candidates[0].entity_id == expected
    assert not prediction.abstained


@pytest.mark.slow
@pytest.mark.parametrize("text", ["dostarlimab", "date of birth: sex: male"])
def test_what_hpo_does_not_know_is_left_open(hpo, text):
    assert link(hpo, text).abstained


@pytest.mark.slow
def test_a_hpo_mention_alone_and_among_500_of_all_lengths(hpo):
    texts = [hpo.kb.surface(row * 80)[:-1] + "x" * (row % 90) for row in range(499)]
    mention = "restrictive deficits on lung function tests"
    batch = hpo.rank(queries(*texts, mention), 10)
    alone = hpo.rank(queries(mention), 10)
    assert all(np.array_equal(one[0], many[-1]) for one, many in zip(alone, batch, strict=True))
    assert (batch.rows[:, 0] != NO_ROW).all()
