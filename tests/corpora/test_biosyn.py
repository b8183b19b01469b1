""".concept files, data.json: composites, ids, and the counts that the field knows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from nomina.corpora import corpus_format, read_corpus
from nomina.errors import FormatError, UsageError
from nomina.types import Document, Mention

BENCHMARKS = Path(__file__).parents[3] / "shared" / "benchmarks"
real = pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="needs the benchmarks beside the checkout")


def concept(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.concept").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("mention", "ids", "texts", "gold"),
    [
        ("cancer", "D009369", ["cancer"], (("D009369",),)),
        ("cancer", " D009369 ", ["cancer"], (("D009369",),)),
        ("clefts", "D002971|D002972", ["clefts"], (("D002971",), ("D002972",))),
        ("muscle disorder", "D009135+D030342", ["muscle disorder"], (("D009135",), ("D030342",))),
        ("a|b|c", "D1|D1|D2", ["a", "b", "c"], (("D1",), ("D1",), ("D2",))),
        ("recurrent | meningitis", "D1+D2", ["recurrent", "meningitis"], (("D1",), ("D2",))),
        ("a|a", "D1|D2", ["a"], (("D1",), ("D2",))),
        ("cancer", "", ["cancer"], ()),
        ("cancer", "-1", ["cancer"], (("-1",),)),
    ],
)
def test_parts_of_a_composite_share_place_and_gold(tmp_path, mention, ids, texts, gold) -> None:
    folder = concept(tmp_path / "a", **{"7": f"7||3|9||Disease||{mention}||{ids}\n"})
    (document,) = read_corpus(folder)
    spans = ((0, len(mention)),)
    assert document == Document("7", mention, tuple(Mention(spans, text, "Disease", gold) for text in texts))


def test_separators_are_options(tmp_path) -> None:
    folder = concept(tmp_path / "a", **{"7": "7||3|9||Disease||cancer||D1|D2+D3\n"})
    (document,) = read_corpus(folder, options={"parts": "+", "alternatives": "|"})
    assert document.mentions[0].gold == (("D1", "D2"), ("D3",))


def test_documents_come_in_the_order_of_names_and_a_file_may_hold_several(tmp_path) -> None:
    row = "{}||0|1||Disease||{}||D1\n".format
    folder = concept(tmp_path / "a", b=row(3, "x") + row(3, "y") + "\n" + row(2, "z"), a=row(9, "w"), c="\n")
    (folder / "notes.txt").write_text("no mention", encoding="utf-8")
    dropped: Counter[str] = Counter()
    assert [(d.id, d.text) for d in read_corpus(folder, dropped=dropped)] == [
        ("9", "w"),
        ("3", "x\ny"),
        ("2", "z"),
        ("c", ""),
    ]
    assert dropped == {"offsets": 4}
    assert corpus_format(folder / "b.concept")[0] == "biosyn"
    assert [d.id for d in read_corpus(folder / "b.concept")] == ["3", "2"]


def test_a_document_comes_once(tmp_path) -> None:
    row = "1||0|1||Disease||{}||D1\n".format
    dropped: Counter[str] = Counter()
    assert len(list(read_corpus(concept(tmp_path / "a", a=row("x"), b=row("x")), dropped=dropped))) == 1
    assert dropped["repeated documents"] == 1
    with pytest.raises(FormatError, match="another document with the id '1'"):
        list(read_corpus(concept(tmp_path / "b", a=row("x"), b=row("y"))))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("1||0|1||Disease||x", "expected 'document..start.end..type..mention..ids'"),
        ("1||0-1||Disease||x||D1", "expected 'document"),
        ("1||0|1||Disease||x||D1||y", "expected 'document"),
        ("||0|1||Disease||x||D1", "the document has no id"),
        ("1||0|1||Disease|| ||D1", "the mention '' is empty"),
        ("1||0|1||Disease||x| ||D1", "the mention 'x.' is empty, or a part of it is"),
    ],
)
def test_lines_that_are_no_mention(tmp_path, line, why) -> None:
    folder = concept(tmp_path / "a", **{"1": f"1||0|1||Disease||w||D1\n{line}\n"})
    with pytest.raises(FormatError, match=why) as caught:
        list(read_corpus(folder, "biosyn"))
    assert (caught.value.path.name, caught.value.line) == ("1.concept", 2)
    faults: list[FormatError] = []
    assert [d.text for d in read_corpus(folder, "biosyn", skip=faults.append)] == ["w"]
    assert len(faults) == 1


def pairs(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "data.json"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_only_split_needs_no_name_and_one_of_several_does(tmp_path) -> None:
    path = pairs(tmp_path, '{"dev": [["x", "D1"], ["y|z", "D1|D2"]]}')
    assert [(d.id, d.text, len(d.mentions)) for d in read_corpus(path)] == [("dev-1", "x", 1), ("dev-2", "y|z", 2)]
    with pytest.raises(UsageError, match="has no split 'test'; there are: dev"):
        list(read_corpus(path, options={"split": "test"}))
    path = pairs(tmp_path, '{"train": [["x", "D1"]], "test": []}')
    with pytest.raises(UsageError, match="name one with --option split=NAME; there are: train, test"):
        list(read_corpus(path))
    assert list(read_corpus(path, options={"split": "test"})) == []


@pytest.mark.parametrize("pair", ['["x"]', '["x", 1]', '"x"', '[" ", "D1"]', '["x|", "D1"]', "null"])
def test_what_is_no_pair(tmp_path, pair) -> None:
    path = pairs(tmp_path, f'{{"dev": [["w", "D1"],\n{pair}]}}')
    with pytest.raises(FormatError, match="dev-2: ") as caught:
        list(read_corpus(path))
    assert caught.value.line == 2
    faults: list[FormatError] = []
    assert [d.id for d in read_corpus(path, skip=faults.append)] == ["dev-1"]
    assert len(faults) == 1


def test_json_that_is_cut_off(tmp_path) -> None:
    with pytest.raises(FormatError, match="is not JSON as it should be"):
        list(read_corpus(pairs(tmp_path, '{"dev": [["w", "D1"], ["x"')))


def rows_of(documents) -> int:
    """Rows of the source: places of mentions."""
    return sum(len({mention.spans for mention in document.mentions}) for document in documents)


@pytest.mark.slow
@real
@pytest.mark.parametrize(
    ("folder", "documents", "rows"),
    [
        ("ncbi-disease/biosyn/processed_train", 592, 5_134),
        ("ncbi-disease/biosyn/processed_dev", 100, 787),
        ("ncbi-disease/biosyn/processed_test", 100, 960),
        ("bc5cdr/biosyn-disease/processed_train", 500, 4_131),
        ("bc5cdr/biosyn-disease/processed_dev", 500, 4_178),
        ("bc5cdr/biosyn-disease/processed_test", 500, 4_287),
    ],
)
def test_counts_of_the_field(folder, documents, rows) -> None:
    dropped: Counter[str] = Counter()
    found = list(read_corpus(BENCHMARKS / folder, dropped=dropped))
    assert (len(found), rows_of(found), dropped) == (documents, rows, {"offsets": rows})


@pytest.mark.slow
@real
@pytest.mark.parametrize(
    ("folder", "split", "rows"),
    [
        ("bc5cdr/biosyn-chemical", "train", 831),
        ("bc5cdr/biosyn-chemical", "dev", 5_029),
        ("bc5cdr/biosyn-chemical", "test", 5_015),
        ("bc5cdr/biosyn-disease", "test", 4_287),
        ("ncbi-disease/biosyn", "test", 960),
    ],
)
def test_counts_of_data_json(folder, split, rows) -> None:
    found = list(read_corpus(BENCHMARKS / folder / "data.json", options={"split": split}))
    assert (len(found), rows_of(found)) == (rows, rows)


@pytest.mark.slow
@real
def test_data_json_and_concept_files_hold_the_same_mentions() -> None:
    folder = BENCHMARKS / "ncbi-disease" / "biosyn"
    for split in ("dev", "test"):
        concepts = read_corpus(folder / f"processed_{split}")
        pairs = read_corpus(folder / "data.json", options={"split": split})
        assert Counter((m.text, m.gold) for d in concepts for m in d.mentions) == Counter(
            (m.text, m.gold) for d in pairs for m in d.mentions
        )
