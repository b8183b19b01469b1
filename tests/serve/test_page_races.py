"""The review page where answers are late, come in another order than they were asked for, or not at all."""

import json

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from browser_cases import browser  # noqa: F401, the fixture
from page_cases import (
    DROP,
    SAID,
    add,
    hold,
    holds,
    is_asked_when_left,
    let,
    marks,
    press,
    problem,
    saved,
    says,
    shows,
    state,
    words,
    work,
)

from nomina.corpora import read_corpus

pytestmark = pytest.mark.extras

TEXT = "Ataxia and seizure, fits."
TWO = '{"id": "a", "text": "Ataxia and seizure."}\n{"id": "b", "text": "Fit."}'


def in_conflict(opened, project):
    """A page whose annotator has decided what another one has decided meanwhile."""
    anna = work(opened, project, "anna")
    add(anna, TWO)
    ben = work(opened, project, "ben")
    ben.wait_for_selector("mark")
    press(anna, "a")
    saved(anna)
    press(ben, "x")
    ben.wait_for_selector("#conflict", state="visible")
    return ben


@pytest.mark.parametrize("second", ["#take-theirs", "#keep-mine"])
def test_a_conflict_that_is_settled_twice_loses_nothing(opened, project, second):
    page = in_conflict(opened, project)
    hold(page, "documents/1?")
    page.click("#take-theirs")
    page.click(second)
    holds(page, 2)
    page.focus("#query")
    let(page)
    let(page, 1)
    page.keyboard.type("u")
    assert page.input_value("#query") == "u"
    assert state(page).startswith("decided: A:4")
    press(page, "u")
    saved(page)
    assert state(page).startswith("decided: no concept")


def test_a_conflict_is_settled_where_it_was_and_another_document_stays_open(opened, project):
    page = in_conflict(opened, project)
    hold(page, "documents/1?")
    page.click("#keep-mine")
    holds(page)
    page.select_option("#document", label="b")
    shows(page, "Fit.")
    let(page)
    saved(page)
    assert page.text_content("#text") == "Fit."
    assert [each.mentions[0].gold for each in read_corpus(project.project) if each.mentions] == [(("-1",),)]


def test_what_is_shown_is_what_is_decided_of_when_documents_are_chosen_quickly(opened, project):
    anna = work(opened, project, "anna")
    add(anna, TWO)
    ben = work(opened, project, "ben")
    ben.wait_for_selector("mark")
    press(anna, "d")
    saved(anna)
    hold(ben, "documents/")
    for label in ("b", "a", "b"):
        ben.select_option("#document", label=label)
    holds(ben, 3)
    let(ben, 1)
    press(ben, "x")
    holds(ben, 4)
    let(ben, 3)
    ben.wait_for_selector("#conflict", state="visible")
    assert (marks(ben), words(ben)) == (["Ataxia", "seizure"], "Ataxia")


def test_a_document_that_is_added_while_the_list_is_read_stays(opened, project):
    page = work(opened, project, "anna")
    add(page, json.dumps({"id": "a", "text": "Ataxia."}))
    hold(page, "project?")
    page.click("#uncertain")
    holds(page)
    add(page, json.dumps({"id": "b", "text": "Fit."}))
    page.select_option("#document", label="b")
    shows(page, "Fit.")
    let(page)
    press(page, "x")
    saved(page)
    assert page.locator("#document option").all_text_contents() == ["a", "b"]
    assert words(page) == "Fit"


def test_what_is_decided_while_something_is_refused_is_saved(opened, project):
    page = work(opened, project, "anna")
    add(page, TEXT)
    page.route("**/changes", lambda route: route.fulfill(status=422, json={"error": "no such thing"}), times=1)
    hold(page, "changes")
    press(page, "a", "x")
    holds(page)
    let(page)
    holds(page, 2)
    let(page, 1)
    saved(page)
    assert not page.is_visible("#problem")
    assert next(iter(read_corpus(project.project))).mentions[0].gold == (("-1",),)


