from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from nomina.errors import FormatError
from nomina.kb import jsonl
from nomina.kb.build import BuildOptions, build_from_files
from nomina.types import Entity, Name, Retired


def read(tmp_path: Path, *lines: str) -> list[Entity | Retired]:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return list(jsonl.read(path))


def test_what_the_dataclasses_hold_comes_back(tmp_path: Path) -> None:
    records = [
        Entity("X:1", (Name("Löfgren’s", "narrow", "layperson", "talk"),), "d", ("t",), ("X:0",), ("U:1",), ("X:9",)),
        Entity("X:2"),
        Retired("X:3", ("X:1", "X:2")),
        Retired("X:4"),
    ]
    assert read(tmp_path, *(json.dumps(asdict(record)) for record in records)) == records


def test_plain_texts_are_names(tmp_path: Path) -> None:
    assert read(tmp_path, '{"id": "X:1", "names": ["a", {"text": "b", "scope": "broad"}]}') == [
        Entity("X:1", (Name("a"), Name("b", "broad")))
    ]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            '{"id": "X:1", "alias": ["a"]}',
            r"unknown field 'alias'; a line has: id, names, .* \(or name and synonyms .*; one of .*: id, replaced_by",
        ),
        ('{"id": "X:1", "names": [{"text": "a", "lang": "en"}]}', "unknown field 'names.0.lang'"),
        ('{"id": "X:1", "replaced_by": [], "names": []}', "unknown field 'names'; a line has: id, replaced_by"),
        ('{"names": ["a"]}', "the field 'id' is missing"),
        ('{"id": 1, "names": ["a"]}', "id: Input should be a valid string"),
        ('{"id": "X:1", "names": "a"}', "names: Input should be a valid tuple"),
        ('{"id": "X:1", "names": [{"text": "a", "scope": "near"}]}', "names.0.scope"),
        ('{"id": "X:1", "names": [" "]}', "a name must not be empty"),
        ('{"id": " X:1", "names": ["a"]}', "id must be non-empty and without outer spaces"),
        ('{"id": "X:1"', "not JSON"),
        ('["X:1"]', "expected a JSON object"),
    ],
)
def test_faults_say_which_field(tmp_path: Path, line: str, why: str) -> None:
    with pytest.raises(FormatError, match=why) as caught:
        read(tmp_path, '{"id": "X:0"}', line)
    assert caught.value.line == 2
    assert "\n" not in str(caught.value)


def test_half_a_surrogate_pair_is_an_error_and_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "X:1", "names": ["a"]}\n{"id": "X:2", "names": ["a\\ud800"]}\n', encoding="utf-8")
    with pytest.raises(FormatError, match=r"a.jsonl:2: .* must not hold the character U\+D800"):
        build_from_files(tmp_path / "a.kb", [path])
    assert not (tmp_path / "a.kb").exists()
    kb = build_from_files(tmp_path / "a.kb", [path], BuildOptions("a", lenient=True))
    assert (list(kb), kb.manifest.counts.problems) == (["X:1"], 1)


def test_name_and_synonyms_as_in_a_table(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "A:1", "name": "foo", "synonyms": ["bar"]}\n{"id": "A:2", "synonyms": ["baz"]}\n')
    first, second = jsonl.read(path)
    assert (first.name, [name.text for name in first.names]) == ("foo", ["foo", "bar"])
    assert second.name == "baz"


def test_what_is_nested_too_deep_is_a_fault_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    deep = "[" * 100_000 + "]" * 100_000
    path.write_text('{"id": "X:1", "names": ["a"]}\n{"id": "X:2", "names": ' + deep + "}\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"a.jsonl:2: nested too deep"):
        list(jsonl.read(path))
    faults: list[FormatError] = []
    assert [record.id for record in jsonl.read(path, skip=faults.append)] == ["X:1"]
    assert [fault.line for fault in faults] == [2]
