"""brat standoff: folders, archives, single files."""

import shutil
from collections import Counter
from pathlib import Path

import pytest
from corpora_cases import CASES, DATA

from nomina.corpora import corpus_format, read_corpus, write_corpus
from nomina.errors import FormatError, UsageError
from nomina.types import Document, Mention, Section

TEXT = "breast and\novarian cancer\r\nγ"


@pytest.fixture
def read(tmp_path):
    """The mentions of a .ann file with a text, and what was dropped."""

    def reading(annotations, skip=None, **options):
        (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8", newline="")
        (tmp_path / "a.ann").write_text(annotations, encoding="utf-8", newline="")
        dropped = Counter()
        (document,) = read_corpus(tmp_path, skip=skip, dropped=dropped, options=options)
        assert document.text == TEXT
        return document.mentions, dropped

    return reading


def test_spans_with_gaps_and_line_breaks(read):
    mentions, dropped = read(
        "T1\tDisease 0 6;19 25\tbreast cancer\nT2\tDisease 19 25;0 6\tbreast cancer\n"
        "T3\tDisease 0 25\tbreast and ovarian cancer\nT4\tDisease 0 10;11 25\tbreast and ovarian cancer\n"
        "\nT5\tGreek 27 28\tγ\n"
    )
    assert mentions == (
        Mention(((0, 6), (19, 25)), "breast cancer", "Disease"),
        Mention(((0, 6), (19, 25)), "breast cancer", "Disease"),
        Mention(((0, 25),), "breast and\novarian cancer", "Disease"),
        Mention(((0, 10), (11, 25)), "breast and ovarian cancer", "Disease"),
        Mention(((27, 28),), "γ", "Greek"),
    )
    assert not dropped


def test_references_before_and_behind_their_mention(read):
    text = (
        "N1\tReference T1 MESH:D1\tname\nT1\tDisease 0 6\tbreast\nN2\tReference T1 MESH:D2/OMIM:3\nN3\tReference R1 x\n"
    )
    mentions, dropped = read(text, alternatives="/")
    assert mentions == (Mention(((0, 6),), "breast", "Disease", (("MESH:D1",), ("MESH:D2", "OMIM:3"))),)
    assert dropped == {"names of references": 1, "references to others": 1}


def test_all_else_that_brat_has_is_counted(read):
    lines = "R1\tA Arg1:T1 Arg2:T2\nE1\tB:T1\nA1\tC T1\nM1\tC T1\n#1\tNote T1\tx\n*\tEquiv T1 T2\n"
    assert read(lines) == (
        (),
        {"relations": 1, "events": 1, "attributes": 2, "notes": 1, "equivalences": 1},
    )


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("T2\tDisease 1 7\tbreast", "the mention 'breast' is not what stands at 1-7, 'reast '"),
        ("T2\tDisease 0 99\tbreast", "ends behind the text"),
        ("T2\tDisease 0 0\t", "spans must be non-empty"),
        ("T2\tDisease 0\tbreast", "expected 'TYPE START END' between tabs, with ; between spans, not 'Disease 0'"),
        ("T2 Disease 0 6 breast", "expected 'TYPE START END'"),
        ("T1\tDisease 0 6\tbreast", "a second mention T1"),
        ("N1\tReference T1", "is no line that brat has: 'N1', 'Reference T1'"),
        ("Some note", "is no line that brat has: 'Some note', ''"),
    ],
)
def test_a_fault_is_an_error_with_its_line(read, line, why, tmp_path):
    text = f"T1\tDisease 0 6\tbreast\n{line}\n"
    with pytest.raises(FormatError, match=why) as caught:
        read(text)
    assert (caught.value.path, caught.value.line) == (tmp_path / "a.ann", 2)
    faults = []
    mentions, _ = read(text, skip=faults.append)
    assert ([m.text for m in mentions], len(faults)) == (["breast"], 1)


def test_a_single_file_is_its_document():
    expected = CASES["brat"].documents[0]
    for name in ("100.ann", "100.txt"):
        assert list(read_corpus(DATA / "brat" / name, "brat")) == [expected]
    assert corpus_format(DATA / "brat" / "100.ann")[0] == "brat"


