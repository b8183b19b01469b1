"""Readers of bulk runs: what is a document, what is a fault, and what is the end of a file."""

import gzip
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from corpora_cases import DATA

from nomina.bulk.find import Input, check_columns, find, reader
from nomina.bulk.inputs import INPUTS, Columns, Fault, NoColumn
from nomina.errors import FormatError, UsageError
from nomina.reading import LARGEST_TEXT

HINT = "; of objects of another kind, name the field of the text: --text-column text"


def read(path, format, columns=None):
    """(id, text, offset) of each document, and the faults."""
    faults: list[Fault] = []
    items = list(reader(format)(path, columns or Columns(), faults.append))
    return [(item.document.id, item.document.text, item.offset) for item in items], faults


def made(tmp_path, content, name="file"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_json_lines_of_nomina(tmp_path):
    path = made(
        tmp_path,
        b'\xef\xbb\xbf{"id": "1", "text": "Ataxia.", "mentions": [{"spans": [[0, 6]]}]}\r\n'
        b"\n"
        b'{"id": "2", "text": "x", "mentions": [{"spans": [[0, 6]]}]}\n'
        b'{"id": "3", "txt": "x"}\n'
        b'{"id": "4", "text": "caf\xe9"}\n'
        b'{"id": "5", "text": "a\x00b"}\n'
        b'{"id": "6", "text": "the end"}',
    )
    found, faults = read(path, "jsonl")
    assert found == [("1", "Ataxia.", 1), ("6", "the end", 7)]
    assert faults == [
        Fault(3, "line", None, "the span (0, 6) ends behind the text (1 characters)"),
        Fault(4, "line", None, f"unknown field 'txt'; a line has: id, text, mentions, sections{HINT}"),
        Fault(5, "line", None, "byte 0xe9 in column 25 is not UTF-8"),
        Fault(6, "line", None, "control character U+0000 in column 23"),
    ]


def test_json_lines_of_others(tmp_path):
    lines = '{"note": "a fit", "nr": 7}\n{"note": 5, "nr": 8}\n[1]\n{"note": "x"}\n{\n{"note": "", "nr": "z"}'
    path = made(tmp_path, lines, "n.jsonl")
    found, faults = read(path, "jsonl", Columns("note", "nr"))
    assert found == [("7", "a fit", 1), ("z", "", 6)]
    assert [(fault.offset, fault.reason) for fault in faults[:3]] == [
        (2, "no text in 'note'"), (3, "is no JSON object"), (4, "no id in 'nr'"),
    ]  # fmt: skip
    assert faults[3].reason.startswith("not JSON (")
    assert read(path, "jsonl", Columns("note"))[0] == [
        ("n.jsonl:1", "a fit", 1), ("n.jsonl:4", "x", 4), ("n.jsonl:6", "", 6),
    ]  # fmt: skip


def test_json_lines_without_ids_have_file_and_line(tmp_path):
    lines = '{"text": "a fit"}\n\n{"text": "no\x01"}\n{"id": null, "text": "x", "mentions": [{"spans": [[0, 1]]}]}\n'
    path = made(tmp_path, lines, "n.jsonl")
    assert read(path, "jsonl")[0] == [("n.jsonl:1", "a fit", 1), ("n.jsonl:4", "x", 4)]
    assert read(path, "jsonl", Columns("text"))[0] == [("n.jsonl:1", "a fit", 1), ("n.jsonl:4", "x", 4)]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"id": "1", "text": "x", "year": 2020}', "unknown field 'year'; a line has: id, text, mentions, sections"),
        ('{"id": "1"}', "the field 'text' is missing"),
        ('{"id": 1, "text": "x"}', "id: Input should be a valid string"),
    ],
)
def test_of_json_lines_of_another_kind_it_is_said_how_to_read_them(tmp_path, line, why):
    path = made(tmp_path, line)
    assert read(path, "jsonl") == ([], [Fault(1, "line", None, why + HINT)])
    assert len(read(path, "jsonl", Columns("text"))[0]) == ("text" in line)
    own = made(tmp_path, '{"id": "1", "text": 5}')
    assert HINT not in read(own, "jsonl")[1][0].reason


def test_a_line_that_is_too_long_is_passed_over(tmp_path):
    long = '{"id": "2", "text": "' + "a" * LARGEST_TEXT + '"}'
    path = made(tmp_path, f'{{"id": "1", "text": "x"}}\n{long}\n{{"id": "3", "text": "y"}}\n')
    found, faults = read(path, "jsonl")
    assert found == [("1", "x", 1), ("3", "y", 3)]
    assert faults == [Fault(2, "line", None, "is larger than 16 MB, the most for one text")]


