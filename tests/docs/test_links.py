"""The pages hang together: every relative link leads somewhere, and every page is in the index."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def links(page: Path) -> list[str]:
    return LINK.findall(CODE.sub("", page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    local = [link for link in links(page) if "://" not in link]
    assert [link for link in local if not (page.parent / link).exists()] == []


def test_the_index_names_every_page():
    named = {(DOCS / link).resolve() for link in links(DOCS / "index.md")}
    assert [page.name for page in DOCS.rglob("*.md") if page != DOCS / "index.md" and page not in named] == []


def test_links_are_found_outside_code(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("[a](b.md#c) `[x](y.md)`\n```text\n[d](e.md)\n```\n[f](https://example.org/g)\n", encoding="utf-8")
    assert links(page) == ["b.md", "https://example.org/g"]
