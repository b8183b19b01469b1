"""BigBIO's KB schema, as JSON lines and as Parquet."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nomina.corpora import corpus_format, read_corpus, write_corpus
from nomina.errors import FormatError, MissingExtra, UsageError
from nomina.types import Document, Mention, Section


def record(**changes: Any) -> dict[str, Any]:
    """A document of two passages with one entity, "breast ... cancer"."""
    return {
        "id": "0",
        "document_id": "77",
        "passages": [
            {"id": "1", "type": "title", "text": ["Breast and ovarian cancer."], "offsets": [[0, 26]]},
            {"id": "2", "type": "abstract", "text": ["No fits."], "offsets": [[28, 36]]},
        ],
        "entities": [
            {
                "id": "3",
                "type": "Disease",
                "text": ["Breast", "cancer"],
                "offsets": [[0, 6], [19, 25]],
                "normalized": [{"db_name": "MESH", "db_id": "D001943"}, {"db_name": "OMIM", "db_id": "114480+9"}],
            }
        ],
        "events": [],
        "coreferences": [],
        "relations": [],
    } | changes


@pytest.fixture
def read(tmp_path: Path):
    """The documents of some records, and what was dropped."""

    def reading(*records: object, skip=None, **options: object) -> tuple[list[Document], Counter[str]]:
        path = tmp_path / "a.jsonl"
        path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
        assert corpus_format(path)[0] == "bigbio_jsonl"
        dropped: Counter[str] = Counter()
        return list(read_corpus(path, skip=skip, dropped=dropped, options=options)), dropped

    return reading


@pytest.mark.parametrize(
    ("options", "gold", "names"),
    [
        ({}, (("D001943",), ("114480",), ("9",)), 2),
        ({"parts": "none"}, (("D001943",), ("114480+9",)), 2),
        ({"parts": "none", "alternatives": "+"}, (("D001943",), ("114480", "9")), 2),
        ({"several": "alternatives"}, (("D001943", "114480", "9"),), 2),
        ({"database": "true"}, (("MESH:D001943",), ("OMIM:114480",), ("OMIM:9",)), 0),
    ],
)
def test_concepts_become_gold(read, options, gold, names) -> None:
    (document,), dropped = read(record(), **options)
    assert document == Document(
        "77",
        "Breast and ovarian cancer.  No fits.",
        (Mention(((0, 6), (19, 25)), "Breast cancer", "Disease", gold),),
        (Section(0, 26, "title"), Section(28, 36, "abstract")),
    )
    assert dropped == ({"database names": names} if names else {})


def test_no_other_way_to_take_several_concepts(read) -> None:
    with pytest.raises(UsageError, match="the option several is parts or alternatives, not 'any'"):
        read(record(), several="any")


def test_what_has_no_place_is_counted(read) -> None:
    nowhere = {"id": "9", "type": "Gene", "text": [], "offsets": [], "normalized": []}
    extra = record(entities=[nowhere], events=[{}], relations=[{}, {}], coreferences=None, split="test")
    (document,), dropped = read(extra)
    assert document.mentions == ()
    assert dropped == {"entities without a place": 1, "events": 1, "relations": 2, "further fields": 1}


def test_lists_and_ids_may_be_null(read) -> None:
    mark = {"id": "3", "type": None, "text": ["fits"], "offsets": [[31, 35]], "normalized": None}
    nothing = dict.fromkeys(("id", "entities", "events", "coreferences", "relations"))
    found, dropped = read(record(entities=[mark]), record(document_id="78", **nothing))
    assert [(d.id, d.mentions) for d in found] == [("77", (Mention(((31, 35),), "fits"),)), ("78", ())]
    assert not dropped


@pytest.mark.parametrize("line", ["[1]", "1", "null"])
def test_a_line_without_fields(tmp_path: Path, line: str) -> None:
    (tmp_path / "a").write_text(f"{json.dumps(record())}\n{line}\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"a:2: is no record of BigBIO's KB schema: it has no fields$"):
        list(read_corpus(tmp_path / "a"))


def test_a_passage_in_pieces_is_one_section(read) -> None:
    passage = {"id": "1", "type": "abstract", "text": ["One.", "Two."], "offsets": [[0, 4], [5, 9]]}
    (document,), _ = read(record(passages=[passage], entities=[]))
    assert (document.text, document.sections) == ("One. Two.", (Section(0, 9, "abstract"),))


def entity(text: list[str], offsets: list[list[int]]) -> list[dict[str, Any]]:
    return [{"id": "3", "type": "Disease", "text": text, "offsets": offsets, "normalized": []}]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"entities": entity(["fits"], [[0, 4]])}, "document '78': the mention 'fits' is not what stands at 0-4"),
        ({"entities": entity(["fits"], [[30, 99]])}, "the entity 'fits' at 30-99 is not in the text"),
        ({"entities": entity(["fits"], [[5, 2]])}, "is not in the text|spans must be"),
    ],
)
def test_an_entity_that_does_not_stand_there(read, changes, why) -> None:
    with pytest.raises(FormatError, match=why) as caught:
        read(record(), record(document_id="78", **changes))
    assert caught.value.line == 2
    faults: list[FormatError] = []
    found, _ = read(record(document_id="78", **changes), skip=faults.append)
    assert [(d.id, d.mentions) for d in found] == [("78", ())]
    assert len(faults) == 1


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"passages": None}, "is no record of BigBIO's KB schema: passages: "),
        ({"document_id": 7}, "schema: document_id: "),
        ({"entities": entity(["a"], [[0]])}, "schema: entities.0.offsets.0"),
        ({"document_id": "", "id": ""}, "the record has no document_id"),
        (
            {"passages": [{"id": "1", "type": "", "text": ["a"], "offsets": []}]},
            "a passage has 1 texts and 0 offsets",
        ),
    ],
)
def test_what_is_no_record(read, changes, why) -> None:
    with pytest.raises(FormatError, match=why) as caught:
        read(record(**changes))
    assert caught.value.line == 1
    faults: list[FormatError] = []
    assert read(record(**changes), record(), skip=faults.append)[0][0].id == "77"
    assert len(faults) == 1


def test_lines_that_are_no_json(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(record()) + "\n{\n" + '{"a":' * 5_000 + "\n", encoding="utf-8")
    faults: list[FormatError] = []
    assert len(list(read_corpus(path, skip=faults.append))) == 1
    assert [fault.line for fault in faults] == [2, 3]


def test_golden_file(tmp_path: Path) -> None:
    mentions = (
        Mention(((5, 9),), "fits", None, (("D1", "D2"), ("D3",))),
        Mention(((10, 13),), "a", "Disease"),
    )
    document = Document("9", "Few. fits a|b ", mentions, (Section(0, 4, "title"),))
    dropped: Counter[str] = Counter()
    options = {"alternatives": "/", "db_name": "MESH"}
    write_corpus([document], tmp_path / "a", "bigbio_jsonl", dropped=dropped, options=options)
    written = json.loads((tmp_path / "a").read_text(encoding="utf-8"))
    assert written == {
        "id": "9",
        "document_id": "9",
        "passages": [
            {"id": "9_P0", "type": "title", "text": ["Few."], "offsets": [[0, 4]]},
            {"id": "9_P1", "type": "", "text": [" fits a|b "], "offsets": [[4, 14]]},
        ],
        "entities": [
            {
                "id": "9_T0",
                "type": "",
                "text": ["fits"],
                "offsets": [[5, 9]],
                "normalized": [{"db_name": "MESH", "db_id": "D1/D2"}, {"db_name": "MESH", "db_id": "D3"}],
            },
            {"id": "9_T1", "type": "Disease", "text": ["a|b"], "offsets": [[10, 13]], "normalized": []},
        ],
        "events": [],
        "coreferences": [],
        "relations": [],
    }
    assert dropped == {"mention texts": 1}
    with pytest.raises(UsageError, match=r"document '9': the ids .* choose others"):
        write_corpus([document], tmp_path / "b", "bigbio_jsonl")


def test_sections_that_overlap_are_counted_and_gaps_between_others_kept(tmp_path: Path) -> None:
    nested = Document("1", "One. Two.", (), (Section(0, 9, "all"), Section(5, 9, "end")))
    gap = Document("2", "One. and Two.", (), (Section(0, 4, "first"), Section(9, 13, "last")))
    dropped: Counter[str] = Counter()
    write_corpus([nested, gap], tmp_path / "a", "bigbio_jsonl", dropped=dropped)
    assert dropped == {"sections": 2}
    first, second = read_corpus(tmp_path / "a")
    assert (first.text, first.sections) == (nested.text, ())
    assert second == gap


def test_without_pyarrow(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "a").write_bytes(b"PAR1")
    with pytest.raises(MissingExtra, match=r'python -m pip install "nomina\[parquet\]"'):
        list(read_corpus(tmp_path / "a"))
    with pytest.raises(MissingExtra, match=r'python -m pip install "nomina\[parquet\]"'):
        write_corpus([], tmp_path / "b", "bigbio_parquet")
    assert not (tmp_path / "b").exists()


@pytest.mark.extras
def test_parquet_that_is_cut_off_or_of_another_schema(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(FormatError, match="is no whole Parquet file") as caught:
        list(read_corpus(path, skip=lambda fault: None))
    assert "\n" not in str(caught.value)
    parquet.write_table(arrow.Table.from_pylist([{"text": "a"}]), path)
    with pytest.raises(FormatError, match="is no record of BigBIO's KB schema: passages: ") as caught:
        list(read_corpus(path))
    assert caught.value.line == 1


@pytest.mark.extras
def test_parquet_of_several_batches_has_the_columns_of_bigbio(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    documents = [
        Document(str(i), "Ataxia.", (Mention(((0, 6),), "Ataxia", "Disease", (("D001259",),)),)) for i in range(150)
    ]
    write_corpus(documents, tmp_path / "a", "bigbio_parquet", options={"db_name": "MESH"})
    assert list(read_corpus(tmp_path / "a")) == documents
    table = parquet.read_table(tmp_path / "a")
    assert table.column_names == ["id", "document_id", "passages", "entities", "events", "coreferences", "relations"]
    assert table.column("entities")[149].as_py() == [
        {
            "id": "149_T0",
            "type": "Disease",
            "text": ["Ataxia"],
            "offsets": [[0, 6]],
            "normalized": [{"db_name": "MESH", "db_id": "D001259"}],
        }
    ]
