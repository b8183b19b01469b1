"""UMLS Metathesaurus and RxNorm in Rich Release Format: MRCONSO or RXNCONSO with the files beside it.

https://www.ncbi.nlm.nih.gov/books/NBK9685/ describes the columns. Names come from ``CONSO``, semantic types from
``STY``, definitions from ``DEF``, trade names and parents from ``REL``, retired ids from ``CUI``; a file that is not
there is not read. They are merged as sorted streams, a concept at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from nomina.errors import FormatError, UsageError
from nomina.files import Skip, decoded, lines, report, sha256
from nomina.kb import st21pv
from nomina.kb.rrf_files import (
    COLUMNS,
    Release,
    Row,
    by_concept,
    find_release,
    in_order,
    is_file_of_release,
    main_files,
    rows,
    split,
)
from nomina.kb.rrf_links import Links
from nomina.kb.rrf_names import AUI, SAB, STR, Wanted, definition
from nomina.kb.rrf_names import xrefs as xrefs_of
from nomina.kb.schema import SourceInfo
from nomina.kb.scratch import Beside, scratch
from nomina.types import Entity, Name, Retired

_ROW = re.compile(rb"[^|\s]+\|[A-Z]{3}\|(?:[^|\r\n]*\|){14}[A-Z]?\|[0-9]*\|\r?(?:\n|$)")
_SAME = frozenset(("SY",))
_SAME_OR_NEAR = frozenset(("SY", "RB", "RN", "RO"))
_USED = ("CONSO", "STY", "DEF", "REL", "CUI")
_SHOWN_TYPES = 12


def sniff(head: bytes) -> bool:
    """Whether the first bytes of a file look like MRCONSO or RXNCONSO."""
    return _ROW.match(head.lstrip()) is not None


def holds(names: set[str]) -> bool:
    """Whether a folder or archive of files with these names is a release."""
    return bool(main_files(names))


def is_part(name: str) -> bool:
    """Whether a file of that name is one of a release."""
    return is_file_of_release(name)


def read(
    path: Path,
    *,
    skip: Skip | None = None,
    languages: tuple[str, ...] = ("ENG",),
    sources: tuple[str, ...] = (),
    types: tuple[str, ...] = (),
    suppress: tuple[str, ...] = ("N",),
    tradenames: bool = True,
    parents: bool = False,
    xrefs: bool = False,
    every_source: bool = False,
    possible_replacements: bool = False,
) -> Iterator[Entity | Retired]:
    """The concepts of a release in ascending order of their ids, then its retired ids.

    Args:
        path: the folder, an archive of it, or its MRCONSO.RRF or RXNCONSO.RRF with the other files beside.
        skip: told of each fault, where given; faulty rows are left out.
        languages: of the names (LAT), or ``all``; the preferred name is of the first that a concept has.
        sources: only names and definitions of these vocabularies (SAB), or ``st21pv``; none: all.
        types: only concepts of one of these semantic types, by TUI or name, or ``st21pv``; none: all.
        suppress: which SUPPRESS flags are read.
        tradenames: the names of a drug's brands become names of the drug, in scope ``narrow``.
        parents: read the PAR and isa relations.
        xrefs: the codes that the vocabularies have for a concept become its cross-references.
        every_source: a name that several vocabularies have is there once for each; else once, with its first.
        possible_replacements: a retired id that was mapped to a broader, narrower or other concept has that in place.

    Raises:
        FormatError: a row with too few or too many fields, no concept or name, a second row of an atom (strict reading
            only); a file that is cut off.
        UsageError: a language, source or type that is not in the release, an option that needs a file which is not.
    """
    release = find_release(path)
    wanted = Wanted(languages, sources, suppress, every_source)
    tuis = _tuis(types, release)
    if parents and "REL" not in release.files:
        raise _needs("parents", release, "REL")
    with scratch() as database:
        links = Links(database)
        if (tradenames or parents) and "REL" in release.files:
            links.fill(release.files["REL"], skip, tradenames, parents, wanted.suppress)
        yield from _concepts(release, skip, wanted, tuis, links, xrefs)
    wanted.check(release.files["CONSO"])
    if "CUI" in release.files:
        yield from _retired(release, skip, _SAME_OR_NEAR if possible_replacements else _SAME)


def describe(path: Path) -> SourceInfo:
    """The files that there are, the release's name, and where its licence is."""
    release = find_release(path)
    used = [release.files[part] for part in _USED if part in release.files]
    shown = path.name if used == [path] else f"{path.name} ({', '.join(file.name for file in used)})"
    site = "https://www.nlm.nih.gov/research/umls"
    if release.prefix == "RXN":
        title, licence = "RxNorm", f"{site}/rxnorm/docs/termsofservice.html"
    else:
        title = "UMLS Metathesaurus"
        licence = f"{site}/knowledge_sources/metathesaurus/release/license_agreement.html"
    return SourceInfo(shown, None, sha256(*used), title, _release_name(release), licence)


