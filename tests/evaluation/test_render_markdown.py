"""A made report as Markdown, to the letter; what would be markup; what is left out where there is nothing."""

import pytest
from report_cases import HOSTILE, hostile_values, made_values, report

from nomina.evaluation.render_markdown import markdown
from nomina.evaluation.render_tables import error_places
from nomina.evaluation.render_values import count, interval, p_value, percent, with_interval, words


@pytest.fixture(scope="module")
def text():
    return markdown(report(made_values()))


def section(text: str, title: str) -> list[str]:
    """The lines under a heading."""
    after = text.split(f"## {title}\n\n", 1)[1]
    return after.split("\n\n#", 1)[0].rstrip("\n").split("\n")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def test_the_primary_figure_comes_first_with_its_interval(text):
    assert text.startswith(
        "# resnet-cnn on corpora/ncbi/test.pubtator, clean-kb\n\n"
        "> **Warning:** 2 of 960 mentions have no prediction: they count as wrong\n\n"
        "## Primary figure\n\n"
        "| System         | acc@1 any | 95% interval |\n"
        "|----------------|----------:|-------------:|\n"
        "| resnet-cnn     |     84.12 | [81.0, 87.0] |\n"
        "| exact match    |     60.00 | [56.9, 62.9] |\n"
        "| train look-up  |     51.20 | [48.1, 54.1] |\n"
        "| TF-IDF 3-grams |     75.94 | [72.8, 78.8] |\n"
    )


def test_metrics_at_1_and_5_of_every_system(text):
    lines = section(text, "Accuracy and recall at k")
    heads = (
        "System, any @1, any @5, strict @1, strict @5, expected @1, expected @5, MRR, Distinct pairs, Answered, AURC"
    )
    assert cells(lines[0]) == [*heads.split(", "), "Missing"]
    assert cells(lines[2]) == (
        "resnet-cnn, 84.12, 92.12, 82.12, 91.12, 83.12, 91.12, 87.12, 74.12, 79.12, 5.29, 2".split(", ")
    )
    assert [cells(line)[0] for line in lines[2:6]] == ["resnet-cnn", "exact match", "train look-up", "TF-IDF 3-grams"]


def test_nil_and_end_to_end(text):
    assert cells(section(text, "Mentions without a concept (NIL)")[2]) == "resnet-cnn|12|20|40.0|66.7|50.0".split("|")
    assert "Found and linked" not in text
    values = made_values()
    score = {"precision": 0.5, "recall": 0.25, "f1": 1 / 3}
    values["systems"][0]["end_to_end"] = {"mention": score, "overlap": {**score, "recall": 1.0}, "document": score}
    lines = section(markdown(report(values)), "Found and linked in raw text")
    assert [cells(line) for line in lines[2:5]] == [
        ["resnet-cnn: mention", "50.0", "25.0", "33.3"],
        ["resnet-cnn: overlap", "50.0", "100.0", "33.3"],
        ["resnet-cnn: document", "50.0", "25.0", "33.3"],
    ]


def test_comparisons_with_p_values(text):
    lines = section(text, "Paired comparisons")
    assert cells(lines[2]) == [
        "resnet-cnn − exact match", "24.12 [22.1, 26.1]", "0.001", "< 0.001", "0.012", "140", "12", "< 0.001",
    ]  # fmt: skip


def test_strata_with_counts_and_the_interval_of_the_first_system():
    values = made_values()
    for system, value in zip(values["systems"], (0.5, 0.25, None, 1.0), strict=True):
        part = {"name": "rare", "count": 1234, "value": value, "interval": [0.0, 1.0]}
        system["strata"] = [{"group": "genbioel", **part}, {"group": "own_group", **part}]
    lines = section(markdown(report(values)), "Strata")
    assert [cells(line) for line in lines[2:6]] == [
        ["Sub-populations (GenBioEL, table 8):", "", "", "", "", ""],
        ["rare", "1,234", "50.0 [0.0, 100.0]", "25.0", "–", "100.0"],
        ["Own group:", "", "", "", "", ""],
        ["rare", "1,234", "50.0 [0.0, 100.0]", "25.0", "–", "100.0"],
    ]


def test_errors_are_counted_by_kind_and_by_the_place_of_the_right_concept(text):
    assert [cells(line) for line in section(text, "Errors by kind")[2:5]] == [
        ["wrong", "30"], ["abstained", "10"], ["missing", "5"],
    ]  # fmt: skip
    assert [cells(line) for line in section(text, "Where the right concept was")[2:]] == [
        ["rank 2", "10"], ["rank 3 to 5", "10"], ["not among the candidates", "25"],
    ]  # fmt: skip


