"""The page of a report in headless Chromium: what a reader sees, does with mouse and keyboard, and what leaves it."""

import pytest
from browser_cases import CONTRAST, browser  # noqa: F401, the fixture
from report_cases import AFTER, BEFORE, HOSTILE, hostile_values, made_values, report

from nomina.evaluation.render_html import html

pytestmark = pytest.mark.extras

PAGE = 20

# The height of letters on the screen, also of those that are turned.
SIZES = """(all) => all.map((each) => {
  const { a, b } = each.getScreenCTM();
  return parseFloat(getComputedStyle(each).fontSize) * Math.hypot(a, b);
})"""


@pytest.fixture
def opened(browser, tmp_path):  # noqa: F811
    """Opens a report as a file in a page of its own; all pages must be silent and ask for nothing but themselves."""
    pages, noises = [], []

    def open_page(values, **options):
        path = tmp_path / f"report{len(pages)}.html"
        path.write_text(html(report(values)), encoding="utf-8")
        page = browser.new_context(**options).new_page()
        page.on("console", lambda message: noises.append(message.text))
        page.on("pageerror", lambda error: noises.append(str(error)))
        page.on("request", lambda request: request.url == path.as_uri() or noises.append(request.url))
        page.goto(path.as_uri(), wait_until="load")
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.context.close()
    assert noises == []


def errors_of(page):
    """Mention and badges of each error that is shown."""
    return page.eval_on_selector_all(
        "#list > li",
        "items => items.map((item) => [item.querySelector('h4').textContent,"
        " ...[...item.querySelectorAll('.badge')].map((badge) => badge.textContent)])",
    )


def mentions(page):
    return [error[0] for error in errors_of(page)]


def status(page):
    return page.text_content("#status")


def wait_for(page, count):
    """Until so many errors are shown: the text is looked for when the typing pauses."""
    from playwright.sync_api import expect

    expect(page.locator("#list > li")).to_have_count(count)


def choose(page, name, label):
    """Choose what begins with the label; the rest of an option is its count."""
    options = page.eval_on_selector_all(f"#{name} option", "all => all.map((each) => each.textContent)")
    page.select_option(f"#{name}", label=next(each for each in options if each.startswith(label)))


def test_an_error_shows_context_gold_and_candidates(opened):
    page = opened(made_values(45))
    assert status(page) == "Errors 1 to 20 of 45"
    assert errors_of(page)[0] == ["colon tumours", "wrong", "gold at rank 2"]
    first = page.locator("#list > li").first
    assert first.locator(".where").text_content().startswith("9000000, ")
    assert first.locator("mark").text_content() == "colon tumours"
    assert first.locator(".context").text_content() == f"…{BEFORE}colon tumours{AFTER}…"
    assert first.locator(".gold").text_content() == "GoldD000000 Colonic Neoplasms"
    rows = first.locator("tbody tr")
    assert rows.count() == 5
    assert rows.nth(0).locator("td").all_text_contents() == [
        "1", "D900000 Colorectal Neoplasms, type 1", "colorectal tumor 1", "embedding", "0.93",
    ]  # fmt: skip
    assert rows.nth(1).get_attribute("class") == "right"
    assert rows.nth(1).locator("td").nth(1).text_content() == "D000000 Colonic Neoplasms ✓ gold"
    assert first.locator(".tags").text_content() == "Disease · single word"


def test_a_gold_id_written_otherwise_is_marked_by_its_rank_and_nil_has_no_concept(opened):
    values = made_values(2)
    values["errors"][0]["gold"] = [[{"id": "MESH:D000000", "name": None}], [{"id": "D1", "name": "Other"}]]
    values["errors"][1] |= {"gold": [], "kind": "nil", "rank_of_gold": None}
    page = opened(values)
    items = page.locator("#list > li")
    assert items.nth(0).locator("tr.right td").first.text_content() == "2"
    assert items.nth(0).locator(".gold").text_content() == "Gold, part 1MESH:D000000 Gold, part 2D1 Other"
    assert errors_of(page)[1] == ["APC", "nil", "has no concept"]
    assert items.nth(1).locator("tr.right").count() == 0


