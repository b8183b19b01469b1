"""The ``nomina`` command: finds the sub-command, and turns what a user can act on into one line and an exit code.

Exit codes: 0 done; 2 a mistake of the user's or of the surroundings (one line on stderr); 130 stopped by Ctrl-C;
141 the reader of our output went away (``nomina link ... | head``), as the shell reports it for any other tool.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple, cast

import click

from nomina._version import __version__
from nomina.cli import interrupts
from nomina.errors import NominaError

USER_MISTAKE = 2
INTERRUPTED = 130
PIPE_CLOSED = 141


class Command(NamedTuple):
    """A sub-command: where its click command lives (``module:attribute``) and its line in ``nomina --help``."""

    target: str
    help: str


COMMANDS: dict[str, Command] = {
    "link": Command("nomina.cli.link:link", "Link the mentions of texts to concepts."),
    "bulk": Command("nomina.cli.bulk:bulk", "Link millions of documents, file by file, exactly once."),
    "kb": Command("nomina.cli.kb:kb", "Build a knowledge base and look into it."),
    "corpus": Command("nomina.cli.corpus:corpus", "Describe annotated corpora, or write them in another format."),
    "evaluate": Command("nomina.cli.evaluate:evaluate", "Score predictions against a corpus."),
    "serve": Command("nomina.cli.serve:serve", "Answer requests to link texts, over HTTP."),
    "review": Command("nomina.cli.review:review", "Look into review projects: what is next, who agrees."),
    "train": Command("nomina.cli.train:train", "Train an encoder on a KB's names or a corpus."),
    "cascade": Command("nomina.cli.cascade:cascade", "Combine linkers, as development mentions teach."),
    "encode": Command("nomina.cli.encode:encode", "Write the vectors of names to a .npy file."),
    "index": Command("nomina.cli.index:index", "Make the vectors of a KB's names before they are needed."),
    "cache": Command("nomina.cli.cache:cache", "Look at what nomina keeps in its cache folder, or remove it."),
}
"""Every sub-command. A new one is one line here; none is imported before it is called."""


_HELP = """Names in, concepts out: link biomedical mentions to the concepts of a knowledge base.

\b
nomina link note.txt                 phenotypes (HPO) of a text, offline
nomina kb build terms.tsv -o my.kb   a knowledge base of your own terms
nomina link note.txt --kb my.kb
"""


class _LazyGroup(click.Group):
    """A group whose help needs only the table ``COMMANDS``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name].target.split(":")
        return cast(click.Command, getattr(import_module(module), attribute))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> object:
        # Both are caught here because click's own main() answers them first, with another text and another exit code.
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            # An interrupt inside exec() (which makes dataclasses) is remembered by CPython, and `python -m nomina`
            # would be killed by SIGINT at its end in place of our exit code; the next exec() makes it forget.
            exec("")
            return _complain(str(error) or "stopped", INTERRUPTED)
        except BrokenPipeError:
            return _pipe_closed()


@click.group(cls=_LazyGroup, help=_HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def group() -> None:
    """All sub-commands together."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; ``argv`` stands for ``sys.argv[1:]``."""
    _use_utf8()
    try:
        with interrupts.kept():
            code = group.main(argv, prog_name="nomina", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        return _pipe_closed()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return USER_MISTAKE
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "nomina"
        return _complain(f"{error.format_message().rstrip('.')} (see {command} --help)", USER_MISTAKE)
    except click.ClickException as error:
        return _complain(error.format_message(), USER_MISTAKE)
    except NominaError as error:
        return _complain(str(error), USER_MISTAKE)
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        return _complain(f"{where}{error.strerror or error}", USER_MISTAKE)
    except click.Abort:
        return _complain("stopped", INTERRUPTED)
    return code if isinstance(code, int) else 0


def _use_utf8() -> None:
    """UTF-8 on the standard streams, whatever the locale says; what UTF-8 cannot write is escaped, not fatal."""
    for stream, errors in ((sys.stdin, "strict"), (sys.stdout, "backslashreplace"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)


def _complain(message: str, code: int) -> int:
    click.echo(f"nomina: {' '.join(message.split())}", err=True)
    return code


def _pipe_closed() -> int:
    # The interpreter flushes stdout once more at its end; let that go nowhere instead of into the closed pipe.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED
