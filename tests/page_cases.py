"""What tests do in the review page."""

import os

from browser_cases import CONTRAST, accessible

from nomina.corpora import read_corpus


def add(page, content):
    if not page.locator("#input").evaluate("each => each.open"):
        page.click("summary")
    page.evaluate("document.getElementById('status').textContent = ''")
    page.fill("#paste", content)
    page.click("#add button")
    says(page, "documents added")


def says(page, words):
    page.wait_for_function("words => document.getElementById('status').textContent.includes(words)", arg=words)


def words(page):
    return page.text_content("#words")


def state(page):
    return page.text_content("#state")


def marks(page):
    return page.locator("mark").all_text_contents()


def exported(page, button, path):
    with page.expect_download() as waiting:
        page.click(button)
    waiting.value.save_as(path)
    return list(read_corpus(path))


def press(page, *keys):
    page.locator("mark[tabindex='0']").focus()
    for key in keys:
        page.keyboard.press(key)


def looks_right(page, name, width):
    """It fits its window and can be read, by axe-core's opinion too; a picture where it is asked for."""
    if folder := os.environ.get("NOMINA_SCREENSHOTS"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(CONTRAST) == []
    assert accessible(page) == []
