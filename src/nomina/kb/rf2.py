"""SNOMED CT in Release Format 2: a snapshot folder or archive, https://confluence.ihtsdotools.org/display/DOCRELFMT.

Names come from the descriptions that language reference sets list, types from the semantic tags of fully specified
names, parents from is-a relationships, retired ids from inactive concepts and their historical associations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from nomina.errors import UsageError
from nomina.files import Skip, sha256
from nomina.kb.rf2_files import date_of, find_files, kind_of
from nomina.kb.rf2_tables import DEFINITION, FSN, LONGEST_ID, PERHAPS, SAME, SYNONYM, Description, Tables
from nomina.kb.schema import SourceInfo
from nomina.kb.scratch import Beside, scratch
from nomina.types import PREFERRED, Entity, Name, Retired

_DIALECTS = {"us": 900000000000509007, "gb": 900000000000508004}
_DEFAULT_DIALECT = "us"
_PREFIX = "SNOMEDCT"
"""Of the xref of a concept to itself, by which other terminologies know it."""

_ANY = "all"
_TAGGED = re.compile(r"(.*\S)\s+\(([^()]+)\)")
_HEADER = b"id\teffectivetime\tactive\tmoduleid\t"


def sniff(head: bytes) -> bool:
    """Whether the first bytes of a file look like RF2."""
    return head[:100].lstrip().lower().startswith(_HEADER)


def holds(names: set[str]) -> bool:
    """Whether a folder or archive of files with these names is a release."""
    return any(kind_of(name) == "Concept" for name in names)


def is_part(name: str) -> bool:
    """Whether a file of that name is one of a release."""
    return kind_of(name) is not None


def read(
    path: Path,
    *,
    skip: Skip | None = None,
    languages: tuple[str, ...] = ("en",),
    dialect: str = _DEFAULT_DIALECT,
    one_dialect: bool = False,
    possible_replacements: bool = False,
) -> Iterator[Entity | Retired]:
    """The active concepts of a snapshot in ascending order of their ids, then the inactive ones as retired.

    Args:
        path: the release's folder, an archive of it, or a file of its ``Snapshot`` folder.
        skip: told of each fault, where given; faulty rows are left out, a second row of a description is kept.
        languages: of the names and definitions, or ``all``; the preferred name is of the first that a concept has.
        dialect: ``us``, ``gb`` or the id of the language reference set whose preferred term is the preferred name.
        one_dialect: only names that are preferred or acceptable there; else in any language reference set.
        possible_replacements: POSSIBLY EQUIVALENT TO, ALTERNATIVE, WAS A and the like stand in for a retired id too.

    Raises:
        FormatError: a file with other columns, a row with too few or too many fields, an identifier that is none, an
            empty term, a second row of a concept or description (strict reading only but for the first).
        UsageError: a language or dialect that the release does not have.
    """
    wanted = tuple(language.casefold() for language in languages)
    with scratch() as database:
        tables = Tables(database, find_files(path), skip)
        refset = _refset(dialect, one_dialect, tables.dialects(), path)
        if missing := sorted(set(wanted) - tables.languages() - {_ANY}):
            has = ", ".join(sorted(tables.languages()))
            raise UsageError(f"{path} has no description in the language {missing[0]!r}; it has: {has}")
        descriptions, parents = Beside(tables.descriptions(refset)), Beside(tables.parents())
        for id, active in tables.concepts():
            if active:
                yield _entity(id, descriptions.at(id), wanted, one_dialect, parents.at(id))
        replacements = Beside(tables.replacements(SAME + PERHAPS if possible_replacements else SAME))
        for id, active in tables.concepts():
            if not active:
                yield Retired(id, tuple(dict.fromkeys(replacements.at(id))))


def describe(path: Path) -> SourceInfo:
    """How many files there are, the release's date, and where its licence is."""
    found = find_files(path)
    files = [file for several in found.values() for file in several]
    dates = sorted({date for file in found["Concept"] if (date := date_of(file))})
    shown = f"{path.name} ({len(files)} files)"
    return SourceInfo(
        shown, None, sha256(*files), "SNOMED CT", ", ".join(dates) or None, "https://www.snomed.org/get-snomed"
    )


def _refset(dialect: str, one_dialect: bool, known: set[int], path: Path) -> int:
    number = int(dialect) if dialect.isascii() and dialect.isdigit() and len(dialect) <= LONGEST_ID else None
    refset = _DIALECTS.get(dialect.casefold(), number)
    # A release in another language has no US English: its own preferred terms are taken then.
    if refset is None or (refset not in known and (one_dialect or dialect != _DEFAULT_DIALECT)):
        has = ", ".join([name for name, id in _DIALECTS.items() if id in known] + [str(id) for id in sorted(known)])
        raise UsageError(f"{path} has no language reference set {dialect!r}; it has: {has or 'none'}")
    return refset


def _entity(
    id: str, found: list[Description], languages: tuple[str, ...], one_dialect: bool, parents: list[str]
) -> Entity:
    def place(description: Description) -> int:
        return 0 if _ANY in languages else languages.index(description.language)

    wanted = sorted((d for d in found if _ANY in languages or d.language in languages), key=place)
    usable = [d for d in wanted if not one_dialect or d.standing_in_dialect >= 0]
    synonyms = [d for d in usable if d.type == SYNONYM]
    full = [(place(d), 2, _without_tag(d.term)[0]) for d in usable if d.type == FSN]
    ranked = [(place(d), 1 - (d.standing_in_dialect == 1), d.term) for d in synonyms if d.standing == 1]
    first = [text for _, _, text in sorted(ranked + full, key=lambda item: item[:2])[:1]]
    texts = dict.fromkeys([*first, *(d.term for d in synonyms), *(text for _, _, text in full)])
    tags = [_without_tag(d.term)[1] for d in sorted(found, key=lambda d: d.language != "en") if d.type == FSN]
    return Entity(
        id,
        tuple(Name(text, kind=PREFERRED if text in first else None) for text in texts),
        next((d.term for d in wanted if d.type == DEFINITION), None),
        tuple(tag for tag in tags[:1] if tag),
        tuple(parents),
        (f"{_PREFIX}:{id}",),
    )


def _without_tag(term: str) -> tuple[str, str | None]:
    """A fully specified name and its semantic tag: ``Heart disease (disorder)``."""
    match = _TAGGED.fullmatch(term)
    return (match[1], match[2]) if match else (term, None)
