"""A project's thread: what is said when it has too much to do, is too slow, or its file cannot be used."""

from __future__ import annotations

import asyncio
import sqlite3
import threading

import pytest

pytest.importorskip("fastapi")

from review_cases import Made

from nomina.review import views
from nomina.serve.desk import Desk
from nomina.serve.errors import Refusal


def refused(desk, work) -> int:
    with pytest.raises(Refusal) as caught:
        asyncio.run(desk.do(work))
    return caught.value.status


def test_what_is_done_is_answered_and_the_file_is_let_go_at_the_end(tmp_path) -> None:
    made = Made(tmp_path / "p")
    desk = Desk(made.path, 5.0)
    assert [row.id for row in asyncio.run(desk.do(views.rows))] == ["one"]
    assert (tmp_path / "p-wal").exists()
    desk.close()
    assert not (tmp_path / "p-wal").exists()


def test_a_file_that_cannot_be_used_is_no_fault_of_the_request(tmp_path) -> None:
    desk = Desk(tmp_path / "no" / "p", 5.0)
    assert refused(desk, views.rows) == 503
    desk.close()
    made = Made(tmp_path / "p")
    desk = Desk(made.path, 5.0)
    asyncio.run(desk.do(views.rows))
    with sqlite3.connect(made.path) as other:
        other.execute("DROP TABLE decisions")
    assert refused(desk, views.rows) == 503
    desk.close()


def test_too_slow_and_too_much(tmp_path) -> None:
    desk = Desk(Made(tmp_path / "p").path, 0.2)
    free = threading.Event()

    async def ask() -> list[int]:
        many = [desk.do(lambda _: free.wait()) for _ in range(66)]
        answers = await asyncio.gather(*many, return_exceptions=True)
        return [answer.status for answer in answers if isinstance(answer, Refusal)]

    statuses = asyncio.run(ask())
    free.set()
    desk.close()
    assert sorted(statuses) == [429] * 2 + [504] * 64
