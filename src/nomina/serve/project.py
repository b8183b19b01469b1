"""The routes of a review project: its documents, one of them, what is decided in it, and the whole as a corpus.

Nothing of it is answered under a host's name without a token: a web page whose name is made to lead to this machine
could read it otherwise (DNS rebinding); addresses of numbers cannot be made to.
"""

from __future__ import annotations

import ipaddress
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from fastapi import Depends, FastAPI, Query, Request, Response
from fastapi import Path as InPath
from pydantic import Field
from starlette.background import BackgroundTask
from starlette.responses import FileResponse

from nomina.corpora import write_corpus
from nomina.enumerations import joined
from nomina.records import parser
from nomina.review import views
from nomina.review.opening import transaction
from nomina.review.project import Project
from nomina.review.records import Added, Change, check_annotator, check_save
from nomina.serve.bodies import JSON, aside, check_type, parsed, read
from nomina.serve.desk import Desk
from nomina.serve.errors import Refusal
from nomina.serve.openapi import body, problems
from nomina.serve.options import Limits
from nomina.serve.service import Service

_STRICT = {"extra": "forbid"}
_FORMATS = {"jsonl": "application/x-ndjson", "pubtator": "text/plain", "bioc_xml": "application/xml"}
_MOST_CHANGES = 5000
_MOST_UNKNOWN = 100
_SHOWN = 60

Number = Annotated[int, InPath(ge=1, lt=1 << 62)]
Names = Annotated[list[str] | None, Query(max_length=100, description="Whose decisions count; by default all.")]


@dataclass(frozen=True, slots=True)
class AddRequest:
    """A document to add; ``save`` is a number of 16 to 64 hexadecimal digits that no other save has."""

    annotator: str
    save: str
    document: Added

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    def __post_init__(self) -> None:
        check_annotator(self.annotator)
        check_save(self.save)


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """What an annotator decided, having seen a revision of the document."""

    annotator: str
    save: str
    revision: int
    changes: Annotated[tuple[Change, ...], Field(fail_fast=True)]

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    def __post_init__(self) -> None:
        check_annotator(self.annotator)
        check_save(self.save)
        if not 0 < len(self.changes) <= _MOST_CHANGES:
            raise ValueError(f"a save has 1 to {_MOST_CHANGES:,} changes")


BODIES = (AddRequest, ChangeRequest)
"""For the OpenAPI document: routes that read them themselves are there where a service has a project."""

_ADD = parser(AddRequest)
_CHANGE = parser(ChangeRequest)


def add_project(app: FastAPI, service: Service) -> None:
    """Answer at ``/project``, where the service has a project."""
    desk = service.desk
    if desk is None:
        return
    guarded = [Depends(_checked_host(service.settings.token is not None))]
    _add_reading(app, desk, guarded)
    _add_unknown(app, desk, guarded, service)
    _add_writing(app, desk, guarded, service)


def _checked_host(has_token: bool) -> Any:  # noqa: ANN401
    async def check(request: Request) -> None:
        if not has_token and not _is_number(request.url.hostname or ""):
            raise Refusal(403, "a project is answered for at a number, such as 127.0.0.1, or with a token")

    return check


