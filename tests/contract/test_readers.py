"""What every reader of ``nomina.kb.FORMATS`` owes its users. A new format adds one case to ``reader_cases``."""

from __future__ import annotations

import gzip
import io
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest
from reader_cases import CASES

from nomina.errors import FormatError, UsageError
from nomina.kb import FORMATS, reader_for
from nomina.kb.build import BuildOptions, build_from_files
from nomina.types import Entity, Retired

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "kb" / "data"


every_case = pytest.mark.parametrize("name", list(CASES))


def records(path: Path, faults: list[FormatError] | None = None) -> list[Entity | Retired]:
    _, reader = reader_for(path)
    return list(reader.read(path, skip=None if faults is None else faults.append))


@pytest.fixture
def write(request: pytest.FixtureRequest, tmp_path: Path):
    """Write the case's main file anew, the other files of its folder beside it; without a case, just a file."""
    case = CASES.get(request.node.callspec.params.get("name"))

    def written(data: bytes) -> Path:
        path = tmp_path / "source"
        if case and case.folder:
            shutil.copytree(DATA / case.folder, path, dirs_exist_ok=True)
            path = path / Path(case.file).relative_to(case.folder)
        path.write_bytes(data)
        return path

    return written


def zipped(data: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/member", data)
    return packed.getvalue()


def tarred(data: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("member")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def tiny(name: str, addition: bytes = b"") -> bytes:
    """The tiny file, with more at its end."""
    data = (DATA / CASES[name].file).read_bytes()
    head, closing, tail = data.rpartition(CASES[name].closing) if CASES[name].closing else (data, b"", b"")
    return head + addition + closing + tail


@pytest.mark.parametrize("format", list(FORMATS))
def test_has_a_case_and_a_docs_page_with_a_licence_note(format: str) -> None:
    assert format in {case.format or name for name, case in CASES.items()}
    page = (ROOT / "docs" / "formats" / f"{format}.md").read_text(encoding="utf-8")
    assert "licence" in page.casefold()


@every_case
def test_is_found_by_its_first_bytes_and_reads_count_first_last(name: str) -> None:
    case = CASES[name]
    assert reader_for(DATA / case.file)[0] == (case.format or name)
    found = records(DATA / case.file)
    assert (len(found), found[0], found[-1]) == (case.count, case.first, case.last)


@every_case
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda data: gzip.compress(data, mtime=0), id="gz"),
        pytest.param(zipped, id="zip"),
        pytest.param(lambda data: b"\xef\xbb\xbf" + data, id="bom"),
        pytest.param(lambda data: gzip.compress(b"\xef\xbb\xbf" + data, mtime=0), id="gz-bom"),
        pytest.param(lambda data: data.replace(b"\n", b"\r\n"), id="crlf"),
        pytest.param(lambda data: data.rstrip(b"\n"), id="no-last-newline"),
        pytest.param(lambda data: data + b"\n\n", id="blank-lines"),
    ],
)
def test_reads_the_same_however_it_is_wrapped(name: str, change, write) -> None:
    assert records(write(change(tiny(name)))) == records(DATA / CASES[name].file)


@every_case
@pytest.mark.parametrize("stray", [b"\x00", b"\x1f", b"\xff"])
def test_a_stray_byte_stops_a_strict_reading_and_is_counted_by_a_lenient_one(name: str, stray: bytes, write) -> None:
    data, word = tiny(name), CASES[name].word
    path = write(data.replace(word, word + stray, 1))
    line = data[: data.index(word)].count(b"\n") + 1
    with pytest.raises(FormatError) as caught:
        records(path)
    assert caught.value.line == line
    assert str(path) in str(caught.value)
    faults: list[FormatError] = []
    assert records(path, faults) == records(DATA / CASES[name].file)
    assert [fault.line for fault in faults] == [line]


@every_case
def test_a_stray_byte_does_no_harm_to_the_look_up(name: str, write, tmp_path: Path) -> None:
    case = CASES[name]
    path = write(tiny(name).replace(case.word, case.word + b"\x00", 1))
    kb = build_from_files(tmp_path / "a.kb", [path], BuildOptions("a", lenient=True))
    assert kb.manifest.counts.problems == 1
    assert "U+0000" in kb.manifest.problems[0]
    assert [entity.id for entity in kb.lookup(case.word.decode())] == [case.first.id]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if ".json" in case.file])