def test_an_answer_that_breaks_off_is_no_answer(opened, project):
    page = work(opened, project, "anna")
    add(page, TEXT)
    page.route("**/changes", lambda route: route.fulfill(status=200, body='{"revi'), times=1)
    press(page, "a")
    page.wait_for_function("() => document.getElementById('problem').textContent.startsWith('not saved yet')")
    saved(page)
    press(page, "j", "x")
    saved(page)
    golds = [mention.gold for mention in next(iter(read_corpus(project.project))).mentions]
    assert golds == [(("A:4",),), (("-1",),)]


def test_it_is_not_said_that_all_is_saved_while_another_document_is_not(opened, project):
    page = work(opened, project, "anna")
    add(page, TWO)
    hold(page, "documents/1/changes")
    press(page, "a")
    holds(page)
    page.select_option("#document", label="b")
    shows(page, "Fit.")
    page.evaluate(SAID, "saved")
    press(page, "x")
    page.wait_for_function("() => said.length >= 2")
    assert page.evaluate("said") == ["Saving …"] * 2
    let(page)
    saved(page)


def test_what_is_wrong_with_something_else_is_still_said_when_a_save_is_made_up_for(opened, project):
    page = work(opened, project, "anna")
    add(page, TEXT)
    page.route("**/changes", lambda route: route.abort())
    press(page, "a")
    saved(page, "Not saved")
    page.click("summary")
    page.fill("#paste", '{"id": 1}')
    page.click("#add button")
    page.wait_for_function("() => document.getElementById('problem').textContent.startsWith('line 1')")
    page.evaluate("() => { document.getElementById('saved').textContent = ''; }")
    page.unroute("**/changes")
    saved(page)
    assert problem(page).startswith("line 1")


def test_a_project_that_is_begun_twice_is_open_once(opened, project):
    page = opened(project)
    page.fill("#annotator", "anna")
    hold(page, "project?")
    page.dblclick("#annotator-form button")
    holds(page, 2)
    let(page)
    add(page, TEXT)
    page.route("**/changes", lambda route: route.abort())
    press(page, "a")
    saved(page, "Not saved")
    let(page, 1)
    assert state(page).startswith("decided: A:4")
    assert is_asked_when_left(page)


def test_the_document_that_is_shown_is_chosen_in_the_list_when_another_one_cannot_be_read(opened, project):
    page = work(opened, project, "anna")
    add(page, TWO)
    page.route("**/documents/2?", lambda route: route.fulfill(status=503, json={"error": "too busy"}))
    page.select_option("#document", label="b")
    assert problem(page) == "too busy"
    assert page.locator("#document option:checked").text_content() == "a"


def test_nothing_can_be_clicked_before_the_first_document_is_there(opened, project):
    page = work(opened, project, "anna")
    hold(page, "documents/1?")
    page.fill("#paste", TEXT)
    page.click("#add button")
    holds(page)
    assert not page.is_visible("#work")
    let(page)
    says(page, "1 of 1 documents added")
    assert marks(page) == ["Ataxia", "seizure", "fits"]


def test_the_most_uncertain_document_is_not_opened_over_one_that_was_chosen_since(opened, project):
    page = work(opened, project, "anna")
    add(page, TWO + '\n{"id": "c", "text": "Seizure."}')
    hold(page, "project?")
    page.click("#uncertain")
    holds(page)
    page.select_option("#document", label="c")
    shows(page, "Seizure.")
    let(page)
    assert page.text_content("#text") == "Seizure."


def test_what_is_undone_elsewhere_leaves_the_document_that_is_open_as_it_is(opened, project):
    page = work(opened, project, "anna")
    add(page, '{"id": "a", "text": "Ataxia. Fit."}\n{"id": "b", "text": "Fit."}\n{"id": "c", "text": "Fit. Ataxia."}')
    page.route("**/documents/1/changes", lambda route: route.fulfill(status=422, json={"error": "no such thing"}))
    press(page, "j", "x")
    saved(page, "Not saved: no such thing")
    page.select_option("#document", label="b")
    shows(page, "Fit.")
    hold(page, "documents/1?")
    page.click("#undo")
    holds(page)
    page.select_option("#document", label="c")
    shows(page, "Fit. Ataxia.")
    let(page)
    says(page, "Undone")
    assert words(page) == "Fit"


