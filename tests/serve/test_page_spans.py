"""New spans and splits on the review page whose answers are late."""

import json

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from browser_cases import browser  # noqa: F401, the fixture
from page_cases import SELECT, add, hold, holds, let, marks, press, problem, says, state, words

pytestmark = pytest.mark.extras


def test_a_new_span_is_made_once_and_leaves_what_is_typed_and_looked_at(opened):
    page = opened()
    add(page, "Ataxia, seizure, unknown words.")
    hold(page, "link")
    page.evaluate(SELECT, [2, 9])
    page.keyboard.type("mm")
    holds(page, 2)
    page.keyboard.press("j")
    page.click("summary")
    page.focus("#paste")
    let(page)
    let(page, 1)
    says(page, "New mention: unknown")
    page.keyboard.type("x")
    assert marks(page) == ["Ataxia", "seizure", "unknown"]
    assert page.text_content("#count").startswith("3 mentions")
    assert page.input_value("#paste") == "x"
    assert (words(page), state(page)[:11]) == ("seizure", "not decided")


def test_a_span_whose_document_is_no_longer_open_is_not_said_to_be_made(opened):
    page = opened()
    add(page, '{"id": "a", "text": "Ataxia, unknown words."}\n{"id": "b", "text": "Fit."}')
    hold(page, "link")
    page.evaluate(SELECT, [2, 9])
    page.keyboard.press("m")
    holds(page)
    page.select_option("#document", label="b")
    let(page)
    assert problem(page).startswith("nothing is changed")
    assert "New mention" not in page.text_content("#status")


def test_what_is_found_for_another_mention_stays_when_a_new_span_is_answered(opened):
    page = opened()
    add(page, "Ataxia, seizure, unknown words.")
    hold(page, "link")
    page.evaluate(SELECT, [2, 9])
    page.keyboard.press("m")
    holds(page)
    page.keyboard.press("j")
    page.fill("#query", "short stature")
    page.press("#query", "Enter")
    says(page, "concepts found")
    let(page)
    says(page, "New mention: unknown")
    assert (words(page), page.text_content("#candidates-title")) == ("seizure", "Found")
    page.keyboard.press("a")
    assert state(page).startswith("decided: A:3 Short stature")
    press(page, "j")
    assert words(page) == "unknown"


def test_a_split_that_is_asked_for_twice_is_one(opened):
    page = opened()
    add(page, json.dumps({"id": "1", "text": "Ataxia and seizure.", "mentions": [{"spans": [[0, 18]]}]}))
    hold(page, "link")
    press(page, "s", "s")
    holds(page)
    assert page.evaluate("held.length") == 1
    let(page)
    says(page, "Split into 2")
    assert marks(page) == ["Ataxia", "seizure"]
    assert not page.is_visible("#problem")
