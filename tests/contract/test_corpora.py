"""What every format of ``nomina.corpora.CORPORA`` owes its users. A new one adds one case to ``corpora_cases``."""

from __future__ import annotations

import gzip
import shutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from corpora_cases import CASES, DATA, Case
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nomina.corpora import CORPORA, corpus_format, read_corpus, write_corpus
from nomina.enumerations import joined
from nomina.errors import FormatError, NominaError, UsageError
from nomina.types import Document, Mention, Section

ROOT = Path(__file__).parents[2]
WRITABLE = [name for name, module in CORPORA.items() if hasattr(import_module(module), "write")]


def named(names: Iterable[str]) -> pytest.MarkDecorator:
    """A test for each of the formats; those that need a package are extras."""
    marks = {name: [pytest.mark.extras] if CASES[name].requires else [] for name in CASES}
    return pytest.mark.parametrize("name", [pytest.param(name, marks=marks[name]) for name in names])


every_case = named(CASES)
every_writer = named(WRITABLE)


def case_of(name: str) -> Case:
    case = CASES[name]
    if case.requires:
        pytest.importorskip(case.requires)
    return case


def copied(case: Case, folder: Path) -> Path:
    path = folder / Path(case.path).name
    (shutil.copytree if (DATA / case.path).is_dir() else shutil.copyfile)(DATA / case.path, path)
    return path


def broken(case: Case, folder: Path) -> Path:
    """A copy of the case's corpus with its fault."""
    path = copied(case, folder)
    assert case.broken
    name, old, new, _ = case.broken
    file = path / name if path.is_dir() else path
    data = file.read_bytes()
    assert old in data
    file.write_bytes(data.replace(old, new, 1))
    return path


@pytest.mark.parametrize("format", list(CORPORA))
def test_has_a_case_and_a_docs_page_with_a_licence_note(format: str) -> None:
    assert format in CASES
    page = (ROOT / "docs" / "corpora" / f"{format}.md").read_text(encoding="utf-8")
    assert "licence" in page.casefold()


@every_case
def test_is_found_by_a_look_and_reads_what_is_in_it(name: str) -> None:
    case = case_of(name)
    assert corpus_format(DATA / case.path)[0] == name
    dropped: Counter[str] = Counter()
    assert tuple(read_corpus(DATA / case.path, dropped=dropped, options=case.options)) == case.documents
    assert dropped == case.dropped


@every_case
def test_a_packed_file_reads_the_same(name: str, tmp_path: Path) -> None:
    case = case_of(name)
    if (DATA / case.path).is_dir():
        shutil.make_archive(str(tmp_path / "packed"), "zip", DATA / case.path)
        path = tmp_path / "packed.zip"
    else:
        path = tmp_path / f"{Path(case.path).name}.gz"
        path.write_bytes(gzip.compress((DATA / case.path).read_bytes()))
    assert tuple(read_corpus(path, name, options=case.options)) == case.documents


@every_case
def test_a_fault_is_named_by_line_and_its_mention_left_out_by_a_lenient_reading(name: str, tmp_path: Path) -> None:
    case = case_of(name)
    if case.broken is None:
        pytest.skip("a fault is one of the whole file")
    path = broken(case, tmp_path)
    with pytest.raises(FormatError) as caught:
        list(read_corpus(path, name, options=case.options))
    assert caught.value.line == case.broken[3]
    assert caught.value.path == (path / case.broken[0] if path.is_dir() else path)
    assert "\n" not in str(caught.value)
    faults: list[FormatError] = []
    found = list(read_corpus(path, name, skip=faults.append, options=case.options))
    assert [str(fault) for fault in faults] == [str(caught.value)]
    document, mention = case.without
    expected = list(case.documents)
    if mention is None:
        del expected[document]
    else:
        mentions = expected[document].mentions
        expected[document] = replace(expected[document], mentions=mentions[:mention] + mentions[mention + 1 :])
    assert found == expected


@every_case
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    place=st.floats(0, 1),
    length=st.sampled_from([0, 1, 5, 30]),
    new=st.sampled_from(
        [
            b"",
            b"\x00",
            b"\xff",
            b"\t",
            b"|",
            b"\n",
            b"99999999999999",
            b"-1",
            b"null",
            b"[]",
            b"{",
            b'"',
            b"<",
            b"\\ud800",
        ]
    ),
)
def test_whatever_is_wrong_with_a_file_is_said_in_one_line(
    name: str, tmp_path: Path, place: float, length: int, new: bytes
) -> None:
    case = case_of(name)
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    path = copied(case, tmp_path)
    file = min(path.iterdir()) if path.is_dir() else path
    data = file.read_bytes()
    at = int(place * len(data))
    file.write_bytes(data[:at] + new + data[at + length :])
    said: list[NominaError] = []
    for skip in (None, said.append):
        try:
            list(read_corpus(path, name, skip=skip, options=case.options))
        except NominaError as error:
            said.append(error)
    assert [error for error in said if "\n" in str(error)] == []


@every_case
def test_a_missing_file_and_an_unknown_option(name: str, tmp_path: Path) -> None:
    case = case_of(name)
    with pytest.raises(FormatError, match="No such file"):
        list(read_corpus(tmp_path / "no", name))
    with pytest.raises(UsageError, match="has no option skip"):
        read_corpus(DATA / case.path, options={"skip": "yes"})


