"""PubTator and its variants."""

from collections import Counter
from dataclasses import replace

import pytest

from nomina.corpora import read_corpus, write_corpus
from nomina.corpora.pubtator import sniff
from nomina.errors import FormatError, UsageError
from nomina.types import Document, Mention, Section

HEAD = "1|t|Ataxia.\n1|a|No fits.\n"
SECTIONS = (Section(0, 7, "title"), Section(8, 16, "abstract"))


@pytest.fixture
def read(tmp_path):
    """The documents of a text, and what was dropped."""

    def reading(text, skip=None, **options):
        path = tmp_path / "a.pubtator"
        path.write_text(text, encoding="utf-8", newline="")
        dropped = Counter()
        return list(read_corpus(path, "pubtator", skip=skip, dropped=dropped, options=options)), dropped

    return reading


@pytest.fixture
def written(tmp_path):
    """What is written of documents, and what was dropped."""

    def writing(*documents, **options):
        dropped = Counter()
        write_corpus(documents, tmp_path / "b.pubtator", "pubtator", dropped=dropped, options=options)
        return (tmp_path / "b.pubtator").read_text(encoding="utf-8"), dropped

    return writing


@pytest.mark.parametrize(
    ("field", "gold"),
    [
        ("D001259", (("D001259",),)),
        ("D1|D2", (("D1",), ("D2",))),
        ("D1+D2", (("D1",), ("D2",))),
        ("1234;5678", (("1234",), ("5678",))),
        ("MESH:D1,MESH:D2", (("MESH:D1",), ("MESH:D2",))),
        ("UMLS:C0001", (("UMLS:C0001",),)),
        (" D1 ", (("D1",),)),
        ("-1", (("-1",),)),
        ("-", (("-",),)),
        ("", ()),
    ],
)
def test_ids(read, field, gold):
    (document,), dropped = read(f"{HEAD}1\t0\t6\tAtaxia\tDisease\t{field}\n")
    assert document == Document("1", "Ataxia. No fits.", (Mention(((0, 6),), "Ataxia", "Disease", gold),), SECTIONS)
    assert not dropped


def test_separators_are_options(read):
    text = f"{HEAD}1\t0\t6\tAtaxia\tDisease\tD1|D2+D3\n1\t11\t15\tfits\tMutation\tc|SUB|V\n"
    (document,), _ = read(text, parts="+", alternatives="|")
    assert document.mentions[0].gold == (("D1", "D2"), ("D3",))
    (document,), _ = read(text, parts="none")
    assert [mention.gold for mention in document.mentions] == [(("D1|D2+D3",),), (("c|SUB|V",),)]


def test_columns_that_are_missing(read):
    (document,), dropped = read(f"{HEAD}1\t0\t6\tAtaxia\tDisease\n1\t11\t15\tfits\n")
    assert document.mentions == (Mention(((0, 6),), "Ataxia", "Disease"), Mention(((11, 15),), "fits"))
    assert not dropped


def test_medmentions_full_and_st21pv(read):
    head = "25763772|t|DCTN4 as a modifier\n25763772|a|Abstract\n"
    full = "25763772\t0\t5\tDCTN4\tT116,T123\tC4308010\n"
    assert read(head + full)[0][0].mentions == (Mention(((0, 5),), "DCTN4", "T116,T123", (("C4308010",),)),)
    st21pv = "25763772\t0\t5\tDCTN4\tT103\tUMLS:C4308010\n"
    assert read(head + st21pv)[0][0].mentions == (Mention(((0, 5),), "DCTN4", "T103", (("UMLS:C4308010",),)),)


def test_titles_and_abstracts_that_are_empty_or_missing_and_further_sections(read):
    documents, _ = read("1|t|\n1|a|No fits.\n1\t4\t8\tfits\tD\tX\n2|t|Ataxia\n3|a|Fits\n4|t|A\n4|a|B\n4|m|C\n")
    assert documents == [
        Document(
            "1",
            " No fits.",
            (Mention(((4, 8),), "fits", "D", (("X",),)),),
            (Section(0, 0, "title"), Section(1, 9, "abstract")),
        ),
        Document("2", "Ataxia", sections=(Section(0, 6, "title"),)),
        Document("3", "Fits", sections=(Section(0, 4, "abstract"),)),
        Document("4", "A B C", sections=(Section(0, 1, "title"), Section(2, 3, "abstract"), Section(4, 5, "m"))),
    ]


