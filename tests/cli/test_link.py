"""`nomina link` as users meet it, in process over a made KB: what goes in, options, mistakes."""

import gzip
import json
import sys
from pathlib import Path

import pytest
from link_cases import linked, write
from linker_cases import ENCODER, needs_shipped

from nomina.cli.main import main

# What goes in


def test_a_text_file(nomina):
    write(a_txt="Löfgren’s patient: heart  disease,\r\nno ataxia; γ.")
    code, out, err = nomina("a.txt")
    assert (code, err) == (0, "")
    assert linked(out) == [
        ("a.txt", "heart  disease", [[19, 33]], "T:2"),
        ("a.txt", "ataxia", [[39, 45]], "T:5"),
    ]
    assert [json.loads(line)["negated"] for line in out.splitlines()] == [False, True]


def test_several_files_a_folder_and_standard_input(nomina):
    Path("notes/more").mkdir(parents=True)
    write(a_txt="ataxia")
    Path("notes/b.txt").write_text("nothing", encoding="utf-8")
    Path("notes/more/c.jsonl").write_text('{"id": "c", "text": "seizure"}\n', encoding="utf-8")
    Path("notes/more/c.pdf").write_bytes(b"%PDF")
    Path("notes/d.txt.gz").write_bytes(gzip.compress(b"cardiac disease"))
    code, out, err = nomina("a.txt", "notes", "-", stdin="seizures and ataxia")
    assert (code, err) == (0, "nomina: left out 1 files that are neither .txt nor .jsonl\n")
    assert linked(out) == [
        ("a.txt", "ataxia", [[0, 6]], "T:5"),
        ("d.txt.gz", "cardiac disease", [[0, 15]], "T:2"),
        ("c", "seizure", [[0, 7]], "T:3"),
        ("stdin", "seizures", [[0, 8]], "T:3"),
        ("stdin", "ataxia", [[13, 19]], "T:5"),
    ]


def test_standard_input_without_being_named(nomina):
    assert linked(nomina(stdin="ataxia")[1]) == [("stdin", "ataxia", [[0, 6]], "T:5")]


def test_documents_with_and_without_mentions(nomina):
    mentions = [{"spans": [[0, 3]], "text": "the"}, {"spans": [[4, 7]], "type": "sign"}]
    write(
        d_jsonl="".join(
            json.dumps(record) + "\n"
            for record in (
                {"id": "1", "text": "the fit with ataxia", "mentions": mentions},
                {"id": "2", "text": "the fit with ataxia"},
            )
        )
    )
    code, out, _ = nomina("d.jsonl")
    assert code == 0
    assert linked(out) == [
        ("1", "the", [[0, 3]], None),
        ("1", "fit", [[4, 7]], "T:3"),
        ("2", "fit", [[4, 7]], "T:3"),
        ("2", "ataxia", [[13, 19]], "T:5"),
    ]
    assert [json.loads(line)["mention"]["type"] for line in out.splitlines()] == [None, "sign", None, None]


def test_a_list_of_mentions_keeps_its_order_and_length(nomina):
    write(m_tsv="mention\tcount\nataxias\t5\n\ndisease of the heart\t1\nunheard of\t9\n")
    code, out, err = nomina("--mentions", "m.tsv")
    assert (code, err) == (0, "")
    assert linked(out) == [
        ("2", "ataxias", [[0, 7]], "T:5"),
        ("3", "", [[0, 1]], None),
        ("4", "disease of the heart", [[0, 20]], "T:2"),
        ("5", "unheard of", [[0, 10]], None),
    ]
    assert [json.loads(line)["abstained"] for line in out.splitlines()] == [False, True, False, True]
    assert linked(nomina("--mentions", "-", stdin="ataxia")[1]) == [("1", "ataxia", [[0, 6]], "T:5")]


@pytest.mark.parametrize("text", ["", "\n\n", "Nothing of the kind."])
def test_a_text_without_mentions_has_an_empty_result(nomina, text):
    assert nomina("-", stdin=text) == (0, "", "")
    assert nomina("-", "--format", "table", stdin=text) == (0, "", "nomina: found no name of the KB made\n")


def test_an_empty_file_is_said_and_does_no_harm_to_others(nomina):
    write(a_txt="ataxia", b_txt="")
    code, out, err = nomina("a.txt", "b.txt")
    assert (code, len(out.splitlines()), err) == (0, 1, "nomina: b.txt is empty\n")


# Options


def test_k_and_threshold(nomina):
    write(a_txt="heart disease")
    (line,) = nomina("a.txt", "--linker", "tfidf", "-k", "2")[1].splitlines()
    assert [c["entity_id"] for c in json.loads(line)["candidates"]] == ["T:2", "T:1"]
    assert not json.loads(line)["abstained"]
    write(m_tsv="ataxias")
    for threshold, abstained in (("0", False), ("0.949", False), ("0.951", True), ("1", True)):
        record = json.loads(nomina("--mentions", "m.tsv", "--threshold", threshold)[1])
        assert (record["candidates"][0]["score"], record["abstained"]) == (0.95, abstained)