@every_writer
def test_is_written_and_read_back(name: str, tmp_path: Path) -> None:
    case = case_of(name)
    dropped: Counter[str] = Counter()
    write_corpus(case.documents, tmp_path / "written", name, dropped=dropped)
    found = list(read_corpus(tmp_path / "written", name, dropped=dropped))
    assert not dropped
    assert found == list(case.documents)


@every_writer
def test_a_writing_that_fails_leaves_nothing(name: str, tmp_path: Path) -> None:
    case_of(name)

    def failing() -> Iterable[Document]:
        yield Document("1", "a")
        raise UsageError("enough")

    with pytest.raises(UsageError, match="enough"):
        write_corpus(failing(), tmp_path / "written", name)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="cannot write"):
        write_corpus([Document("1", "a")], tmp_path / "no" / "written", name)


# Round trips of made documents

_TEXTS = st.text("ab .,;|<&>\"'\\\n\r\t\v\x00\x7f\x85\u2028\ufeffé α日𝑃", max_size=24)
_IDS = st.text("ADM0:._-", min_size=1, max_size=6)


@st.composite
def documents(draw: st.DrawFn, alternatives: bool = False) -> Document:
    """A document: sections that tile its text, or none; mentions in order of their spans."""
    names = draw(st.lists(st.sampled_from(["abstract", "methods", "results"]), max_size=2))
    if draw(st.booleans()):
        names = ["title", *names]
    parts = [draw(_TEXTS) for _ in names] or [draw(_TEXTS)]
    text = " ".join(parts)
    starts = [sum(len(part) + 1 for part in parts[:number]) for number in range(len(names))]
    sections = [Section(start, start + len(parts[i]), names[i]) for i, start in enumerate(starts)]
    mentions = []
    for cuts in draw(st.lists(st.lists(st.integers(0, len(text)), min_size=2, max_size=4), max_size=3)):
        edges = sorted(cuts)[: len(cuts) // 2 * 2]
        spans = tuple(zip(edges[::2], edges[1::2], strict=True))
        if any(start == end for start, end in spans):
            continue
        part = st.lists(_IDS, min_size=1, max_size=2 if alternatives else 1, unique=True).map(tuple)
        gold = tuple(draw(st.lists(part, max_size=2)))
        type = draw(st.sampled_from([None, "Disease", "T116,T123"]))
        mentions.append(Mention(spans, joined(text, spans), type, gold))
    mentions.sort(key=lambda mention: mention.spans)
    id = draw(st.text("abc019", min_size=1, max_size=5))
    return Document(id, text, tuple(mentions), tuple(sections))


def check_round_trip(name: str, made: list[Document], path: Path, options: dict[str, str]) -> None:
    """All text, spans and ids come back, or what does not is counted."""
    dropped: Counter[str] = Counter()
    write_corpus(made, path, name, dropped=dropped, options=options)
    found = list(read_corpus(path, name, options=options))
    if CASES[name].keeps_ids:
        made = sorted(made, key=lambda document: document.id)
        found.sort(key=lambda document: document.id)
        assert [document.id for document in found] == [document.id for document in made]
    for before, after in zip(made, found, strict=True):
        assert len(after.text) == len(before.text)
        assert [mention.gold for mention in after.mentions] == [mention.gold for mention in before.mentions]
        if "extra spans" not in dropped:
            assert [mention.spans for mention in after.mentions] == [mention.spans for mention in before.mentions]
        if not dropped:
            sections = after.sections if before.sections else ()
            assert replace(after, id=before.id, sections=sections) == before


def apart(made: list[Document]) -> list[Document]:
    return list({document.id: document for document in made}.values())


_MANY = settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])


@every_writer
@_MANY
@given(made=st.lists(documents(), max_size=3).map(apart))
def test_text_sections_spans_and_ids_come_back_or_are_counted(name: str, tmp_path: Path, made: list[Document]) -> None:
    case_of(name)
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    check_round_trip(name, made or [Document("1", "")], tmp_path / "written", {})


@named(n for n in WRITABLE if hasattr(import_module(CORPORA[n]), "Separators"))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=documents(alternatives=True))
def test_alternatives_come_back_where_there_is_a_character_for_them(name: str, tmp_path: Path, made: Document) -> None:
    case_of(name)
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    check_round_trip(name, [made], tmp_path / "written", {"alternatives": "/"})
    if any(len(part) > 1 for mention in made.mentions for part in mention.gold):
        with pytest.raises(UsageError, match="choose others"):
            write_corpus([made], tmp_path / "none", name, options={"alternatives": "none"})


# What is no corpus


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"A note on ataxia, 100|t| and so on.\n", "is like no corpus"),
        (b'{"id": 1, "names": ["ataxia"]}\n', "is like no corpus"),
        (b"<html></html>", "is like no corpus"),
    ],
)
def test_what_is_no_corpus_is_refused_in_one_line(data: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=why) as caught:
        corpus_format(path)
    assert "\n" not in str(caught.value)


def test_folders_and_formats_that_there_are_not(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="is a folder that holds no corpus"):
        corpus_format(tmp_path)
    with pytest.raises(FormatError, match="No such file"):
        corpus_format(tmp_path / "no")
    with pytest.raises(UsageError, match=r"no corpus format 'pdf'; there are: pubtator, "):
        corpus_format(tmp_path, "pdf")
    with pytest.raises(UsageError, match="no corpus format 'pdf'"):
        write_corpus([], tmp_path / "a", "pdf")
