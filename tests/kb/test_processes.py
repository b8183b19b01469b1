"""Real processes: builders side by side, killed builders, readers in other processes."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nomina.kb.build import build
from nomina.kb.store import KnowledgeBase
from nomina.types import Entity, Name

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and fork")

ROWS = 150_000  # enough that a build takes seconds
BUILD = ["kb", "build"]


def command(*arguments: object) -> list[str]:
    return [
        sys.executable,
        "-c",
        "import sys; from nomina.cli.main import main; sys.exit(main())",
        *map(str, arguments),
    ]


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("big") / "big.tsv"
    with open(path, "w", encoding="utf-8") as stream:
        stream.write("id\tname\n")
        stream.writelines(f"X:{i}\tname {i} of many\n" for i in range(ROWS))
    return path


@contextlib.contextmanager
def running_build(source: Path, target: Path) -> Iterator[subprocess.Popen[str]]:
    """A build in another process, well under way: its temporary file has grown."""
    with subprocess.Popen(command(*BUILD, source, "-o", target), stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not temporaries(target) and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(0.5)
        assert process.poll() is None, "the build was over before it could be stopped"
        yield process
        if process.poll() is None:
            process.kill()


def temporaries(target: Path) -> list[Path]:
    return list(target.parent.glob(f".{target.name}.*.tmp"))


@pytest.fixture
def old(tmp_path: Path) -> KnowledgeBase:
    return build(tmp_path / "a.kb", [Entity("X:1", (Name("old"),))])


def test_ctrl_c_is_one_line_and_exit_2_and_the_old_file_is_whole(big: Path, old: KnowledgeBase) -> None:
    before = old.path.read_bytes()
    with running_build(big, old.path) as process:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert said == f"nomina: stopped; {old.path} is as it was before\n"
    assert old.path.read_bytes() == before
    assert list(old.path.parent.iterdir()) == [old.path]


def test_after_a_kill_the_old_file_is_whole_and_the_next_build_tidies_up(big: Path, old: KnowledgeBase) -> None:
    before = old.path.read_bytes()
    with running_build(big, old.path) as process:
        process.kill()
        process.wait(timeout=60)
    assert old.path.read_bytes() == before
    assert len(temporaries(old.path)) == 1
    new = build(old.path, [Entity("X:2", (Name("new"),))])
    assert list(new) == ["X:2"]
    assert list(old.path.parent.iterdir()) == [old.path]


def test_a_full_disk_is_one_line_and_the_old_file_is_whole(big: Path, old: KnowledgeBase) -> None:
    before = old.path.read_bytes()
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20));"
    run = command(*BUILD, big, "-o", old.path)
    run[2] = limit + run[2]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("nomina: cannot build the KB (")
    assert "free some space in" in done.stderr
    assert old.path.read_bytes() == before
    assert list(old.path.parent.iterdir()) == [old.path]


def test_two_builders_at_once_both_end_well(big: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.kb"
    builders = [subprocess.Popen(command(*BUILD, big, "-o", target), stderr=subprocess.PIPE) for _ in range(2)]
    seen = 0
    while any(builder.poll() is None for builder in builders):
        seen = max(seen, len(temporaries(target)))
        time.sleep(0.01)
    said = [builder.communicate()[1].decode() for builder in builders]
    assert [builder.returncode for builder in builders] == [0, 0], said
    assert seen == 2, "they did not run side by side"
    assert list(tmp_path.iterdir()) == [target]
    kb = KnowledgeBase.open(target)
    assert (len(kb), kb.names[ROWS - 1]) == (ROWS, f"name {ROWS - 1} of many")


def test_two_first_starts_at_once_build_the_default_kb_once(tmp_path: Path) -> None:
    code = "from nomina.kb.sources import default_kb; kb = default_kb(); print(kb.path.stat().st_ino, kb.fingerprint)"
    environment = os.environ | {"NOMINA_HOME": str(tmp_path)}
    run = [sys.executable, "-c", code]
    starts = [subprocess.Popen(run, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [start.communicate(timeout=120)[0] for start in starts]
    assert [start.returncode for start in starts] == [0, 0]
    assert said[0] == said[1] != ""


def test_a_read_only_folder_is_one_line_and_exit_2(tmp_path: Path) -> None:
    source = tmp_path / "a.tsv"
    source.write_text("id\tname\nX:1\ta\n", encoding="utf-8")
    place = Path("/proc") if os.geteuid() == 0 else Path("/")
    done = subprocess.run(command(*BUILD, source, "-o", place / "a.kb"), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"nomina: cannot write {place / 'a.kb'} (")
    assert done.stderr.count("\n") == 1


def _look(kb: KnowledgeBase, answers: multiprocessing.Queue[tuple[str, int]]) -> None:
    answers.put((kb.lookup("OLD")[0].id, len(list(kb.names))))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_handle_works_in_another_process(old: KnowledgeBase, method: str) -> None:
    assert old.lookup("old")[0].id == "X:1"
    context = multiprocessing.get_context(method)
    answers = context.Queue()
    process = context.Process(target=_look, args=(old, answers))
    process.start()
    assert answers.get(timeout=60) == ("X:1", 1)
    process.join(60)
    assert process.exitcode == 0
    assert old.lookup("old")[0].id == "X:1"
