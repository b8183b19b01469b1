"""The queue before the engine: what is linked together, what is refused, who fails; with an engine of the test's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

pytest.importorskip("fastapi")

from nomina.serve import batching
from nomina.serve.batching import Batcher
from nomina.serve.engine import Job, Linked
from nomina.serve.errors import Refusal
from nomina.serve.metrics import Metrics
from nomina.serve.schema import Asked
from nomina.types import Document


class Engine:
    """Answers when the gate is open, each document by its text; remembers its batches."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.gate = asyncio.Event()

    async def link(self, jobs: Sequence[Job]) -> list[Linked | Exception]:
        self.batches.append([document.text for job in jobs for document in job.documents])
        await self.gate.wait()
        if "crash" in self.batches[-1]:
            raise MemoryError
        return [
            ValueError("bad") if job.documents[0].text == "bad" else Linked([d.text for d in job.documents], 1)
            for job in jobs
        ]


def documents(*texts: str) -> list[Document]:
    return [Document("d", text) for text in texts]


def played(play: Callable[[Engine, Batcher, Metrics], Awaitable[None]], limit: int = 8) -> None:
    async def run() -> None:
        engine, metrics = Engine(), Metrics()
        batcher = Batcher(lambda: engine, limit, metrics)
        batcher.start()
        await asyncio.wait_for(play(engine, batcher, metrics), 30)
        await batcher.stop()

    asyncio.run(run())


async def asked(batcher: Batcher, *texts: str) -> asyncio.Task[Linked]:
    task = asyncio.create_task(batcher.link(documents(*texts), Asked()))
    await asyncio.sleep(0.01)
    return task


def test_what_waits_while_a_batch_is_linked_is_the_next_batch() -> None:
    async def play(engine: Engine, batcher: Batcher, metrics: Metrics) -> None:
        tasks = [await asked(batcher, *texts) for texts in (["a"], ["b", "c"], ["d"])]
        engine.gate.set()
        assert [(await task).documents for task in tasks] == [["a"], ["b", "c"], ["d"]]
        assert engine.batches == [["a"], ["b", "c", "d"]]
        assert "\nnomina_documents_total 4\n" in metrics.text({})
        assert "\nnomina_batches_total 2\n" in metrics.text({})

    played(play)


def test_a_full_queue_refuses_and_the_patient_wait() -> None:
    async def play(engine: Engine, batcher: Batcher, metrics: Metrics) -> None:
        first, second = await asked(batcher, "a"), await asked(batcher, "b", "c")
        with pytest.raises(Refusal) as refused:
            await batcher.link(documents("d"), Asked())
        assert (refused.value.status, refused.value.headers) == (429, {"retry-after": "1"})
        assert batcher.is_full
        patient = asyncio.create_task(batcher.link_patiently(documents("e"), Asked()))
        await asyncio.sleep(0.01)
        assert "\nnomina_queue_documents 3\n" in metrics.text({})
        engine.gate.set()
        assert (await patient).documents == ["e"]
        assert first.done()
        assert second.done()
        await asyncio.sleep(0)
        assert "\nnomina_queue_documents 0\n" in metrics.text({})

    played(play, limit=3)


def test_a_job_larger_than_the_queue_is_taken_where_nothing_waits() -> None:
    async def play(engine: Engine, batcher: Batcher, metrics: Metrics) -> None:
        engine.gate.set()
        assert (await batcher.link(documents("a", "b", "c"), Asked())).documents == ["a", "b", "c"]

    played(play, limit=2)


def test_a_job_that_nobody_waits_for_is_not_linked() -> None:
    async def play(engine: Engine, batcher: Batcher, metrics: Metrics) -> None:
        first, gone = await asked(batcher, "a"), await asked(batcher, "b")
        gone.cancel()
        last = await asked(batcher, "c")
        engine.gate.set()
        assert (await first).documents == ["a"]
        assert (await last).documents == ["c"]
        assert engine.batches == [["a"], ["c"]]
        await asyncio.sleep(0)
        assert "\nnomina_queue_documents 0\n" in metrics.text({})

    played(play)


def test_only_the_job_that_is_bad_fails() -> None:
    async def play(engine: Engine, batcher: Batcher, metrics: Metrics) -> None:
        tasks = [await asked(batcher, text) for text in ("a", "bad", "b")]
        engine.gate.set()
        assert (await tasks[0]).documents == ["a"]
        with pytest.raises(ValueError, match="bad"):
            await tasks[1]
        assert (await tasks[2]).documents == ["b"]

    played(play)


def test_an_engine_that_breaks_down_fails_its_batch_and_the_next_is_linked() -> None:
    async def play(engine: Engine, batcher: Batcher, metrics: Metrics) -> None:
        engine.gate.set()
        with pytest.raises(MemoryError):
            await batcher.link(documents("crash"), Asked())
        assert (await batcher.link(documents("a"), Asked())).documents == ["a"]

    played(play)


def test_the_next_batch_waits_for_as_many_as_were_answered(monkeypatch) -> None:
    """Clients that ask again one by one, a moment after the answer, are linked together all the same."""
    monkeypatch.setattr(batching, "_SHARE", 1e9)
    monkeypatch.setattr(batching, "_LONGEST", 20.0)

    async def play(engine: Engine, batcher: Batcher, metrics: Metrics) -> None:
        first = await asked(batcher, "a")
        others = [await asked(batcher, text) for text in "bcd"]
        engine.gate.set()
        await asyncio.gather(first, *others)
        again = [await asked(batcher, text) for text in "efg"]
        assert [(await task).documents for task in again] == [["e"], ["f"], ["g"]]
        assert engine.batches == [["a"], ["b", "c", "d"], ["e", "f", "g"]]

    played(play)


def test_it_waits_a_moment_at_most(monkeypatch) -> None:
    monkeypatch.setattr(batching, "_SHARE", 1e9)
    monkeypatch.setattr(batching, "_LONGEST", 0.05)

    async def play(engine: Engine, batcher: Batcher, metrics: Metrics) -> None:
        first = await asked(batcher, "a")
        others = [await asked(batcher, text) for text in "bc"]
        engine.gate.set()
        await asyncio.gather(first, *others)
        assert (await batcher.link(documents("d"), Asked())).documents == ["d"]
        assert engine.batches == [["a"], ["b", "c"], ["d"]]

    played(play)


def test_one_who_asks_again_and_again_alone_is_not_made_to_wait(monkeypatch) -> None:
    monkeypatch.setattr(batching, "_SHARE", 1e9)
    monkeypatch.setattr(batching, "_LONGEST", 60.0)

    async def play(engine: Engine, batcher: Batcher, metrics: Metrics) -> None:
        engine.gate.set()
        for text in "abcdefgh":
            assert (await batcher.link(documents(text), Asked())).documents == [text]
        assert engine.batches == [[text] for text in "abcdefgh"]

    played(play)
