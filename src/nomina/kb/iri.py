"""Ontology IRIs as the short ids that people write."""

from __future__ import annotations

import re

_OBO = re.compile(r"https?://purl\.obolibrary\.org/obo/([A-Za-z][A-Za-z0-9.]*)_([^\s/#]+)")
_NUMBERED = re.compile(r"https?://.*[/#]([A-Za-z][A-Za-z0-9.]*)_(\d[^\s/#]*)")


def short_id(iri: str) -> str:
    """``http://purl.obolibrary.org/obo/HP_0000118`` as ``HP:0000118``; what is not of such a form stays as it is."""
    match = _OBO.fullmatch(iri) or _NUMBERED.fullmatch(iri)
    return f"{match[1]}:{match[2]}" if match else iri


def fragment(iri: str) -> str:
    """The last part of an IRI, behind ``#`` or the last ``/``."""
    return re.split(r"[/#]", iri)[-1]
