from __future__ import annotations

from pathlib import Path

import pytest

from nomina.errors import FormatError
from nomina.kb import obo
from nomina.kb.schema import SourceInfo
from nomina.types import Entity, Name, Retired

TINY = Path(__file__).parent / "data" / "tiny.obo"


def read(tmp_path: Path, frame: str) -> list[Entity | Retired]:
    path = tmp_path / "a.obo"
    path.write_text(f"format-version: 1.4\n\n[Term]\n{frame}", encoding="utf-8")
    return list(obo.read(path))


def test_tiny_file_whole() -> None:
    assert list(obo.read(TINY)) == [
        Entity("T:1", (Name("Disease", kind="preferred"),), types=("tiny",)),
        Entity(
            "T:2",
            (
                Name("Heart disease", kind="preferred"),
                Name("Heart diseases", "exact", "plural"),
                Name("bad heart", "broad", "layperson"),
                Name('Cardiac "thing"', "related"),
                Name("Morbus cordis", "narrow"),
                Name("Cardiopathy", "exact"),
                Name("heart illness", "exact"),
            ),
            'Called "heart trouble". See T:1.',
            ("cardiology",),
            ("T:1", "T:404"),
            ("UMLS:C0018799", "MESH:D006331"),
            ("T:20",),
        ),
        Entity("T:3", (Name("nameless, but not quite"),), types=("tiny",), parents=("T:4",)),
        Entity("T:4", (Name("half of a cycle", kind="preferred"),), types=("tiny",), parents=("T:3",)),
        Retired("T:5", ("T:20",)),
        Retired("T:6"),
    ]


def test_header() -> None:
    assert obo.describe(TINY) == SourceInfo(
        "tiny.obo", title="Tiny ontology", release="tiny/2024-02-29", licence="https://example.org/licence", imports=1
    )


@pytest.mark.parametrize(
    ("clause", "names"),
    [
        (r'synonym: "a \"b\" \\ c" EXACT []', ['a "b" \\ c']),
        (r'synonym: "a [b] {c} ! d" EXACT [X:1 "q"]', ["a [b] {c} ! d"]),
        ('synonym: "Löfgren’s" EXACT []', ["Löfgren’s"]),
    ],
)
def test_synonym_texts(tmp_path: Path, clause: str, names: list[str]) -> None:
    (entity,) = read(tmp_path, f"id: T:1\n{clause}\n")
    assert isinstance(entity, Entity)
    assert [name.text for name in entity.names] == names


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("Heart disease", "Heart disease"),
        ("Heart disease ! comment", "Heart disease"),
        ('Heart disease {a="1", b="x } y"}', "Heart disease"),
        ('Heart disease {a="1"} ! comment', "Heart disease"),
        ("bis{4-methyl}", "bis{4-methyl}"),
        (r"so it is\!", "so it is!"),
        ("Yahoo!", "Yahoo!"),
        (r"a\{b\}c\, d\:e", "a{b}c, d:e"),
        ("1,2-dichloro:ethane", "1,2-dichloro:ethane"),
    ],
)
def test_name_values(tmp_path: Path, value: str, name: str) -> None:
    (entity,) = read(tmp_path, f"id: T:1\nname: {value}\n")
    assert isinstance(entity, Entity)
    assert entity.name == name


@pytest.mark.parametrize(
    ("synonym", "scope", "kind"),
    [
        ('"a" EXACT layperson []', "exact", "layperson"),
        ('"a" EXACT abbreviation [X:1, Y:2]', "exact", "abbreviation"),
        ('"a" EXACT uk_spelling []', "exact", "uk_spelling"),
        ('"a" NARROW plural_form []', "narrow", "plural"),
        ('"a" BROAD OMO:0003012 []', "broad", "OMO:0003012"),
        ('"a" []', "related", None),
        ('"a" RELATED', "related", None),
    ],
)
def test_synonym_scope_and_kind(tmp_path: Path, synonym: str, scope: str, kind: str | None) -> None:
    (entity,) = read(tmp_path, f"id: T:1\nsynonym: {synonym}\n")
    assert isinstance(entity, Entity)
    assert (entity.names[0].scope, entity.names[0].kind) == (scope, kind)


def test_obsolete_with_two_replacements_keeps_both(tmp_path: Path) -> None:
    frame = "id: T:1\nname: gone\nis_obsolete: true\nreplaced_by: T:2\nreplaced_by: T:3\nconsider: T:4\n"
    assert read(tmp_path, frame) == [Retired("T:1", ("T:2", "T:3"))]


@pytest.mark.parametrize(
    ("frame", "line", "why"),
    [
        ("id: T:1\nname x\n", 5, "tag: value"),
        ("id: T:1\nname:\n", 5, "'name' has no value"),
        ('id: T:1\nsynonym: "unclosed EXACT []\n', 5, "double quotes"),
        ('id: T:1\nsynonym: " " EXACT []\n', 5, "must not be empty"),
        ("name: no id\n", 3, "without an id"),
        ("id: T:1\n\n[Term]\nid: T:1\n", 6, "a second .Term. with the id T:1"),
    ],
)
def test_faults_name_their_line(tmp_path: Path, frame: str, line: int, why: str) -> None:
    with pytest.raises(FormatError, match=why) as caught:
        read(tmp_path, frame)
    assert caught.value.line == line
