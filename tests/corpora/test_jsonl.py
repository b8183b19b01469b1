"""nomina's own form of documents. What a line may hold is tested in ``tests/test_documents.py``."""

from collections import Counter

import pytest

from nomina.corpora import read_corpus, write_corpus
from nomina.errors import FormatError
from nomina.types import Document, Mention, Section

DOCUMENT = Document(
    "1",
    "skin tumour|naevus, γ\x7f\u2028",
    (
        Mention(((0, 18),), "skin tumour", "D", (("X", "Y"), ("Z",))),
        Mention(((0, 18),), "naevus", "D", (("X", "Y"), ("Z",))),
        Mention(((0, 4), (12, 18)), "skin naevus"),
    ),
    (Section(0, 20, "title"),),
)


def test_golden(tmp_path):
    write_corpus([DOCUMENT, Document("2", "")], tmp_path / "a", "jsonl")
    assert (tmp_path / "a").read_bytes().decode() == (
        '{"id": "1", "text": "skin tumour|naevus, γ\\u007f\u2028", "mentions": ['
        '{"spans": [[0, 18]], "text": "skin tumour", "type": "D", "gold": [["X", "Y"], ["Z"]]}, '
        '{"spans": [[0, 18]], "text": "naevus", "type": "D", "gold": [["X", "Y"], ["Z"]]}, '
        '{"spans": [[0, 4], [12, 18]], "text": "skin naevus"}], '
        '"sections": [{"start": 0, "end": 20, "name": "title"}]}\n'
        '{"id": "2", "text": ""}\n'
    )
    assert list(read_corpus(tmp_path / "a")) == [DOCUMENT, Document("2", "")]


def test_a_text_that_does_not_stand_there_is_counted(tmp_path):
    dropped = Counter()
    write_corpus([Document("1", "fits", (Mention(((0, 4),), "seizures"),))], tmp_path / "a", "jsonl", dropped=dropped)
    assert dropped == {"mention texts": 1}
    assert list(read_corpus(tmp_path / "a")) == [Document("1", "fits", (Mention(((0, 4),), "fits"),))]


def test_documents_that_come_again(tmp_path):
    line = '{"id": "1", "text": "a", "mentions": [{"spans": [[0, 1]]}]}\n'
    (tmp_path / "a").write_text(line + "\n" + line, encoding="utf-8")
    dropped = Counter()
    assert len(list(read_corpus(tmp_path / "a", dropped=dropped))) == 1
    assert dropped == {"repeated documents": 1, "repeated mentions": 1}
    (tmp_path / "a").write_text(line + line.replace('"a"', '"b"'), encoding="utf-8")
    with pytest.raises(FormatError, match=":2: another document with the id '1'"):
        list(read_corpus(tmp_path / "a"))
