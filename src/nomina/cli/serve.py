"""``nomina serve``: linking behind HTTP."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nomina.errors import MissingExtra, UsageError
from nomina.linkers import DEFAULT

if TYPE_CHECKING:
    from nomina.kb.store import KnowledgeBase
    from nomina.serve.engine import Engine

TOKEN = "NOMINA_TOKEN"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_MOST_WORKERS = 64
_MOST_CONCEPTS = 100  # as in nomina.serve.options, which is not imported for a help text

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")

_EXAMPLES = """\b
Examples:
  nomina serve
  nomina serve --kb mesh.kb --linker model/ --workers 4
  nomina serve --host 0.0.0.0 --token-file token.txt
  nomina serve --project team.sqlite
"""


@click.command(epilog=_EXAMPLES)
@click.option("--kb", default="hpo", metavar="NAME|FILE", show_default=True, help="The knowledge base.")
@click.option("--linker", default=DEFAULT, metavar="NAME|FOLDER", show_default=True, help="As of nomina link.")
@click.option(
    "-k", type=click.IntRange(1, _MOST_CONCEPTS), default=5, show_default=True, help="Concepts a mention at most."
)
@click.option("--threshold", type=click.FloatRange(0, 1), help="Abstain under this score, from 0 to 1.")
@click.option("--spans/--no-spans", default=None, help="As of nomina link.")
@click.option("--no-context", is_flag=True, help="Do not look for negation and family history.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free one.")
@click.option("--workers", type=click.IntRange(1, _MOST_WORKERS), default=1, show_default=True, help="Processes.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"Requests have to bring the token in this file (else in {TOKEN}, if that is set).",
)
@click.option("--allow-origin", multiple=True, metavar="URL", help="Web pages from there may ask; may be repeated.")
@click.option(
    "--project",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A project that the review page works on, with annotators and times; made where it is missing.",
)
@click.option("--blind", is_flag=True, help="Annotators of the project see their own decisions only.")
@click.option("--max-body", type=click.IntRange(1), default=16_000_000, show_default=True, help="Bytes of a request.")
@click.option("--max-documents", type=click.IntRange(1), default=256, show_default=True, help="Of a request to /link.")
@click.option("--max-characters", type=click.IntRange(1), default=1_000_000, show_default=True, help="Of a document.")
@click.option("--queue", type=click.IntRange(1), default=1024, show_default=True, help="Documents that may wait.")
@click.option("--timeout", type=click.FloatRange(0.1, 3600), default=60.0, show_default=True, help="Seconds.")
@click.option("--access-log/--no-access-log", default=True, help="A line a request, without its text. By default yes.")
def serve(
    kb: str,
    linker: str,
    k: int,
    threshold: float | None,
    spans: bool | None,
    no_context: bool,
    host: str,
    port: int,
    workers: int,
    token_file: Path | None,
    allow_origin: tuple[str, ...],
    project: Path | None,
    blind: bool,
    max_body: int,
    max_documents: int,
    max_characters: int,
    queue: int,
    timeout: float,
    access_log: bool,
) -> None:
    """Answer requests over HTTP: link texts, look concepts up, search.

    SIGHUP opens the knowledge base anew without losing a request; SIGTERM ends the service when all that it accepted
    is answered. What can be asked is in /openapi.json.
    """
    try:
        from nomina.serve.server import bind
        from nomina.serve.server import serve as answer
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("fastapi", "starlette", "uvicorn"):
            raise
        raise MissingExtra("serve", "nomina serve") from error
    from nomina.serve.options import Limits, Settings

    token = read_token(token_file)
    check_origins(allow_origin)
    check_project(project, blind)
    settings = Settings(
        kb, linker, k, threshold, spans, not no_context, token, allow_origin, access_log,
        Limits(max_body, max_documents, max_characters, queue=queue, seconds=timeout), project, blind,
    )  # fmt: skip
    with bind(host, port) as bound:
        if host not in _LOOPBACK and token is None:
            click.echo(f"nomina: anybody who reaches {host} may ask: set a token with --token-file", err=True)
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{bound.getsockname()[1]}"

        def ready(engine: Engine) -> None:
            warn_of_unknown(project, engine.kb)
            click.echo(f"nomina: serves {engine.kb.manifest.name} at {address}", err=True)

        answer(settings, bound, workers, ready)


def read_token(file: Path | None) -> str | None:
    """The token of a file, else of the environment; a command line would show it to everybody on the machine.

    Raises:
        UsageError: the file cannot be read, or there is no token in it.
    """
    if file is None:
        found = os.environ.get(TOKEN)
        where = f"the environment variable {TOKEN}"
    else:
        where = str(file)
        try:
            found = file.read_text(encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{file} cannot be read ({error.strerror}): name a file with a token") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{file} is no text: name a file with a token") from error
    if found is None:
        return None
    token = found.strip()
    if not token or not (token.isascii() and token.isprintable()) or " " in token:
        raise UsageError(f"{where} holds no token: one line of letters, digits and signs, without spaces")
    return token


def check_origins(origins: tuple[str, ...]) -> None:
    """Refuse what no browser ever sends as the origin of a page (RFC 6454, section 6.2): it would allow nothing.

    Raises:
        UsageError: one is neither ``*``, which is every page, nor a scheme and a host in small letters.
    """
    for origin in origins:
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            raise UsageError(
                f"--allow-origin {origin!r} is no origin: write it as https://example.org or http://localhost:3000, "
                "in small letters and without a path"
            )


def check_project(file: Path | None, blind: bool) -> None:
    """Make a project where it is missing, before anything is answered.

    Raises:
        UsageError: it cannot be had, or there is none that annotators could be blind in.
    """
    if file is None:
        if blind:
            raise UsageError("--blind is about a project: name one with --project")
        return
    from nomina.review.project import Project

    Project(file).close()


def warn_of_unknown(file: Path | None, kb: KnowledgeBase) -> None:
    """Say how many decided ids of a project the KB does not have: it is opened, and exported, all the same."""
    if file is None:
        return
    from nomina.review.project import Project
    from nomina.review.unknown import unknown_in

    with Project(file, writes=False) as project:
        if said := unknown_in(project, kb):
            click.echo(f"nomina: {file.name}: {said}", err=True)
