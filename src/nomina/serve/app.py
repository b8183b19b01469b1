"""The routes: what is asked of which part of the service, and the OpenAPI document."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from nomina import __version__
from nomina.serve.batch import BatchResponse
from nomina.serve.bodies import JSON, aside, check_type, read
from nomina.serve.engine import Linked
from nomina.serve.errors import Refusal, broken_down
from nomina.serve.guard import App, Guard, problem
from nomina.serve.openapi import body, describe, problems, ref
from nomina.serve.options import MOST_CONCEPTS
from nomina.serve.project import BODIES, add_project
from nomina.serve.review import add_page
from nomina.serve.schema import (
    ConceptOut,
    DocumentIn,
    DocumentOut,
    LineError,
    LinkRequest,
    LinkResponse,
    Problem,
    SearchOut,
    link_request,
)
from nomina.serve.service import Service

NDJSON = "application/x-ndjson"
_TEXT = "text/plain; version=0.0.4"


def make_app(service: Service) -> App:
    """The whole service as an ASGI application."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        await service.stop()

    app = FastAPI(
        title="nomina",
        version=__version__,
        summary="Biomedical mentions linked to the concepts of a knowledge base.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    _add_linking(app, service)
    _add_reading(app, service)
    _add_state(app, service)
    add_project(app, service)
    add_page(app)
    _add_errors(app)
    describe(app, (LinkRequest, DocumentIn, DocumentOut, LineError, *(BODIES if service.desk else ())))
    guarded: Any = Guard(app, service.settings, service.metrics, service.room)
    if service.settings.origins:
        return CORSMiddleware(
            guarded,
            allow_origins=service.settings.origins,
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type"],
        )
    return guarded  # type: ignore[no-any-return]


def _add_linking(app: FastAPI, service: Service) -> None:
    limits = service.settings.limits

    @app.post(
        "/link",
        response_model=LinkResponse,
        responses=problems(408, 413, 415, 422, 429, 504),
        openapi_extra=body(JSON, LinkRequest),
    )
    async def link(request: Request) -> Response:
        """Link one text, or documents with or without mentions."""
        check_type(request, JSON)
        raw = await read(request, limits.seconds)
        documents, options = await aside(lambda: link_request(raw, limits), len(raw))
        linked = await _answered(service.batcher.link(documents, options), limits.seconds)
        return Response(f'{{"documents":[{",".join(linked.documents)}]}}', media_type=JSON)

    @app.post(
        "/link/batch",
        responses={200: _lines(), **problems(415, 422)},
        openapi_extra=body(NDJSON, DocumentIn),
    )
    async def batch(
        request: Request,
        k: Annotated[int | None, Query(ge=1, le=MOST_CONCEPTS)] = None,
        threshold: Annotated[float | None, Query(ge=0, le=1, allow_inf_nan=False)] = None,
        types: Annotated[list[str] | None, Query(max_length=100)] = None,
        under: Annotated[list[str] | None, Query(max_length=100)] = None,
    ) -> Response:
        """Link a document a line, as many as there are; each is answered as soon as it is linked, in order.

        A line that is no document is answered with its number and why; the others are linked all the same.
        """
        check_type(request, NDJSON)
        asked = LinkRequest("", None, k, threshold, tuple(types or ()), tuple(under or ())).asked
        await _answered(service.batcher.link([], asked), limits.seconds)
        return BatchResponse(service, asked, NDJSON)


def _add_reading(app: FastAPI, service: Service) -> None:
    @app.get("/concepts/{id:path}", response_model=ConceptOut, responses=problems(404, 422, 429, 504))
    async def concept(id: Annotated[str, Path(max_length=200, examples=["HP:0001250"])]) -> Response:
        """A concept: names, definition, parents, children, references to other terminologies."""
        return _fresh(await service.look_up(lambda engine: engine.concept(id)))

    @app.get("/search", response_model=SearchOut, responses=problems(422, 429, 504))
    async def search(
        q: Annotated[str, Query(min_length=1, max_length=200, pattern=r"\S", examples=["fits"])],
        k: Annotated[int, Query(ge=1, le=MOST_CONCEPTS)] = 10,
    ) -> Response:
        """The concept of an id; else concepts with names that begin so, then the linker's. ``rule`` says which."""
        return _fresh(await service.look_up(lambda engine: engine.search(q, k)))


def _fresh(answer: str) -> Response:
    """An answer that another version of the KB may have otherwise, the next time that it is asked."""
    return Response(answer, media_type=JSON, headers={"cache-control": "no-cache"})


def _add_state(app: FastAPI, service: Service) -> None:
    @app.get("/info", responses=problems())
    async def info() -> dict[str, Any]:
        """The knowledge base with its release and fingerprint, the model, the versions, the limits, the project."""
        settings = service.settings
        project = None if settings.project is None else {"name": settings.project.name, "blind": settings.blind}
        return {**service.engine.info(), "project": project}

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Whether the process answers."""
        return {"status": "alive"}

    @app.get("/readyz", responses={503: {"model": Problem, "description": "Its queue is full."}})
    async def readyz() -> dict[str, str]:
        """Whether requests should be sent here."""
        if service.batcher.is_full:
            raise Refusal(503, "the queue is full")
        return {"status": "ready"}

    @app.get("/metrics", responses={200: {"content": {_TEXT: {"schema": {"type": "string"}}}}, **problems()})
    async def metrics() -> Response:
        """Counters of all workers, for Prometheus."""
        manifest = service.engine.kb.manifest
        labels = {"version": __version__, "kb": manifest.name, "release": manifest.release or ""}
        return Response(service.metrics.text({**labels, "fingerprint": manifest.fingerprint}), media_type=_TEXT)


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(Refusal)
    async def refused(request: Request, error: Refusal) -> Response:
        return Response(problem(error), error.status, error.headers, JSON)

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> Response:
        return Response(problem(broken_down()), 500, None, JSON)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        return Response(problem(ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}")), 422, None, JSON)

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> Response:
        return Response(problem(ValueError(error.detail)), error.status_code, error.headers, JSON)


async def _answered(work: Awaitable[Linked], seconds: float) -> Linked:
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError as error:
        raise Refusal(504, "this took too long: send less at a time") from error


def _lines() -> dict[str, Any]:
    schema = {"oneOf": [ref(DocumentOut), ref(LineError)]}
    return {"description": "One line a document.", "content": {NDJSON: {"schema": schema}}}