def test_the_folder_of_an_encoder_is_a_linker(nomina):
    write(m_tsv="ataxias\nataxya")
    code, out, err = nomina("--mentions", "m.tsv", "--linker", ENCODER, "-k", "1")
    assert (code, err) == (0, "")
    found = [[(c["entity_id"], c["rule"]) for c in json.loads(line)["candidates"]] for line in out.splitlines()]
    assert found == [[("T:5", "inflection")], [("T:5", "embedding")]]


@needs_shipped
def test_the_default_has_an_answer_to_what_the_dictionary_does_not_know(nomina):
    write(m_tsv="ataxias\nan attack of seizures")
    for linker in (("--linker", "cascade"), ("--linker", "embedding")):
        code, out, err = nomina("--mentions", "m.tsv", *linker)
        assert (code, err) == (0, "")
        best = [json.loads(line)["candidates"][0]["entity_id"] for line in out.splitlines()]
        assert best == ["T:5", "T:3"]


def test_a_score_reaches_the_threshold_that_is_the_same(nomina):
    write(m_tsv="ataxias")
    record = json.loads(nomina("--mentions", "m.tsv", "--threshold", "0.95")[1])
    assert (record["candidates"][0]["score"], record["abstained"]) == (0.95, False)


def test_a_tie_is_given_whole_and_flagged(nomina):
    write(a_txt="fit")
    record = json.loads(nomina("a.txt", "-k", "1")[1])
    assert [(c["entity_id"], c["rank"]) for c in record["candidates"]] == [("T:3", 1), ("T:4", 1)]
    assert record["ambiguous"] is True


def test_under_and_types(nomina):
    write(a_txt="fit, ataxia, heart disease")
    assert [entity for *_, entity in linked(nomina("a.txt", "--under", "T:1")[1])] == ["T:3", "T:2"]
    assert [entity for *_, entity in linked(nomina("a.txt", "--under", "T:2", "--under", "T:5")[1])] == ["T:5", "T:2"]
    assert [entity for *_, entity in linked(nomina("a.txt", "--types", "wellness")[1])] == ["T:4"]
    assert [e for *_, e in linked(nomina("a.txt", "--types", "wellness", "--types", "sign")[1])] == ["T:4", "T:5"]


def test_overlaps_and_context(nomina):
    write(a_txt="No heart disease. Her mother has ataxia.")
    assert [m for _, m, *_ in linked(nomina("a.txt")[1])] == ["heart disease", "ataxia"]
    assert [m for _, m, *_ in linked(nomina("a.txt", "--overlaps", "all")[1])] == ["heart disease", "disease", "ataxia"]
    for arguments, expected in (
        (("a.txt",), [(True, "patient"), (False, "family")]),
        (("a.txt", "--no-context"), [(False, "patient"), (False, "patient")]),
    ):
        records = map(json.loads, nomina(*arguments)[1].splitlines())
        assert [(record["negated"], record["experiencer"]) for record in records] == expected