def _is_number(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _add_reading(app: FastAPI, desk: Desk, guarded: list[Any]) -> None:
    @app.get("/project", dependencies=guarded, responses=problems(403, 422, 429, 503, 504))
    async def documents(annotator: Names = None) -> Response:
        """The documents with their revisions, how much is undecided in each, and how uncertain that is."""
        names = _names(annotator)
        return _json(await desk.do(lambda project: _dumped(_listed(project, names))))

    @app.get("/project/documents/{number}", dependencies=guarded, responses=problems(403, 404, 422, 429, 503, 504))
    async def document(number: Number, annotator: Names = None) -> Response:
        """A document with its mentions, what was said of them and the latest decisions."""
        names = _names(annotator)
        return _json(await desk.do(lambda project: _dumped(_shown(project, number, names))))

    @app.get(
        "/project/export",
        dependencies=guarded,
        response_class=FileResponse,
        responses=problems(403, 422, 429, 503, 504),
    )
    async def export(
        format: Annotated[str, Query(pattern=f"^({'|'.join(_FORMATS)})$")] = "jsonl", annotator: Names = None
    ) -> Response:
        """The documents with the mentions that are decided, as a corpus."""
        folder = tempfile.TemporaryDirectory()
        path = Path(folder.name, "export")
        try:
            await desk.do(lambda project: _written(project, path, format, _names(annotator)))
        except BaseException:
            folder.cleanup()
            raise
        return FileResponse(path, media_type=_FORMATS[format], background=BackgroundTask(folder.cleanup))


def _add_unknown(app: FastAPI, desk: Desk, guarded: list[Any], service: Service) -> None:
    @app.get("/project/unknown", dependencies=guarded, responses=problems(403, 422, 429, 503, 504))
    async def unknown(annotator: Names = None) -> Response:
        """How many decided ids the KB does not have, and which, with the number of mentions; they stay as they are."""
        names = _names(annotator)
        counts = await desk.do(lambda project: views.gold_ids(project, names))
        ids = await service.look_up(lambda engine: engine.unknown(list(counts)))
        return _json(_dumped({"total": len(ids), "ids": {id: counts[id] for id in ids[:_MOST_UNKNOWN]}}))


def _add_writing(app: FastAPI, desk: Desk, guarded: list[Any], service: Service) -> None:
    limits = service.settings.limits

    @app.post(
        "/project/documents",
        dependencies=guarded,
        responses=problems(403, 408, 413, 415, 422, 429, 503, 504),
        openapi_extra=body(JSON, AddRequest),
    )
    async def add(request: Request) -> Response:
        """Add a linked document; one that is there already stays as it is."""
        check_type(request, JSON)
        raw = await read(request, limits.seconds)
        asked = await aside(lambda: parsed(_ADD, raw), len(raw))
        _check_size(asked.document, limits)
        by = check_annotator(asked.annotator)
        number = await desk.do(lambda project: project.add(asked.document, by, asked.save))
        return _json(_dumped({"number": number}))

    @app.post(
        "/project/documents/{number}/changes",
        dependencies=guarded,
        responses=problems(403, 404, 408, 409, 413, 415, 422, 429, 503, 504),
        openapi_extra=body(JSON, ChangeRequest),
    )
    async def change(number: Number, request: Request) -> Response:
        """Save decisions; refused where somebody has saved a newer revision. The very same again is saved once."""
        check_type(request, JSON)
        raw = await read(request, limits.seconds)
        asked = await aside(lambda: parsed(_CHANGE, raw), len(raw))
        by = check_annotator(asked.annotator)
        await _check_known(service, desk, number, asked.changes)
        revision = await desk.do(lambda project: project.change(number, asked.revision, asked.changes, by, asked.save))
        return _json(_dumped({"revision": revision}))


def _listed(project: Project, names: tuple[str, ...]) -> dict[str, object]:
    rows = [row._asdict() for row in views.rows(project, names)]
    return {"annotators": list(views.annotators_of(project)), "documents": rows}


def _shown(project: Project, number: int, names: tuple[str, ...]) -> dict[str, object]:
    with transaction(project.connection, project.path, "DEFERRED"):
        text, found = views.text_of(project, number), views.mentions(project, number, names)
    mentions = [
        {
            **json.loads(seen.finding),
            "key": seen.key,
            "spans": seen.spans,
            "text": joined(text.text, seen.spans),
            "type": seen.type,
            "gold": seen.gold if seen.state == "decided" else None,
            "name": seen.name,
            "annotator": seen.annotator,
            "time": seen.time,
        }
        for seen in found
        if seen.is_own and seen.state != "rejected"
    ]
    sections = [{"start": section.start, "end": section.end, "name": section.name} for section in text.sections]
    return {**text._asdict(), "sections": sections, "mentions": mentions}


def _written(project: Project, path: Path, format: str, names: tuple[str, ...]) -> None:
    with transaction(project.connection, project.path, "DEFERRED"):
        write_corpus(views.documents(project, names), path, format)


def _check_size(document: Added, limits: Limits) -> None:
    if len(document.text) > limits.characters:
        raise Refusal(413, f"text has {len(document.text):,} characters, the most is {limits.characters:,}")


async def _check_known(service: Service, desk: Desk, number: int, changes: Sequence[Change]) -> None:
    """Refuse ids that the KB does not have, unless they were decided in the document before: to have them back.

    Raises:
        Refusal: there is one; or there is no such document.
    """
    ids = list(dict.fromkeys(id for change in changes for part in change.gold for id in part))
    unknown = await service.look_up(lambda engine: engine.unknown(ids))
    if not unknown:
        return
    before = await desk.do(lambda project: views.ids_ever(project, number))
    for id in unknown:
        if id not in before:
            name = service.engine.kb.manifest.name
            raise Refusal(422, f"the KB {name} has no concept {id[:_SHOWN]!r}: search for another one")


def _names(given: list[str] | None) -> tuple[str, ...]:
    try:
        return tuple(check_annotator(name) for name in given or ())
    except ValueError as error:
        raise Refusal(422, str(error)) from error


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _json(body: str) -> Response:
    return Response(body, media_type=JSON, headers={"cache-control": "no-store"})
