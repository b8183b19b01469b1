"""`nomina link` over annotated corpora: which files are, what is linked in them, what predictions carry."""

import gzip
import json
import shutil
from pathlib import Path

import pytest
from corpora_cases import DATA
from link_cases import linked, write

PUBTATOR = (
    "1|t|Heart disease.\n1|a|No ataxia, fits or seizures.\n1\t0\t13\tHeart disease\tDisease\tD006331\n"
    "1\t18\t24\tataxia\tDisease\tD001259|T:5\n\n2|t|Ataxia.\n2|a|\n"
)
GIVEN = [("1", "Heart disease", [[0, 13]], "T:2"), ("1", "ataxia", [[18, 24]], "T:5")]
DETECTED = [
    *GIVEN,
    ("1", "fits", [[26, 30]], "T:3"),
    ("1", "seizures", [[34, 42]], "T:3"),
    ("2", "Ataxia", [[0, 6]], "T:5"),
]


def golds(jsonl: str) -> list[object]:
    return [json.loads(line)["mention"]["gold"] for line in jsonl.splitlines()]


@pytest.mark.parametrize("name", ["c.pubtator", "C.PubTator.txt", "c.pubtator.gz", "c.PubTator.txt.gz"])
def test_a_pubtator_file_is_linked_where_it_has_mentions(nomina, name):
    raw = PUBTATOR.encode()
    Path(name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    code, out, err = nomina(name)
    assert (code, err) == (0, "")
    assert linked(out) == GIVEN
    assert golds(out) == [[["D006331"]], [["D001259"], ["T:5"]]]
    assert [json.loads(line)["negated"] for line in out.splitlines()] == [False, True]
    assert [json.loads(line)["mention"]["type"] for line in out.splitlines()] == ["Disease", "Disease"]


def test_detect_finds_the_mentions_instead(nomina):
    write(c_pubtator=PUBTATOR, d_jsonl='{"id": "d", "text": "No ataxia.", "mentions": [{"spans": [[0, 2]]}]}\n')
    code, out, err = nomina("c.pubtator", "d.jsonl", "--detect")
    assert (code, err) == (0, "")
    assert linked(out) == [*DETECTED, ("d", "ataxia", [[3, 9]], "T:5")]
    assert golds(out) == [[]] * 6


def test_a_plain_text_is_none_whatever_it_looks_like_unless_it_is_said(nomina):
    write(note_txt=PUBTATOR)
    assert {document for document, *_ in linked(nomina("note.txt")[1])} == {"note.txt"}
    assert linked(nomina("note.txt", "--corpus", "pubtator")[1]) == GIVEN


def test_xml_json_and_concept_files_are_corpora_where_they_look_like_one(nomina):
    for name in ("tiny.bioc.xml", "tiny.bioc.json"):
        shutil.copy(DATA / name, name)
    expected = [("100", "ataxia", [[40, 46]], "T:5"), ("100", "fits", [[51, 55]], "T:3")]
    for name in ("tiny.bioc.xml", "tiny.bioc.json"):
        code, out, _ = nomina(name)
        assert code == 0
        assert linked(out)[1:3] == expected
    write(page_xml="<p>ataxia</p>", data_json='{"text": "ataxia"}', list_concept="ataxia")
    for name in ("page.xml", "data.json", "list.concept"):
        assert [(document, mention) for document, mention, *_ in linked(nomina(name)[1])] == [(name, "ataxia")]
    write(a_concept="7||0|6||Disease||ataxia||D001259\n")
    assert linked(nomina("a.concept")[1]) == [("7", "ataxia", [[0, 6]], "T:5")]


def test_folders(nomina):
    Path("notes").mkdir()
    Path("notes/a.txt").write_text("fits", encoding="utf-8")
    Path("notes/c.PubTator.txt").write_text(PUBTATOR, encoding="utf-8")
    Path("notes/c.xml").write_text("<collection></collection>", encoding="utf-8")
    code, out, err = nomina("notes")
    assert (code, err) == (0, "nomina: left out 1 files that are neither .txt nor .jsonl\n")
    assert linked(out) == [("a.txt", "fits", [[0, 4]], "T:3"), *GIVEN]
    Path("concepts").mkdir()
    Path("concepts/7.concept").write_text("7||0|6||Disease||ataxia||D001259\n", encoding="utf-8")
    code, out, err = nomina("concepts")
    assert (code, err, linked(out)) == (0, "", [("7", "ataxia", [[0, 6]], "T:5")])


def test_a_brat_folder_is_texts_unless_it_is_said(nomina):
    shutil.copytree(DATA / "brat", "brat")
    Path("brat/README.txt").unlink()
    code, out, _ = nomina("brat")
    assert {document for document, *_ in linked(out)} == {"100.txt"}
    code, out, err = nomina("brat", "--corpus", "brat")
    assert (code, err) == (0, "")
    assert [(document, mention) for document, mention, *_ in linked(out)] == [
        ("100", "Breast and ovarian cancer"),
        ("100", "ataxia"),
        ("100", "fits"),
        ("more/101", "Nothing"),
    ]
    assert golds(out) == [[["D001943"], ["D010051"]], [["D001259"]], [["-1"]], []]


def test_a_corpus_without_mentions_says_how_to_find_them(nomina):
    write(c_pubtator="1|t|Ataxia.\n")
    said = "nomina: the corpus has no mentions; --detect finds them\n"
    assert nomina("c.pubtator") == (0, "", said)
    assert nomina("c.pubtator", "--format", "table") == (0, "", said)
    assert linked(nomina("c.pubtator", "--detect")[1]) == [("1", "Ataxia", [[0, 6]], "T:5")]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bad.pubtator"], "bad.pubtator:2: the span 1-7 ends behind the text (6 characters)"),
        (["a.txt", "late.pubtator"], "late.pubtator:3: is neither a text nor an annotation of document 1: 'oh'"),
        (["no.pubtator"], "no.pubtator: cannot be read (No such file or directory)"),
        (
            ["a.txt", "--corpus", "pubtator"],
            "a.txt:1: is neither a text nor an annotation of a document: the first has",
        ),
        (["a.txt", "--corpus", "pdf"], "no corpus format 'pdf'; there are: pubtator, "),
        (["-", "--corpus", "pubtator"], "a corpus is read from a file or folder, not from standard input: name it"),
        (["--corpus", "pubtator"], "a corpus is read from a file or folder, not from standard input: name it"),
        (["--mentions", "a.txt", "--corpus", "pubtator"], "give --corpus or --mentions, not both"),
        (["one.pubtator", "two.pubtator"], "two.pubtator: a second document with the id '1': ids must differ to tell"),
        (["empty.pubtator"], "empty.pubtator is empty"),
    ],
)
def test_a_mistake_is_one_line(nomina, arguments, said):
    write(a_txt="ataxia", bad_pubtator="1|t|ataxia\n1\t1\t7\tataxia\tD\tX\n", empty_pubtator="")
    one = "1|t|ataxia\n1\t0\t6\tataxia\tD\tX\n"
    write(one_pubtator=one, two_pubtator=one, late_pubtator=f"{one}oh\n")
    code, _, err = nomina(*arguments)
    assert (code, err.count("\n")) == (2, 1), err
    assert err.startswith(f"nomina: {said}")