def test_blank_lines_mean_nothing(read):
    lines = "1|t|Ataxia.\n1|a|No fits.\n1\t0\t6\tAtaxia\tD\tX\n2|t|Fits\n2\t0\t4\tFits\tD\tY\n".splitlines(
        keepends=True
    )
    plain, _ = read("".join(lines))
    assert [len(document.mentions) for document in plain] == [1, 1]
    for before in ("\n", "  \n\n"):
        assert read("".join(before + line for line in lines))[0] == plain
    assert read("".join(lines).replace("\n", "\r\n"))[0] == plain
    assert read("\ufeff" + "".join(lines))[0] == plain


def test_relations_individual_mentions_and_more_are_counted(read):
    (document,), dropped = read(
        f"{HEAD}1\tCID\tD1\tD2\n1\t0\t6\tAtaxia\tD\tX|Y\tAtaxia|ataxy\n1\t11\t15\tfits\tD\tX||Y\t\tmore\n"
    )
    assert [mention.gold for mention in document.mentions] == [(("X",), ("Y",))] * 2
    assert dropped == {"relations": 1, "individual mentions": 1, "further columns": 1, "empty ids": 1}


def test_white_space_at_the_edges_of_a_mention_is_no_fault(read):
    (document,), _ = read('1|t|with " plus "  .\n1\t5\t13\t" plus "  \tD\tX\n')
    assert document.mentions[0].text == '" plus "'


def test_a_document_twice(read):
    one = "1|t|Ataxia\n1\t0\t6\tAtaxia\tD\tX\n"
    documents, dropped = read(one + "\n" + one + "2|t|x\n")
    assert [document.id for document in documents] == ["1", "2"]
    assert dropped == {"repeated documents": 1, "repeated mentions": 1}
    faults = []
    documents, _ = read(one + "\n" + one.replace("X", "Y"), skip=faults.append)
    assert [document.mentions[0].gold for document in documents] == [(("X",),)]
    assert [fault.line for fault in faults] == [4]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("1\t1\t7\tAtaxia\tD\tX", "the mention 'Ataxia' is not what stands at 1-7, 'taxia.'"),
        ("1\t11\t99\tfits\tD\tX", r"the span 11-99 ends behind the text \(16 characters\)"),
        ("1\t6\t0\tAtaxia\tD\tX", "is not what stands at 6-0"),
        ("1\t0\t0\t\tD\tX", "spans must be non-empty"),
        ("1\t-1\t6\tAtaxia\tD\tX", "is not what stands at -1-6|spans must be"),
        ("1\t0\tsix\tAtaxia\tD\tX", "is no annotation: expected ID, start, end, mention"),
        ("1\t0", "is no annotation: expected"),
        ("1", "is no annotation: expected"),
        ("2\t0\t6\tAtaxia\tD\tX", "is neither a text nor an annotation of document 1: '2\\\\t0"),
        ("2|m|Methods", "is neither a text nor an annotation of document 1"),
        ("and so it goes on", "is neither a text nor an annotation of document 1: 'and so it"),
        ("1|t|Ataxia again", "another document with the id '1'"),
    ],
)
def test_a_fault_is_an_error_with_its_line_and_left_out_by_a_lenient_reading(read, line, why):
    text = f"{HEAD}1\t11\t15\tfits\tD\tX\n{line}\n"
    with pytest.raises(FormatError, match=why) as caught:
        read(text)
    assert caught.value.line == 4
    faults = []
    documents, _ = read(text, skip=faults.append)
    assert documents == [Document("1", "Ataxia. No fits.", (Mention(((11, 15),), "fits", "D", (("X",),)),), SECTIONS)]
    assert len(faults) == 1


@pytest.mark.parametrize(
    "bad", [b"1|t|M\xe9ni\xe8re.\n1|a|No fits.\n", b"1|t|Ataxia.\n1|a|No\x00 fits.\n", b"\xe91|t|Ataxia.\n"]
)
def test_a_document_that_is_no_text_is_left_out_by_a_lenient_reading(tmp_path, bad):
    path, other = tmp_path / "a.pubtator", HEAD.replace("1|", "2|").encode()
    for data in (bad + other, other + bad, bad + b"\n" + other):
        path.write_bytes(data)
        faults = []
        (document,) = read_corpus(path, "pubtator", skip=faults.append)
        assert (document.id, document.text) == ("2", "Ataxia. No fits.")
        assert all("lenient" not in fault.why for fault in faults)
        assert len(faults) == 1
    with pytest.raises(FormatError, match=r"is not UTF-8: save the file as UTF-8$|control character .*: remove it$"):
        list(read_corpus(path, "pubtator"))


