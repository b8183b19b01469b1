"""What the OpenAPI document says beside what FastAPI finds: refusals, and bodies that routes read themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fastapi import FastAPI
from pydantic import TypeAdapter

from nomina.serve.schema import Problem

_REF = "#/components/schemas/{model}"
_WHY = {
    400: "The request is no HTTP that makes sense.",
    401: "The token is missing or wrong.",
    403: "A host's name needs a token.",
    404: "There is no such thing here.",
    408: "The body came too slowly.",
    409: "Somebody has saved a newer revision.",
    413: "The body, a text or their number is too large.",
    415: "The body is said to be of another type.",
    422: "A value cannot be, such as an offset behind the end of the text.",
    429: "Too much is waiting; come again after Retry-After seconds.",
    503: "It cannot be done now; try again.",
    504: "It took too long.",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The refusals of a route; every one may ask for the token."""
    return {status: {"model": Problem, "description": _WHY[status]} for status in (401, *statuses)}


def ref(kind: type[object]) -> dict[str, str]:
    """A type that ``describe`` is told of, by its name."""
    return {"$ref": _REF.format(model=kind.__name__)}


def body(media_type: str, kind: type[object]) -> dict[str, Any]:
    """The body of a route that reads it itself."""
    return {"requestBody": {"required": True, "content": {media_type: {"schema": ref(kind)}}}}


def describe(app: FastAPI, kinds: Sequence[type[object]]) -> None:
    """Add types that routes name by ``ref`` and ``body`` to the document."""
    made: Callable[[], dict[str, Any]] = app.openapi

    def openapi() -> dict[str, Any]:
        document = made()
        schemas = document["components"]["schemas"]
        for kind in kinds:
            schema = TypeAdapter[object](kind).json_schema(ref_template=_REF)
            for name, inner in schema.pop("$defs", {}).items():
                schemas.setdefault(name, inner)
            schemas[kind.__name__] = schema
        return document

    app.openapi = openapi  # type: ignore[method-assign]