def test_a_list_of_errors_that_was_cut_says_so():
    values = made_values(3) | {"errors_total": 2000}
    assert "The first 3 of 2,000 errors." in markdown(report(values))


@pytest.mark.parametrize(
    ("rank", "place"),
    [
        (1, "rank 1 (tied or withheld)"), (2, "rank 2"), (3, "rank 3 to 5"), (5, "rank 3 to 5"), (6, "rank 6 to 10"),
        (10, "rank 6 to 10"), (11, "rank 11 or more"), (None, "not among the candidates"),
    ],
)  # fmt: skip
def test_places_of_the_right_concept(rank, place):
    values = made_values(1)
    values["errors"][0]["rank_of_gold"] = rank
    assert error_places(report(values)).rows == ((place, "1"),)


def test_what_was_measured_on(text):
    facts = dict(map(cells, section(text, "Corpus and knowledge base")[2:]))
    assert facts["mentions"] == "960"
    assert facts["mentions without a concept (NIL)"] == "12"
    assert facts["gold that the KB has"] == "98.8%"
    assert facts["gold found by rule “prefix removed”"] == "48"
    assert facts["mentions without a prediction"] == "2"
    assert facts["left out: overlapping"] == "3"
    assert facts["KB"] == "MEDIC (5d1f0c2a)"
    assert facts["KB names"] == "71,924"
    assert facts["training mentions"] == "5,134"
    made = dict(map(cells, section(text, "How this was made")[2:]))
    assert made == {"command": "nomina evaluate out.jsonl --gold test.pubtator", "seed": "13", "nomina": "0.3"}


def test_parts_that_a_report_lacks_are_left_out():
    values = made_values(0) | {"comparisons": [], "kb": None, "train": None, "dropped": {}, "warnings": []}
    values["systems"] = values["systems"][:1]
    values["systems"][0] |= {"strata": [], "nil": None}
    values["corpus"]["coverage"] = None
    text = markdown(report(values))
    assert [line for line in text.split("\n") if line.startswith("#")] == [
        "# resnet-cnn on corpora/ncbi/test.pubtator, clean-kb",
        "## Primary figure",
        "## Accuracy and recall at k",
        "## Corpus and knowledge base",
        "## How this was made",
    ]
    assert "Warning" not in text
    assert "KB" not in text


def test_what_nobody_named_is_not_shown():
    values = made_values(0)
    values["corpus"]["path"] = values["train"]["path"] = values["made"]["command"] = ""
    text = markdown(report(values))
    assert text.startswith("# resnet-cnn, clean-kb\n")
    assert not [line for line in text.split("\n") if line.startswith(("| corpus ", "| training corpus", "| command"))]


def test_a_warning_about_coverage_is_shown_once():
    values = made_values()
    values["corpus"]["coverage"]["warning"] = values["warnings"][0]
    assert markdown(report(values)).count("> **Warning:**") == 1


def test_texts_of_users_are_no_markup():
    text = markdown(report(hostile_values()))
    assert HOSTILE not in text
    escaped = '\\</script>\\<img src="https://example.invalid/x.png" onerror="window.hacked=1">'
    assert text.startswith(f'# {escaped}\\<b>bold\\</b> & "quoted" \\| pipe on ')


def test_every_row_of_a_table_has_the_cells_of_its_head_whatever_the_names():
    values = made_values()
    values["systems"][0]["name"] = "a|b\\|c\n| d `|` [x](y) ![i](j) *e*"
    for table in markdown(report(values)).split("\n\n"):
        rows = [line for line in table.split("\n") if line.startswith("|")]
        plain = [row.replace("\\\\", "").replace("\\|", "") for row in rows]
        assert len({row.count("|") for row in plain}) <= 1
    text = markdown(report(values))
    assert "a\\|b\\\\\\|c \\| d \\`\\|\\` [x]\\(y) ![i]\\(j) \\*e\\*" in text


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (percent(0.911458, 2), "91.15"),
        (percent(-0.0312), "−3.1"),
        (percent(None), "–"),
        (interval((-0.01, 1.0)), "[−1.0, 100.0]"),
        (interval(None), ""),
        (with_interval(0.5, None), "50.0"),
        (with_interval(None, (0.1, 0.2)), "–"),
        (count(1234567), "1,234,567"),
        (p_value(0.0004), "< 0.001"),
        (p_value(0.001), "0.001"),
        (p_value(1.0), "1.000"),
        (words("own_group"), "Own group"),
    ],
)
def test_figures(written, expected):
    assert written == expected
