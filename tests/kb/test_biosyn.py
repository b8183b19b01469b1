from __future__ import annotations

from pathlib import Path

import pytest

from nomina.errors import FormatError, UsageError
from nomina.kb import biosyn, medic, reader_for
from nomina.kb.build import build_from_files

BENCHMARKS = Path(__file__).parents[3] / "shared" / "benchmarks"
DICTIONARIES = BENCHMARKS / "ncbi-disease" / "biosyn"
real = pytest.mark.skipif(not DICTIONARIES.exists(), reason="the benchmark data are not beside the checkout")


def read(tmp_path: Path, text: str, faults: list[FormatError] | None = None, **options: bool) -> list[tuple[str, str]]:
    path = tmp_path / "dictionary.txt"
    path.write_text(text, encoding="utf-8")
    found = biosyn.read(path, skip=None if faults is None else faults.append, **options)
    return [(entity.id, name.text) for entity in found for name in entity.names]


def test_the_whole_field_before_the_name_is_one_id(tmp_path: Path) -> None:
    text = "D1||heart attack\n\n D2|D3+D4 || a | b\n"
    assert read(tmp_path, text) == [("D1", "heart attack"), ("D2|D3+D4", "a | b")]


def test_split_ids_each_own_the_name(tmp_path: Path) -> None:
    assert read(tmp_path, "D2|D3+D4||a\n", split_ids=True) == [("D2", "a"), ("D3", "a"), ("D4", "a")]


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("D1||a\nD2|b\n", 2, "expected 'ids[|][|]name', found 'D2[|]b'"),
        ("D1||a||b\n", 1, "expected 'ids[|][|]name'"),
        ("9288106||40|61||Modifier||ataxia telangiectasia||D001260\n", 1, "expected 'ids[|][|]name'"),
        ("D1||a\n||b\n", 2, "id must be non-empty"),
        ("D1||a\nD2||\n", 2, "name must not be empty"),
    ],
)
def test_faults_name_their_line_and_are_left_out_where_lenient(tmp_path: Path, text: str, line: int, why: str) -> None:
    with pytest.raises(FormatError, match=why) as caught:
        read(tmp_path, text)
    assert caught.value.line == line
    faults: list[FormatError] = []
    assert read(tmp_path, text, faults) == [("D1", "a")] * (line - 1)
    assert [fault.line for fault in faults] == [line]


def test_an_empty_one_of_split_ids_is_a_fault_of_the_whole_line(tmp_path: Path) -> None:
    faults: list[FormatError] = []
    assert read(tmp_path, "D2+||a\nD3||b\n", faults, split_ids=True) == [("D3", "b")]
    assert [fault.line for fault in faults] == [1]


def test_no_other_table_has_ids_to_split(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("id\tname\nX:1\ta\n", encoding="utf-8")
    with pytest.raises(UsageError, match="the format table has no option split_ids"):
        build_from_files(tmp_path / "a.kb", [path], split_ids=True)


@pytest.mark.slow
@real
def test_the_real_dictionaries(tmp_path: Path) -> None:
    kb = build_from_files(tmp_path / "ncbi.kb", [DICTIONARIES / "train_dictionary.txt"])
    assert (kb.manifest.counts.names, len(kb), kb.manifest.counts.rows) == (71_924, 12_314, 71_924)
    assert [entity.id for entity in kb.lookup("Tooth agenesis, selective, 6")] == ["C567755|613097"]
    split = build_from_files(tmp_path / "split.kb", [DICTIONARIES / "train_dictionary.txt"], split_ids=True)
    assert [entity.id for entity in split.lookup("Tooth agenesis, selective, 6")] == ["C567755", "613097"]


@pytest.mark.slow
@real
@pytest.mark.parametrize(("split", "count"), [("train", 71_924), ("dev", 72_887), ("test", 73_024)])
def test_counts_and_formats_of_the_real_files(split: str, count: int) -> None:
    path = DICTIONARIES / f"{split}_dictionary.txt"
    assert reader_for(path)[1] is biosyn
    assert reader_for(BENCHMARKS / "medic" / "medic_06Jul2012.txt")[1] is medic
    assert sum(1 for _ in biosyn.read(path)) == count