@pytest.mark.parametrize("escape", [rb"\u0000", rb"\ud800", rb"\u007f"])
def test_an_escape_that_is_no_text_is_a_fault_of_its_record(name: str, escape: bytes, write, tmp_path: Path) -> None:
    case = CASES[name]
    for text in (case.word, case.first.id.replace("T:", "T_" if name == "obograph" else "T:").encode()):
        path = write(tiny(name).replace(text, text + escape, 1))
        with pytest.raises(
            FormatError, match=rf"must not hold the character U\+{escape[2:].decode().upper()}"
        ) as caught:
            records(path)
        assert caught.value.line is not None
        faults: list[FormatError] = []
        found = records(path, faults)
        assert (len(faults), len(found)) == (1, case.count - 1)
        kb = build_from_files(tmp_path / "a.kb", [path], BuildOptions("a", lenient=True))
        assert (case.first.id in kb, kb.manifest.counts.problems) == (False, 1)
        assert kb.manifest.problems == (str(faults[0]),)


@every_case
def test_a_broken_record_is_named_by_line_and_left_out_by_a_lenient_reading(name: str, write) -> None:
    case = CASES[name]
    path = write(tiny(name, case.broken))
    with pytest.raises(FormatError) as caught:
        records(path)
    assert caught.value.line == case.line
    faults: list[FormatError] = []
    found = records(path, faults)
    assert [fault.line for fault in faults] == [case.line]
    assert found[: case.count] == records(DATA / case.file)
    assert all("no quotes" not in name.text for entity in found if isinstance(entity, Entity) for name in entity.names)


@every_case
def test_a_file_cut_off_in_the_middle_of_gzip_is_refused_even_when_lenient(name: str, write) -> None:
    path = write(gzip.compress(tiny(name), 0)[:-20])
    with pytest.raises(FormatError, match="cut off"):
        records(path, [])


@every_case
def test_a_file_cut_off_in_its_last_record_is_refused(name: str, write) -> None:
    path = write(tiny(name).rstrip()[: -CASES[name].cut])
    with pytest.raises(FormatError) as caught:
        records(path)
    assert caught.value.line is not None


@every_case
def test_a_second_record_of_an_id(name: str, write, tmp_path: Path) -> None:
    case = CASES[name]
    if case.duplicate is None:
        assert case.joined is not None
        id, names = case.joined
        kb = build_from_files(tmp_path / "a.kb", [DATA / case.file])
        assert tuple(name.text for name in kb[id].names) == names
        return
    path = write(tiny(name, case.duplicate))
    with pytest.raises(FormatError, match="second"):
        records(path)
    kb = build_from_files(tmp_path / "a.kb", [path], BuildOptions("a", lenient=True))
    assert [name.text for name in kb[case.first.id].names] == [*(name.text for name in case.first.names), "Illness"]
    assert (kb.manifest.counts.merged, kb.manifest.counts.problems) == (case.merged, 1)


@every_case
def test_builds_with_a_cycle_a_missing_parent_and_retired_ids(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    kb = build_from_files(tmp_path / "a.kb", [DATA / case.file], **case.options)
    assert set(kb) == case.ids
    assert {id: kb.descendants(id) for id in case.under} == case.under
    child, parents = case.parents
    assert kb[child].parents == parents
    assert kb.manifest.counts.missing_parents == case.missing
    assert {old: kb.resolve(old) for old in case.retired} == case.retired


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"PK\x03\x04" + bytes(50), "zip"),
        (bytes(range(256)) * 4, "binary"),
        (tarred(b"id\tname\n"), "is a tar archive: unpack it first"),
        (gzip.compress(tarred(b"id\tname\n")), "is a tar archive: unpack it first"),
        ("id\tname\n".encode("utf-16"), "UTF-16"),
        (b"Dear all, please find enclosed our terms.\n", "no format|expected"),
    ],
)
def test_what_is_no_source_is_refused_in_one_line(data: bytes, why: str, write) -> None:
    with pytest.raises(FormatError, match=why) as caught:
        records(write(data))
    assert "\n" not in str(caught.value)


def test_missing_file_folder_and_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="No such file"):
        reader_for(tmp_path / "no")
    with pytest.raises(FormatError, match="directory"):
        reader_for(tmp_path)
    with pytest.raises(UsageError, match=r"obo, .*jsonl, .*table"):
        reader_for(tmp_path, "no such")