def test_a_zip_archive_is_a_folder(tmp_path):
    path = Path(shutil.make_archive(str(tmp_path / "a"), "zip", DATA / "brat"))
    assert corpus_format(path)[0] == "brat"
    assert tuple(read_corpus(path)) == CASES["brat"].documents


def test_texts_that_are_missing_or_not_utf8(tmp_path):
    for name, raw in {"a.ann": b"", "b.ann": b"", "b.txt": b"\xff\xfeb", "c.ann": b"", "c.txt": b"c"}.items():
        (tmp_path / name).write_bytes(raw)
    with pytest.raises(FormatError, match=r"a\.txt: cannot be read \(No such file"):
        list(read_corpus(tmp_path))
    faults = []
    assert list(read_corpus(tmp_path, skip=faults.append)) == [Document("c", "c")]
    assert [fault.path.name for fault in faults] == ["a.txt", "b.txt"]


# Writing


def test_golden(tmp_path):
    dropped = Counter()
    document = Document(
        "trial/1",
        TEXT,
        (
            Mention(((0, 6), (19, 25)), "breast cancer", "Disease", (("MESH:D1",), ("D2",))),
            Mention(((0, 25),), "breast and\novarian cancer", "a kind"),
            Mention(((27, 28),), "gamma"),
        ),
        (Section(0, 10, "title"),),
    )
    write_corpus([document, Document("2", "\ufeffa\0")], tmp_path / "out", "brat", dropped=dropped)
    assert (tmp_path / "out/trial/1.txt").read_bytes() == TEXT.encode()
    assert (tmp_path / "out/trial/1.ann").read_text(encoding="utf-8") == (
        "T1\tDisease 0 6;19 25\tbreast cancer\nN1\tReference T1 MESH:D1\t\nN2\tReference T1 D2\t\n"
        "T2\ta_kind 0 25\tbreast and ovarian cancer\nT3\tMention 27 28\tγ\n"
    )
    assert dropped == {"sections": 1, "types": 1, "mention texts": 1, "control characters": 1}
    assert [document.text for document in read_corpus(tmp_path / "out")] == ["\ufeffa ", TEXT]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


@pytest.mark.parametrize("id", ["", "..", "../a", "/a", "a/", ".a", "a/.b", "a\\b", "a\nb", "x" * 300, "a//b"])
def test_an_id_that_is_no_file_name_is_refused(tmp_path, id):
    with pytest.raises(UsageError, match="this id is no name of a file"):
        write_corpus([Document("ok", ""), Document(id, "a")], tmp_path / "out", "brat")
    assert list(tmp_path.iterdir()) == []


def test_ids_that_differ_in_case_only_are_refused(tmp_path):
    with pytest.raises(UsageError, match="document 'A': another id is the same but for upper and lower case"):
        write_corpus([Document("a", ""), Document("A", "")], tmp_path / "out", "brat")


def test_alternatives_need_a_character(tmp_path):
    document = Document("1", "a", (Mention(((0, 1),), "a", None, (("x", "y"), ("z",))),))
    with pytest.raises(UsageError, match="document '1': the ids"):
        write_corpus([document], tmp_path / "out", "brat")
    write_corpus([document], tmp_path / "out", "brat", options={"alternatives": "/"})
    assert "N1\tReference T1 x/y\t\nN2\tReference T1 z" in (tmp_path / "out/1.ann").read_text(encoding="utf-8")


def test_only_a_new_or_an_empty_folder_is_written_to(tmp_path):
    (tmp_path / "empty").mkdir()
    write_corpus([Document("1", "a")], tmp_path / "empty", "brat")
    assert (tmp_path / "empty" / "1.txt").exists()
    for name in ("empty", "empty/1.txt"):
        with pytest.raises(UsageError, match="it is there already; name a new folder"):
            write_corpus([Document("2", "a")], tmp_path / name, "brat")
    assert not (tmp_path / "empty" / "2.txt").exists()
