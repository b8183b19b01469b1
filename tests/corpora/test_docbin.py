"""DocBin, held against spaCy's own objects."""

from __future__ import annotations

import struct
import sys
import zlib
from collections import Counter
from pathlib import Path

import pytest

from nomina.corpora import corpus_format, docbin, read_corpus, write_corpus
from nomina.errors import FormatError, MissingExtra, UsageError
from nomina.types import Document, Mention, Section

SPACE = "A  cold \n fever."


def test_without_spacy(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy.tokens", None)
    (tmp_path / "a").write_bytes(b"x")
    with pytest.raises(MissingExtra, match=r'python -m pip install "nomina\[spacy\]"'):
        list(read_corpus(tmp_path / "a", "docbin"))
    with pytest.raises(MissingExtra, match=r'python -m pip install "nomina\[spacy\]"'):
        write_corpus([], tmp_path / "b", "docbin")


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (zlib.compress(b"\x87\xa7version\xa30.1\xa5attrs\x90"), True),
        (zlib.compress(b"\x87\xa7version\xa30.1\xa5attrs\x90" * 9_000)[:400], True),
        (zlib.compress(b"plain text"), False),
        (b"x = 1\n", False),
        (b"", False),
    ],
)
def test_is_known_by_what_is_packed(head: bytes, expected: bool) -> None:
    assert docbin.sniff(head) is expected


@pytest.fixture
def spacy():
    return pytest.importorskip("spacy")


@pytest.fixture
def packed(spacy, tmp_path: Path):
    """A file of one document with entities, two groups and a category, as spaCy writes it."""
    nlp = spacy.blank("en")
    doc = nlp("Breast and ovarian cancer cause ataxia.")
    doc.ents = [doc.char_span(7, 10, label="Part"), doc.char_span(32, 38, label="Disease", kb_id="D001259")]
    doc.spans["sc"] = [
        doc.char_span(0, 25, label="Disease", kb_id="D001943|D010051"),
        doc.char_span(32, 38, label="Disease", kb_id="D001259"),
        doc[0:0],
    ]
    doc.spans["other"] = [doc.char_span(0, 25, label="Disease", kb_id="D001943|D010051"), doc.char_span(0, 6)]
    doc.cats["oncology"] = 1.0
    path = tmp_path / "a.spacy"
    spacy.tokens.DocBin(docs=[doc]).to_disk(path)
    return path


BOTH = Mention(((0, 25),), "Breast and ovarian cancer", "Disease", (("D001943",), ("D010051",)))
ATAXIA = Mention(((32, 38),), "ataxia", "Disease", (("D001259",),))
BREAST = Mention(((0, 6),), "Breast")
PART = Mention(((7, 10),), "and", "Part")


@pytest.mark.extras
@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ({}, {BOTH, ATAXIA, BREAST, PART}),
        ({"groups": "sc"}, {BOTH, ATAXIA, PART}),
        ({"groups": "other,sc"}, {BOTH, BREAST, ATAXIA, PART}),
        ({"groups": "none"}, {ATAXIA, PART}),
    ],
)
def test_spans_of_groups_and_entities_each_once(packed: Path, groups, expected) -> None:
    dropped: Counter[str] = Counter()
    (document,) = read_corpus(packed, dropped=dropped, options=groups)
    assert (document.id, document.text) == ("1", "Breast and ovarian cancer cause ataxia.")
    assert len(document.mentions) == len(expected)
    assert set(document.mentions) == expected
    assert dropped == {"categories": 1} | ({"empty spans": 1} if "none" not in groups.values() else {})


@pytest.mark.extras
def test_a_group_that_there_is_not(packed: Path) -> None:
    with pytest.raises(UsageError, match=r"a\.spacy has no span group so; there are: other, sc"):
        list(read_corpus(packed, options={"groups": "sc,so"}))


@pytest.mark.extras
def test_written_documents_are_spacys(spacy, tmp_path: Path) -> None:
    mentions = (
        Mention(((3, 7),), "cold", "Symptom", (("D1",), ("D2",))),
        Mention(((3, 15),), "cold \n fever", "Disease", (("D3",),)),
        Mention(((10, 15),), "fever"),
        Mention(((1, 3),), "  ", "Gap"),
        Mention(((10, 13),), "fev", "Part"),
    )
    document = Document("d", SPACE, mentions)
    dropped: Counter[str] = Counter()
    write_corpus([document, Document("e", "")], tmp_path / "a.spacy", "docbin", dropped=dropped)
    assert not dropped
    assert corpus_format(tmp_path / "a.spacy")[0] == "docbin"
    assert list(read_corpus(tmp_path / "a.spacy")) == [document, Document("e", "")]
    doc, empty = spacy.tokens.DocBin().from_disk(tmp_path / "a.spacy").get_docs(spacy.vocab.Vocab())
    assert (doc.text, empty.text) == (SPACE, "")
    assert [(e.start_char, e.end_char, e.label_, e.kb_id_) for e in doc.ents] == [
        (1, 3, "Gap", ""),
        (3, 15, "Disease", "D3"),
    ]
    first = doc.spans["mentions"][0]
    assert (first.start_char, first.end_char, first.label_, first.kb_id_) == (3, 7, "Symptom", "D1|D2")


