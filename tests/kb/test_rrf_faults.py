"""UMLS and RxNorm files that are damaged, in another order, or large."""

from __future__ import annotations

import random
import shutil
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nomina.errors import FormatError
from nomina.kb import reader_for, rrf
from nomina.kb.build import build_from_files
from nomina.kb.rrf_files import by_concept, in_order
from nomina.types import Entity, Retired

DATA = Path(__file__).parent / "data"
UMLS = DATA / "rrf"
RXNORM = DATA / "rxnorm"


def entities(path: Path, **options: Any) -> dict[str, Entity]:
    return {record.id: record for record in rrf.read(path, **options) if isinstance(record, Entity)}


def texts(path: Path, id: str, **options: Any) -> list[str]:
    return [name.text for name in entities(path, **options)[id].names]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(UMLS, tmp_path / "META"))


# Faults


@pytest.mark.parametrize(
    ("file", "old", "new", "line", "why"),
    [
        ("MRCONSO", "|Round|0|", "|Round|", 11, r"expected 18 fields, each closed by '\|', found 17: is the line cut"),
        ("MRCONSO", "|Round|0|", "|Ro|und|0|", 11, "found 19"),
        ("MRCONSO", "|Round|", "| |", 11, "the name of the atom A0000031 is empty"),
        ("MRCONSO", "C0000003|", "|", 11, "the first field must be a concept's id, not ''"),
        ("MRCONSO", "C0000003|", "C0000003 |", 11, "the first field must be a concept's id"),
        ("MRCONSO", "A0000024", "A0000023", 5, "a second row of the atom A0000023"),
        ("MRCONSO", "Round|", "Rou\x00nd|", 11, r"control character U\+0000"),
        ("MRSTY", "|Conceptual Entity", "", 4, "expected 6 fields"),
        ("MRDEF", "|NDFRT", "", 6, "expected 8 fields"),
        ("MRREL", "|tradename_of|", "|x|tradename_of|", 8, "expected 16 fields"),
        ("MRREL", "|tradename_of|R", "|tradename_of|\x00R", 8, r"control character U\+0000"),
        ("MRCUI", "|DEL|", "|DEL", 3, "expected 7 fields"),
    ],
)
def test_faults_name_file_and_line(copy: Path, file: str, old: str, new: str, line: int, why: str) -> None:
    path = copy / f"{file}.RRF"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(FormatError, match=why) as caught:
        list(rrf.read(copy))
    assert (caught.value.path, caught.value.line) == (path, line)
    faults: list[FormatError] = []
    assert list(rrf.read(copy, skip=faults.append))
    assert {(fault.path, fault.line) for fault in faults} == {(path, line)}


def test_relations_that_are_cut_off(copy: Path) -> None:
    path = copy / "MRREL.RRF"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(FormatError, match=r"MRREL\.RRF:10: the last line is cut off"):
        list(rrf.read(copy))
    assert list(rrf.read(copy, tradenames=False)) == [
        record if record.id != "C0000005" else Entity(record.id, record.names[:1], record.definition, record.types)
        for record in rrf.read(UMLS)
        if isinstance(record, Entity)
    ] + [record for record in rrf.read(UMLS) if isinstance(record, Retired)]


def test_rows_of_relations_that_nobody_wants_are_not_looked_at(copy: Path) -> None:
    path = copy / "MRREL.RRF"
    path.write_bytes(b"what|is\x00this\xff|\n" + path.read_bytes())
    assert list(rrf.read(copy)) == list(rrf.read(UMLS))


def test_a_file_of_a_release_stands_for_those_beside_it(copy: Path, tmp_path: Path) -> None:
    whole = list(rrf.read(UMLS))
    for name in ("MRREL.RRF", "MRCUI.RRF", "MRSTY.RRF"):
        assert reader_for(copy / name) == ("rrf", rrf)
        assert list(rrf.read(copy / name)) == whole
        (tmp_path / name).write_bytes((copy / name).read_bytes())
        with pytest.raises(FormatError, match=rf"{name}: is a part of UMLS or RxNorm, without MRCONSO.RRF or RXNCONSO"):
            build_from_files(tmp_path / "a.kb", [tmp_path / name])
    (tmp_path / "RXNCONSO.RRF").write_bytes((RXNORM / "RXNCONSO.RRF").read_bytes())
    with pytest.raises(FormatError, match="without MRCONSO"):
        list(rrf.read(tmp_path / "MRREL.RRF"))


