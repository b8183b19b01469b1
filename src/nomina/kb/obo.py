"""OBO (1.2 and 1.4), read line by line: https://owlcollab.github.io/oboformat/doc/GO.format.obo-1_4.html.

Only what a linker needs is read: names, synonyms with scope and type, definition, namespace (as the concept's type),
``is_a``, xrefs, alternative and obsolete ids. ``[Typedef]`` and ``[Instance]`` frames, other clauses, and ``import``
lines are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nomina.errors import FormatError
from nomina.files import Skip, lines, report
from nomina.kb.schema import SourceInfo
from nomina.types import PREFERRED, Entity, Name, Retired, Scope

KINDS = {"plural_form": "plural", "PLURAL": "plural", "ABBREVIATION": "abbreviation", "UK_SPELLING": "uk_spelling"}
"""Synonym types of well-known files by the short kinds of ``Name.kind``; others keep their own id."""

_SCOPES: dict[str, Scope] = {"EXACT": "exact", "NARROW": "narrow", "BROAD": "broad", "RELATED": "related"}
_OLD_TAGS = {f"{scope.lower()}_synonym": scope for scope in _SCOPES}
_QUOTED = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*(.*)')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": " ", "t": " ", "W": " "}
_MODIFIER = r'[^\s="{}]+\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s,{}"]+)'
_TAIL = re.compile(rf"(?:\s*\{{\s*{_MODIFIER}(?:\s*,\s*{_MODIFIER})*\s*\}})?\s*(?:(?<=\s)!.*)?$")
_FRAME = re.compile(r"\[(\w+)\]\s*(?:!.*)?$")
_PLAIN_TAGS = frozenset("id name namespace is_a alt_id xref is_obsolete replaced_by".split())


def sniff(head: bytes) -> bool:
    """Whether the first bytes of a file look like OBO."""
    return head.lstrip().startswith(b"format-version:") or re.search(rb"^\[Term\]", head, re.MULTILINE) is not None


def read(path: Path, *, skip: Skip | None = None) -> Iterator[Entity | Retired]:
    """The terms of an OBO file in order; obsolete ones as ``Retired``.

    ``consider`` names no replacement: it is a hint for a reader's eyes. Where ``skip`` is given, it is told of each
    fault; a faulty clause is left out, a frame without an id is left out, a second frame with the same id is passed on.

    Raises:
        FormatError: the file breaks the format (strict reading only), or is cut off.
    """
    seen: set[str] = set()
    for frame in _frames(path, skip):
        if not frame.id:
            report(FormatError(path, frame.line, "a [Term] without an id"), skip)
            continue
        if frame.id in seen:
            report(FormatError(path, frame.line, f"a second [Term] with the id {frame.id}"), skip)
        seen.add(frame.id)
        try:
            record = frame.record()
        except ValueError as error:
            report(FormatError(path, frame.line, str(error)), skip)
            continue
        yield record


def describe(path: Path) -> SourceInfo:
    """Release, title and licence out of the header, and how many imports it names (they are not followed)."""
    found: dict[str, str] = {}
    imports = 0
    for _, line in lines(path, skip=_ignore):
        if _FRAME.match(line):
            break
        tag, _, value = line.partition(":")
        value = value.strip()
        if tag == "property_value":
            tag, _, value = value.partition(" ")
            quoted = _QUOTED.match(value)
            value = quoted.group(1) if quoted else value.split(" ")[0]
        imports += tag == "import"
        found.setdefault(tag, value)
    release = found.get("data-version") or found.get("owl:versionInfo") or found.get("date")
    licence = next((found[tag] for tag in found if tag.rpartition(":")[2] in ("license", "licence")), None)
    title = next((found[tag] for tag in found if tag.rpartition(":")[2] == "title"), found.get("ontology"))
    return SourceInfo(path.name, title=title, release=release, licence=licence, imports=imports)


def _ignore(error: FormatError) -> None:
    """The reader itself reports the header's faults."""


