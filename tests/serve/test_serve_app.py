"""The routes without a server: the token, the log and errors of its own; and schemathesis over a server's.

That server has no project: its requests are those of linking, concepts, search and state, not of ``/project``.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import threading
import tracemalloc
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

import httpx

from nomina.serve.app import make_app
from nomina.serve.engine import Engine
from nomina.serve.errors import Refusal
from nomina.serve.metrics import Metrics
from nomina.serve.options import Limits, Settings
from nomina.serve.schema import batch_line, link_request
from nomina.serve.service import Service


@pytest.fixture(scope="module")
def engine(kb):
    opened = Engine.open(Settings(kb.path, "dictionary", k=2))
    yield opened
    opened.close()


def asked(engine: Engine, play: Callable[[object, Service], Awaitable[None]], **changes: object) -> None:
    """Play with a client of an application in this process."""

    async def run() -> None:
        service = Service(replace(engine.settings, **changes), engine, Metrics())
        service.start()
        transport = httpx.ASGITransport(make_app(service))
        async with httpx.AsyncClient(transport=transport, base_url="http://made") as client:
            await play(client, service)
        await service.batcher.stop()

    asyncio.run(run())


def test_all_routes_answer(engine) -> None:
    async def play(client, service) -> None:
        linked = await client.post("/link", json={"text": "a fit", "threshold": 0.1, "types": ["symptom"]})
        assert [p["candidates"][0]["entity_id"] for p in linked.json()["documents"][0]["predictions"]] == ["A:2"]
        batch = await client.post(
            "/link/batch", content='{"text": "ataxia"}\n{', headers={"content-type": "application/x-ndjson"}
        )
        assert len(batch.text.splitlines()) == 2
        for path in ("/concepts/A:1", "/search?q=fit", "/info", "/healthz", "/readyz", "/metrics", "/openapi.json"):
            assert (await client.get(path)).status_code == 200, path
        assert (await client.get("/concepts/A:99")).status_code == 404
        assert (await client.post("/link", content=b"", headers={"content-type": "text/plain"})).status_code == 415

    asked(engine, play)


def test_a_token_is_asked_for_everywhere_but_where_a_probe_asks(engine) -> None:
    async def play(client, service) -> None:
        paths = ("/info", "/metrics", "/openapi.json", "/concepts/A:1", "/search?q=fit", "/nothing")
        for path in paths:
            assert (await client.get(path)).status_code == 401, path
            wrong = await client.get(path, headers={"authorization": "Bearer tokeN"})
            assert (wrong.status_code, wrong.json()) == (401, {"error": "give the service's token"})
        for path in ("/healthz", "/readyz"):
            assert (await client.get(path)).status_code == 200
        right = await client.get("/info", headers={"authorization": "Bearer token"})
        assert right.status_code == 200

    asked(engine, play, token="token")
    assert "token" not in repr(replace(engine.settings, token="t0ken")).replace("token=", "")


def test_an_error_of_the_services_own_is_a_line_without_the_text(engine, monkeypatch, caplog) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("Zebra")

    async def play(client, service) -> None:
        answer = await client.post("/link", json={"text": "Zebra"})
        assert answer.status_code == 500
        assert answer.json() == {"error": "an error of the service's own; its log says where"}

    monkeypatch.setattr(Engine, "_lines", broken)
    caplog.set_level(logging.INFO, "nomina.serve")
    asked(engine, play)
    assert f"RuntimeError at {__file__}:" in caplog.text
    assert "Zebra" not in caplog.text


@pytest.mark.parametrize("body", ['{"documents":[%s]}', '{"documents":[{"text":"a","mentions":[%s]}]}'])
def test_a_body_of_faults_only_is_refused_at_the_first(body) -> None:
    raw = (body % ",".join(["1"] * 200_000)).encode()
    tracemalloc.start()
    try:
        with pytest.raises(Refusal, match=r"0: Input should be an object$"):
            link_request(raw, Limits())
        assert tracemalloc.get_traced_memory()[1] < 10 * len(raw)
    finally:
        tracemalloc.stop()


def test_thousands_of_unknown_fields_are_counted_not_listed() -> None:
    raw = json.dumps({f"a{number}": 1 for number in range(2_000)}).encode()  # and "text" is missing
    with pytest.raises(Refusal, match=r"^2,001 values or fields of it cannot be$"):
        batch_line(raw, Limits())


def test_long_bodies_and_lines_are_parsed_beside_the_event_loop(engine, monkeypatch) -> None:
    on_loop = []

    def noted(parse: Callable[..., object]) -> Callable[..., object]:
        def noting(raw: bytes, limits: Limits) -> object:
            on_loop.append(threading.current_thread() is threading.main_thread())
            return parse(raw, limits)

        return noting

    monkeypatch.setattr("nomina.serve.app.link_request", noted(link_request))
    monkeypatch.setattr("nomina.serve.batch.batch_line", noted(batch_line))

    async def play(client, service) -> None:
        for text in ("ataxia", "ataxia. " * 2_000):
            content, lines = json.dumps({"text": text}), {"content-type": "application/x-ndjson"}
            linked = await client.post("/link", content=content, headers={"content-type": "application/json"})
            batch = await client.post("/link/batch", content=content, headers=lines)
            assert batch.json() == linked.json()["documents"][0]

    asked(engine, play)
    assert on_loop == [True, True, False, False]


def test_bodies_are_held_up_to_a_bound_all_together(engine) -> None:
    """Sixteen clients that have sent 96 of 98 bytes each leave 64 of 1,600."""

    async def play(client, service) -> None:
        go, come = asyncio.Event(), 0

        async def slowly(first: int, last: int):
            nonlocal come
            yield b" " * first
            come += 1
            await go.wait()
            yield b" " * last

        def sent(first: int, last: int) -> asyncio.Task:
            headers = {"content-type": "application/json"}
            return asyncio.create_task(client.post("/link", content=slowly(first, last), headers=headers))

        waiting = [sent(96, 2) for _ in range(16)]
        while come < 16:
            await asyncio.sleep(0.001)
        refused = await client.post("/link", json={"text": "a" * 80})
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert refused.json() == {"error": "too much is waiting: try again in a second"}
        go.set()
        assert [answer.status_code for answer in await asyncio.gather(*waiting)] == [422] * 16
        assert (await client.post("/link", json={"text": "a" * 80})).status_code == 200

    asked(engine, play, limits=Limits(body=100))


def test_lines_of_batches_that_do_not_end_are_held_up_to_the_same_bound(engine) -> None:
    """Sixteen batches that have sent 100 of 100 bytes each leave nothing of 1,600; ended or cut off, they leave all."""
    line = json.dumps({"text": "ataxia"}).encode()

    async def play(client, service) -> None:
        go, come = asyncio.Event(), 0

        async def slowly():
            nonlocal come
            yield line + b"\n"
            yield line.ljust(100)
            come += 1
            await go.wait()

        def sent(content) -> asyncio.Task:
            headers = {"content-type": "application/x-ndjson"}
            return asyncio.create_task(client.post("/link/batch", content=content, headers=headers))

        waiting = [sent(slowly()) for _ in range(16)]
        while come < 16:
            await asyncio.sleep(0.001)
        assert (await client.post("/link", json={"text": "ataxia"})).status_code == 429
        refused = await sent(line)
        assert refused.json() == {"line": 1, "error": "too much is waiting: try again in a second"}
        waiting.pop().cancel()
        while (await client.post("/link", json={"text": "ataxia"})).status_code == 429:
            await asyncio.sleep(0.001)
        go.set()
        for answer in await asyncio.gather(*waiting):
            assert [len(json.loads(line)["predictions"]) for line in answer.text.splitlines()] == [1, 1]
        service.room.take(1_600)

    asked(engine, play, limits=Limits(body=100))


def test_requests_that_are_linked_together_fail_alone(engine, monkeypatch) -> None:
    real = Engine._lines

    def choosy(self: Engine, documents, wanted):
        if any(document.text == "crash" for document in documents):
            raise RuntimeError
        return real(self, documents, wanted)

    async def play(client, service) -> None:
        bodies = [{"text": text} for text in ("ataxia", "crash", "fits", "ataxia")]
        answers = await asyncio.gather(*(client.post("/link", json=body) for body in bodies))
        assert [answer.status_code for answer in answers] == [200, 500, 200, 200]
        assert [len(a.json()["documents"][0]["predictions"]) for a in answers if a.status_code == 200] == [1, 1, 1]

    monkeypatch.setattr(Engine, "_lines", choosy)
    asked(engine, play, limits=Limits())


def test_an_answer_that_grows_too_large_is_refused_and_those_beside_it_are_not(engine) -> None:
    async def play(client, service) -> None:
        bodies = [{"text": text} for text in ("ataxia", "ataxia and fits. " * 10, "fits")]
        answers = await asyncio.gather(*(client.post("/link", json=body) for body in bodies))
        assert [answer.status_code for answer in answers] == [200, 413, 200]
        assert answers[1].json()["error"].startswith("the answer has more than 1,500 characters: send less at a time")

    limits = Limits(answer=1_500)
    small = Engine.open(replace(engine.settings, limits=limits))
    asked(small, play, limits=limits)
    small.close()


def test_a_reload_puts_a_new_engine_in_place_and_a_failed_one_does_not(engine, kb, tmp_path, caplog) -> None:
    copy = shutil.copy(kb.path, tmp_path / "made.kb")
    settings = replace(engine.settings, kb=copy)

    async def play(client, service) -> None:
        service.engine = first = Engine.open(settings)
        service.reload()
        await asyncio.sleep(0)
        service.reload()
        waiting = client.post("/link", json={"text": "ataxia"})
        assert (await waiting).status_code == 200
        while "nomina_reloads_total 2\n" not in (await client.get("/metrics")).text:
            await asyncio.sleep(0.01)
        assert service.engine is not first
        second = service.engine
        os.replace(shutil.copy(__file__, tmp_path / "no.kb"), copy)
        service.reload()
        while "nomina_reload_failures_total 1\n" not in (await client.get("/metrics")).text:
            await asyncio.sleep(0.01)
        assert service.engine is second
        assert (await client.post("/link", json={"text": "ataxia"})).status_code == 200
        await service.stop()

    caplog.set_level(logging.INFO, "nomina.serve")
    asked(engine, play, kb=copy, access_log=False)
    said = [record.message.partition(":")[0] for record in caplog.records]
    assert said == [f"serves made {kb.fingerprint} now"] * 2 + [
        "the KB could not be opened anew, the old one serves on"
    ]


def test_a_search_that_a_reload_overtakes_is_answered(engine, monkeypatch) -> None:
    """It asks one thread of its engine, then the other; the reload comes between the two."""

    async def play(client, service) -> None:
        service.engine = first = Engine.open(engine.settings)
        looked, go = threading.Event(), threading.Event()

        def slowly(*asked: object) -> list[object]:
            looked.set()
            assert go.wait(60)
            return []

        monkeypatch.setattr("nomina.serve.engine.find", slowly)
        search = asyncio.create_task(client.get("/search?q=fits"))
        await asyncio.to_thread(looked.wait, 60)
        service.reload()
        async with asyncio.timeout(60):
            while service.engine is first:
                await asyncio.sleep(0.01)
        go.set()
        answer = await search
        assert (answer.status_code, answer.json()["candidates"][0]["entity_id"]) == (200, "A:5")
        with pytest.raises(RuntimeError, match="after shutdown"):
            await first.search("fits", 1)
        await service.stop()

    asked(engine, play)


def test_concepts_and_searches_are_not_kept_by_a_browser(engine) -> None:
    async def play(client, service) -> None:
        for path in ("/concepts/A:1", "/search?q=fit"):
            assert (await client.get(path)).headers["cache-control"] == "no-cache"

    asked(engine, play)


@pytest.mark.extras
def test_no_request_that_the_schema_allows_or_forbids_breaks_the_service(served) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, given, settings

    @schemathesis.serializer("application/x-ndjson")
    def lines(context, value) -> bytes:
        return json.dumps(value).encode() + b"\n"

    schema = schemathesis.openapi.from_url(f"http://127.0.0.1:{served.port}/openapi.json")
    for operation in schema.get_all_operations():
        case_of = operation.ok().as_strategy()

        @given(case=case_of)
        @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
        def check(case) -> None:
            response = case.call()
            assert response.status_code < 500 or (response.status_code, case.path) == (503, "/readyz")

        check()
    assert served.link(text="ataxia")[0]["predictions"]
