"""What stands before the root of an XML file, however its lines are."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from nomina.errors import FormatError
from nomina.kb.xmlstream import elements, line_of

DECLARATION = '<?xml version="1.0" encoding="utf-8"?>'


def read(tmp_path: Path, text: str) -> list[tuple[str, int]]:
    path = tmp_path / "a.xml"
    path.write_text(text, encoding="utf-8", newline="")
    return [(element.text or "", line_of(element)) for element in elements(path, ["e"], None)]


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("comment", ["", "<!-- one\nand two -->\n"])
def test_a_root_on_one_line_may_end_the_file_without_a_line_end(tmp_path: Path, comment: str, end: str) -> None:
    first = 2 + comment.count("\n")
    found = read(tmp_path, f"{DECLARATION}\n{comment}<root><e>a</e><e>b</e></root>{end}")
    assert [text for text, _ in found] == ["a", "b"]
    assert {line for _, line in found} == {first}


def test_what_the_standard_library_writes_is_read(tmp_path: Path) -> None:
    root = ElementTree.Element("root")
    ElementTree.SubElement(root, "e").text = "a"
    ElementTree.ElementTree(root).write(tmp_path / "b.xml", encoding="utf-8", xml_declaration=True)
    assert [element.text for element in elements(tmp_path / "b.xml", ["e"], None)] == ["a"]


def test_a_root_whose_line_is_longer_than_a_block(tmp_path: Path) -> None:
    many = "<e>a</e>" * 100_000
    assert len(read(tmp_path, f"{DECLARATION}\n<root>{many}</root>\n")) == 100_000


@pytest.mark.parametrize("text", ["", "\n\n", DECLARATION, f"{DECLARATION}\n<!-- cut", "PMID- 1\n" * 200_000])
def test_what_has_no_root_is_no_xml(tmp_path: Path, text: str) -> None:
    with pytest.raises(FormatError, match="is not XML"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        (' encoding="ISO-8859-1"', "latin-1"), (" encoding='windows-1252'", "cp1252"), (' encoding="UTF-16"', "utf-16"),
        ("", "utf-16"), ("", "utf-16-le"), ("", "utf-16-be"), (' encoding="US-ASCII"', "utf-8"),
        (' encoding="utf-16"', "utf-8"), (' encoding="ISO-8859-1"', "utf-8-sig"), ("", "utf-8"),
    ],
)  # fmt: skip
def test_a_file_is_in_the_encoding_that_it_says(tmp_path: Path, declared: str, encoding: str) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(f'<?xml version="1.0"{declared}?>\n<root><e>Ménière</e></root>\n'.encode(encoding))
    assert [(element.text, line_of(element)) for element in elements(path, ["e"], None)] == [("Ménière", 2)]


@pytest.mark.parametrize("name", ["klingon", "rot13", "undefined"])
def test_an_encoding_that_is_not_known_is_said(tmp_path: Path, name: str) -> None:
    with pytest.raises(FormatError, match=rf"a.xml:1: is in an encoding that is not known, {name}: save it as UTF-8"):
        read(tmp_path, f'<?xml version="1.0" encoding="{name}"?><root/>')


def test_elements_before_a_byte_that_is_no_text_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(b"<root>\n<e>a</e>\n<e>\xe9</e>\n</root>\n")
    found = []
    with pytest.raises(FormatError, match=r"a.xml:3: byte 0xe9 in column 4 is not UTF-8"):
        found.extend(element.text for element in elements(path, ["e"], None))
    assert found == ["a"]
