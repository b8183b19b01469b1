"""Project files: nothing is overwritten unseen, saved twice or lost, whoever writes at once and whatever is killed."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from review_cases import NIL, Made, added, decided, marked, rejected, save

from nomina.errors import UsageError
from nomina.review import views
from nomina.review.opening import APPLICATION_ID, is_project
from nomina.review.project import Conflict, Project, Unknown
from nomina.review.records import Added, Change, Finding, Marked, check_annotator, check_save, keys_of
from nomina.types import Candidate, Section

DOCUMENT = Added("d", "😀 Ataxia, fit.", (marked(2, 8), marked(10, 13, gold=NIL)), (Section(0, 14, "title"),), "kb1")


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "team.sqlite"


def seen(path: Path, number: int = 1, *annotators: str) -> list[tuple[object, ...]]:
    with Project(path, writes=False) as project:
        found = views.mentions(project, number, annotators)
    return [(each.key, each.state, each.gold, each.annotator) for each in found]


def test_what_is_added_is_there_with_gold_as_a_decision(path) -> None:
    with Project(path) as project:
        assert project.add(DOCUMENT, "anna", save()) == 1
        assert project.add(DOCUMENT, "ben", save()) == 1
        text = views.text_of(project, 1)
    assert text == (1, "d", "😀 Ataxia, fit.", (Section(0, 14, "title"),), "kb1", 0)
    assert seen(path) == [("2-8", "open", (), None), ("10-13", "decided", NIL, "anna")]


def test_another_document_of_the_same_id_is_refused(path) -> None:
    with Project(path) as project:
        project.add(DOCUMENT, "anna", save())
        with pytest.raises(UsageError, match="another document has the id 'd'"):
            project.add(Added("d", "other"), "anna", save())
        assert len(views.rows(project)) == 1


def test_a_save_on_an_old_revision_is_a_conflict_that_names_who_and_changes_nothing(path) -> None:
    with Project(path) as anna, Project(path) as ben:
        anna.add(DOCUMENT, "anna", save())
        assert anna.change(1, 0, [decided("2-8", "A:1")], "anna", save()) == 1
        with pytest.raises(Conflict, match="anna has changed this document") as caught:
            ben.change(1, 0, [decided("2-8", "A:2")], "ben", save())
        assert (caught.value.revision, caught.value.annotator) == (1, "anna")
        assert seen(path)[0] == ("2-8", "decided", (("A:1",),), "anna")
        assert ben.change(1, 1, [decided("2-8", "A:2")], "ben", save()) == 2
    assert seen(path)[0] == ("2-8", "decided", (("A:2",),), "ben")
    assert seen(path, 1, "anna")[0] == ("2-8", "decided", (("A:1",),), "anna")


def test_the_same_save_again_is_saved_once(path) -> None:
    with Project(path) as project:
        project.add(DOCUMENT, "anna", save())
        same = save()
        assert project.change(1, 0, [rejected("2-8")], "anna", same) == 1
        assert project.change(1, 0, [rejected("2-8")], "anna", same) == 1
        assert project.change(1, 1, [decided("2-8", "A:1")], "anna", save()) == 2
        assert project.change(1, 0, [rejected("2-8")], "anna", same) == 1
    assert seen(path)[0][1] == "decided"


def test_a_number_of_a_save_is_not_used_for_another_save(path) -> None:
    with Project(path) as project:
        first, second = save(), save()
        project.add(DOCUMENT, "anna", first)
        assert project.add(DOCUMENT, "anna", first) == 1
        both = [decided("2-8", "A:1"), added("0-1", "A:1")]
        assert project.change(1, 0, both, "anna", second) == project.change(1, 0, both, "anna", second) == 1
        others = [
            (first, 0, both, "anna"),
            (second, 1, both, "anna"),
            (second, 0, both, "ben"),
            (second, 0, both[:1], "anna"),
            (second, 0, [decided("2-8", "A:2"), both[1]], "anna"),
            (second, 0, [replace(both[0], name="x"), both[1]], "anna"),
            (second, 0, [both[0], replace(both[1], mention=marked(0, 1, 0.5))], "anna"),
        ]
        for number, revision, changes, annotator in others:
            with pytest.raises(UsageError, match="another save has this number"):
                project.change(1, revision, changes, annotator, number)
        for document in (Added("e", "other"), replace(DOCUMENT, kb="other"), replace(DOCUMENT, mentions=())):
            with pytest.raises(UsageError, match="another save has this number"):
                project.add(document, "anna", first)
        assert [row.revision for row in views.rows(project)] == [1]


def test_a_mention_is_added_rejected_and_reopened(path) -> None:
    with Project(path) as project:
        project.add(DOCUMENT, "anna", save())
        project.change(1, 0, [added("0-1", "A:1")], "anna", save())
        project.change(1, 1, [rejected("2-8"), rejected("0-1")], "anna", save())
        project.change(1, 2, [Change("2-8", "open")], "anna", save())
    assert [each[:2] for each in seen(path)] == [("0-1", "rejected"), ("2-8", "open"), ("10-13", "decided")]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ([], "at least one mention"),
        ([rejected("2-8"), decided("2-8", "A:1")], "each once"),
        ([decided("3-8", "A:1")], "has no mention '3-8'"),
        ([added("2-99", "A:1")], r"2-99 ends behind the text \(14 characters\)"),
        ([Change("0-1", "open", mention=marked(0, 2))], "has no mention '0-1'"),
    ],
)
def test_what_cannot_be_saved_leaves_the_revision(path, changes, why) -> None:
    with Project(path) as project:
        project.add(DOCUMENT, "anna", save())
        with pytest.raises(UsageError, match=why):
            project.change(1, 0, changes, "anna", save())
        assert project.change(1, 0, [rejected("2-8")], "anna", save()) == 1
        with pytest.raises(Unknown, match="no document 7"):
            project.change(7, 0, [rejected("2-8")], "anna", save())


@pytest.mark.parametrize(
    "make",
    [
        lambda: Change("0-1", "decided"),
        lambda: Change("0-1", "open", (("A:1",),)),
        lambda: Change("0-1", "decided", ((),)),
        lambda: Change("0-1", "decided", (("a\tb",),)),
        lambda: Marked(()),
        lambda: Marked(((2, 2),)),
        lambda: Marked(((0, 1),), gold=()),
        lambda: Added("", "text"),
        lambda: Added("d", "text", (marked(0, 5),)),
        lambda: Finding(probability=1.5),
        lambda: Finding((Candidate("A:1", "a", "a", float("nan"), 1, "exact", 0),)),
        lambda: check_annotator(" "),
        lambda: check_annotator("a,b"),
        lambda: check_annotator("a\nb"),
        lambda: check_annotator("a" * 101),
        lambda: check_save("XYZ"),
    ],
)
def test_values_that_cannot_be_are_refused(make) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        make()


def test_keys_tell_mentions_at_one_place_apart() -> None:
    assert keys_of([((0, 5),), ((0, 5), (7, 9)), ((0, 5),)]) == ["0-5", "0-5;7-9", "0-5#2"]


def test_other_files_are_refused_and_left_as_they_are(path, make_kb) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE a (b)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(UsageError, match="a SQLite file but no review project"):
        Project(path)
    assert path.read_bytes() == before
    path.write_text("a text\n" * 100, encoding="utf-8")
    with pytest.raises(UsageError, match="cannot be used"):
        Project(path)
    with pytest.raises(UsageError, match="no project at"):
        Project(path.with_name("no"), writes=False)
    with pytest.raises(UsageError, match="cannot be used"):
        Project(path.with_name("no") / "team.sqlite")


def test_a_project_of_a_newer_nomina_is_refused(path) -> None:
    Made(path)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(UsageError, match=r"a newer nomina \(schema 99, here 1\)"):
        Project(path, writes=False)


def test_it_is_known_by_its_first_bytes_and_lies_in_one_file_when_it_is_closed(path) -> None:
    Made(path)
    assert is_project(path.read_bytes()[:100])
    assert APPLICATION_ID.to_bytes(4, "big") == b"noRR"
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root writes anywhere")
def test_a_project_that_cannot_be_written_to_is_read(path) -> None:
    Made(path)
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        assert len(seen(path)) == 4
    finally:
        path.parent.chmod(0o755)


def test_a_full_disk_is_said_and_what_was_saved_stays(path) -> None:
    with Project(path) as project:
        project.add(DOCUMENT, "anna", save())
        (pages,) = project.connection.execute("PRAGMA page_count").fetchone()
        project.connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(UsageError, match="database or disk is full"):
            project.add(Added("large", "a" * 100_000), "anna", save())
        assert project.change(1, 0, [rejected("2-8")], "anna", save()) == 1
        assert [row.id for row in views.rows(project)] == ["d"]


WRITER = """
import sys
from nomina.review.project import Conflict, Project
from nomina.review.records import Change
path, name, most = sys.argv[1], sys.argv[2], int(sys.argv[3])
project, revision = Project(path), 0
for number in range(most):
    change, save = Change("0-1", "decided", ((f"{name}:{number}",),)), f"{name.encode().hex()}{number:016x}"
    while True:
        try:
            revision = project.change(1, revision, [change], name, save)
            break
        except Conflict as conflict:
            revision = conflict.revision
    print(number, flush=True)