def test_filters_by_kind_type_stratum_and_text(opened):
    values = made_values(45)
    errors = values["errors"]
    page = opened(values)

    def expected(fits):
        return [error["mention"] for error in errors if fits(error)][:PAGE]

    choose(page, "kind", "abstained")
    assert mentions(page) == expected(lambda error: error["kind"] == "abstained")
    assert status(page) == "Errors 1 to 10 of 10, of 45 in all"
    choose(page, "stratum", "single word")
    assert mentions(page) == expected(lambda e: e["kind"] == "abstained" and "single word" in e["strata"])
    page.click("#reset")
    assert status(page) == "Errors 1 to 20 of 45"
    choose(page, "type", "Chemical")
    assert mentions(page) == ["MI"] * 8 + ["MI 43"]
    page.click("#reset")
    page.fill("#text", "COLORECTAL hereditary D000012")
    wait_for(page, 1)
    assert mentions(page) == [errors[12]["mention"]]
    page.fill("#text", "no such words")
    wait_for(page, 0)
    assert status(page) == "No error fits these filters."


def test_choices_show_how_many_errors_they_have(opened):
    page = opened(made_values(45))
    assert page.locator("#kind option").all_text_contents() == [
        "all kinds", "wrong (30)", "abstained (10)", "missing (5)",
    ]  # fmt: skip
    assert page.locator("#type option").all_text_contents() == ["all types", "Disease (36)", "Chemical (9)"]


def test_strata_are_chosen_by_their_groups_and_tell_what_a_similarity_is(opened):
    values = made_values(2)
    values["errors"][0]["strata"] += ["unseen concept", "0.2-0.4"]
    page = opened(values)
    offered = page.eval_on_selector_all(
        "#stratum optgroup",
        "all => all.map((each) => [each.label, ...[...each.children].map((option) => option.textContent)])",
    )
    assert offered == [
        [
            "Sub-populations (GenBioEL, table 8)",
            "overall (2)",
            "single word (1)",
            "multi-word (1)",
            "unseen concept (1)",
        ],
        ["Seen in training", "unseen concept (1)"],
        ["Similarity to the nearest gold name (TF-IDF)", "0.2-0.4 (1)"],
    ]
    choose(page, "stratum", "0.2-0.4")
    assert mentions(page) == ["colon tumours"]
    assert page.text_content(".tags") == "Disease · single word · unseen concept · similarity 0.2-0.4"


def test_context_that_is_whole_has_no_dots(opened):
    values = made_values(2)
    values["errors"][0] |= {"start": 2, "end": 5, "context_before": "𝐀 ", "mention": "MI", "context_after": "."}
    page = opened(values)
    assert page.locator(".context").all_text_contents() == ["𝐀 MI.", f"…{BEFORE}APC{AFTER}…"]


def test_a_choice_without_values_is_not_offered(opened):
    values = made_values(3)
    for system in values["systems"]:
        system["strata"] = []
    for error in values["errors"]:
        error["strata"] = []
    page = opened(values)
    assert not page.is_visible("#type")
    assert not page.is_visible("#stratum")
    assert page.is_visible("#kind")


def test_repeats_are_shown_once_and_counted(opened):
    values = made_values(6)
    for error in values["errors"][3:]:
        error |= {"mention": "APC", "gold": values["errors"][1]["gold"]}
    page = opened(values)
    assert errors_of(page)[1] == ["APC", "wrong", "gold at rank 4", "4 times"]
    page.check("#once")
    assert mentions(page) == ["colon tumours", "APC", "hereditary nonpolyposis colorectal cancer"]


def test_pages_by_buttons(opened):
    page = opened(made_values(45))
    top = page.locator(".pager").first
    assert top.locator("button:disabled").all_text_contents() == ["First", "Previous"]
    top.get_by_text("Next").click()
    assert status(page) == "Errors 21 to 40 of 45"
    assert page.evaluate("document.activeElement.textContent") == "Next"
    top.get_by_text("Last").click()
    assert status(page) == "Errors 41 to 45 of 45"
    assert top.locator("button:disabled").all_text_contents() == ["Next", "Last"]
    choose(page, "kind", "missing")
    assert not top.is_visible()


def test_the_list_is_walked_with_the_keyboard(opened):
    page = opened(made_values(45))
    focused = "[...document.querySelectorAll('#list > li')].indexOf(document.activeElement)"
    page.locator("#list > li").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) == 1
    page.keyboard.press("End")
    assert page.evaluate(focused) == PAGE - 1
    page.keyboard.press("ArrowDown")
    assert (status(page), page.evaluate(focused)) == ("Errors 21 to 40 of 45", 0)
    page.keyboard.press("ArrowUp")
    assert (status(page), page.evaluate(focused)) == ("Errors 1 to 20 of 45", PAGE - 1)
    page.keyboard.press("Home")
    page.keyboard.press("ArrowUp")
    assert (status(page), page.evaluate(focused)) == ("Errors 1 to 20 of 45", 0)


