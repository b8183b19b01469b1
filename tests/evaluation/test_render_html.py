"""The page of a made report, read as a browser reads it but without one: structure, figures, and nothing of others."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise

import pytest
from report_cases import HOSTILE, SYSTEMS, hostile_values, made_values, report

from nomina.evaluation.render_curves import reliability, risk_coverage
from nomina.evaluation.render_html import html
from nomina.evaluation.render_markdown import markdown
from nomina.evaluation.render_plots import MOST_STRATA, bars, drawn
from nomina.evaluation.render_svg import linear, text, ticks, widened

VOID = {"meta", "link", "input", "img", "br", "hr"}
FETCHES = {"src", "href", "data", "action", "poster", "srcset", "formaction", "xlink:href"}


class Element:
    def __init__(self, name, attributes, parent):
        self.name, self.attributes, self.parent = name, attributes, parent
        self.children, self.pieces = [], []

    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()

    def find(self, name, **attributes):
        wanted = {key.rstrip("_"): value for key, value in attributes.items()}
        return [
            each
            for each in self.walk()
            if each.name == name and all(each.attributes.get(key) == value for key, value in wanted.items())
        ]

    @property
    def text(self):
        return "".join(each for each in self.pieces if isinstance(each, str))

    def all_text(self):
        return "".join(each if isinstance(each, str) else each.all_text() for each in self.pieces)


class Tree(HTMLParser):
    """Elements of a page; a tag that closes another one than the last is a failure."""

    def __init__(self):
        super().__init__()
        self.root = self.at = Element("", {}, None)

    def handle_starttag(self, tag, attrs):
        element = Element(tag, dict(attrs), self.at)
        self.at.children.append(element)
        self.at.pieces.append(element)
        if tag not in VOID:
            self.at = element

    def handle_endtag(self, tag):
        assert tag == self.at.name, f"</{tag}> closes <{self.at.name}>"
        self.at = self.at.parent

    def handle_data(self, data):
        self.at.pieces.append(data)


def parse(page):
    tree = Tree()
    tree.feed(page)
    tree.close()
    assert tree.at is tree.root, "an element is not closed"
    return tree.root


@pytest.fixture(scope="module")
def page():
    return parse(html(report(made_values())))


@pytest.fixture(scope="module")
def hostile():
    return parse(html(report(hostile_values())))


def island(page):
    return json.loads(page.find("script", type="application/json")[0].text)


def test_the_page_holds_its_style_and_script_and_fetches_nothing(page, hostile):
    for root in (page, hostile):
        links = [value for each in root.walk() for key, value in each.attributes.items() if key in FETCHES]
        assert links
        assert all(value.startswith("#") or value == "data:," for value in links)
        (style,) = root.find("style")
        assert "url(" not in style.text
        assert "@import" not in style.text
        assert not root.find("iframe") + root.find("object") + root.find("base") + root.find("img")
        assert not [key for each in root.walk() for key in each.attributes if key.startswith("on")]


def test_the_policy_forbids_what_is_not_in_the_page(page):
    (policy,) = [each for each in page.find("meta") if each.attributes.get("http-equiv") == "Content-Security-Policy"]
    assert policy.attributes["content"].split("; ") == [
        "default-src 'none'", "style-src 'unsafe-inline'", "script-src 'unsafe-inline'", "img-src data:",
        "base-uri 'none'", "form-action 'none'",
    ]  # fmt: skip
    head = page.find("head")[0]
    names = [each.name for each in head.children]
    assert names.index("style") > head.children.index(policy)


def test_ids_are_unique_and_what_is_named_by_them_is_there(page):
    ids = [each.attributes["id"] for each in page.walk() if "id" in each.attributes]
    assert len(ids) == len(set(ids))
    for each in page.walk():
        for key in ("aria-labelledby", "aria-describedby", "for"):
            assert set((each.attributes.get(key) or "").split()) <= set(ids)
        if (each.attributes.get("href") or "").startswith("#"):
            assert each.attributes["href"][1:] in ids


def test_headings_skip_no_level_and_there_is_one_title(page):
    levels = [int(each.name[1]) for each in page.walk() if re.fullmatch(r"h[1-6]", each.name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.find("html")[0].attributes["lang"] == "en"


def test_tables_have_captions_and_headers_and_figures_names_and_descriptions(page):
    for table in page.find("table"):
        assert table.children[0].name == "caption"
        assert table.children[0].text
        assert {each.attributes["scope"] for each in table.find("th")} == {"col", "row"}
    figures = [svg for svg in page.find("svg") if svg.attributes.get("role") == "img"]
    assert len(figures) == 1 + 1 + 7 + 1 + 4  # primary, differences, groups of strata, risk, reliability of each system
    for svg in figures:
        assert [each.name for each in svg.children[:2]] == ["title", "desc"]
        assert svg.children[0].text
        assert svg.children[1].text
    hidden = [svg for svg in page.find("svg") if svg not in figures]
    assert all(svg.attributes["aria-hidden"] == "true" for svg in hidden)


def test_controls_have_labels(page):
    labels = {each.attributes["for"] for each in page.find("label")}
    controls = page.find("input") + page.find("select")
    assert {each.attributes["id"] for each in controls} == labels
    assert len(controls) == 5


def rows_of(page, title):
    (table,) = [each for each in page.find("table") if each.children[0].text == title]
    return [[cell.all_text() for cell in row.children] for row in table.find("tr")]


def test_the_tables_hold_the_figures_without_a_script(page):
    assert rows_of(page, "Primary figure")[1] == ["resnet-cnn", "84.12", "[81.0, 87.0]"]
    assert rows_of(page, "Any")[:2] == [
        ["System", "@1", "@5", "@10", "@20"],
        ["resnet-cnn", "84.12[81.0, 87.0]", "92.12[89.1, 94.1]", "94.12", "96.12"],
    ]
    assert rows_of(page, "Seen in training")[0] == ["Stratum", "Mentions", *SYSTEMS]
    assert [row[0] for row in rows_of(page, "Seen in training")[1:]] == [
        "seen mention", "seen concept, new mention", "unseen concept",
    ]  # fmt: skip
    assert rows_of(page, "Errors by kind")[1:] == [["wrong", "30"], ["abstained", "10"], ["missing", "5"]]
    (headline,) = page.find("p", class_="headline")
    assert headline.all_text() == (
        "84.12%acc@1 any of resnet-cnn; 95% interval 81.0 to 87.0; 960 mentions in 100 documents"
    )


def test_warnings_stand_before_the_figures(page):
    (warning,) = page.find("div", class_="warning")
    texts = [each.all_text() for each in warning.children]
    assert texts == ["Warning. 2 of 960 mentions have no prediction: they count as wrong"]


def test_the_errors_are_in_the_page_as_they_are_in_the_report(page, hostile):
    assert island(page)["errors"] == made_values()["errors"]
    assert island(page)["groups"][1] == {
        "key": "seen",
        "title": "Seen in training",
        "names": ["seen mention", "seen concept, new mention", "unseen concept"],
    }
    assert island(hostile)["errors"] == hostile_values()["errors"]
    assert island(hostile)["groups"][-1]["names"] == ["Disease", "Chemical", HOSTILE]


def test_texts_of_users_stay_texts(hostile):
    assert not hostile.find("b")
    assert len(hostile.find("script")) == 2
    assert hostile.find("title")[0].text == f"{HOSTILE} on {HOSTILE}, clean-kb"
    assert rows_of(hostile, "Primary figure")[1][0] == HOSTILE
    assert any(row[0] == f"left out: {HOSTILE}" for row in rows_of(hostile, "Corpus and knowledge base"))


def test_half_a_surrogate_pair_does_not_stop_the_page_from_being_written():
    made = report(made_values(1))
    odd = replace(made, made=replace(made.made, command="nomina evaluate \udcff.jsonl"))
    assert "nomina evaluate ?.jsonl" in html(odd)
    assert "nomina evaluate ?.jsonl" in markdown(odd)


def test_parts_that_a_report_lacks_are_left_out():
    values = made_values(0) | {"comparisons": [], "kb": None, "train": None, "warnings": []}
    values["systems"] = values["systems"][:1]
    values["systems"][0] |= {"strata": [], "nil": None, "risk_coverage": [], "aurc": None, "reliability": []}
    page = parse(html(report(values)))
    assert [each.attributes["id"] for each in page.find("section")] == ["result", "accuracy", "corpus"]
    assert [each.text for each in page.find("nav")[0].find("a")] == ["Result", "Accuracy", "Corpus"]
    assert not page.find("div", class_="warning")
    assert page.find("script")[1].text.strip() == ""


def test_bars_are_as_long_as_their_figures():
    values = made_values(0)
    for system, value in zip(values["systems"], (1.0, 0.25, None, 0.0), strict=True):
        part = {"group": "form", "name": "composite", "count": 7, "value": value, "interval": None}
        system["strata"] = [part | {"interval": [0.125, 0.5]} if value == 0.25 else part]
    svg = parse(bars(report(values), "form", "f"))
    assert [float(each.attributes["width"]) for each in svg.find("rect")] == [320, 80, 1]  # zero is still seen
    assert [float(each.attributes["y"]) for each in svg.find("rect")] == [15, 27, 51]
    whisker = svg.find("line", class_="whisker ink")
    assert [(each.attributes["x1"], each.attributes["x2"]) for each in whisker] == [
        ("40", "160"), ("40", "40"), ("160", "160"),
    ]  # fmt: skip
    assert [each.text for each in svg.find("text")] == [
        "0", "25", "50", "75", "100", "composite", "n = 7", "100.0", "25.0", "–", "0.0",
    ]  # fmt: skip
    assert [each.text for each in svg.find("title")[1:]] == [
        "resnet-cnn: 100.0", "exact match: 25.0 [12.5, 50.0]", "TF-IDF 3-grams: 0.0",
    ]  # fmt: skip


def test_of_many_strata_the_largest_are_drawn_and_the_page_says_so():
    values = made_values(0)
    for system in values["systems"]:
        system["strata"] = [
            {"group": "type", "name": f"T{i}", "count": i, "value": None if i == 19 else 0.5, "interval": None}
            for i in range(20)
        ]
    made = report(values)
    assert drawn(made, "type") == [f"T{i}" for i in range(7, 19)]
    assert len(drawn(made, "type")) == MOST_STRATA
    page = parse(html(made))
    (caption,) = [each.text for each in page.find("figcaption") if each.text.startswith("Type")]
    assert caption == "Type of the mention (the 12 largest of 20)"
    assert len(rows_of(page, "Type of the mention")) == 21


def test_a_group_without_any_figure_has_no_plot():
    values = made_values(0)
    for system in values["systems"]:
        system["strata"] = [{"group": "form", "name": "composite", "count": 3, "value": None, "interval": None}]
    page = parse(html(report(values)))
    assert not page.find("div", class_="columns")[0].children
    assert rows_of(page, "Form of the mention")[1] == ["composite", "3", "–", "–", "–", "–"]


def points(svg):
    return [
        [tuple(map(float, pair.split(","))) for pair in each.attributes["points"].split()]
        for each in svg.find("polyline")
    ]


def test_risk_coverage_curves_end_where_everything_is_answered():
    values = made_values(0)
    values["systems"] = values["systems"][:2]
    values["systems"][0]["risk_coverage"] = [[0.5, 0.0], [1.0, 0.4]]
    values["systems"][1]["risk_coverage"] = [[i / 1000, 0.2] for i in range(1, 1001)]
    few, many = points(parse(risk_coverage(report(values))))
    assert few == [(194, 226), (350, 10)]  # x: 38 to 350; y: 226 is no risk, 10 the top of the axis, 40 %
    assert len(many) == 200
    assert many[-1] == (350, 118)


def test_a_reliability_diagram_has_its_counts_and_the_diagonal_only_for_shares():
    values = made_values(0)
    values["systems"][0]["reliability"] = [[0.25, 0.5, 12], [1.0, 1.0, 48]]
    svg = parse(reliability(report(values).systems[0], 0))
    assert points(svg) == [[(116, 118), (350, 10)]]
    assert [float(each.attributes["height"]) for each in svg.find("rect")] == [10, 40]
    assert [each.text for each in svg.find("text", class_="tick")][-2:] == ["12", "48"]
    assert len(svg.find("line", class_="ideal")) == 1
    values["systems"][0]["reliability"] = [[-3.2, 0.0, 1], [1.9, 1.0, 1]]
    scores = parse(reliability(report(values).systems[0], 0))
    assert not scores.find("line", class_="ideal")
    assert [each.text for each in scores.find("text", class_="axis")][:2] == ["Score", "Right, %"]
    assert [each.text for each in scores.find("text", class_="tick")][5:11] == ["−4", "−3", "−2", "−1", "0", "1"]


def test_one_confidence_for_all_has_a_diagram_too():
    values = made_values(0)
    values["systems"][0]["reliability"] = [[3.0, 0.5, 9]]
    svg = parse(reliability(report(values).systems[0], 0))
    assert points(svg) == [[(194, 118)]]


@pytest.mark.parametrize(
    ("low", "high", "at"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0, 0.4, [0, 0.1, 0.2, 0.3, 0.4]),
        (-0.031, 0.052, [-0.02, 0, 0.02, 0.04]),
        (0.5, 0.5, [0.5]),
        (-1234, 4321, [-1000, 0, 1000, 2000, 3000, 4000]),
    ],
)
def test_ticks_are_round_and_within(low, high, at):
    assert ticks(low, high) == pytest.approx(at)


def test_an_axis_is_widened_to_round_values_and_never_empty():
    assert widened(0.512, 0.8712) == pytest.approx((0.5, 0.9))
    low, high = widened(0.7, 0.7)
    assert low < 0.7 < high


def test_a_scale_of_one_value_points_to_the_middle():
    assert linear(2, 2, 0, 10)(2) == 5
    assert linear(0, 1, 10, 0)(0.25) == 7.5


def test_a_long_label_is_cut_and_whole_in_its_tooltip():
    label = "<" + "x" * 60
    parsed = parse(text(0, 0, label)).find("text")[0]
    assert parsed.text == "<" + "x" * 42 + "…"
    assert parsed.find("title")[0].text == label


def test_the_parts_of_the_page_are_installed_with_the_package():
    folder = files("nomina.evaluation").joinpath("page")
    assert {each.name for each in folder.iterdir()} == {"report.html", "errors.html", "report.css", "report.js"}