@dataclass(slots=True)
class _Frame:
    """A [Term] while it is read."""

    line: int
    id: str = ""
    name: Name | None = None
    definition: str | None = None
    synonyms: list[Name] = field(default_factory=list)
    namespace: str | None = None
    is_a: list[str] = field(default_factory=list)
    xrefs: list[str] = field(default_factory=list)
    alt_id: list[str] = field(default_factory=list)
    obsolete: bool = False
    replaced_by: list[str] = field(default_factory=list)

    def record(self) -> Entity | Retired:
        if self.obsolete:
            return Retired(self.id, tuple(self.replaced_by))
        return Entity(
            self.id,
            ((self.name,) if self.name else ()) + tuple(self.synonyms),
            self.definition,
            (self.namespace,) if self.namespace else (),
            tuple(self.is_a),
            tuple(self.xrefs),
            tuple(self.alt_id),
        )


def _frames(path: Path, skip: Skip | None) -> Iterator[_Frame]:
    frame: _Frame | None = None
    namespace: str | None = None
    header = True
    for number, line in lines(path, skip):
        if match := _FRAME.match(line):
            if frame:
                yield frame
            header = False
            frame = _Frame(number, namespace=namespace) if match.group(1) == "Term" else None
        elif header and line.startswith("default-namespace:"):
            namespace = _plain(line.partition(":")[2])
        elif frame and line and not line.isspace() and not line.startswith("!"):
            try:
                _clause(frame, line)
            except ValueError as error:
                report(FormatError(path, number, str(error)), skip)
    if frame:
        yield frame


def _clause(frame: _Frame, line: str) -> None:
    """Take one ``tag: value`` line into the frame.

    Raises:
        ValueError: the line is not a clause, or its value is not what the tag asks for.
    """
    tag, colon, value = line.partition(":")
    tag = tag.strip()
    if not colon:
        raise ValueError(f"expected 'tag: value', found {line[:60]!r}")
    if tag == "synonym" or tag in _OLD_TAGS:
        frame.synonyms.append(_synonym(value, _OLD_TAGS.get(tag)))
    elif tag == "def":
        frame.definition = _quoted(value)[0].strip() or None
    elif tag in _PLAIN_TAGS:
        plain = _plain(value)
        if not plain:
            raise ValueError(f"'{tag}' has no value")
        _take(frame, tag, plain)


def _take(frame: _Frame, tag: str, value: str) -> None:
    if tag == "name":
        frame.name = Name(value, kind=PREFERRED)
    elif tag == "is_obsolete":
        frame.obsolete = value == "true"
    elif tag in ("id", "namespace"):
        setattr(frame, tag, value)
    elif tag == "xref":
        frame.xrefs.append(value.partition(' "')[0])  # a quoted description may follow
    else:
        getattr(frame, tag).append(value)


def _plain(value: str) -> str:
    """An unquoted value without trailing modifiers and comment, unescaped."""
    if "{" in value or "!" in value:
        value = value[: _TAIL.search(value).start()]  # type: ignore[union-attr]  # it matches at the end at the latest
    return _unescape(value.strip())


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match.group(1), match.group(1)), text) if "\\" in text else text


def _quoted(value: str) -> tuple[str, str]:
    match = _QUOTED.match(value)
    if not match:
        raise ValueError(f"expected a text in double quotes, found {value.strip()[:60]!r}")
    return _unescape(match.group(1)), match.group(2)


def _synonym(value: str, scope_of_tag: str | None) -> Name:
    """``"text" SCOPE type [xrefs]``; scope and type may be missing (the scope is then RELATED, as the format says)."""
    text, rest = _quoted(value)
    words = rest.partition("[")[0].split()
    scope = scope_of_tag or (words.pop(0) if words and words[0] in _SCOPES else "RELATED")
    kind = words[0] if words else None
    return Name(text.strip(), _SCOPES[scope], KINDS.get(kind, kind) if kind else None)
