"""What tests do in the review page."""

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
