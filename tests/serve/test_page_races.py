"""The review page where answers are late, come in another order than they were asked for, or not at all."""

import json

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from browser_cases import browser  # noqa: F401, the fixture
from page_cases import SAID, add, hold, holds, let, marks, press, problem, saved, shows, words, work

from nomina.corpora import read_corpus

pytestmark = pytest.mark.extras

TEXT = "Ataxia and seizure, fits."
TWO = '{"id": "a", "text": "Ataxia and seizure."}\n{"id": "b", "text": "Fit."}'


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