def test_of_several_searches_the_last_one_is_shown(opened):
    page = opened()
    add(page, "Ataxia.")
    hold(page, "q=short")
    for typed in ("short stature", "seizure"):
        page.fill("#query", typed)
        page.press("#query", "Enter")
    holds(page)
    says(page, "found for seizure")
    let(page)
    assert "found for seizure" in page.text_content("#status")
    assert page.locator("#candidates .id").first.text_content() == "A:2"


@pytest.mark.parametrize("box", ["#query", "#paste"])
def test_letters_that_are_typed_while_a_search_is_answered_are_no_commands(opened, box):
    page = opened()
    add(page, "Ataxia.")
    page.click("summary")
    hold(page, "search?")
    page.fill("#query", "short")
    page.press("#query", "Enter")
    holds(page)
    page.focus(box)
    page.keyboard.type(" x")
    let(page)
    says(page, "concepts found for short")
    page.keyboard.type("x")
    assert page.input_value(box).endswith(" xx")
    assert state(page).startswith("not decided")


def test_a_search_that_is_left_is_over(opened):
    page = opened()
    add(page, "Ataxia.")
    hold(page, "search?")
    page.fill("#query", "short")
    page.press("#query", "Enter")
    holds(page)
    page.press("#query", "Escape")
    let(page)
    assert page.text_content("#candidates-title") == "Candidates"
    page.keyboard.press("a")
    assert state(page).startswith("decided: A:4")


def test_what_is_added_meanwhile_waits_and_each_can_be_stopped(opened):
    page = opened()
    hold(page, "Ataxia")
    page.fill("#paste", "Ataxia.")
    page.click("#add button")
    holds(page)
    page.evaluate(DROP, "Seizure.")
    page.click("#stop")
    page.focus("#paste")
    let(page)
    says(page, "1 of 1 documents added")
    assert marks(page) == ["Seizure"]
    assert not page.is_visible("#problem")
    assert not page.is_visible("#stop")
    assert page.input_value("#paste") == "Ataxia."


def test_what_is_there_already_is_stopped_too(opened, project):
    page = work(opened, project, "anna")
    add(page, TWO + '\n{"id": "c", "text": "Seizure."}')
    page.reload()
    page.wait_for_selector("mark")
    hold(page, "documents/2?")
    page.fill("#paste", TWO + '\n{"id": "c", "text": "Seizure."}')
    page.click("#add button")
    holds(page)
    page.click("#stop")
    let(page)
    says(page, "2 of 3 documents added")


def test_a_box_in_which_somebody_types_stays_open_when_a_file_is_added(opened):
    page = opened()
    page.wait_for_selector("#paste")
    hold(page, "link")
    page.evaluate(DROP, "Ataxia.")
    holds(page)
    page.focus("#paste")
    let(page)
    says(page, "1 of 1 documents added")
    page.keyboard.type("x")
    assert page.input_value("#paste") == "x"


def test_what_could_not_be_added_is_said_whatever_comes_after_it(opened, project):
    page = work(opened, project, "anna")
    add(page, '{"id": "a", "text": "Ataxia."}')
    page.route("**/unknown?", lambda route: route.abort())
    add(page, '{"id": "a", "text": "Seizure."}')
    assert problem(page).startswith("a: another document has this id")


def test_ids_that_the_kb_does_not_have_are_those_of_the_last_answer(opened, project):
    page = work(opened, project, "anna")
    add(page, TEXT)
    hold(page, "unknown?")
    page.click("#jsonl")
    holds(page)
    told = {"total": 1, "ids": {"B:1": 1}}
    page.route("**/unknown?", lambda route: route.fulfill(json=told))
    page.click("#jsonl")
    holds(page, 2)
    let(page, 1)
    page.wait_for_selector("#unknown", state="visible")
    let(page)
    assert page.is_visible("#unknown")


def test_a_service_that_does_not_answer_at_first_is_asked_again_by_a_reload(opened, served):
    page = opened()
    page.route("**/info", lambda route: route.fulfill(status=503, json={"error": "not ready"}))
    page.reload()
    assert problem(page) == "not ready: reload this page"
    page.unroute("**/info")
    page.reload()
    add(page, "Ataxia.")
    assert marks(page) == ["Ataxia"]
