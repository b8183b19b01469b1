"""What is read out of a project: lists, documents as annotators see them, documents with gold, opinions.

``annotators`` names whose decisions count; none: everybody's. Of several decisions of a mention the latest counts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from nomina.enumerations import joined
from nomina.errors import UsageError
from nomina.review.project import Project, Unknown
from nomina.review.records import Gold, State
from nomina.types import Document, Mention, Section, Span

_LATEST = """
latest AS (
    SELECT document, key, state, gold, name, annotator, time, max(revision)
    FROM decisions JOIN saves USING (document, revision)
    WHERE (:chosen = '[]' OR annotator IN (SELECT value FROM json_each(:chosen))){only}
    GROUP BY document, key)
"""
_SEEN = """
mentions m JOIN saves s ON s.document = m.document AND s.revision = m.revision
LEFT JOIN latest l ON l.document = m.document AND l.key = m.key
"""
_OWN = """
(m.revision = 0 OR l.key IS NOT NULL OR :chosen = '[]' OR s.annotator IN (SELECT value FROM json_each(:chosen)))
"""
# Others' additions are not seen by those whose decisions alone count.


class Row(NamedTuple):
    """A document in a list: how many mentions it has, how many nobody has decided, and how uncertain these are."""

    number: int
    id: str
    revision: int
    mentions: int
    open: int
    uncertainty: float | None


class Seen(NamedTuple):
    """A mention with the latest decision; ``state`` is "open" where there is none, ``finding`` is JSON."""

    key: str
    spans: tuple[Span, ...]
    type: str | None
    finding: str
    is_own: bool
    state: State
    gold: Gold
    name: str | None
    annotator: str | None
    time: str | None


class Text(NamedTuple):
    """A document without its mentions."""

    number: int
    id: str
    text: str
    sections: tuple[Section, ...]
    kb: str
    revision: int


def annotators_of(project: Project) -> dict[str, int]:
    """How many decisions each annotator has made, in the order of their names."""
    query = "SELECT annotator, count(*) FROM decisions JOIN saves USING (document, revision) GROUP BY annotator"
    return dict(project.connection.execute(f"{query} ORDER BY annotator").fetchall())


def check_annotators(project: Project, names: Sequence[str]) -> None:
    """Refuse names of annotators that have decided nothing.

    Raises:
        UsageError: there is one.
    """
    known = annotators_of(project)
    for name in names:
        if name not in known:
            there = f"there are: {', '.join(known)}" if known else "nobody has yet"
            raise UsageError(f"{name!r} has decided nothing in {project.path}; {there}")


def gold_ids(project: Project, annotators: Sequence[str] = ()) -> dict[str, int]:
    """All ids that are decided, with the number of mentions; first those of most."""
    query = f"""
    WITH {_LATEST.format(only="")}
    SELECT id.value, count(*) FROM latest, json_each(latest.gold) part, json_each(part.value) id
    WHERE latest.state = 'decided' GROUP BY id.value ORDER BY count(*) DESC, id.value
    """
    return dict(project.connection.execute(query, {"chosen": json.dumps(annotators)}).fetchall())


def ids_ever(project: Project, number: int) -> set[str]:
    """All ids that anybody has decided in a document, at any time.

    Raises:
        Unknown: there is none of this number.
    """
    text_of(project, number)
    query = "SELECT DISTINCT gold FROM decisions WHERE document = ?"
    return {id for (gold,) in project.connection.execute(query, (number,)) for part in json.loads(gold) for id in part}


def rows(project: Project, annotators: Sequence[str] = ()) -> list[Row]:
    """All documents, in the order in which they were added."""
    query = f"""
    WITH {_LATEST.format(only="")}
    SELECT d.number, d.id, d.revision, count(e.key), coalesce(sum(e.open), 0),
        avg(CASE WHEN e.open THEN e.uncertainty END)
    FROM documents d LEFT JOIN (
        SELECT m.document, m.key, m.uncertainty, coalesce(l.state, 'open') = 'open' AS open
        FROM {_SEEN} WHERE coalesce(l.state, 'open') != 'rejected' AND {_OWN}
    ) e ON e.document = d.number
    GROUP BY d.number ORDER BY d.number
    """
    return [Row(*row) for row in project.connection.execute(query, {"chosen": json.dumps(annotators)})]


def most_uncertain(found: Sequence[Row]) -> list[Row]:
    """Documents with something to decide, the most uncertain first; of two alike the one that was added first.

    A document is as uncertain as its undecided mentions are on average, see ``nomina.review.uncertainty``.
    """
    return sorted((row for row in found if row.open), key=lambda row: -(row.uncertainty or 0.0))


def texts(project: Project) -> Iterator[Text]:
    """All documents without their mentions, in order."""
    query = "SELECT number, id, text, sections, kb, revision FROM documents ORDER BY number"
    for row in project.connection.execute(query):
        yield _text(row)


def text_of(project: Project, number: int) -> Text:
    """A document without its mentions.

    Raises:
        Unknown: there is none of this number.
    """
    query = "SELECT number, id, text, sections, kb, revision FROM documents WHERE number = ?"
    row = project.connection.execute(query, (number,)).fetchone()
    if row is None:
        raise Unknown(f"the project has no document {number}")
    return _text(row)


def _text(row: Sequence[Any]) -> Text:
    sections = tuple(Section(*section) for section in json.loads(row[3]))
    return Text(row[0], row[1], row[2], sections, row[4], row[5])


def mentions(project: Project, number: int, annotators: Sequence[str] = ()) -> list[Seen]:
    """The mentions of a document in the order of their places, rejected ones as well.

    ``is_own`` says whether it was added with the document or by one of those whose decisions count.
    """
    query = f"""
    WITH {_LATEST.format(only=" AND document = :number")}
    SELECT m.key, m.spans, m.type, m.finding, m.revision = 0 OR {_OWN}, coalesce(l.state, 'open'),
        coalesce(l.gold, '[]'), l.name, l.annotator, l.time
    FROM {_SEEN} WHERE m.document = :number
    """
    found = project.connection.execute(query, {"chosen": json.dumps(annotators), "number": number})
    return sorted(map(_seen, found), key=_place)


def _seen(row: Sequence[Any]) -> Seen:
    key, spans, type, finding, is_own, state, gold, *rest = row
    return Seen(key, tuple(map(tuple, json.loads(spans))), type, finding, bool(is_own), state, _gold(gold), *rest)


def _place(seen: Seen) -> tuple[int, int, int, str]:
    return seen.spans[0][0], seen.spans[-1][1], len(seen.key), seen.key


def _gold(text: str) -> Gold:
    return tuple(map(tuple, json.loads(text)))


def documents(
    project: Project, annotators: Sequence[str] = (), dropped: Counter[str] | None = None
) -> Iterator[Document]:
    """All documents with the mentions that are decided; "no concept" is the id that was given for it, such as -1.

    ``dropped`` counts those that nobody has decided, and those that are rejected.
    """
    for each in texts(project):
        kept = []
        for seen in mentions(project, each.number, annotators):
            if seen.state == "decided":
                kept.append(Mention(seen.spans, joined(each.text, seen.spans), seen.type, seen.gold))
            elif dropped is not None:
                dropped["undecided mentions" if seen.state == "open" else "rejected mentions"] += 1
        yield Document(each.id, each.text, tuple(kept), each.sections)