def test_comma_separated_values(tmp_path):
    path = made(
        tmp_path,
        b"id, text ,more\r\n"
        b'1,"a ""fit"", and\r\nataxia",x\r\n'
        b"2,b\r\n"
        b"\r\n"
        b'3,"caf\xe9\r\n",x\r\n'
        b",c,x\r\n"
        b'4,"d"d,x\r\n'
        b"5,e,x\r\n",
    )
    found, faults = read(path, "csv")
    assert found == [("1", 'a "fit", and\r\nataxia', 2), ("5", "e", 10)]
    assert faults == [
        Fault(4, "line", None, "has 2 cells, and the first line 3"),
        Fault(6, "line", None, "line 6 byte 0xe9 in column 7 is not UTF-8"),
        Fault(8, "line", None, "no id in 'id'"),
        Fault(9, "line", None, "is no row of comma-separated values (',' expected after '\"')"),
    ]


def test_a_quote_that_does_not_close_is_not_held_for_ever(tmp_path):
    line = "y" * 999_999 + "\n"
    path = made(tmp_path, 'text\na\n"b\n' + line * 17 + "c\n")
    found, faults = read(path, "csv")
    assert found[0] == ("file:1", "a", 2)
    assert (faults[0].offset, len(faults)) == (3, 1)
    assert faults[0].reason.endswith("(larger than 16 MB: a quote that does not close?)")
    assert found[-1][1] == "c"


def test_tab_separated_lines_have_no_quotes(tmp_path):
    path = made(tmp_path, 'note\tnr\n"a\t1\nb\t2\tx\n\nc\t3\n')
    found, faults = read(path, "tsv", Columns("note", "nr"))
    assert found == [("1", '"a', 2), ("3", "c", 5)]
    assert faults == [Fault(3, "line", None, "has 3 cells, and the first line 2")]
    assert read(path, "tsv", Columns("note"))[0] == [("file:1", '"a', 2), ("file:3", "c", 5)]


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_a_table_without_rows_or_without_the_column(tmp_path, format):
    assert read(made(tmp_path, ""), format) == ([], [])
    assert read(made(tmp_path, "text\n"), format) == ([], [])
    path = made(tmp_path, "a\tb\n1\t2\n" if format == "tsv" else "a,b\n1,2\n")
    with pytest.raises(NoColumn, match="has no column 'text'; there are: a, b: name one with --text-column"):
        read(path, format)
    with pytest.raises(NoColumn, match="has no column 'nr'; there are: a, b: name one with --id-column"):
        read(path, format, Columns("a", "nr"))
    with pytest.raises(NoColumn):
        check_columns([Input(str(path), format)], Columns())
    check_columns([Input(str(path), format), Input(str(tmp_path / "gone"), "jsonl")], Columns("a", "b"))


