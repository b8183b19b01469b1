"""The review page where answers are late, come in another order than they were asked for, or not at all."""

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from browser_cases import browser  # noqa: F401, the fixture
from page_cases import add, press, saved, work

from nomina.corpora import read_corpus

pytestmark = pytest.mark.extras

TEXT = "Ataxia and seizure, fits."


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
