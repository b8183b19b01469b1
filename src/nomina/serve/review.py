"""The review page: files of this package, sent as they are, under a policy that lets nothing else in."""

from __future__ import annotations

from importlib import resources

from fastapi import FastAPI, Response

from nomina.serve.errors import Refusal

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",
}
_KINDS = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
_HTML = "text/html; charset=utf-8"
_SCRIPTS = "adding bioc changes client deciding formats offsets page project review store text view walking".split()
_FILES = ("review.css", *(f"{name}.js" for name in _SCRIPTS))

PAGE_PATHS = frozenset(("/", *(f"/page/{name}" for name in _FILES)))
"""What anybody may read who reaches the port: the page holds no data, and asks for the token itself."""


def add_page(app: FastAPI) -> None:
    """Serve the page at ``/`` and what it is made of at ``/page/``."""
    folder = resources.files("nomina.serve") / "page"
    index = (folder / "index.html").read_bytes()
    files = {name: (folder / name).read_bytes() for name in _FILES}

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return Response(index, headers=_HEADERS, media_type=_HTML)

    @app.get("/page/{name}", include_in_schema=False)
    async def part(name: str) -> Response:
        if name not in files:
            raise Refusal(404, "the page has no such file")
        return Response(files[name], headers=_HEADERS, media_type=_KINDS[name.rpartition(".")[2]])
