"""``nomina cache``: what nomina keeps for itself."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nomina.cli.encode import megabytes
from nomina.errors import NominaError, UsageError

if TYPE_CHECKING:
    from nomina.cache import Entry, Kind

_DAY = 24 * 60 * 60
_DIGITS = 12
"""Of a fingerprint, where it is shown; some of them may stand for a KB."""

_LEAST_DIGITS = 8
_KINDS = ("kb", "lexicon", "spans", "tfidf", "index", "trie", "downloads")
_CLEAR_EXAMPLES = """\b
Examples:
  nomina cache clear --older-than 90     what was not used for 90 days
  nomina cache clear index --kb mesh     the vectors of MeSH, of every encoder
  nomina cache clear --kb my.kb --yes    tables and vectors of a KB of yours, not the KB
  nomina cache clear                     all that can be made again
"""


@click.group()
def cache() -> None:
    """Look at what nomina keeps in its cache folder, or remove it.

    The folder is NOMINA_HOME, else the user's cache folder. In it are KBs (the default one and those of `nomina kb
    get`), tables of their names and variants (lexicon) and of their words (spans), TF-IDF's lists, vectors of names
    (index), names as tokens (trie), and downloads that broke off.
    """


@cache.command(epilog="\b\nExamples:\n  nomina cache info\n  nomina cache info --json | jq .bytes\n")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def info(as_json: bool) -> None:
    """List what lies in the cache folder: what it is, of which KB and encoder, its size, its last use.

    A KB that lies elsewhere is shown by the first digits of its fingerprint (nomina kb info FILE). The last use is what
    the file system notes of it, at times only to the day.
    """
    from nomina import cache
    from nomina.files import home

    found = cache.entries()
    count, size = cache.others(found)
    if as_json:
        listed = [_as_json(entry) for entry in found]
        total = sum(entry.bytes for entry in found)
        whole = {"folder": str(home()), "bytes": total + size, "entries": listed, "other_files": count}
        click.echo(json.dumps(whole, indent=2, ensure_ascii=False))
        return
    click.echo(home())
    for line in _table(found):
        click.echo(line)
    click.echo(f"in all {_sum(found)}")
    if count:
        click.echo(f"beside them {count:,} files that are not nomina's, {megabytes(size)}: they are never removed")


@cache.command(epilog=_CLEAR_EXAMPLES)
@click.argument("kinds", nargs=-1, metavar="[KIND]...", type=click.Choice(_KINDS))
@click.option("--kb", metavar="NAME|FILE", help="Only what is of this KB; digits of a fingerprint will do.")
@click.option("--older-than", type=click.FloatRange(min=0), metavar="DAYS", help="Only what was not used for as long.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def clear(kinds: tuple[Kind, ...], kb: str | None, older_than: float | None, yes: bool) -> None:
    """Remove what nomina can make again: all of it, or that of some kinds.

    KIND is kb, lexicon, spans, tfidf, index, trie or downloads. KBs outside the cache folder are never touched, nor
    are those in it that were made of files which you gave to `nomina kb get`. What another process is making is left.
    What is removed is made again, or fetched again, when it is next needed; vectors of a large KB take minutes.
    """
    from nomina import cache

    chosen = [entry for entry in cache.entries() if not kinds or entry.kind in kinds]
    if kb is not None:
        chosen = _of_kb(chosen, kb)
    if older_than is not None:
        chosen = [entry for entry in chosen if entry.last_use < time.time() - older_than * _DAY]
    for entry in chosen:
        if entry.kept:
            click.echo(f"nomina: left {entry.path}: {entry.kept}", err=True)
    chosen = [entry for entry in chosen if not entry.kept]
    if not chosen:
        click.echo("nothing to remove", err=True)
        return
    if not yes and not _agreed(chosen):
        click.echo("nothing removed", err=True)
        return
    _remove(chosen)


def _agreed(chosen: Sequence[Entry]) -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(f"{_sum(chosen)} would be removed: say --yes, as there is no terminal to ask on")
    for line in _table(chosen):
        click.echo(line, err=True)
    return click.confirm(f"remove {_sum(chosen)}?", err=True)


def _remove(chosen: Sequence[Entry]) -> None:
    from nomina import cache

    removed = []
    for entry in chosen:
        if cache.remove(entry):
            removed.append(entry)
        else:
            click.echo(f"nomina: left {entry.path}: another process is making it", err=True)
    click.echo(f"removed {_sum(removed)}", err=True)


def _of_kb(found: Sequence[Entry], kb: str) -> list[Entry]:
    """What is of a KB: a name, a file, or the first digits of a fingerprint.

    Raises:
        UsageError: there is no such KB.
    """
    from nomina.kb.catalogue import catalogue
    from nomina.kb.sources import NAMED
    from nomina.kb.store import KnowledgeBase

    if kb in NAMED or kb in catalogue():
        return [entry for entry in found if entry.kb == kb]
    if Path(kb).exists():
        fingerprint = KnowledgeBase.open(kb).fingerprint
        return [entry for entry in found if entry.fingerprint == fingerprint]
    chosen = [entry for entry in found if entry.fingerprint and entry.fingerprint.startswith(kb)]
    if len(kb) < _LEAST_DIGITS or not chosen:
        raise UsageError(f"no KB {kb!r}: name one of `nomina cache info`, a KB file, or {_LEAST_DIGITS} digits or more")
    return chosen


def _sum(found: Sequence[Entry]) -> str:
    counts = Counter(entry.kind for entry in found)
    kinds = ", ".join(f"{kind} {count}" for kind, count in counts.items())
    return f"{len(found):,} ({kinds or 'nothing'}), {megabytes(sum(entry.bytes for entry in found))}"


def _table(found: Sequence[Entry]) -> Iterator[str]:
    own = _own_fingerprint()
    rows = [("kind", "of", "size", "last use")]
    rows += [(entry.kind, _of(entry, own), megabytes(entry.bytes), f"{_day(entry):%Y-%m-%d}") for entry in found]
    kind, of, size = (max(len(row[column]) for row in rows) for column in range(3))
    for row in rows if found else ():
        yield f"{row[0]:<{kind}}  {row[1]:<{of}}  {row[2]:>{size}}  {row[3]}"


def _of(entry: Entry, own: str) -> str:
    parts = [entry.kb or f"KB {(entry.fingerprint or '')[:_DIGITS]}"]
    if entry.encoder:
        encoder = "nomina's own encoder" if own.startswith(entry.encoder) else f"encoder {entry.encoder[:_DIGITS]}"
        parts += [encoder, str(entry.index)]
    if not entry.finished:
        parts.append("unfinished")
    if entry.kept:
        parts.append("of your files")
    return ", ".join(parts)


def _own_fingerprint() -> str:
    """The fingerprint of the encoder that nomina comes with; nothing where there is none."""
    from nomina import encoders
    from nomina.artifact import Artifact
    from nomina.encoders.onnx import KIND

    try:
        return Artifact.open(encoders.shipped(), KIND).fingerprint
    except NominaError:
        return ""


def _day(entry: Entry) -> datetime:
    return datetime.fromtimestamp(entry.last_use, UTC)


def _as_json(entry: Entry) -> dict[str, object]:
    return {
        "kind": entry.kind,
        "path": str(entry.path),
        "kb": entry.kb,
        "kb_fingerprint": entry.fingerprint,
        "encoder_fingerprint": entry.encoder,
        "index": entry.index,
        "bytes": entry.bytes,
        "last_use": f"{_day(entry):%Y-%m-%dT%H:%M:%SZ}",
        "finished": entry.finished,
        "can_be_made_again": entry.kept is None,
    }
