"""From the rows of ``CONSO`` (atoms: a name as one vocabulary has it) to the names of a concept."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nomina.errors import UsageError
from nomina.kb import st21pv
from nomina.types import PREFERRED, Name

LAT, TS, STT, ISPREF, AUI, SAB, TTY, CODE, STR, SUPPRESS = 1, 2, 4, 6, 7, 11, 12, 13, 14, 16
"""Columns."""

_KINDS = dict.fromkeys(("AB", "ACR", "MTH_ACR", "OA", "RAB", "VAB"), "abbreviation")
_LAYPERSON = "CHV"  # the Consumer Health Vocabulary
_SECOND_CHOICE = frozenset(("ET", "PSN", "SY", "TMSY"))  # RxNorm marks no preferred names, but these never are
_DEFINITIONS = ("MSH", "NCI", "SNOMEDCT_US", "HPO", "GO")  # whose definition is taken first
_PREFIXES = {"MSH": "MESH", "NCI": "NCIT"}  # as other terminologies write their xrefs
_NO_CODES = frozenset(("NOCODE", ""))
_NO_XREFS = frozenset(("MTH", "SRC"))  # the codes of the Metathesaurus itself, and names of vocabularies
_ANY = "ALL"


class Wanted:
    """Which atoms are read, and what becomes of those of one concept."""

    def __init__(
        self, languages: tuple[str, ...], sources: tuple[str, ...], suppress: tuple[str, ...], every_source: bool
    ) -> None:
        self.languages = tuple(language.upper() for language in languages)
        self.suppress = frozenset(flag.upper() for flag in suppress)
        self._any_language = _ANY in self.languages
        self._named = tuple(source for source in sources if source.casefold() != st21pv.NAME)
        self._sources = frozenset(self._named).union(st21pv.SOURCES if len(self._named) < len(sources) else ())
        self._every_source = every_source
        self._seen: set[str] = set()
        self._seen_sources: set[str] = set()

    def takes(self, atom: list[str]) -> bool:
        """Whether an atom is read."""
        language, source = atom[LAT], atom[SAB]
        if not (self._any_language or language in self.languages):
            return False
        self._seen.add(language)
        if self._sources and source not in self._sources:
            return False
        self._seen_sources.add(source)
        return atom[SUPPRESS] in self.suppress

    def check(self, path: Path) -> None:
        """Raise ``UsageError`` where a language or source was asked for and never met."""
        for language in self.languages:
            if not self._any_language and language not in self._seen:
                raise UsageError(f"{path} has no name in the language {language!r}")
        for source in self._named:
            if source not in self._seen_sources:
                raise UsageError(f"{path} has no name of the source {source!r} in {', '.join(self.languages)}")

    def names(self, atoms: list[list[str]]) -> dict[tuple[str, str], Name]:
        """The distinct names of a concept, the preferred one first."""
        first = min(atoms, key=self._rank)
        kinds: dict[tuple[str, str], str | None] = {}
        sources: dict[tuple[str, str], str] = {}
        for atom in (first, *atoms):
            text, source = atom[STR].strip(), atom[SAB]
            key = (text, source if self._every_source else "")
            kinds[key] = kinds.get(key) or (PREFERRED if atom is first else _kind(atom))
            sources.setdefault(key, source)
        return {key: Name(key[0], kind=kind, source=sources[key]) for key, kind in kinds.items()}

    def _rank(self, atom: list[str]) -> tuple[int, bool, bool, bool, bool, bool]:
        language = 0 if self._any_language else self.languages.index(atom[LAT])
        own = atom[SAB] != "RXNORM", atom[TTY] in _SECOND_CHOICE
        return (language, atom[TS] != "P", atom[STT] != "PF", atom[ISPREF] != "Y", *own)


def _kind(atom: list[str]) -> str | None:
    return _KINDS.get(atom[TTY]) or ("layperson" if atom[SAB] == _LAYPERSON else None)


def definition(found: Iterable[list[str]], atoms: list[list[str]], suppress: frozenset[str]) -> str | None:
    """The definition of a concept out of its rows of ``DEF``: one that belongs to an atom that is read."""
    read = {atom[AUI] for atom in atoms}
    fitting = [row for row in found if row[1] in read and row[6] in suppress and row[5].strip()]
    if not fitting:
        return None
    best = min(fitting, key=lambda row: _DEFINITIONS.index(row[4]) if row[4] in _DEFINITIONS else len(_DEFINITIONS))
    return best[5].strip()


def xrefs(atoms: list[list[str]]) -> tuple[str, ...]:
    """The codes of a concept in its vocabularies; one that names its vocabulary itself (``HP:1``) stays as it is."""
    found: dict[str, None] = {}
    for atom in atoms:
        code, source = atom[CODE], atom[SAB]
        if code not in _NO_CODES and source not in _NO_XREFS:
            found[code if ":" in code else f"{_PREFIXES.get(source, source)}:{code}"] = None
    return tuple(found)
