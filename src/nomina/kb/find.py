"""Concepts by their id, or by words that their names begin with: for people who type, where linkers are for mentions.

A pass over all ids and, where none is meant, one over all look-up keys, both in SQLite.
"""

from __future__ import annotations

from collections.abc import Iterator

from nomina.kb.store import KnowledgeBase
from nomina.text import normalise
from nomina.types import Candidate

BY_ID = ("id", "retired id")
"""Rules of candidates whose whole id was asked for."""

_RULES = ("name", "name begins", "name has words", "name has word beginnings")
_ROWS = 20  # looked at for each concept that is wanted: several names may be of one concept
_IDS = "SELECT id FROM {table} WHERE id LIKE :id ESCAPE '\\' ORDER BY id <> :asked, length(id), id LIMIT :most"
_PREFERRED = "SELECT row FROM name JOIN entity ON number = entity WHERE id = ? AND live ORDER BY position LIMIT 1"
_KEYS = """
SELECT number, CASE WHEN key = :key THEN 0 WHEN substr(key, 1, length(:key)) = :key THEN 1
    WHEN instr(' ' || key, ' ' || :key) THEN 2 ELSE 3 END AS how
FROM row WHERE {words} ORDER BY how, length(key), number LIMIT :most
"""


def find(kb: KnowledgeBase, words: str, k: int) -> list[Candidate]:
    """Up to ``k`` concepts, each once, best first, all with score 1 and a rank of their own.

    Where this is an id (in any case of letters), its concept only, or, where it is retired, the one that it means now.
    Else those whose id begins so, where there is a digit in it; then those with a name that is this, begins so, has it
    from the start of a word on, or has for each word one that begins with it; of these, shorter names first.
    """
    found: dict[str, Candidate] = {}
    for id, name, row, rule in _each(kb, words.strip(), k):
        if id not in found:
            preferred = kb[id].name
            found[id] = Candidate(id, preferred, name or preferred, 1.0, len(found) + 1, rule, row)
        if len(found) == k:
            break
    return list(found.values())


def _each(kb: KnowledgeBase, words: str, k: int) -> Iterator[tuple[str, str | None, int, str]]:
    """Id, the name that was found (none: the id was), its row, and the rule."""
    meant = list(_meant(kb, words, k))
    for id, rule in meant or _begun(kb, words, k):
        if row := next(kb.select(_PREFERRED, (id,)), None):
            yield id, None, row[0], rule
    key = normalise(words)
    parts = {f"word{number}": f" {part}" for number, part in enumerate(dict.fromkeys(key.split()))}
    if meant or not parts:
        return
    query = _KEYS.format(words=" AND ".join(f"instr(' ' || key, :{part})" for part in parts))
    for row, how in list(kb.select(query, {**parts, "key": key, "most": _ROWS * k})):
        for owner in kb.owners_of(row):
            yield owner.entity_id, owner.name.text, row, _RULES[how]


def _meant(kb: KnowledgeBase, id: str, k: int) -> Iterator[tuple[str, str]]:
    """Live ids that are this one but for the case of letters, or that replace it."""
    for table in ("entity", "retired"):
        for spelt in _like(kb, table, id, "", k):
            if live := kb.resolve(spelt):
                yield live, BY_ID[live != spelt]


def _begun(kb: KnowledgeBase, id: str, k: int) -> Iterator[tuple[str, str]]:
    if any(c.isdigit() for c in id):
        yield from ((spelt, "id begins") for spelt in _like(kb, "entity", id, "%", k) if spelt in kb)


def _like(kb: KnowledgeBase, table: str, id: str, end: str, most: int) -> list[str]:
    like = "".join(f"\\{c}" if c in "\\%_" else c for c in id) + end
    return [spelt for (spelt,) in kb.select(_IDS.format(table=table), {"id": like, "asked": id, "most": most})]
