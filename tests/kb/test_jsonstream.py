from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomina.errors import FormatError
from nomina.kb.jsonstream import ANY, Found, values


@pytest.fixture
def write(tmp_path: Path):
    def written(text: str) -> Path:
        path = tmp_path / "a.json"
        path.write_text(text, encoding="utf-8")
        return path

    return written


def test_values_at_places_with_their_lines(write) -> None:
    path = write('{"a": 1,\n "graphs": [\n{"nodes": [{"id": 1},\n {"id": 2}], "edges": []},\n {"nodes": [[3]]}]}\n')
    nodes, edges = ("graphs", ANY, "nodes", ANY), ("graphs", ANY, "edges", ANY)
    assert list(values(path, [nodes, edges])) == [
        Found(nodes, "0", 3, {"id": 1}),
        Found(nodes, "1", 4, {"id": 2}),
        Found(nodes, "0", 5, [3]),
    ]
    assert list(values(path, [("a",), ("b",), ("graphs", ANY, "edges")])) == [
        Found(("a",), "a", 1, 1),
        Found(("graphs", ANY, "edges"), "edges", 4, []),
    ]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=15,
)


@given(value=json_values, indent=st.none() | st.integers(0, 2), size=st.integers(1, 30), ascii=st.booleans())
def test_against_json(
    value: Any, indent: int | None, size: int, ascii: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "a.json"
    path.write_text(json.dumps(value, indent=indent, ensure_ascii=ascii).replace("\x7f", "~"), encoding="utf-8")
    value = json.loads(path.read_text(encoding="utf-8"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nomina.files.blocks.__defaults__", (None, size))
        found = list(values(path, [(ANY,)]))
        deeper = list(values(path, [(ANY, ANY)]))
    assert [(one.key, one.value) for one in found] == _members(value)
    assert [(one.key, one.value) for one in deeper] == [two for _, one in _members(value) for two in _members(one)]


def _members(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    return [(str(number), one) for number, one in enumerate(value)] if isinstance(value, list) else []


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ('{"a": [1,\n 2', 2, "expected , or ], found the end of the file"),
        ('{"a": [1\n 2]}', 2, "expected , or ], found 2"),
        ('{"a": {"b": 1,\n "c" 2}}', 2, "expected :, found 2"),
        ("{\n1: 2}", 2, 'expected ", found 1'),
        ('{"a": [{"b":\n nil}]}', 2, "Expecting value"),
        ("[1]\n[2]", 2, "more after the end"),
        ('["a', 1, "Unterminated string"),
        ("", 1, "Expecting value"),
        ("[" * 100_000, 1, "nested too deep"),
        (f"[{'9' * 5000}]", 1, "Exceeds the limit"),
    ],
)
def test_faults(write, text: str, line: int, why: str) -> None:
    with pytest.raises(FormatError) as caught:
        list(values(write(text), [("a", ANY)]))
    assert caught.value.line == line
    assert why in caught.value.why


def test_memory_is_that_of_a_member_and_faults_are_met_early(write) -> None:
    path = write("[" + ",\n".join(f'{{"id": {i}, "text": "{"x" * 1000}"}}' for i in range(5000)) + "]")
    found = values(path, [(ANY,)])
    assert next(found).value["id"] == 0
    assert sum(1 for _ in found) == 4999
    broken = write('[{"id": 1},\n{"id" 2},\n' + "[0],\n" * 500_000 + "0]")
    with pytest.raises(FormatError) as caught:
        list(values(broken, [(ANY,)]))
    assert caught.value.line == 2


def test_values_before_a_byte_that_is_no_text_are_read(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b'[\n"a",\n"b",\n"\xe9",\n"c"]')
    found = []
    with pytest.raises(FormatError, match=r"a.json:4: byte 0xe9 in column 2 is not UTF-8"):
        found.extend(one.value for one in values(path, [(ANY,)]))
    assert found == ["a", "b"]
