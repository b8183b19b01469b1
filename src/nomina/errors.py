"""Everything nomina raises on purpose.

::

    NominaError
    ├── FormatError(path, line, why)    a file that is not what it should be
    │   └── NotText                     bytes of it that are no text
    ├── RecipeError                     a training recipe or option that does not fit
    ├── ArtifactError                   a saved model that is damaged, foreign or built on another KB
    ├── KnowledgeBaseError              a KB that is missing, damaged, empty, of another version, or lacks what is asked
    ├── UsageError                      an argument that cannot be met (command line and API alike)
    └── MissingExtra(extra)             an optional dependency; the message is the pip command

Each message is one line that says what to do. The command line prints it and exits with 2.
"""

from __future__ import annotations

from pathlib import Path


class NominaError(Exception):
    """Base of all errors that a user can act on."""


class FormatError(NominaError):
    """A file that cannot be read as its format: where, and why."""

    def __init__(self, path: str | Path, line: int | None, why: str) -> None:
        self.path, self.line, self.why = Path(path), line, why
        where = f"{path}:{line}" if line is not None else str(path)
        super().__init__(f"{where}: {why}")


class NotText(FormatError):
    """Bytes that are not UTF-8, or control characters: a lenient reading that goes on has dropped some of the text.

    ``mend`` says what is wrong and how to mend it, without a word of lenience.
    """

    def __init__(self, path: str | Path, line: int, what: str, advice: str, kind: str) -> None:
        self.mend = f"{what}: {advice}"
        super().__init__(path, line, f"{self.mend}, or use --lenient to drop such {kind}")


class RecipeError(NominaError):
    """A recipe or training option that does not fit."""


class ArtifactError(NominaError):
    """A saved model that cannot be used as asked."""


class KnowledgeBaseError(NominaError):
    """A knowledge base that cannot be built, opened or asked this."""


class UsageError(NominaError):
    """An argument that cannot be met."""


class MissingExtra(NominaError):
    """An optional dependency that is not installed."""

    def __init__(self, extra: str, what: str) -> None:
        self.extra = extra
        super().__init__(f'{what} needs an extra: python -m pip install "nomina[{extra}]"')