# Mistakes


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no.txt"], "no.txt: cannot be read (No such file or directory)"),
        (
            ["a.txt", "empty.txt", "binary.txt"],
            "binary.txt:1: is binary (it holds a zero byte): only text files, UTF-8",
        ),
        (["latin.txt"], "latin.txt:1: byte 0xf6 in column 2 is not UTF-8: save the file as UTF-8, for example with"),
        (["report.pdf"], "report.pdf: is a PDF file: extract its text first, for example with pdftotext"),
        (["empty.txt"], "empty.txt is empty"),
        (["--mentions", "columns.tsv"], "columns.tsv:1: has several columns, but line 1 names none of them 'mention'"),
        (["--mentions", "empty.txt"], "empty.txt is empty"),
        (["huge.txt"], "huge.txt: this text is larger than 16 MB, the most for one: split it, for example with `split"),
        (["cut.txt.gz"], "cut.txt.gz: the .gz file is cut off or damaged"),
        (["pictures"], "no .txt or .jsonl file in the folder pictures (1 others)"),
        (["unknown.jsonl"], "unknown.jsonl:1: unknown field 'txt'; a line has: id, text, mentions"),
        (["offsets.jsonl"], "offsets.jsonl:1: the span (0, 99) ends behind the text (6 characters)"),
        (["a.txt", "--mentions", "a.txt"], "give FILES or --mentions, not both (see nomina link --help)"),
        (["a.txt", "--linker", "sapbert"], "no linker 'sapbert'; there are: cascade, dictionary, tfidf"),
        (["a.txt", "--linker", "model/"], "no such folder: model/; name the folder of an encoder, or one of cascade"),
        (["a.txt", "--linker", "my/model"], "no such folder: my/model; name the folder of an encoder, or one of casca"),
        (["a.txt", "--linker", "a.txt"], "a.txt is a file: name the folder of an encoder, or one of cascade, dictio"),
        (["a.txt", "--linker", "pictures"], "pictures holds no encoder (neither manifest.json nor encoder.json): name"),
        (["a.txt", "--kb", "mine"], "no KB file 'mine', and no KB of that name; by name there "),
        (["a.txt", "--kb", "no.kb"], "no KB at "),
        (["a.txt", "--kb", "a.txt"], ""),
        (["a.txt", "--under", "T:99"], "'T:99' is not a concept of the KB made"),
        (["a.txt", "--types", "drug"], "the KB has no type 'drug'; it has: sign, wellness"),
        (["a.txt", "--overlaps", "some"], "Invalid value for '--overlaps': 'some' is not one of 'longest', 'all'"),
        (["a.txt", "--format", "xml"], "Invalid value for '--format': 'xml' is not one of 'table', 'jsonl', 'tsv'"),
        (["a.txt", "-k", "0"], "Invalid value for '-k': 0 is not in the range x>=1"),
        (["a.txt", "-k", "1001"], "k must be a whole number from 1 to 1,000, not 1001"),
        (["a.txt", "-k", "9" * 20], f"k must be a whole number from 1 to 1,000, not {'9' * 20}"),
        (["a.txt", "-k", "many"], "Invalid value for '-k': 'many' is not a valid integer"),
        (["a.txt", "--threshold", "1.1"], "Invalid value for '--threshold': 1.1 is not between 0 and 1"),
        (["a.txt", "--threshold", "-0.1"], "Invalid value for '--threshold': -0.1 is not between 0 and 1"),
        (["a.txt", "--threshold", "nan"], "Invalid value for '--threshold': nan is not between 0 and 1"),
        (["a.txt", "--treshold", "1"], "No such option '--treshold'"),
        (["a.txt", "-o", "pictures"], "cannot write pictures: it is a folder, name a file in it"),
        (["a.txt", "-o", "no/p.jsonl"], "cannot write no/p.jsonl: there is no folder no"),
        (["a.txt", "-o", "/dev/fd/99"], "cannot write /dev/fd/99: it is not open"),
        (["a.txt", "-o", "./a.txt"], "a.txt is read and cannot be the output too: name another file with -o"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_done(nomina, arguments, said):
    write(columns_tsv="id\tname\n1\tfits\n")
    write(a_txt="ataxia", empty_txt="", unknown_jsonl='{"id": "1", "txt": "a"}')
    write(offsets_jsonl='{"id": "1", "text": "ataxia", "mentions": [{"spans": [[0, 99]]}]}')
    Path("pictures").mkdir()
    for name, raw in {
        "pictures/a.png": b"\x89PNG",
        "binary.txt": b"a\0b",
        "latin.txt": "L\xf6fgren".encode("latin-1"),
        "report.pdf": b"%PDF-1.7",
        "cut.txt.gz": gzip.compress(b"ataxia")[:12],
    }.items():
        Path(name).write_bytes(raw)
    with open("huge.txt", "wb") as stream:
        stream.truncate(16_000_001)
    before = sorted(Path().rglob("*"))
    code, out, err = nomina(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert err.startswith(f"nomina: {said}")
    assert sorted(Path().rglob("*")) == before
    assert Path("a.txt").read_text(encoding="utf-8") == "ataxia"


def damage(kb, place: int | None) -> None:
    """A copy of the KB in the working folder, cut off or with some pages overwritten."""
    raw = bytearray(kb.path.read_bytes())
    if place is None:
        del raw[len(raw) // 2 :]
    else:
        raw[place : place + 8192] = b"\xff" * min(8192, len(raw) - place)
    Path("damaged.kb").write_bytes(raw)


@pytest.mark.parametrize("place", [None, 0, 100, 4096, 8192])
def test_a_damaged_kb_is_one_line(nomina, kb, place):
    damage(kb, place)
    write(a_txt="fit, ataxia")
    code, out, err = nomina("a.txt", "--kb", "damaged.kb")
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert "damaged.kb" in err


def test_a_closed_standard_output(kb, tmp_path, monkeypatch, capsys):
    (tmp_path / "a.txt").write_text("ataxia", encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        assert main(["link", str(tmp_path / "a.txt"), "--kb", str(kb.path)]) == 2
    assert capsys.readouterr().err == "nomina: standard output is closed: name a file with -o\n"


def test_phrases_need_an_encoder_that_has_a_model_for_them(nomina):
    write(a_txt="ataxia")
    code, out, err = nomina("a.txt", "--spans")
    assert (code, out) == (2, "")
    assert "spans.json" in err
    assert (
        linked(nomina("a.txt", "--no-spans")[1]) == linked(nomina("a.txt")[1]) == [("a.txt", "ataxia", [[0, 6]], "T:5")]
    )
