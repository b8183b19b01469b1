"""Ctrl-C that falls into a callback, where Python cannot raise it."""

import os
import signal
import sys
import time
import weakref

import click
import pytest

from nomina.cli.main import INTERRUPTED, main

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")


class Thing:
    pass


def test_an_interrupt_in_a_callback_ends_the_command(monkeypatch, capsys):
    def invoke(self, ctx):
        thing = Thing()
        told = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGINT))
        del thing
        assert told() is None
        time.sleep(20)

    before = sys.unraisablehook
    monkeypatch.setattr(click.Group, "invoke", invoke)
    assert main(["link"]) == INTERRUPTED
    assert capsys.readouterr().err == "nomina: stopped\n"
    assert sys.unraisablehook is before


def test_other_errors_in_a_callback_are_told_as_ever(monkeypatch):
    def invoke(self, ctx):
        thing = Thing()
        told = weakref.ref(thing, lambda _: 1 / 0)
        del thing
        assert told() is None

    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: seen.append(unraisable.exc_type))
    monkeypatch.setattr(click.Group, "invoke", invoke)
    assert main(["link"]) == 0
    assert seen == [ZeroDivisionError]
