"""Counts of a made corpus, by hand; overlaps against every pair; the corpora of the field."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomina.corpora import read_corpus
from nomina.corpora.describe import Description, Seen, describe
from nomina.evaluation.shape import Coverage
from nomina.kb.build import build
from nomina.types import Document, Entity, Mention, Name

BENCHMARKS = Path(__file__).parents[3] / "shared" / "benchmarks"
real = pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="needs the benchmarks beside the checkout")

TEXT = "breast and ovarian cancer, fits, fits and ataxia"
BOTH = (("MESH:D1",), ("MESH:D2",))
DOCUMENTS = [
    Document(
        "1",
        TEXT,
        (
            Mention(((0, 6), (19, 25)), "breast cancer", "Disease", (("MESH:D1",),)),
            Mention(((11, 25),), "ovarian cancer", "Disease", (("MESH:D2", "OMIM:7"),)),
            Mention(((27, 31),), "fits", "Symptom", (("-1",),)),
            Mention(((33, 37),), "fits", "Symptom", (("-1",),)),
            Mention(((42, 48),), "ataxia"),
        ),
    ),
    Document(
        "2",
        "lung cancer|liver cancer",
        (
            Mention(((0, 24),), "lung cancer", "Disease", BOTH),
            Mention(((0, 24),), "liver cancer", "Disease", BOTH),
        ),
    ),
    Document("3", ""),
]


def test_every_count_of_a_made_corpus() -> None:
    assert describe(DOCUMENTS, dropped=Counter(relations=2)) == Description(
        documents=3,
        characters=len(TEXT) + 24,
        mentions=6,
        distinct_mentions=5,
        distinct_pairs=5,
        repeated_pairs=1,
        types={"Disease": 3, "Symptom": 2, "": 1},
        ids=3,
        without_gold=1,
        nil=2,
        composite=1,
        discontinuous=1,
        overlapping=2,
        dropped={"relations": 2},
    )


def test_ids_of_a_kb_by_its_rules(tmp_path: Path) -> None:
    concepts = [Entity("D1", (Name("breast cancer"),)), Entity("D9", (Name("fits"),), retired_ids=("OMIM:7",))]
    found = describe(DOCUMENTS, build(tmp_path / "a.kb", concepts))
    assert found.ids_in_kb == 2
    assert found.coverage == Coverage(0.75, {"prefix removed": 2, "replaced": 1, "unknown": 1})


def test_a_foreign_kb_is_warned_of(make_kb) -> None:
    coverage = describe(DOCUMENTS, make_kb({"X:1": ("breast cancer",)})).coverage
    assert coverage is not None
    assert coverage.in_kb == 0.0
    assert "only 0.0% of the gold ids are in the KB" in (coverage.warning or "")


def test_what_training_data_have_seen() -> None:
    train = [
        Document("9", "Breast Cancer", (Mention(((0, 13),), "Breast Cancer", None, (("D1",),)),)),
        Document("8", "a tumour", (Mention(((2, 8),), "tumour", None, (("D2",),)),)),
    ]
    assert describe(DOCUMENTS, train=train).seen == Seen(
        train_mentions=2,
        of=3,
        groups={"seen mention": 1, "seen concept, new mention": 2},
        pairs=1,
    )


def test_an_empty_corpus_has_nothing() -> None:
    assert describe([]) == Description()
    assert describe([], train=[]).seen == Seen(0, 0, {}, 0)


def test_as_json_is_plain(make_kb) -> None:
    found = describe(DOCUMENTS, make_kb({"D1": ("breast cancer",)}), DOCUMENTS).as_json()
    assert found["mentions"] == 6
    assert found["coverage"]["by_rule"] == {"prefix removed": 2, "unknown": 2}
    assert found["seen"]["groups"] == {"seen mention": 3}


EDGES = st.lists(st.integers(0, 12), min_size=2, max_size=4, unique=True)


@given(st.lists(st.tuples(EDGES, st.sampled_from(["D1", "D2"])), max_size=6))
def test_overlaps_are_those_that_the_generative_protocol_drops(marks: list[tuple[list[int], str]]) -> None:
    mentions = []
    for cuts, gold in marks:
        cuts = sorted(cuts)[: len(cuts) // 2 * 2]
        mentions.append(Mention(tuple(zip(cuts[::2], cuts[1::2], strict=True)), "x", None, ((gold,),)))
    expected = set()
    for one, other in combinations(mentions, 2):
        alike = (one.spans, one.gold) == (other.spans, other.gold)
        if not alike and any(a < d and c < b for a, b in one.spans for c, d in other.spans):
            expected |= {id(one), id(other)}
    assert describe([Document("1", "x" * 13, tuple(mentions))]).overlapping == len(expected)


def test_what_a_case_and_a_composite_make_of_counts() -> None:
    mentions = (
        Mention(((0, 4),), "Fits", None, (("D1",),)),
        Mention(((5, 9),), "fits", None, (("D1",),)),
        Mention(((5, 9),), "fits", None, (("D1",),)),
        Mention(((10, 13),), "a|b", None, (("D2",),)),
    )
    found = describe([Document("1", "Fits fits a|b", mentions)])
    assert (found.mentions, found.distinct_mentions, found.distinct_pairs, found.repeated_pairs) == (4, 2, 2, 2)
    assert (found.composite, found.overlapping) == (1, 0)


CDR, NCBI, PREPARED = "bc5cdr/raw/CDR_{}Set.PubTator.txt", "ncbi-disease/raw/NCBI{}set_corpus.txt", "{}/processed_{}"
# File, documents and mentions with an id, as the README of the benchmarks has them; options of the reader.
README = [
    (NCBI.format("train"), 592, 5_145, {}),
    (NCBI.format("develop"), 100, 787, {}),
    (NCBI.format("test"), 100, 960, {}),
    (PREPARED.format("ncbi-disease/biosyn", "train"), None, 5_134, {}),
    (PREPARED.format("ncbi-disease/biosyn", "dev"), None, 787, {}),
    (PREPARED.format("ncbi-disease/biosyn", "test"), None, 960, {}),
    (CDR.format("Training"), 500, 9_309, {}),
    (CDR.format("Development"), 500, 9_532, {}),
    (CDR.format("Test"), 500, 9_718, {}),
    (PREPARED.format("bc5cdr/biosyn-disease", "train"), None, 4_131, {}),
    (PREPARED.format("bc5cdr/biosyn-disease", "dev"), None, 4_178, {}),
    (PREPARED.format("bc5cdr/biosyn-disease", "test"), None, 4_287, {}),
    ("bc5cdr/biosyn-chemical/data.json", None, 5_029, {"split": "dev"}),
    ("bc5cdr/biosyn-chemical/data.json", None, 5_015, {"split": "test"}),
    ("cometa/stratified_general/train.csv", None, 13_489, {}),
    ("cometa/stratified_general/dev.csv", None, 2_176, {}),
    ("cometa/stratified_general/test.csv", None, 4_350, {}),
]


@pytest.mark.slow
@real
@pytest.mark.parametrize(("file", "documents", "mentions", "options"), README)
def test_counts_are_those_of_the_readme(
    file: str, documents: int | None, mentions: int, options: dict[str, str]
) -> None:
    dropped: Counter[str] = Counter()
    found = describe(read_corpus(BENCHMARKS / file, dropped=dropped, options=options), dropped=dropped)
    assert documents in (None, found.documents)
    # The one document of NCBI's training set that stands there twice is read once.
    assert found.mentions + dropped["repeated mentions"] - found.nil - found.without_gold == mentions


@pytest.mark.slow
@real
def test_mean_counts_of_the_folds_of_askapatient() -> None:
    folder = BENCHMARKS / "askapatient"
    for split, mean in (("train", 15_665), ("validation", 793), ("test", 866)):
        counts = [describe(read_corpus(file)).mentions for file in sorted(folder.glob(f"*.{split}.txt"))]
        assert (len(counts), round(sum(counts) / 10)) == (10, mean)


@pytest.mark.slow
@real
def test_the_mentions_of_ncbi_disease() -> None:
    folder = BENCHMARKS / "ncbi-disease" / "biosyn"
    train = describe(read_corpus(folder / "processed_train"))
    assert (train.documents, train.mentions) == (592, 5_134)
    test = describe(read_corpus(folder / "processed_test"), train=read_corpus(folder / "processed_train"))
    assert (test.mentions, test.distinct_pairs, test.repeated_pairs) == (960, 352, 608)
    assert test.seen is not None
    assert sum(test.seen.groups.values()) == test.seen.of == 960


@pytest.mark.slow
@real
def test_the_training_pairs_of_data_json_come_once_each() -> None:
    for corpus, count in (("bc5cdr/biosyn-chemical", 831), ("ncbi-disease/biosyn", 1_404)):
        found = describe(read_corpus(BENCHMARKS / corpus / "data.json", options={"split": "train"}))
        assert (found.mentions, found.distinct_pairs, found.repeated_pairs) == (count, count, 0)


@pytest.mark.slow
@real
def test_two_thirds_of_the_test_pairs_of_askapatient_leak() -> None:
    fold = "AskAPatient.fold-{}.{}.txt".format
    shares = []
    for number in range(10):
        test, train = (read_corpus(BENCHMARKS / "askapatient" / fold(number, split)) for split in ("test", "train"))
        seen = describe(test, train=train).seen
        assert seen is not None
        shares.append(seen.pairs / seen.of)
    assert 0.64 < sum(shares) / 10 < 0.68
