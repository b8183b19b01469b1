from __future__ import annotations

from pathlib import Path

import pytest

from nomina.errors import FormatError
from nomina.kb import reader_for, table
from nomina.kb.build import build_from_files
from nomina.types import Entity, Name


def read(tmp_path: Path, text: str, faults: list[FormatError] | None = None) -> list[Entity]:
    path = tmp_path / "terms"
    path.write_text(text, encoding="utf-8", newline="")
    _, reader = reader_for(path)
    assert reader is table
    return list(reader.read(path, skip=None if faults is None else faults.append))


def texts(entities: list[Entity]) -> list[tuple[str, list[str]]]:
    return [(entity.id, [name.text for name in entity.names]) for entity in entities]


def preferred(text: str) -> Name:
    return Name(text, kind="preferred")


@pytest.mark.parametrize(
    "text",
    [
        "id\tname\tsynonyms\nX:1\tHeart attack\tMI | infarct\n",
        "id,name,synonyms\nX:1,Heart attack,MI|infarct\n",
        "id;name;synonyms\r\nX:1;Heart attack;MI|infarct|\r\n",
        'id,name,synonyms\n"X:1","Heart attack","MI|infarct"',
        "#ID\tLabel\tSynonym\nX:1\tHeart attack\tMI|infarct\n",
        "name,id,synonyms\nHeart attack,X:1,MI|infarct\n",
    ],
)
def test_delimiters_quotes_case_and_column_order(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == [Entity("X:1", (preferred("Heart attack"), Name("MI"), Name("infarct")))]


def test_all_columns(tmp_path: Path) -> None:
    text = 'id\tname\tsynonyms\tdefinition\ttypes\tparents\nX:2\tb\tc\tWhat "b" is, and more\tT1|T2\tX:1|X:0\n'
    assert read(tmp_path, text) == [
        Entity("X:2", (preferred("b"), Name("c")), 'What "b" is, and more', ("T1", "T2"), ("X:1", "X:0"))
    ]


def test_quoted_field_with_delimiter_quote_and_line_break(tmp_path: Path) -> None:
    text = 'id,name,definition\nX:1,"5""-thing, the","two\nlines"\nX:2,other,\n'
    assert read(tmp_path, text) == [
        Entity("X:1", (preferred('5"-thing, the'),), "two\nlines"),
        Entity("X:2", (preferred("other"),)),
    ]


def test_tab_separated_quotes_are_plain_characters(tmp_path: Path) -> None:
    assert texts(read(tmp_path, 'id\tname\nX:1\t"quoted\nX:2\tb\n')) == [("X:1", ['"quoted']), ("X:2", ["b"])]


def test_unicode_line_separators_do_not_end_a_line(tmp_path: Path) -> None:
    text = "id\tname\nX:1\ta\u2028b\nX:2\tc\x85d\n"
    assert texts(read(tmp_path, text)) == [("X:1", ["a\u2028b"]), ("X:2", ["c\x85d"])]


def test_two_columns_without_a_header_where_the_first_holds_ids(tmp_path: Path) -> None:
    assert texts(read(tmp_path, "D009203\tMI\nD009203\tHeart attack\n")) == [
        ("D009203", ["MI"]),
        ("D009203", ["Heart attack"]),
    ]


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("id\tnames\nX:1\ta\n", 1, "unknown column 'names': expected the columns id, name and, where wanted, synonyms"),
        ("id\tdefinition\nX:1\ta\n", 1, "the column 'name' is missing"),
        ("id\tname\tname\nX:1\ta\tb\n", 1, "twice"),
        ("code\tterm\nX:1\ta\n", 1, "expected the columns id, name"),
        ("one, two and three\nfour\n", 1, "expected the columns id, name"),
        ("X:1\ta\nX:2\tb\tc\n", 1, "expected the columns id, name"),
        ("X:1,a\nX:2,b\n", 1, "expected the columns id, name"),
        ("id\tname\nX:1\ta\tb\n", 2, "3 fields in place of 2"),
        ("id\tname\nX:1\ta\n\tb\n", 3, "id must be non-empty"),
        ("id\tname\nX:1\t \n", 2, "name must not be empty"),
        ('id,name\nX:1,a\nX:2,"b\n', 3, "is a quote left open"),
    ],
)
def test_faults_name_their_line_and_what_is_expected(tmp_path: Path, text: str, line: int, why: str) -> None:
    with pytest.raises(FormatError, match=why) as caught:
        read(tmp_path, text)
    assert caught.value.line == line
    assert "\n" not in str(caught.value)


def test_lenient_leaves_out_faulty_rows(tmp_path: Path) -> None:
    faults: list[FormatError] = []
    found = read(tmp_path, 'id,name\nX:1,a\nX:2\n,b\nX:3,c\nX:4,"d\n', faults)
    assert [entity.id for entity in found] == ["X:1", "X:3"]
    assert [fault.line for fault in faults] == [3, 4, 6]


def test_rows_of_an_id_are_joined_and_the_first_name_is_preferred(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("id\tname\tsynonyms\nX:1\ta\tb\nX:2\tc\t\nX:1\ta\td\nX:1\te\tb\n", encoding="utf-8")
    kb = build_from_files(tmp_path / "a.kb", [path])
    assert kb["X:1"].names == (preferred("a"), Name("b"), Name("d"), Name("e"))
    assert kb["X:1"].name == "a"
    assert (kb.manifest.counts.concepts, kb.manifest.counts.merged) == (2, 2)


def test_a_concept_without_a_name_shows_its_first_synonym(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("id\tname\tsynonyms\nA:3\t\tbar|baz\n", encoding="utf-8")
    (entity,) = table.read(path)
    assert entity.name == "bar"
