"""Our readers and writers against the ``bioc`` package, which reads the same forms."""

import json
from collections import Counter
from pathlib import Path

import pytest

from nomina.corpora import read_corpus, write_corpus
from nomina.types import Document, Mention, Section

bioc = pytest.importorskip("bioc", reason="needs the bioc package")

from bioc import biocjson, biocxml, pubtator  # noqa: E402
from bioc.biocjson.encoder import BioCJsonIterWriter  # noqa: E402

pytestmark = pytest.mark.extras

BENCHMARKS = Path(__file__).resolve().parents[3] / "shared" / "benchmarks"
DOCUMENTS = [
    Document(
        "100",
        "Breast and ovarian cancer. γ-rays & <ataxia>; no 𝑃 fits.",
        (
            Mention(((0, 6), (19, 25)), "Breast cancer", "Disease", (("D001943",),)),
            Mention(((37, 43),), "ataxia", "Disease", (("D001259",), ("D2",))),
            Mention(((51, 55),), "fits"),
        ),
        (Section(0, 26, "title"), Section(27, 56, "abstract")),
    ),
    Document("101", "Nothing known."),
]


def theirs(documents):
    """The same documents as ``bioc`` has them."""
    return [
        (
            document.id,
            [(passage.offset, passage.text, passage.infons.get("type")) for passage in document.passages],
            [
                (
                    annotation.text,
                    [(place.offset, place.offset + place.length) for place in annotation.locations],
                    annotation.infons.get("type"),
                    annotation.infons.get("identifier", ""),
                )
                for passage in document.passages
                for annotation in passage.annotations
            ],
        )
        for document in documents
    ]


def ours(documents):
    return [
        (
            document.id,
            [(s.start, document.text[s.start : s.end], s.name) for s in document.sections]
            or [(0, document.text, None)],
            [
                (mention.text, list(mention.spans), mention.type, "|".join(part[0] for part in mention.gold))
                for mention in document.mentions
            ],
        )
        for document in documents
    ]


def test_what_we_write_is_what_bioc_reads(tmp_path):
    assert DOCUMENTS[0].text[37:43] == "ataxia"
    write_corpus(DOCUMENTS, tmp_path / "a.xml", "bioc_xml")
    with open(tmp_path / "a.xml", encoding="utf-8") as stream:
        assert theirs(biocxml.load(stream).documents) == ours(DOCUMENTS)
    write_corpus(DOCUMENTS, tmp_path / "a.json", "bioc_json")
    with open(tmp_path / "a.json", encoding="utf-8") as stream:
        assert theirs(biocjson.load(stream).documents) == ours(DOCUMENTS)


def test_what_bioc_writes_is_what_we_read(tmp_path):
    write_corpus(DOCUMENTS, tmp_path / "a.xml", "bioc_xml")
    with open(tmp_path / "a.xml", encoding="utf-8") as stream:
        collection = biocxml.load(stream)
    (tmp_path / "b.xml").write_text(biocxml.dumps(collection), encoding="utf-8")
    (tmp_path / "b.json").write_text(biocjson.dumps(collection), encoding="utf-8")
    assert list(read_corpus(tmp_path / "b.xml")) == DOCUMENTS
    assert list(read_corpus(tmp_path / "b.json")) == DOCUMENTS
    with open(tmp_path / "b.jsonl", "w", encoding="utf-8") as stream:
        writer = BioCJsonIterWriter(stream)
        for document in collection.documents:
            writer.write(document)
    assert json.loads((tmp_path / "b.jsonl").read_text(encoding="utf-8").partition("\n")[0])["id"] == "100"
    assert list(read_corpus(tmp_path / "b.jsonl")) == DOCUMENTS


@pytest.mark.slow
@pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="needs the benchmarks beside the checkout")
@pytest.mark.parametrize("name", ["Training", "Development", "Test"])
def test_pubtator_reads_as_bioc_reads_it(name):
    path = BENCHMARKS / f"bc5cdr/raw/CDR_{name}Set.PubTator.txt"
    with open(path, encoding="utf-8") as stream:
        expected = pubtator.load(stream)
    dropped = Counter()
    found = list(read_corpus(path, dropped=dropped))
    assert [document.id for document in found] == [document.pmid for document in expected]
    assert dropped["relations"] == sum(len(document.relations) for document in expected)
    for ours, theirs in zip(found, expected, strict=True):
        title, abstract = ours.sections
        assert ours.text[title.start : title.end] == theirs.title
        assert ours.text[abstract.start : abstract.end].rstrip() == theirs.abstract.rstrip()
        assert [
            (*mention.spans[0], mention.text, mention.type, "|".join(part[0] for part in mention.gold))
            for mention in ours.mentions
        ] == [(mention.start, mention.end, mention.text, mention.type, mention.id) for mention in theirs.annotations]