def test_a_line_before_any_text(read):
    with pytest.raises(FormatError, match=r":1: is neither a text nor an annotation of a document: the first has ID"):
        read("1\t0\t6\tAtaxia\tD\tX\n")


@pytest.mark.parametrize(
    ("head", "is_one"),
    [
        (b"1|t|Ataxia", True),
        (b"\n\n1|a|Ataxia", True),
        (b"PMC1.2|t|", True),
        (b"1|x|Ataxia", False),
        (b"a note|t|Ataxia", False),
        (b"a|b|c", False),
        (b"D1||ataxia", False),
        (b"", False),
    ],
)
def test_sniff(head, is_one):
    assert sniff(head) is is_one


# Writing

DOCUMENT = Document("1", "Ataxia. No fits.", (Mention(((0, 6),), "Ataxia", "D", (("X",), ("Y",))),), SECTIONS)


def test_golden(written):
    other = Document("2", "x", (Mention(((0, 1),), "x"),))
    assert written(DOCUMENT, other) == (f"{HEAD}1\t0\t6\tAtaxia\tD\tX|Y\n\n2|t|x\n2\t0\t1\tx\t\t\n\n", {})
    assert written(DOCUMENT, parts="+|")[0] == f"{HEAD}1\t0\t6\tAtaxia\tD\tX+Y\n\n"
    alternatives = replace(DOCUMENT, mentions=(Mention(((0, 6),), "Ataxia", "D", (("X", "Z"), ("Y",))),))
    assert written(alternatives, alternatives="/")[0] == f"{HEAD}1\t0\t6\tAtaxia\tD\tX/Z|Y\n\n"


@pytest.mark.parametrize(
    ("document", "lines", "dropped"),
    [
        (
            Document("1", "breast and ovarian cancer", (Mention(((0, 6), (19, 25)), "breast cancer", "D"),)),
            ["1|t|breast and ovarian cancer", "1\t0\t25\tbreast and ovarian cancer\tD\t"],
            {"extra spans": 1},
        ),
        (Document("1", "Title\nText\r\nmore"), ["1|t|Title", "1|a|Text  more"], {"line breaks": 3}),
        (Document("1", "a\x00\tb"), ["1|t|a \tb"], {"control characters": 1}),
        (
            Document("1", "a\tb", (Mention(((0, 3),), "a\tb", "a type\tof\n2"),)),
            ["1|t|a\tb", "1\t0\t3\ta b\ta type of 2\t"],
            {"types": 1},
        ),
        (
            Document("1", "fits", (Mention(((0, 4),), "seizures"),)),
            ["1|t|fits", "1\t0\t4\tfits\t\t"],
            {"mention texts": 1},
        ),
        (
            Document("1", "a  b", sections=(Section(0, 1, "title"), Section(3, 4, "abstract"))),
            ["1|t|a  b"],
            {"sections": 2},
        ),
        (Document("1", "a b", sections=(Section(0, 1, "m"), Section(2, 3, "title"))), ["1|t|a b"], {"sections": 2}),
        (Document("1", "a b", sections=(Section(0, 1, "title"), Section(2, 3, "t"))), ["1|t|a b"], {"sections": 2}),
        (Document("1", "a b", sections=(Section(0, 1, "title"),)), ["1|t|a b"], {"sections": 1}),
    ],
)
def test_what_has_no_place_is_counted(written, document, lines, dropped):
    assert written(document) == ("\n".join(lines) + "\n\n", dropped)


@pytest.mark.parametrize("id", ["", " 1", "1|2", "1\t2", "1\n"])
def test_a_document_id_that_cannot_stand_in_a_line(written, id):
    with pytest.raises(UsageError, match="this id cannot stand in a PubTator file"):
        written(Document(id, "a"))


def test_ids_that_cannot_stand_in_the_column_stop_the_writing(written, tmp_path):
    with pytest.raises(UsageError, match=r"document '1': the ids \(\('D1,D2',\),\) cannot stand in one field"):
        written(Document("1", "a", (Mention(((0, 1),), "a", None, (("D1,D2",),)),)))
    assert list(tmp_path.iterdir()) == []


def test_half_a_character_and_no_folder(tmp_path):
    with pytest.raises(UsageError, match=r"cannot write .*half a character \(U\+D800\)"):
        write_corpus([Document("1", "\ud800")], tmp_path / "a", "pubtator")
    with pytest.raises(UsageError, match=r"cannot write .*No such file or directory"):
        write_corpus([], tmp_path / "no" / "a", "pubtator")
    assert list(tmp_path.iterdir()) == []
