"""AskAPatient, TwADR-L and COMETA."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from nomina.corpora import corpus_format, read_corpus
from nomina.corpora.askapatient import sniff
from nomina.errors import FormatError, UsageError
from nomina.types import Document, Mention

BENCHMARKS = Path(__file__).parents[3] / "shared" / "benchmarks"
real = pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="needs the benchmarks beside the checkout")

COLUMNS = (
    "ID", "Term", "General SNOMED Label", "General SNOMED ID", "Specific SNOMED Label", "Specific SNOMED ID",
    "Example", "Subreddit",
)  # fmt: skip


def file(tmp_path: Path, data: str | bytes) -> Path:
    path = tmp_path / "corpus"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"22298006\tMI\theart attack\n", True),
        (b"C0027051\tMI\theart attack", True),
        (b"\n22298006\tMI\theart attack\r\n\r\n55300003\tCramp\tcramps\r\n", True),
        (b"id\tlabel\tphrase\n22298006\tMI\theart attack\n", False),
        (b"22298006\tMI\n", False),
        (b"22298006\tMI\theart attack\tmore\n", False),
        (b"22298006\tMI\theart attack\nDear all,\n", False),
        (b"227508\t0\t8\tNaloxone\tChemical\tD009270\n", False),
        (b"\n\n", False),
    ],
)
def test_folds_are_known_by_their_lines(head: bytes, expected: bool) -> None:
    assert sniff(head) is expected


def test_lines_of_both_encodings(tmp_path: Path) -> None:
    data = "83901003\tSjögren\tSjögren's\n".encode("latin-1") + "83901003\tSjögren\tdry – eyes\n".encode()
    assert [d.text for d in read_corpus(file(tmp_path, data))] == ["Sjögren's", "dry – eyes"]


@pytest.mark.parametrize("line", ["1\tMI", "10000\tMI\t", "\tMI\tx", "10000\tMI\tx\ty"])
def test_lines_that_are_none_of_a_fold(tmp_path: Path, line: str) -> None:
    path = file(tmp_path, f"22298006\tMI\theart attack\n{line}\n")
    with pytest.raises(FormatError) as caught:
        list(read_corpus(path, "askapatient"))
    assert caught.value.line == 2
    faults: list[FormatError] = []
    assert [d.id for d in read_corpus(path, "askapatient", skip=faults.append)] == ["1"]
    assert [fault.line for fault in faults] == [2]


def cometa(tmp_path: Path, *rows: tuple[str, str]) -> Path:
    """Rows of term and example, numbered."""
    lines = [
        "\t".join((str(i), term, "Label", "100", "Finer", "200", example, "sub"))
        for i, (term, example) in enumerate(rows)
    ]
    return file(tmp_path, "\n".join(("\t".join(COLUMNS), *lines)) + "\n")


@pytest.mark.parametrize(
    ("term", "example", "start", "text"),
    [
        ("oxy", "No OxyContin but oxy .", 17, "oxy"),
        ("oxy", "No OxyContin .", 3, "Oxy"),
        ("Crohn ' s", "with crohn ' s disease", 5, "crohn ' s"),
        ("C++ (x)", "is C++ (x) here, C++ (x)", 3, "C++ (x)"),
        ("ß", "SS and ß", 7, "ß"),
        ("fever", "cold", 0, "fever"),
        ("fever", "", 0, "fever"),
    ],
)
def test_a_term_is_found_in_its_example(tmp_path: Path, term: str, example: str, start: int, text: str) -> None:
    dropped: Counter[str] = Counter()
    (document,) = read_corpus(cometa(tmp_path, (term, example)), dropped=dropped)
    missing = text == "fever"
    assert document == Document(
        "0",
        term if missing else example,
        (Mention(((start, start + len(text)),), text, None, (("100",),)),),
    )
    assert dropped["examples without their term"] == missing


def test_levels(tmp_path: Path) -> None:
    path = cometa(tmp_path, ("fever", "a fever"))
    assert corpus_format(path)[0] == "cometa"
    (document,) = read_corpus(path, options={"level": "specific"})
    assert document.mentions[0].gold == (("200",),)
    with pytest.raises(UsageError, match="general or specific, not 'finest'"):
        list(read_corpus(path, options={"level": "finest"}))


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("ID\tTerm\tGeneral SNOMED Label\tx\n", 1, "has no column 'Example'"),
        ("\t".join(COLUMNS) + "\n1\tfever\n", 2, "2 columns where the first line has 8"),
        ("\t".join(COLUMNS) + "\n1\t\tL\t100\tL\t200\te\ts\n", 2, "without id, term or concept"),
        ("\t".join(COLUMNS) + "\n1\ta\tL\t\tL\t200\te\ts\n", 2, "without id, term or concept"),
        ("\t".join(COLUMNS) + "\n" + "1\ta\tL\t1\tL\t2\ta\ts\n1\tb\tL\t1\tL\t2\tb\ts\n", 3, "another document with"),
    ],
)
def test_faults_of_cometa(tmp_path: Path, text: str, line: int, why: str) -> None:
    with pytest.raises(FormatError, match=why) as caught:
        list(read_corpus(file(tmp_path, text)))
    assert caught.value.line == line


@pytest.mark.slow
@real
def test_counts_of_askapatient() -> None:
    totals: Counter[str] = Counter()
    for path in (BENCHMARKS / "askapatient").glob("*.txt"):
        assert corpus_format(path)[0] == "askapatient"
        totals[path.name.split(".")[2]] += sum(1 for _ in read_corpus(path))
    assert {split: count / 10 for split, count in totals.items()} == {
        "train": 15_665.2, "validation": 792.6, "test": 866.2,
    }  # fmt: skip


@pytest.mark.slow
@real
@pytest.mark.parametrize(("split", "count"), [("train", 13_489), ("dev", 2_176), ("test", 4_350)])
def test_counts_of_cometa(split: str, count: int) -> None:
    dropped: Counter[str] = Counter()
    found = list(read_corpus(BENCHMARKS / "cometa" / "stratified_general" / f"{split}.csv", dropped=dropped))
    assert len(found) == len({document.id for document in found}) == count
    assert dropped["examples without their term"] == 0
    assert all(d.text[slice(*d.mentions[0].spans[0])] == d.mentions[0].text for d in found)
