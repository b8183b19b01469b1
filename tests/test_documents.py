import gzip
import io
import json
import os
import re
import sys
from pathlib import Path

import pytest

from nomina import documents
from nomina.documents import Source, check, find, mention_list, read
from nomina.errors import FormatError, UsageError
from nomina.types import Document, Mention, Section


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with files to read."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "notes/b.txt": "B",
        "notes/a.txt": "A",
        "notes/a/z.txt": "Z",
        "notes/sub/c.jsonl": '{"id": "c", "text": "C"}\n',
        "notes/sub/image.png": "",
        "notes/readme.md": "",
        "notes/.hidden.txt": "",
        "notes/.git/x.txt": "",
        "other/a.txt": "other A",
        "pictures/image.png": "",
    }.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    Path("notes/packed.txt.gz").write_bytes(gzip.compress(b"P"))
    return tmp_path


def ids(*paths: str) -> list[str]:
    return [document.id for document in read(find(map(Path, paths)).sources)]


def records(*lines: object) -> list[Document]:
    Path("d.jsonl").write_text(
        "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines), encoding="utf-8"
    )
    return list(read(find([Path("d.jsonl")]).sources))


def mentions(text: str) -> list[tuple[str, str]]:
    Path("m.tsv").write_text(text, encoding="utf-8")
    return [(d.id, d.mentions[0].text) for d in read([mention_list(Path("m.tsv"))])]


def stdin(monkeypatch, raw: bytes) -> list[Document]:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(raw))))
    return list(read(find([Path("-")]).sources))


# Finding files


def test_a_folder_is_its_texts_and_records_sorted_with_sub_folders(folder):
    found = find([Path("notes")])
    assert [source.id for source in found.sources] == ["a/z.txt", "a.txt", "b.txt", "packed.txt.gz", "sub/c.jsonl"]
    assert found.others == 2
    assert list(read(found.sources)) == [
        Document("a/z.txt", "Z"),
        Document("a.txt", "A"),
        Document("b.txt", "B"),
        Document("packed.txt.gz", "P"),
        Document("c", "C"),
    ]


def test_files_keep_their_order_and_any_name_is_a_text_when_named(folder):
    Path("notes/readme.md").write_text("M", encoding="utf-8")
    assert ids("notes/b.txt", "notes/readme.md", "notes/a.txt", "notes/sub/c.jsonl") == [
        "b.txt",
        "readme.md",
        "a.txt",
        "c",
    ]


def test_two_texts_of_one_name_have_the_paths_as_ids(folder):
    assert ids("notes/a.txt", "notes/b.txt", "other/a.txt") == ["notes/a.txt", "b.txt", "other/a.txt"]
    assert ids("other", "notes/a.txt") == ["other/a.txt", "notes/a.txt"]


def test_a_file_named_twice_counts_once(folder):
    assert ids("notes/a.txt", "notes/a.txt", str(folder / "notes/a.txt"), "other") == ["notes/a.txt", "other/a.txt"]


def test_a_folder_without_texts(folder):
    with pytest.raises(UsageError, match=r"^no .txt or .jsonl file in the folder pictures \(1 others\)$"):
        find([Path("pictures")])


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes")
def test_a_file_name_that_is_not_utf8(folder):
    Path(os.fsdecode(b"caf\xe9.txt")).write_text("x", encoding="utf-8")
    assert ids(os.fsdecode(b"caf\xe9.txt")) == ["caf\\xe9.txt"]


# Documents as records


def test_records_with_and_without_mentions(folder):
    assert records(
        {"id": "1", "text": "Short stature and seizures."},
        "\n",
        {"id": "2", "text": "fever, γ", "mentions": [], "sections": [{"start": 0, "end": 5, "name": "title"}]},
        {
            "id": "3",
            "text": "breast and ovarian cancer",
            "mentions": [
                {"spans": [[0, 6], [19, 25]]},
                {"spans": [[11, 25]], "text": "ovarian cancer", "type": "Disease", "gold": [["D1", "D2"], ["D3"]]},
                {"spans": [[0, 6], [19, 25]], "text": "breast and ovarian cancer"},
            ],
        },
    ) == [
        Document("1", "Short stature and seizures."),
        Document("2", "fever, γ", sections=(Section(0, 5, "title"),)),
        Document(
            "3",
            "breast and ovarian cancer",
            (
                Mention(((0, 6), (19, 25)), "breast cancer"),
                Mention(((11, 25),), "ovarian cancer", "Disease", (("D1", "D2"), ("D3",))),
                Mention(((0, 6), (19, 25)), "breast and ovarian cancer"),
            ),
        ),
    ]