"""


def ids_of(path: Path) -> list[str]:
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        query = "SELECT json_extract(gold, '$[0][0]') FROM decisions ORDER BY revision"
        return [id for (id,) in connection.execute(query)]


def begun(path: Path, name: str, most: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), name, str(most)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8")


def test_processes_that_write_at_once_lose_nothing(path) -> None:
    Made(path)
    writers = {name: begun(path, name, 40) for name in ("anna", "ben", "cleo")}
    for writer in writers.values():
        writer.communicate(timeout=120)
        assert writer.returncode == 0
    ids = ids_of(path)
    assert len(ids) == 120
    for name in writers:
        assert [id for id in ids if id.startswith(f"{name}:")] == [f"{name}:{number}" for number in range(40)]
    with Project(path, writes=False) as project:
        assert views.text_of(project, 1).revision == 120


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_what_was_saved_outlives_a_writer_that_is_killed(path, tmp_path) -> None:
    Made(path)
    writer = begun(path, "anna", 1_000_000)
    told = [writer.stdout.readline() for _ in range(50)]
    writer.kill()
    rest = writer.communicate()[0]
    last = int((rest.split() or told)[-1])
    copied = tmp_path / "copied"
    shutil.copytree(path.parent, copied, ignore=lambda *_: ["copied"])
    ids = ids_of(copied / path.name)
    assert ids[: last + 1] == [f"anna:{number}" for number in range(last + 1)]
    assert len(ids) <= last + 2
    assert seen(path)[0][2] == ((ids[-1],),)
