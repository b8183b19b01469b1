"""The corpora of the field, where they lie beside the checkout: counts, and what is written is what was read."""

from collections import Counter
from pathlib import Path

import pytest

from nomina.corpora import corpus_format, read_corpus, write_corpus

BENCHMARKS = Path(__file__).resolve().parents[3] / "shared" / "benchmarks"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="needs the benchmarks beside the checkout"),
]

NCBI, CDR = "ncbi-disease/raw/NCBI{}set_corpus.txt", "bc5cdr/raw/CDR_{}Set.PubTator.txt"
# Documents, mentions, mentions with an id, what is dropped
COUNTS = {
    # One of the 593 documents stands there twice; with its 11 mentions there are 5,145.
    NCBI.format("train"): (592, 5145 - 11, 5145 - 11, {"repeated documents": 1, "repeated mentions": 11}),
    NCBI.format("develop"): (100, 787, 787, {}),
    NCBI.format("test"): (100, 960, 960, {}),
    CDR.format("Training"): (500, 9385, 9309, {"relations": 1038, "individual mentions": 89}),
    CDR.format("Development"): (500, 9591, 9532, {"relations": 1012, "individual mentions": 89}),
    CDR.format("Test"): (500, 9809, 9718, {"relations": 1066, "individual mentions": 57}),
}


@pytest.mark.parametrize("file", COUNTS)
def test_is_read_strictly_with_the_published_counts(file):
    dropped = Counter()
    documents = list(read_corpus(BENCHMARKS / file, dropped=dropped))
    mentions = [mention for document in documents for mention in document.mentions]
    with_id = [mention for mention in mentions if mention.gold not in ((), (("-1",),))]
    assert (len(documents), len(mentions), len(with_id), dropped) == COUNTS[file]
    assert corpus_format(BENCHMARKS / file)[0] == "pubtator"
    assert all(
        mention.text == document.text[slice(*mention.spans[0])]
        for document in documents
        for mention in document.mentions
    )
    assert all([section.name for section in document.sections] == ["title", "abstract"] for document in documents)
    if file == CDR.format("Test"):
        assert Counter(mention.type for mention in with_id) == {"Chemical": 5355, "Disease": 4363}


@pytest.mark.parametrize("format", ["pubtator", "bioc_xml", "bioc_json", "brat", "jsonl"])
@pytest.mark.parametrize("file", COUNTS)
def test_is_written_and_read_back_equal(file, format, tmp_path):
    documents = list(read_corpus(BENCHMARKS / file))
    lost = Counter()
    write_corpus(documents, tmp_path / "a", format, dropped=lost)
    found = {document.id: document for document in read_corpus(tmp_path / "a", format, dropped=lost)}
    assert len(found) == len(documents)
    assert lost == ({"sections": 2 * len(documents)} if format == "brat" else {})
    for document in documents:
        again = found[document.id]
        assert (again.text, again.mentions) == (document.text, document.mentions)
        assert again.sections == (() if format == "brat" else document.sections)