ONE = {"spans": [[0, 5]]}


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ("fever\n", "not JSON (expected"),
        ("[1]\n", "Input should be an object"),
        ('{"id": "1", "text": "\\ud800"}\n', "not JSON ("),
        ({"text": "fever"}, "the field 'id' is missing"),
        ({"id": 1, "text": "fever"}, "id: Input should be a valid string"),
        ({"id": "1", "text": "fever", "title": "x"}, "unknown field 'title'; a line has: id, text, mentions, sections"),
        ({"id": "1", "text": "fever", "mentions": [{**ONE, "offset": 1}]}, "unknown field 'mentions.0.offset'"),
        ({"id": "1", "text": "fever", "mentions": [{}]}, "the field 'mentions.0.spans' is missing"),
        ({"id": "1", "text": "fever", "mentions": [{"spans": [[0, "5"]]}]}, "mentions.0.spans.0.1: Input should be"),
        ({"id": "1", "text": "fever", "mentions": [{"spans": []}]}, "a mention needs at least one span"),
        ({"id": "1", "text": "fever", "mentions": [{"spans": [[3, 3]]}]}, "spans must be non-empty, sorted and apart"),
        ({"id": "1", "text": "fever", "mentions": [{"spans": [[-1, 3]]}]}, "spans must be non-empty, sorted and"),
        (
            {"id": "1", "text": "fever", "mentions": [{"spans": [[0, 6]]}]},
            "the span (0, 6) ends behind the text (5 characters)",
        ),
        (
            {"id": "1", "text": "a fever", "mentions": [{"spans": [[1, 6]], "text": "fever"}]},
            "the mention 'fever' is not what stands at 1-6, ' feve'",
        ),
        (
            {
                "id": "1",
                "text": "breast and ovarian cancer",
                "mentions": [{"spans": [[0, 5], [19, 25]], "text": "fever"}],
            },
            "the mention 'fever' is not what stands at 0-25, 'breas cancer'",
        ),
    ],
)
def test_a_wrong_record_is_refused_with_its_place(folder, record, said):
    with pytest.raises(FormatError, match=f"^d.jsonl:2: {re.escape(said)}"):
        records({"id": "0", "text": ""}, record)


def test_the_fields_that_a_line_has_are_named_and_nothing_else(folder):
    with pytest.raises(
        FormatError, match=r"^d.jsonl:1: unknown field 'title'; a line has: id, text, mentions, sections$"
    ):
        records({"id": "1", "text": "fever", "title": "x"})


def test_a_second_document_with_an_id_is_refused_with_its_place(folder, monkeypatch):
    said = "2: a second document with the id '1': ids must differ to tell their predictions apart$"
    with pytest.raises(FormatError, match=f"^d.jsonl:{said}"):
        records({"id": "1", "text": "a"}, {"id": "1", "text": "b"})
    Path("one.jsonl").write_text('{"id": "1", "text": "a"}\n', encoding="utf-8")
    Path("two.jsonl").write_text('{"id": "2", "text": "a"}\n{"id": "1", "text": "a"}\n', encoding="utf-8")
    sources = find([Path("one.jsonl"), Path("two.jsonl")]).sources
    with pytest.raises(FormatError, match=f"^two.jsonl:{said}"):
        list(read(sources))
    assert [document.id for _ in range(2) for document in read(sources[:1])] == ["1", "1"]
    with pytest.raises(FormatError, match=f"^-:{said}"):
        stdin(monkeypatch, b'{"id": "1", "text": "a"}\n{"id": "1", "text": "a"}\n')


# Lists of mentions


def test_a_list_of_mentions_keeps_order_and_line_numbers(folder):
    assert mentions("heart attack\n\n  MI \nγ\n") == [("1", "heart attack"), ("2", ""), ("3", "MI"), ("4", "γ")]
    assert mentions("") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mention\tcount\r\nfever\t2\r\nmention\t1\r\n\t5", [("2", "fever"), ("3", "mention"), ("4", "")]),
        ("id\tmention\n1\tseizures\n2\n\n3\t fits, febrile \tx\n", ["seizures", "", "", "fits, febrile"]),
        ('id,mention,count\n1,seizures,3\n2,"fits, febrile",1\n\n', ["seizures", "fits, febrile", ""]),
        ('"mention","count"\n"say ""ah""",3\n', ['say "ah"']),
        ("mention\nseizures, febrile\n", ["seizures, febrile"]),
    ],
)
def test_the_column_of_a_table_that_its_header_calls_mention(folder, text, expected):
    found = mentions(text)
    assert found == expected or [mention for _, mention in found] == expected


def test_a_line_with_commas_is_a_mention_where_no_header_names_the_column(folder):
    assert mentions('seizures,3\nid,"name\n') == [("1", "seizures,3"), ("2", 'id,"name')]


@pytest.mark.parametrize(
    ("text", "line"), [("seizures\t3\n", 1), ("id\tname\n1\tseizures\n", 1), ("fever\t\n\nid\tmention\n", 3)]
)
def test_columns_without_a_header_that_names_the_mention_are_refused(folder, text, line):
    said = f"m.tsv:{line}: has several columns, but line 1 names none of them 'mention': write a header, or name it so"
    with pytest.raises(FormatError, match=f"^{said}$"):
        mentions(text)


