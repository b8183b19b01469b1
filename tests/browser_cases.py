"""A headless Chromium for the tests that open pages, and what they ask of every page."""

import shutil
from importlib import resources

import pytest

INSTALLED = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# The least contrast of text with what is behind it, by WCAG 2: the colour of the nearest box that has one.
CONTRAST = """() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const channel = (value) => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const found = rgb(getComputedStyle(node).backgroundColor);
      if (found.length === 3 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  const own = (node) => [...node.childNodes].some((each) => each.nodeType === 3 && each.data.trim());
  const shown = [...document.body.querySelectorAll("*")].filter((node) => own(node) && node.getClientRects().length);
  const ratio = (node) => {
    const style = getComputedStyle(node);
    const levels = [light(rgb(node.closest("svg") ? style.fill : style.color)), light(behind(node))];
    return (Math.max(...levels) + 0.05) / (Math.min(...levels) + 0.05);
  };
  return shown.filter((node) => ratio(node) < 4.5).map((node) => `${node.outerHTML.slice(0, 80)} ${ratio(node)}`);
}"""


AXE = """axe.run().then(({ violations }) => violations.flatMap(({ id, impact, nodes }) =>
  nodes.map(({ target }) => `${impact}: ${id} at ${target}`)))"""


def accessible(page):
    """What axe-core, as a package for playwright brings it, finds wrong with what the page shows now: nothing."""
    pytest.importorskip("axe_playwright_python", reason="needs axe-core: pip install axe-playwright-python")
    page.evaluate((resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    return page.evaluate(AXE)


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    with sync_api.sync_playwright() as playwright:
        browser = launched(playwright, sync_api.Error)
        if browser is None:
            pytest.skip("needs a Chromium: playwright install chromium, or one on the PATH")
        yield browser
        browser.close()


def launched(playwright, error):
    """Chromium as playwright installed it, else one of the system."""
    for path in (None, *filter(None, map(shutil.which, INSTALLED))):
        try:
            return playwright.chromium.launch(executable_path=path)
        except error:
            continue
    return None
