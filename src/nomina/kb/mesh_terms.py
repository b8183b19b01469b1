"""What the readers of MeSH share, whatever the syntax: tree numbers, registry numbers, lexical tags.

A tree number gives a record a place (``C14.280``), and the record one step up (``C14``) is its parent. The parent's id
stands elsewhere in the file, so the readers first look through it for tree numbers alone, and keep one id for each
(some 65,000).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from nomina.kb.schema import SourceInfo
from nomina.types import Scope

LICENCE = "https://www.nlm.nih.gov/databases/download/terms_and_conditions_mesh.html"

KINDS = {"ABB": "abbreviation", "ACR": "abbreviation", "TRD": "tradename", "LAB": "lab_number", "EPO": "eponym"}
"""Lexical tags that make a ``Name.kind``; the others (``NON``, ``NAM``, an abbreviation inside a name) do not."""

SCOPES: dict[str, Scope] = {"NRW": "narrow", "BRD": "broad", "REL": "related", "EQV": "exact"}

CLASSES = {"1": "Chemical", "2": "Protocol", "3": "Disease", "4": "Organism", "5": "Population", "6": "Anatomy"}
"""``SCRClass`` of a supplementary record; its type is ``SCR_Chemical`` and so on, as in MeSH RDF."""

_CATEGORY = re.compile(r"[A-Z]\d+")
_YEAR = re.compile(r"(?:19|20)\d\d")
_CAS = re.compile(r"\d+-\d\d-\d")
_UNII = re.compile(r"[0-9A-Z]{10}")


def parents_of(numbers: Iterable[str], ids: Mapping[str, str]) -> tuple[str, ...]:
    """The ids one step up from each tree number, or further where the file leaves that record out."""
    found: dict[str, None] = {}
    for number in numbers:
        above = number
        while "." in above:
            above = above.rpartition(".")[0]
            if id := ids.get(above):
                found[id] = None
                break
    return tuple(found)


def types_of(numbers: Iterable[str]) -> tuple[str, ...]:
    """``C14.280`` is of the types ``C`` (diseases) and ``C14``: the letter and the number of its category."""
    categories = [match.group() for number in numbers if (match := _CATEGORY.match(number))]
    return tuple(dict.fromkeys(part for category in categories for part in (category[0], category)))


def registry_xref(number: str) -> str | None:
    """A registry number as a cross-reference (``CAS:``, ``UNII:``, ``EC:``, ``NCBITaxon:``); "0" stands for none."""
    number = number.partition(" (")[0].strip()
    if _CAS.fullmatch(number):
        return f"CAS:{number}"
    if number.startswith("EC "):
        return f"EC:{number[3:]}"
    if number.startswith("txid"):
        return f"NCBITaxon:{number[4:]}"
    return f"UNII:{number}" if _UNII.fullmatch(number) else None


def source_info(path: Path, hint: str = "") -> SourceInfo:
    """Release (the year in the file's name, else in ``hint``) and licence of a MeSH file."""
    year = _YEAR.search(path.name) or _YEAR.search(hint)
    return SourceInfo(
        path.name, title="Medical Subject Headings", release=year.group() if year else None, licence=LICENCE
    )