def test_everything_is_reached_by_tab_with_one_stop_in_the_list(opened):
    page = opened(made_values(45))
    page.focus("#text")
    stops = []
    for _ in range(10):
        page.keyboard.press("Tab")
        stops.append(page.evaluate("document.activeElement.id || document.activeElement.localName"))
    assert stops[:5] == ["kind", "stratum", "type", "once", "reset"]
    assert stops[5:9] == ["button", "button", "li", "button"]  # Next and Last, the list, Next again


def test_texts_of_users_stay_texts(opened):
    page = opened(hostile_values())
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, b").count() == 0
    first = page.locator("#list > li").first
    assert first.locator("h4").text_content() == HOSTILE
    assert first.locator(".context").text_content() == f"…{HOSTILE * 3}…"
    assert HOSTILE in first.locator("tbody td").nth(1).text_content()
    assert page.locator("#type option").all_text_contents()[1:] == ["Disease (2)", f"{HOSTILE} (1)"]
    choose(page, "type", HOSTILE)
    assert mentions(page) == [HOSTILE]
    page.fill("#text", '"quoted" | pipe')
    wait_for(page, 1)


def test_the_policy_stops_what_a_page_would_fetch(browser, tmp_path):  # noqa: F811
    path = tmp_path / "report.html"
    path.write_text(html(report(made_values(1))), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    refused = page.evaluate(
        "() => fetch('https://example.invalid/').then(() => 'sent', (error) => error.constructor.name)"
    )
    assert refused == "TypeError"
    violated = page.evaluate(
        "() => new Promise((done) => {"
        " document.addEventListener('securitypolicyviolation', (event) => done(event.effectiveDirective));"
        " document.body.append(Object.assign(new Image(), { src: 'https://example.invalid/x.png' })); })"
    )
    assert violated == "img-src"
    page.close()


def test_ten_thousand_errors_open_in_two_seconds_and_answer_at_once(opened):
    values = made_values(10_000)
    page = opened(values)
    times = []
    for _ in range(3):  # the machine may be busy: the best time is the page's own
        page.reload(wait_until="load")
        times.append(page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd"))
    assert 0 < min(times) < 2000
    assert status(page) == "Errors 1 to 20 of 10,000"
    searched = page.evaluate(
        "() => { const start = performance.now(), kind = document.getElementById('kind');"
        " document.getElementById('text').value = 'hereditary 9987'; kind.dispatchEvent(new Event('change'));"
        " return performance.now() - start; }"
    )
    assert status(page) == "Errors 1 to 1 of 1, of 10,000 in all"
    assert searched < 1000


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_the_page_fits_its_window_and_can_be_read(opened, width, scheme):
    page = opened(made_values(45), viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (dark == "rgb(255, 255, 255)") == (scheme == "light")
    page.locator("summary").click()
    assert page.evaluate(CONTRAST) == []
    sizes = page.eval_on_selector_all("figure svg text", SIZES)
    assert min(sizes) > 9


def test_long_names_do_not_widen_the_page(opened):
    values = hostile_values()
    values["systems"][0]["name"] = values["errors"][0]["mention"] = "x" * 300
    page = opened(values, viewport={"width": 360, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_without_a_script_there_are_tables_and_figures(opened):
    page = opened(made_values(45), java_script_enabled=False)
    assert page.locator("section").count() == 7
    assert page.get_by_text("The list of errors needs JavaScript").is_visible()
    assert not page.is_visible("#browser")
    assert page.locator("#result svg").is_visible()
    assert page.get_by_role("table", name="Primary figure").is_visible()


def test_a_screen_reader_finds_figures_tables_and_controls_by_name(opened):
    page = opened(made_values(45))
    assert page.get_by_role("img", name="Risk-coverage curves").count() == 1
    assert page.get_by_role("table", name="Paired comparisons").count() == 1
    assert page.get_by_role("searchbox", name="Text, id or name").count() == 1
    assert page.get_by_role("combobox", name="Stratum").count() == 1
    assert page.get_by_role("checkbox", name="Repeats only once").count() == 1
    assert page.get_by_role("heading", level=4, name="colon tumours").count() == 4


def test_paper_shows_all_tables_and_no_controls(opened):
    page = opened(made_values(45))
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.get_by_role("table", name="Seen in training").is_visible()
    assert not page.is_visible(".filters")
    assert not page.is_visible("header nav")
