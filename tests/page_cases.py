"""What tests do in the review page."""

import os

from browser_cases import CONTRAST, accessible

from nomina.corpora import read_corpus

# From now on the page gets answers to what has these words in its address or body only when they are let through;
# they are counted as they are asked for.
HOLD = """words => {
  const own = fetch;
  held = [];
  there = 0;
  fetch = async (...asked) => {
    const isHeld = `${asked[0]} ${asked[1]?.body}`.includes(words);
    const leave = isHeld && new Promise((go) => held.push(go));
    const answer = await own(...asked);
    there += isHeld;
    await leave;
    return answer;
  };
}"""
DROP = """text => {
  const dataTransfer = new DataTransfer();
  dataTransfer.setData("text/plain", text);
  document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true }));
}"""
SAID = """id => {
  const node = document.getElementById(id);
  said = [];
  new MutationObserver(() => said.push(node.textContent)).observe(node, { childList: true });
}"""
SELECT = """([start, end]) => {
  const node = document.getElementById("text").lastChild;
  getSelection().setBaseAndExtent(node, start, node, end);
}"""


def work(opened, service, name, context=None, **options):
    """A page whose annotator has given a name."""
    page = opened(service, context, **options)
    if context is None:
        page.fill("#annotator", name)
        page.click("#annotator-form button")
    page.wait_for_function("name => document.getElementById('who').textContent.startsWith(name)", arg=name)
    return page


def add(page, content):
    if not page.locator("#input").evaluate("each => each.open"):
        page.click("summary")
    page.evaluate("document.getElementById('status').textContent = ''")
    page.fill("#paste", content)
    page.click("#add button")
    says(page, "documents added")


def saved(page, words="Saved"):
    page.wait_for_function("words => document.getElementById('saved').textContent === words", arg=words)


def says(page, words):
    page.wait_for_function("words => document.getElementById('status').textContent.includes(words)", arg=words)


def is_asked_when_left(page):
    return page.evaluate("() => !dispatchEvent(new Event('beforeunload', { cancelable: true }))")


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


def hold(page, words):
    page.evaluate(HOLD, words)


def holds(page, number=1):
    """Wait until so many answers are there."""
    page.wait_for_function("number => there >= number", arg=number)


def let(page, number=0):
    """Let an answer through, and what the page asks because of it."""
    page.evaluate("async (number) => { held[number](); for (let n = 0; n < 3; n += 1) await fetch('readyz'); }", number)


def shows(page, text):
    page.wait_for_function("text => document.getElementById('text').textContent === text", arg=text)


def problem(page):
    page.wait_for_selector("#problem", state="visible")
    return page.text_content("#problem")


def looks_right(page, name, width):
    """It fits its window and can be read, by axe-core's opinion too; a picture where it is asked for."""
    if folder := os.environ.get("NOMINA_SCREENSHOTS"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(CONTRAST) == []
    assert accessible(page) == []