@pytest.mark.extras
def test_parquet(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    texts = [f"text {number}" for number in range(200)]
    texts[150] = None
    parquet.write_table(arrow.table({"nr": list(range(200)), "note": texts}), tmp_path / "t.parquet")
    found, faults = read(tmp_path / "t.parquet", "parquet", Columns("note", "nr"))
    assert found[0] == ("0", "text 0", 1)
    assert found[-1] == ("199", "text 199", 200)
    assert len(found) == 199
    assert faults == [Fault(151, "row", None, "no text in 'note'")]
    assert read(tmp_path / "t.parquet", "parquet", Columns("note"))[0][1][0] == "t.parquet:2"
    with pytest.raises(NoColumn, match="has no column 'text'; there are: nr, note: name one with --text-column"):
        read(tmp_path / "t.parquet", "parquet")
    raw = arrow.array([b"Ataxia.", b"M\xe9ni\xe8re", b"A fit."], arrow.binary())
    latin = arrow.Array.from_buffers(arrow.string(), 3, raw.buffers())
    parquet.write_table(arrow.table({"text": latin}), tmp_path / "latin.parquet")
    found, faults = read(tmp_path / "latin.parquet", "parquet")
    assert [text for _, text, _ in found] == ["Ataxia.", "A fit."]
    assert faults == [Fault(2, "row", None, "byte 0xe9 of a text is not UTF-8")]
    data = (tmp_path / "t.parquet").read_bytes()
    with pytest.raises(FormatError, match="is no whole Parquet file"):
        read(made(tmp_path, data[: len(data) // 2]), "parquet", Columns("note"))


def test_corpora_are_read_leniently(tmp_path):
    path = made(tmp_path, (DATA / "tiny.pubtator").read_bytes().replace(b"40\t46", b"41\t47"), "x.pubtator")
    faults: list[Fault] = []
    items = list(reader("pubtator")(path, Columns(), faults.append))
    assert [(item.document.id, item.offset, item.unit) for item in items] == [
        ("100", 1, "document"), ("101", 2, "document"),
    ]  # fmt: skip
    assert [mention.text for mention in items[0].document.mentions] == ["Breast and ovarian cancer", "fits"]
    assert [(fault.offset, fault.unit) for fault in faults] == [(4, "line")]


def test_pubmed(tmp_path):
    path = made(tmp_path, gzip.compress((DATA / "tiny.pubmed.xml").read_bytes()), "pubmed25n0001.xml.gz")
    found, faults = read(path, "pubmed_xml")
    assert [(id, offset) for id, _, offset in found] == [("100", 4), ("102", 30)]
    assert faults == []
    data = path.read_bytes()
    path.write_bytes(data[:-20])
    with pytest.raises(FormatError, match="cut off"):
        read(path, "pubmed_xml")


def test_control_characters_that_xml_may_hold_are_read(tmp_path):
    article = b"<PubmedArticle><MedlineCitation><PMID>%d</PMID><Article><ArticleTitle>%b</ArticleTitle></Article>"
    article += b"</MedlineCitation></PubmedArticle>\n"
    texts = (b"One\x7f and\rtwo.", b"Three.", b"No\x01.", b"Four.")
    parts = b"".join(article % one for one in enumerate(texts))
    path = made(tmp_path, b"<PubmedArticleSet>\n%b</PubmedArticleSet>" % parts)
    found: list[str] = []
    with pytest.raises(FormatError, match=r"file:4: control character U\+0001 in column 72: remove it$"):
        found.extend(item.document.text for item in reader("pubmed_xml")(path, Columns(), lambda fault: None))
    assert found == ["One\x7f and two.", "Three."]


def test_what_is_found_in_folders_and_by_patterns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [
        "in/b.jsonl", "in/a/z.JSONL.gz", "in/a/c.csv", "in/d.PubTator.txt", "in/note.txt", "in/.hidden.csv",
        "in/.git/e.csv", "in/out/f.jsonl", "in/pubmed25n0001.xml.gz",
    ]  # fmt: skip
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        made(tmp_path, "", name)
    (tmp_path / "in/g.xml").write_bytes((DATA / "tiny.bioc.xml").read_bytes())
    (tmp_path / "in/h.json").write_bytes((DATA / "tiny.bioc.json").read_bytes())
    (tmp_path / "in/other.xml").write_text("<html></html>", encoding="utf-8")
    found = find(["in"], outside=tmp_path / "in/out")
    assert [(Path(one.place).relative_to(tmp_path).as_posix(), one.format) for one in found.inputs] == [
        ("in/a/c.csv", "csv"), ("in/a/z.JSONL.gz", "jsonl"), ("in/b.jsonl", "jsonl"), ("in/d.PubTator.txt", "pubtator"),
        ("in/g.xml", "bioc_xml"), ("in/h.json", "bioc_json"), ("in/pubmed25n0001.xml.gz", "pubmed_xml"),
    ]  # fmt: skip
    unlike = f"{tmp_path}/in/other.xml: looks like nothing that nomina reads, not pubmed_xml or bioc_xml: say with"
    unlike += " --input-format what it is read as"
    assert (found.others, found.left_out) == (1, [unlike])
    several = find(["in/b.jsonl", "in/**/*.csv", "in/b.jsonl"])
    assert [Path(one.place).name for one in several.inputs] == ["b.jsonl", "c.csv"]
    assert [Path(one.place).name for one in find(["**/*.jsonl"], outside=tmp_path / "in/out").inputs] == ["b.jsonl"]
    assert find(["in/note.txt"], "jsonl").inputs == [Input(str(tmp_path / "in/note.txt"), "jsonl")]
    made(tmp_path, '{"id": "1", "text": "x"}\n', "own.json")
    own = f"^{tmp_path}/own.json: looks like jsonl, not bioc_json: say with --input-format what it is read as"
    assert find(["own.json"], "jsonl").inputs == [Input(str(tmp_path / "own.json"), "jsonl")]
    for given, why in (
        (["in/note.txt"], "named like no format"),
        (["in/other.xml"], unlike),
        (["own.json"], own),
        (["in/.git"], None),
        (["*.none"], "no file matches"),
    ):
        if why is None:
            assert [Path(one.place).name for one in find(given).inputs] == ["e.csv"]
            continue
        with pytest.raises(UsageError, match=why):
            find(given)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no file in empty is named like a format"):
        find(["in", "empty"])


@pytest.mark.skipif(os.name == "nt", reason="pipes are files on POSIX only")
def test_a_pipe_is_refused_and_left_out_of_folders(bulk, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("in/b.jsonl", "in/c.xml", "in/other"):
        os.mkfifo(tmp_path / name)
    why = "is no file but a pipe or a device: save what comes from it as a file"
    with pytest.raises(UsageError, match=f"no file in {folder} is named like a format .but {folder}/c.xml: {why}"):
        find([str(folder)])
    made(folder, '{"id": "1", "text": "Ataxia."}\n', "a.jsonl")
    left_out = [f"{folder / name}: {why}" for name in ("b.jsonl", "c.xml")]
    assert find([str(folder)]) == ([Input(str(folder / "a.jsonl"), "jsonl")], 1, left_out)
    assert find([str(folder / "*.jsonl")]) == ([Input(str(folder / "a.jsonl"), "jsonl")], 0, left_out[:1])
    for given, format in ((folder / "b.jsonl", None), (folder / "other", "csv"), ("/dev/stdin", "csv")):
        with pytest.raises(UsageError, match=f"{given}: {why}$"):
            find([str(given)], format)
    for number in range(8):
        os.mkfifo(folder / f"d{number}.csv")
    code, _, err = bulk("run", folder, "--out", "run")
    assert (code, err.splitlines()[0]) == (0, "nomina: left out 1 files that are named like no format")
    assert err.splitlines()[1] == f"nomina: left out {folder}/b.jsonl: {why}"
    assert err.splitlines()[6] == "nomina: left out 5 more such files"
    assert err.splitlines()[7:] == ["nomina: 1 of 1 shards, 1 documents, 1 mentions, 0 errors"]


@pytest.mark.skipif(os.name == "nt", reason="links take rights on Windows")
def test_a_file_by_several_paths_is_read_once(bulk, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    made(folder, '{"id": "1", "text": "Ataxia."}\n', "a.jsonl")
    made(folder, '{"id": "1", "text": "Ataxia."}\n', "copy.jsonl")
    (folder / "link.jsonl").symlink_to("a.jsonl")
    (tmp_path / "also").symlink_to(folder)
    expected = [Input(str(folder / name), "jsonl", number) for number, name in enumerate(("a.jsonl", "copy.jsonl"))]
    given = [folder, folder / "../in/a.jsonl", tmp_path / "also/*.jsonl"]
    found = find(list(map(str, given)))
    assert found.inputs == expected
    first = folder / "a.jsonl"
    assert found.left_out[:2] == [
        f"{folder}/link.jsonl: is the same file as {first}", f"{folder}/../in/a.jsonl: is the same file as {first}",
    ]  # fmt: skip
    assert len(found.left_out) == 5
    assert find([str(first), str(first)]).left_out == []
    code, _, err = bulk("run", folder, "--out", "run")
    assert (code, err.splitlines()) == (0, [
        f"nomina: left out {folder}/link.jsonl: is the same file as {first}",
        "nomina: 2 of 2 shards, 2 documents, 2 mentions, 0 errors",
    ])  # fmt: skip
    # What is written through a link is no input either.
    for _ in range(2):
        code, _, err = bulk("run", folder, "--out", tmp_path / "also/out")
        assert (code, err.splitlines()[-1]) == (0, "nomina: 2 of 2 shards, 2 documents, 2 mentions, 0 errors")


def test_each_format_has_a_reader():
    assert [format for format in INPUTS if not callable(reader(format))] == []


def test_the_extra_is_named_where_fsspec_is_there_and_s3fs_is_not(bulk, monkeypatch):
    def none(url, **options):
        raise ImportError("Install s3fs to access S3" if url.startswith("s3") else "Please install gcsfs")

    monkeypatch.setattr("nomina.bulk.remote.import_module", lambda name: SimpleNamespace(url_to_fs=none))
    said = 'nomina: reading and writing s3://a/b needs an extra: python -m pip install "nomina[remote]"\n'
    assert bulk("run", "s3://a/b", "--out", "run") == (2, "", said)
    assert bulk("status", "s3://a/b") == (2, "", said)
    assert bulk("run", "gs://a/b", "--out", "run") == (2, "", "nomina: cannot use gs://a/b (Please install gcsfs)\n")


@pytest.mark.skipif(os.name == "nt", reason="names are bytes on POSIX only")
def test_a_name_that_is_not_utf8_is_refused(tmp_path):
    name = os.path.join(os.fsencode(tmp_path), b"caf\xe9.jsonl")
    with open(name, "wb"):
        pass
    with pytest.raises(UsageError, match=r"caf\\xe9.jsonl is not UTF-8: rename the file or its folder"):
        find([str(tmp_path)])