@pytest.mark.extras
def test_single_spaces_belong_to_the_word_before(spacy, tmp_path: Path) -> None:
    document = Document("d", "No cold fever.", (Mention(((3, 7),), "cold", "Symptom"),))
    write_corpus([document], tmp_path / "a.spacy", "docbin")
    (doc,) = spacy.tokens.DocBin().from_disk(tmp_path / "a.spacy").get_docs(spacy.vocab.Vocab())
    assert [token.text for token in doc] == ["No", "cold", "fever", "."]


@pytest.mark.extras
def test_what_is_not_written_is_counted(spacy, tmp_path: Path) -> None:
    mentions = (
        Mention(((0, 6), (19, 25)), "cancer, Breast", "Disease"),
        Mention(((26, 29),), "a", "Disease"),
    )
    document = Document("d", "Breast and ovarian cancer a|b", mentions, (Section(0, 29, "title"),))
    dropped: Counter[str] = Counter()
    write_corpus([document], tmp_path / "a", "docbin", dropped=dropped)
    assert dropped == {"sections": 1, "mention texts": 2}
    (found,) = read_corpus(tmp_path / "a")
    assert [mention.text for mention in found.mentions] == ["Breast cancer", "a|b"]


@pytest.mark.extras
def test_discontinuous_mentions_are_spans_that_share_an_id(spacy, tmp_path: Path) -> None:
    mentions = (
        Mention(((0, 6), (19, 25)), "Breast cancer", "Disease", (("D001943",),)),
        Mention(((11, 25),), "ovarian cancer", "Disease", (("D010051",),)),
        Mention(((11, 18), (19, 25)), "ovarian cancer", "Disease", (("D010051",),)),
    )
    document = Document("d", "Breast and ovarian cancer", mentions)
    dropped: Counter[str] = Counter()
    write_corpus([document], tmp_path / "a", "docbin", dropped=dropped)
    assert not dropped
    assert list(read_corpus(tmp_path / "a")) == [document]
    (doc,) = spacy.tokens.DocBin().from_disk(tmp_path / "a").get_docs(spacy.vocab.Vocab())
    assert [(span.text, span.kb_id_, span.id_) for span in doc.spans["mentions"]] == [
        ("Breast", "D001943", "discontinuous-0"),
        ("cancer", "D001943", "discontinuous-0"),
        ("ovarian cancer", "D010051", ""),
        ("ovarian", "D010051", "discontinuous-2"),
        ("cancer", "D010051", "discontinuous-2"),
    ]
    assert [ent.text for ent in doc.ents] == ["ovarian cancer"]


@pytest.mark.extras
def test_ids_of_patterns_do_not_make_one_mention_of_several_spans(spacy, tmp_path: Path) -> None:
    doc = spacy.blank("en")("fits and fits")
    doc.spans["ruler"] = [spacy.tokens.Span(doc, start, start + 1, label="S", span_id="fits") for start in (0, 2)]
    spacy.tokens.DocBin(docs=[doc]).to_disk(tmp_path / "a")
    (found,) = read_corpus(tmp_path / "a")
    assert [mention.spans for mention in found.mentions] == [((0, 4),), ((9, 13),)]


@pytest.mark.extras
def test_ids_that_cannot_stand_in_one_field(spacy, tmp_path: Path) -> None:
    document = Document("d", "Ataxia", (Mention(((0, 6),), "Ataxia", None, (("D1", "D2"),)),))
    with pytest.raises(UsageError, match=r"document 'd': the ids .* choose others"):
        write_corpus([document], tmp_path / "a", "docbin")
    write_corpus([document], tmp_path / "a", "docbin", options={"alternatives": "/"})
    assert list(read_corpus(tmp_path / "a", options={"alternatives": "/"})) == [document]


def far(srsly, groups: bytes) -> bytes:
    """Span groups with the first span moved behind the text."""
    (group, names), *others = srsly.msgpack_loads(groups).items()
    whole = srsly.msgpack_loads(group)
    *hashes, _, _, _, _ = struct.unpack(">QQQllll", whole["spans"][0])
    whole["spans"][0] = struct.pack(">QQQllll", *hashes, 0, 2, 500, 900)
    return srsly.msgpack_dumps(dict([(srsly.msgpack_dumps(whole), names), *others]))


@pytest.mark.extras
def test_files_that_are_none_or_cut_off(packed: Path) -> None:
    srsly = pytest.importorskip("srsly")
    data = packed.read_bytes()
    whole = srsly.msgpack_loads(zlib.decompress(data))
    broken = [
        b"x",
        data[:-20],
        zlib.compress(b"\x93"),
        zlib.compress(srsly.msgpack_dumps([1])),
        zlib.compress(srsly.msgpack_dumps({"attrs": [65]})),
        zlib.compress(srsly.msgpack_dumps(whole | {"span_groups": [b"\x92"]})),
        zlib.compress(srsly.msgpack_dumps(whole | {"strings": []})),
        zlib.compress(srsly.msgpack_dumps(whole | {"strings": [s for s in whole["strings"] if s != "Part"]})),
        zlib.compress(srsly.msgpack_dumps(whole | {"span_groups": [far(srsly, whole["span_groups"][0])]})),
    ]
    for each in broken:
        packed.write_bytes(each)
        with pytest.raises(FormatError, match="is no whole DocBin of spaCy") as caught:
            list(read_corpus(packed, "docbin", skip=lambda fault: None))
        assert "\n" not in str(caught.value)
