"""Ctrl-C that is not lost."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_SOON = 0.05  # seconds, until what could not raise is left


@contextmanager
def kept() -> Iterator[None]:
    """Have an interrupt come again where Python could not raise it, as in a callback in the middle of an import.

    Python tells only ``sys.unraisablehook`` of such a one and goes on, so that Ctrl-C would have to be pressed again.
    """
    before = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if not isinstance(unraisable.exc_value, KeyboardInterrupt):
            before(unraisable)
            return
        again = threading.Timer(_SOON, _interrupt)
        again.daemon = True
        again.start()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


def _interrupt() -> None:
    if os.name == "posix":
        os.kill(os.getpid(), signal.SIGINT)  # it wakes the main thread where that waits
    else:
        signal.raise_signal(signal.SIGINT)