def test_names_are_known_by_their_files_name_however_long_the_first_is(tmp_path: Path) -> None:
    path = tmp_path / "MRCONSO.RRF"
    name = "a " * 40_000 + "b"
    path.write_text(f"C0000001|ENG|P|L1|PF|S1|Y|A1||||NCI|PT|C1|{name}|0|N||\n", encoding="utf-8")
    assert reader_for(path) == ("rrf", rrf)
    (record,) = rrf.read(path)
    assert (record.id, record.names[0].text) == ("C0000001", name)


# Order


@pytest.mark.parametrize("seed", range(3))
def test_any_order_of_rows_gives_the_same_concepts(copy: Path, seed: int) -> None:
    for path in copy.iterdir():
        rows = path.read_text(encoding="utf-8").splitlines(keepends=True)
        random.Random(seed).shuffle(rows)
        path.write_text("".join(rows), encoding="utf-8")

    def by_id(path: Path) -> dict[str, Any]:
        found = entities(path, parents=True)
        return {id: (set(e.names), e.name, e.definition, set(e.types), e.parents) for id, e in found.items()}

    assert list(by_id(copy)) == list(by_id(UMLS))
    assert by_id(copy) == by_id(UMLS)


def test_order_is_that_of_numbers_where_ids_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a"
    cases = {
        b"7|\n12|\n103|\n": True,
        b"103|\n12|\n7|\n": False,
        b"12|\n7|\n": False,
        b"\xef\xbb\xbf7|\n7|\n\n8|": True,
    }
    for data, ordered in cases.items():
        path.write_bytes(data)
        assert in_order(path) is ordered
    rows = [(1, ["12", "a"]), (2, ["7", "b"]), (3, ["12", "c"]), (4, ["103", "d"])]
    assert list(by_concept(rows, ordered=False)) == [
        ("7", [(2, ["7", "b"])]),
        ("12", [(1, ["12", "a"]), (3, ["12", "c"])]),
        ("103", [(4, ["103", "d"])]),
    ]


# Memory

_ROWS, _NAMES_A_CONCEPT = 200_000, 4


def _made_names() -> Iterator[str]:
    for number in range(_ROWS):
        concept, place = divmod(number, _NAMES_A_CONCEPT)
        rank = "P|L1|PF" if place == 0 else "S|L1|VO"
        text = f"made name {place} of the concept with the number {concept}"
        yield f"C{concept:07}|ENG|{rank}|S1|Y|A{number:07}||M1|D1|MSH|MH|D1|{text}|0|N|256|\n"


def _made(folder: Path) -> None:
    concepts = range(_ROWS // _NAMES_A_CONCEPT)
    files = {
        "MRCONSO": _made_names(),
        "MRSTY": (f"C{c:07}|T047|B2.2.1.2.1|Disease or Syndrome|AT{c:08}|256|\n" for c in concepts),
        "MRDEF": (f"C{c:07}|A{c * 4:07}|AT1||MSH|Definition of the concept {c}.|N|256|\n" for c in concepts),
        "MRREL": (
            f"C{c:07}|A1|AUI|RN|C{c - 1:07}|A2|AUI|tradename_of|R1||MSH|MSH|||N||\n" for c in concepts if c % 50 == 1
        ),
        "MRCUI": (f"C9{c:06}|2019AA|SY|||C{c:07}|Y|\n" for c in concepts),
    }
    for name, lines in files.items():
        with open(folder / f"{name}.RRF", "w", encoding="utf-8") as stream:
            stream.writelines(lines)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["ascending", "descending"])
def test_memory_does_not_grow_with_the_release(tmp_path: Path, order: str) -> None:
    _made(tmp_path)
    path = tmp_path / "MRCONSO.RRF"
    if order == "descending":
        rows = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(reversed(rows)), encoding="utf-8")
        del rows
    tracemalloc.start()
    try:
        concepts = names = retired = 0
        for record in rrf.read(tmp_path, types=("st21pv",)):
            concepts += isinstance(record, Entity)
            names += len(record.names) if isinstance(record, Entity) else 0
            retired += isinstance(record, Retired)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (concepts, names, retired) == (50_000, 200_000 + 1_000 * 4, 50_000)
    assert path.stat().st_size > 20_000_000
    assert peak < 4_000_000, f"{peak:,} bytes"
