"""A column of mentions, linked: lists of dicts, pandas, polars."""

import pytest

import nomina
from nomina.errors import UsageError
from nomina.frames import COLUMNS, link_frame

EXTRAS = [pytest.param(name, marks=pytest.mark.extras) for name in ("pandas", "polars")]
RECORDS = [{"id": 7, "term": "fits"}, {"id": 8, "term": None}, {"id": 9, "term": "Ataxia"}, {"id": 10, "term": "xyz"}]


@pytest.fixture(scope="module")
def pipeline(make_kb):
    kb = make_kb({"T:1": ("Seizure", "fit"), "T:2": ("Physical fitness", "fit"), "T:3": "Ataxia"})
    return nomina.load("dictionary", kb)


def made(library, records=RECORDS):
    """The records as a frame of the library, and how to read one back."""
    if library == "records":
        return records, lambda frame: frame
    module = pytest.importorskip(library)
    frame = module.DataFrame(records)
    if library == "polars":
        return frame, lambda frame: frame.to_dicts()
    return frame, lambda frame: [
        {key: None if module.isna(value) else value for key, value in record.items()}
        for record in frame.to_dict("records")
    ]


@pytest.mark.parametrize("library", ["records", *EXTRAS])
def test_one_row_each(pipeline, library):
    frame, read = made(library)
    answer = link_frame(pipeline, frame, "term")
    assert type(answer) is type(frame)
    rows = read(answer)
    assert [list(row) for row in rows] == [["id", "term", *COLUMNS]] * 4
    assert [(row["id"], row["concept_id"], row["rank"], row["ambiguous"], row["abstained"]) for row in rows] == [
        (7, "T:1", 1, True, False),
        (8, None, None, False, True),
        (9, "T:3", 1, False, False),
        (10, None, None, False, True),
    ]
    assert (rows[0]["preferred"], rows[0]["name"], rows[0]["rule"]) == ("Seizure", "fit", "inflection")
    assert rows[0]["score"] == pytest.approx(0.95)
    assert rows[1]["score"] is None
    assert read(frame) == read(made(library)[0])


@pytest.mark.parametrize("library", ["records", *EXTRAS])
def test_a_row_a_candidate(pipeline, library):
    frame, read = made(library)
    rows = read(link_frame(pipeline, frame, "term", k=5, prefix="n_"))
    assert [(row["id"], row["n_concept_id"]) for row in rows] == [
        (7, "T:1"),
        (7, "T:2"),
        (8, None),
        (9, "T:3"),
        (10, None),
    ]


@pytest.mark.extras
def test_pandas_keeps_index_and_types(pipeline):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"term": ["Ataxia", pandas.NA, float("nan")], "n": [1, 2, 3]}, index=["a", "b", "c"])
    answer = link_frame(pipeline, frame.astype({"n": "int8"}), "term")
    assert list(answer.index) == ["a", "b", "c"]
    assert [str(answer[name].dtype) for name in ("n", "score", "probability", "rank", "abstained")] == [
        "int8", "float64", "float64", "Int64", "bool",
    ]  # fmt: skip
    assert list(answer["abstained"]) == [False, True, True]


@pytest.mark.extras
@pytest.mark.parametrize("dtype", ["object", "string"])
def test_whatever_pandas_calls_missing_is_an_abstention(pipeline, dtype):
    pandas = pytest.importorskip("pandas")
    values = ["Ataxia", pandas.NA, None, float("nan"), pandas.NaT, "fits"]
    answer = link_frame(pipeline, pandas.DataFrame({"term": pandas.Series(values, dtype=dtype)}), "term")
    assert list(answer["abstained"]) == [False, True, True, True, True, False]
    assert [None if pandas.isna(id) else id for id in answer["concept_id"]] == ["T:3", *[None] * 4, "T:1"]


@pytest.mark.extras
def test_two_columns_of_one_name(pipeline):
    """They are refused where they are the mentions', and kept where they are others."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([["Ataxia", "fits", 1], ["fits", "xyz", 2]], columns=["term", "term", "n"])
    with pytest.raises(UsageError, match=r"^the frame has 2 columns 'term': give the mentions' one its own name$"):
        link_frame(pipeline, frame, "term")
    answer = link_frame(pipeline, frame.set_axis(["term", "n", "n"], axis="columns"), "term")
    assert list(answer.columns) == ["term", "n", "n", *COLUMNS]
    assert list(answer["concept_id"]) == ["T:3", "T:1"]
    assert answer["n"].to_numpy().tolist() == [["fits", 1], ["xyz", 2]]


@pytest.mark.extras
def test_a_column_that_is_all_missing(pipeline):
    polars = pytest.importorskip("polars")
    for values in ([None, None], [float("nan"), None]):
        assert link_frame(pipeline, polars.DataFrame({"term": values}), "term")["abstained"].to_list() == [True, True]


@pytest.mark.extras
def test_polars_has_the_same_types_whatever_the_values(pipeline):
    polars = pytest.importorskip("polars")
    empty = link_frame(pipeline, polars.DataFrame({"term": []}, schema={"term": str}), "term")
    nothing = link_frame(pipeline, polars.DataFrame({"term": ["xyz"]}), "term")
    assert empty.schema == nothing.schema
    assert nothing.schema["score"] == polars.Float64
    assert nothing.schema["concept_id"] == polars.String


@pytest.mark.parametrize(
    ("frame", "column", "why"),
    [
        (RECORDS, "text", "the frame has no column 'text'; there are: id, term"),
        ([{"term": "a", "score": 1}], "term", "has a column 'score' already"),
        (RECORDS, "id", r"row 0 \(from 0\) of the column 'id' is no text but int"),
        ([{"term": [1, 2]}], "term", "no text but list"),
        ("term", "term", "not str"),
        ([1], "term", "not list"),
    ],
)
def test_what_cannot_be_linked(pipeline, frame, column, why):
    with pytest.raises(UsageError, match=why):
        link_frame(pipeline, frame, column)


def test_an_empty_list_stays_empty(pipeline):
    assert link_frame(pipeline, [], "term") == []