def _release_name(release: Release) -> str | None:
    where = {"MR": ("DOC", 1, "umls.release.name", 3), "RXN": ("SAB", 3, "RXNORM", 2)}
    part, column, value, shown = where[release.prefix]
    if part not in release.files:
        return None
    path = release.files[part]
    found = (split(path, number, line, COLUMNS[part], _ignore) for number, line in lines(path, _ignore))
    return next((fields[shown] for fields in found if fields and fields[column] == value), None)


def _ignore(error: FormatError) -> None:
    """Faults are told when the file is read for its concepts."""


def _needs(option: str, release: Release, part: str) -> UsageError:
    return UsageError(f"{option} needs {release.prefix}{part}.RRF beside {release.files['CONSO']}")


def _tuis(types: tuple[str, ...], release: Release) -> frozenset[str] | None:
    """The semantic types that are wanted; None for all."""
    if not types:
        return None
    if "STY" not in release.files:
        raise _needs("types", release, "STY")
    named = [type for type in types if type.casefold() != st21pv.NAME]
    chosen = set(st21pv.WITH_ALL_UNDER if len(named) < len(types) else ())
    known = {row[1]: row[3] for _, row in rows(release.files["STY"], COLUMNS["STY"], _ignore)} if named else {}
    by_name = {name.casefold(): tui for tui, name in known.items()}
    for type in named:
        tui = type if type in known else by_name.get(type.casefold())
        if tui is None:
            shown = [f"{tui} {name}" for tui, name in sorted(known.items())]
            more = f" and {len(shown) - _SHOWN_TYPES} more" if len(shown) > _SHOWN_TYPES else ""
            has = f"it has: {', '.join(shown[:_SHOWN_TYPES])}{more}"
            raise UsageError(f"{release.files['STY']} has no semantic type {type!r}; {has}")
        chosen.add(tui)
    return frozenset(chosen)


def _concepts(
    release: Release, skip: Skip | None, wanted: Wanted, tuis: frozenset[str] | None, links: Links, with_xrefs: bool
) -> Iterator[Entity]:
    path = release.files["CONSO"]
    ordered = in_order(path, links.brands(), lambda number, raw: _note_brand(path, number, raw, wanted, links))
    types, definitions = _beside(release, "STY", skip), _beside(release, "DEF", skip)
    brands, parents = Beside(links.trade_names()), Beside(links.parents())
    for concept, found in by_concept(_atoms(path, skip, wanted), ordered):
        own_types = tuple(dict.fromkeys(row[1] for _, row in types.at(concept)))
        if tuis is not None and tuis.isdisjoint(own_types):
            continue
        _check_atoms(path, found, skip)
        atoms = [atom for _, atom in found]
        names = wanted.names(atoms)
        texts = {text for text, _ in names}
        # CUIs are known by their form, the numbers of RxNorm only by their prefix.
        own = (f"RXNORM:{concept}",) if release.prefix == "RXN" else ()
        brand_names = [Name(text, "narrow", "tradename", source) for text, source in brands.at(concept)]
        yield Entity(
            concept,
            (*names.values(), *(name for name in brand_names if name.text not in texts)),
            definition((row for _, row in definitions.at(concept)), atoms, wanted.suppress),
            own_types,
            tuple(parents.at(concept)),
            tuple(dict.fromkeys((*own, *(xrefs_of(atoms) if with_xrefs else ())))),
        )


def _note_brand(path: Path, number: int, raw: bytes, wanted: Wanted, links: Links) -> None:
    atom = split(path, number, decoded(path, number, raw.rstrip(b"\r\n"), _ignore), COLUMNS["CONSO"], _ignore)
    if atom and wanted.takes(atom) and atom[STR].strip():
        links.add_brand_name(atom[0], atom[STR].strip(), atom[SAB])


def _beside(release: Release, part: str, skip: Skip | None) -> Beside[Row]:
    if part not in release.files:
        return Beside(iter(()))
    path = release.files[part]
    return Beside(by_concept(rows(path, COLUMNS[part], skip), in_order(path)))


def _atoms(path: Path, skip: Skip | None, wanted: Wanted) -> Iterator[Row]:
    for number, atom in rows(path, COLUMNS["CONSO"], skip):
        if not wanted.takes(atom):
            continue
        if atom[STR].strip():
            yield number, atom
        else:
            report(FormatError(path, number, f"the name of the atom {atom[AUI]} is empty"), skip)


def _check_atoms(path: Path, found: list[Row], skip: Skip | None) -> None:
    seen: set[str] = set()
    for number, atom in found:
        if atom[AUI] and atom[AUI] in seen:
            report(FormatError(path, number, f"a second row of the atom {atom[AUI]}"), skip)
        seen.add(atom[AUI])


def _retired(release: Release, skip: Skip | None, replaced: frozenset[str]) -> Iterator[Retired]:
    path = release.files["CUI"]
    if release.prefix == "RXN":
        for _, row in rows(path, 5, skip):
            yield Retired(row[0], (row[4],) if row[4] and row[4] != row[0] else ())
    else:
        for _, row in rows(path, 7, skip):
            yield Retired(row[0], (row[5],) if row[5] and row[2] in replaced else ())
