"""The command line's frame: laziness, exit codes, one-line errors, pipes, signals, encodings."""

import os
import signal
import subprocess
import sys
from importlib import metadata
from types import SimpleNamespace

import click
import pytest

from nomina._version import __version__
from nomina.cli import main as cli
from nomina.errors import FormatError, NominaError

MADE = """
import sys, time
import click
from nomina.cli import main as cli

@click.command()
def flood():
    while True:
        click.echo("x" * 10_000)

@click.command()
def sleep():
    click.echo("ready")
    time.sleep(60)

@click.command()
def inside():
    exec("raise KeyboardInterrupt")

@click.command()
def parrot():
    for line in sys.stdin:
        print(line, end="")

@click.command()
def surrogate():
    print("a\\udcffb")

names = "flood", "sleep", "inside", "parrot", "surrogate"
cli.COMMANDS = {name: cli.Command(f"__main__:{name}", "made") for name in names}
sys.exit(cli.main())
"""


@pytest.fixture
def made(tmp_path):
    """The words that start a made command in a process of its own."""
    script = tmp_path / "made.py"
    script.write_text(MADE, encoding="utf-8")
    return lambda name: [sys.executable, str(script), name]


@pytest.fixture
def call(monkeypatch, capsys):
    """Run `main` over one made command that does what the function given does."""

    def run(action, *argv):
        monkeypatch.setitem(sys.modules, "made_commands", SimpleNamespace(act=click.command("act")(action)))
        monkeypatch.setattr(cli, "COMMANDS", {"act": cli.Command("made_commands:act", "made")})
        code = cli.main(["act", *argv])
        return code, *capsys.readouterr()

    return run


def raises(error):
    def action():
        raise error

    return action


def test_help_lists_every_command(capsys):
    assert cli.main(["--help"]) == 0
    out = capsys.readouterr().out
    for name, command in cli.COMMANDS.items():
        assert f"  {name}" in out
        assert command.help in " ".join(out.split())
    assert "\n  nomina link note.txt --kb my.kb\n" in out, "the examples keep their lines"


def test_help_imports_no_command_and_nothing_heavy():
    code = (
        "import sys; from nomina.cli.main import main; main(['--help']);"
        "print(*sorted(sys.modules), sep='\\n', file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert {"nomina", "nomina.cli", "nomina.cli.main", "click"} <= loaded
    assert {command.target.split(":")[0] for command in cli.COMMANDS.values()}.isdisjoint(loaded)
    assert {"numpy", "sqlite3", "torch", "onnxruntime", "pydantic", "importlib.metadata"}.isdisjoint(loaded)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_the_table_leads_to_commands_of_that_name(name):
    command = cli.group.get_command(click.Context(cli.group), name)
    assert isinstance(command, click.Command)
    assert command.name == name
    assert command.help, "a command explains itself"


def test_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"nomina {__version__}\n"


def test_the_package_says_the_same_version():
    try:
        installed = metadata.version("nomina")
    except metadata.PackageNotFoundError:
        pytest.skip("nomina is on the path but not installed")
    assert installed == __version__


def test_python_dash_m_is_the_same_command():
    done = subprocess.run([sys.executable, "-m", "nomina", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"nomina {__version__}\n"


def test_no_arguments_shows_the_help_as_a_mistake(capsys):
    assert cli.main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Usage: nomina ")


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["lnik"], "nomina: No such command 'lnik' (see nomina --help)\n"),
        (["--colour"], "nomina: No such option '--colour' (see nomina --help)\n"),
    ],
)
def test_a_mistyped_word_is_one_line(capsys, argv, line):
    assert cli.main(argv) == 2
    assert capsys.readouterr() == ("", line)


def test_a_mistyped_option_of_a_command_points_to_its_help(call):
    code, out, err = call(lambda: None, "--kbb")
    assert (code, out) == (2, "")
    assert err == "nomina: No such option '--kbb' (see nomina act --help)\n"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (NominaError("do this\n  and that"), "nomina: do this and that\n"),
        (FormatError("a.tsv", 3, "needs a column id"), "nomina: a.tsv:3: needs a column id\n"),
        (click.ClickException("not so"), "nomina: not so\n"),
        (PermissionError(13, "Permission denied", "/x"), "nomina: /x: Permission denied\n"),
        (OSError("odd"), "nomina: odd\n"),
    ],
)
def test_what_a_user_can_act_on_is_one_line_and_exit_2(call, error, line):
    assert call(raises(error)) == (2, "", line)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
def test_stopping_is_one_line_and_exit_130(call, error):
    assert call(raises(error)) == (130, "", "nomina: stopped\n")


def test_a_bug_keeps_its_traceback(call):
    with pytest.raises(ZeroDivisionError):
        call(lambda: 1 / 0)


def test_a_command_chooses_its_exit_code(call):
    assert call(lambda: click.get_current_context().exit(3)) == (3, "", "")
    assert call(lambda: click.echo("done")) == (0, "done\n", "")


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_from_the_keyboard(made):
    with subprocess.Popen(made("sleep"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "nomina: stopped\n")


def test_an_interrupt_inside_exec_is_an_exit_code_too(made, tmp_path):
    done = subprocess.run([sys.executable, "-m", "made", "inside"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "nomina: stopped\n")


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
def test_a_closed_pipe_ends_quietly(made):
    with subprocess.Popen(made("flood"), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.read(5) == b"xxxxx"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.parametrize(
    "locale",
    [
        {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"LC_ALL": "C", "PYTHONIOENCODING": "latin-1"},
    ],
)
def test_streams_are_utf8_whatever_the_locale(made, locale):
    text = "interferon-γ, Löfgren’s, 心臓\n".encode()
    done = subprocess.run(made("parrot"), input=text, capture_output=True, env={**os.environ, **locale})
    assert (done.returncode, done.stdout, done.stderr) == (0, text, b"")


def test_what_utf8_cannot_write_is_escaped(made):
    done = subprocess.run(made("surrogate"), capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"a\\udcffb\n")
