"""Labels of AskAPatient and COMETA as closed worlds: entries of ``column_maps``."""

from __future__ import annotations

from pathlib import Path

import pytest

from nomina.errors import FormatError
from nomina.kb import columns, reader_for
from nomina.kb.build import build_from_files

COMETA = Path(__file__).parents[1] / "corpora" / "data" / "cometa.csv"
BENCHMARKS = Path(__file__).parents[3] / "shared" / "benchmarks"
real = pytest.mark.skipif(not BENCHMARKS.exists(), reason="the benchmark data are not beside the checkout")


def names(kb) -> dict[str, list[str]]:
    return {id: [name.text for name in kb[id].names] for id in kb}


def test_labels_of_askapatient_are_names_and_phrases_are_not(tmp_path: Path) -> None:
    path = tmp_path / "fold.txt"
    path.write_text(
        "55300003\tMuscle cramp\tcramps\n55300003\tMuscle cramp\tcrampy\n"
        "22298006\tMyocardial infarction\theart attack\n"
        "55300003\tCramp\tcramps in legs\n",
        encoding="utf-8",
    )
    assert reader_for(path)[1] is columns
    kb = build_from_files(tmp_path / "a.kb", [path])
    assert names(kb) == {"55300003": ["Muscle cramp", "Cramp"], "22298006": ["Myocardial infarction"]}
    assert kb["55300003"].name == "Muscle cramp"
    assert kb.manifest.sources[0].licence == "https://creativecommons.org/licenses/by/4.0/"


def test_bytes_of_another_encoding_are_not_guessed_at(tmp_path: Path) -> None:
    path = tmp_path / "fold.txt"
    path.write_bytes("83901003\tSjögren's syndrome\tdry mouth\n".encode("latin-1"))
    with pytest.raises(FormatError, match="save the file as UTF-8") as caught:
        build_from_files(tmp_path / "a.kb", [path])
    assert caught.value.line == 1


def test_three_columns_without_an_id_are_no_folds(tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_text("Cramp\tMuscle cramp\tcramps\n", encoding="utf-8")
    assert reader_for(path)[1] is not columns


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"39211005": ["Bowel action"], "37796009": ["Migraine"], "387172005": ["Fluorouracil"]}),
        (
            {"map": "cometa_specific"},
            {"39211005": ["Bowel action"], "427419006": ["Chronic migraine"], "387172005": ["Fluorouracil"]},
        ),
    ],
)
def test_labels_of_cometa_by_level(tmp_path: Path, options: dict[str, str], expected: dict[str, list[str]]) -> None:
    assert reader_for(COMETA)[1] is columns
    kb = build_from_files(tmp_path / "a.kb", [COMETA], **options)
    assert names(kb) == expected
    assert kb.manifest.sources[0].title == "COMETA, labels"


@pytest.mark.slow
@real
@pytest.mark.parametrize(("options", "count"), [({}, 3_645), ({"map": "cometa_specific"}, 4_003)])
def test_the_concepts_of_cometa(tmp_path: Path, options: dict[str, str], count: int) -> None:
    files = sorted((BENCHMARKS / "cometa" / "stratified_general").glob("*.csv"))
    assert len(build_from_files(tmp_path / "a.kb", files, **options)) == count