def test_a_record_over_two_lines_of_a_comma_file_is_refused(folder):
    with pytest.raises(FormatError, match=r"^m.tsv:2: is no line of a comma file \(unexpected end of data\)$"):
        mentions('id,mention\n1,"fits\nand fever"\n')


def test_a_mention_is_the_whole_text_of_its_document(folder):
    mentions(" short stature \n\n")
    assert list(read([mention_list(Path("m.tsv"))])) == [
        Document("1", "short stature", (Mention(((0, 13),), "short stature"),)),
        Document("2", " ", (Mention(((0, 1),), ""),)),
    ]


# Pipes


def test_standard_input_is_a_text_or_records_by_its_first_line(folder, monkeypatch):
    assert stdin(monkeypatch, b"Fever.\n{}") == [Document("stdin", "Fever.\n{}")]
    assert stdin(monkeypatch, b'{"id": "1", "text": "a"}\n{"id": "2", "text": "b"}') == [
        Document("1", "a"),
        Document("2", "b"),
    ]
    assert stdin(monkeypatch, b"\n\n") == [Document("stdin", "\n\n")]
    assert stdin(monkeypatch, b"") == []
    with pytest.raises(FormatError, match=r"^-:1: unknown field 'txt'"):
        stdin(monkeypatch, b'{"id": "1", "txt": "a"}\n')
    with pytest.raises(FormatError, match=r"^-:2: not JSON"):
        stdin(monkeypatch, b'{"id": "1", "text": "a"}\nfever')


def test_a_pipe_is_not_read_before_its_turn(folder, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"fever"))))
    sources = find([Path("-")]).sources
    assert check(sources) == []
    assert list(read(sources)) == [Document("stdin", "fever")]


# Checking heads


def test_the_heads_of_good_files_are_good(folder, monkeypatch):
    monkeypatch.setattr(documents, "_HEAD", 40)
    Path("long.jsonl").write_text('{"id": "1", "text": "short"}\n' * 5, encoding="utf-8")
    Path("long.txt").write_text("Löfgren’s " * 50, encoding="utf-8")
    Path("list.txt").write_text("γ" * 30 + "\nfever\n", encoding="utf-8")
    found = find([Path("notes"), Path("long.txt"), Path("long.jsonl")])
    assert check([*found.sources, mention_list(Path("list.txt"))]) == []


def test_the_first_fault_is_raised_and_the_others_are_counted(folder):
    Path("notes/b.txt").write_bytes(b"\xff\xff")
    Path("notes/sub/c.jsonl").write_bytes(b"x")
    Path("notes/packed.txt.gz").write_bytes(b"\x1f\x8b")
    said = "notes/b.txt:1: byte 0xff in column 1 is not UTF-8: .* \\(2 more of the files have faults\\)"
    with pytest.raises(FormatError, match=f"^{said}$"):
        check(find([Path("notes")]).sources)


def test_a_fault_behind_the_head_is_found_when_it_is_read(folder, monkeypatch):
    monkeypatch.setattr(documents, "_HEAD", 4)
    Path("a.txt").write_bytes(b"a\nbcd\xff")
    sources = find([Path("a.txt")]).sources
    assert check(sources) == []
    with pytest.raises(FormatError, match=r"^a.txt:2: byte 0xff"):
        list(read(sources))


def test_files_that_hold_nothing_are_named(folder):
    for name, raw in (("e.txt", b"\xef\xbb\xbf"), ("e.jsonl", b"\n\n"), ("e.list", b"mention\n")):
        Path(name).write_bytes(raw)
    empty = [*find([Path("e.txt"), Path("e.jsonl")]).sources, mention_list(Path("e.list"))]
    assert check([*empty, *find([Path("notes")]).sources]) == empty
    with pytest.raises(UsageError, match=r"^all 3 files are empty$"):
        check(empty)
    with pytest.raises(UsageError, match=r"^e.txt is empty$"):
        check(empty[:1])


def test_a_text_of_white_space_is_not_empty(folder):
    Path("w.txt").write_text("\n\n", encoding="utf-8")
    assert check(find([Path("w.txt")]).sources) == []


def test_a_huge_text_is_refused_by_its_size_and_huge_records_are_not(folder, monkeypatch):
    monkeypatch.setattr(documents, "LARGEST_TEXT", 30)
    Path("huge.txt").write_bytes(b"x" * 31)
    with pytest.raises(FormatError, match=r"^huge.txt: this text is larger than 16 MB, the most for one: split it"):
        check([Source(Path("huge.txt"), "text", "huge.txt")])
    Path("many.jsonl").write_text('{"id": "1", "text": ""}\n' * 5, encoding="utf-8")
    assert check(find([Path("many.jsonl")]).sources) == []


def test_a_missing_file(folder):
    with pytest.raises(FormatError, match=r"^no.txt: cannot be read \(No such file or directory\)$"):
        check(find([Path("no.txt")]).sources)
