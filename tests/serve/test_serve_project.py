"""The routes of a project over a real server process: saves, conflicts, refusals, exports, ids of another KB."""

from __future__ import annotations

import asyncio
import json
import threading
import tracemalloc
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

import httpx
from review_cases import save
from serve_cases import JSON, Served
from serve_project_cases import TEXT, add, change, post

from nomina.cli.main import main
from nomina.corpora import read_corpus
from nomina.kb.build import BuildOptions, build
from nomina.serve import project as project_routes
from nomina.serve.app import make_app
from nomina.serve.bodies import parsed
from nomina.serve.engine import Engine
from nomina.serve.errors import Refusal
from nomina.serve.metrics import Metrics
from nomina.serve.options import Settings
from nomina.serve.service import Service
from nomina.types import Entity, Name


@pytest.fixture(scope="module")
def service(kb, tmp_path_factory):
    path = tmp_path_factory.mktemp("projects") / "team.sqlite"
    with Served(kb.path, "--project", path, "--max-body", 100_000, "--max-characters", 5000) as served:
        served.path, served.kb = path, kb.path
        yield served


def test_a_document_is_added_shown_changed_and_listed(service) -> None:
    number = add(service, "first")
    shown = service.client.get(f"/project/documents/{number}").json()
    assert (shown["id"], shown["text"], shown["revision"]) == ("first", TEXT, 0)
    assert [(m["key"], m["text"], m["gold"], m["annotator"]) for m in shown["mentions"]] == [
        ("0-6", "Ataxia", None, None),
        ("8-15", "seizure", [["-1"]], "anna"),
    ]
    assert post(service, number, change("0-6", "A:4", annotator=" ben ")).json() == {"revision": 1}
    row = next(row for row in service.client.get("/project").json()["documents"] if row["id"] == "first")
    assert row == {"number": number, "id": "first", "revision": 1, "mentions": 2, "open": 0, "uncertainty": None}
    of_anna = service.client.get(f"/project/documents/{number}", params={"annotator": "anna"}).json()
    assert [mention["gold"] for mention in of_anna["mentions"]] == [None, [["-1"]]]


def test_an_old_revision_is_a_conflict_and_the_same_save_is_not(service) -> None:
    number = add(service, "conflict")
    body = change("0-6", "A:4")
    assert post(service, number, body).json() == post(service, number, body).json() == {"revision": 1}
    answer = post(service, number, change("0-6", "A:2", annotator="ben"))
    told = answer.json()
    assert (answer.status_code, told["revision"], told["annotator"]) == (409, 1, "anna")
    assert told["error"].startswith("anna has changed this document meanwhile")
    assert service.client.get(f"/project/documents/{number}").json()["mentions"][0]["gold"] == [["A:4"]]


def test_a_number_of_a_save_is_not_taken_twice(service) -> None:
    number, other = add(service, "taken"), add(service, "taken too")
    body = change("0-6", "A:4")
    assert post(service, number, body).json() == {"revision": 1}
    for place, changed in ((number, change("0-6", "A:2", number=body["save"])), (other, body)):
        answer = post(service, place, changed)
        assert answer.status_code == 422
        assert answer.json()["error"].startswith("another save has this number already, and nothing was saved")
    added = {"annotator": "anna", "save": body["save"], "document": {"id": "taken 3", "text": TEXT}}
    assert "another save has this number" in service.refused(422, "/project/documents", json=added)
    assert post(service, number, body).json() == {"revision": 1}
    shown = [service.client.get(f"/project/documents/{each}").json() for each in (number, other)]
    assert [(each["revision"], each["mentions"][0]["gold"]) for each in shown] == [(1, [["A:4"]]), (0, None)]


def test_a_document_has_as_many_mentions_as_fit_into_a_body(service) -> None:
    number = add(service, "many", "Fit.", [{"spans": [[0, 3]]}] * 5001)
    assert len(service.client.get(f"/project/documents/{number}").json()["mentions"]) == 5001


@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        ({}, 422, "the field 'annotator' is missing"),
        (change("9-9", "A:1"), 422, "the document has no mention '9-9'"),
        (change("0-6", "A:1", annotator=""), 422, "an annotator's name has"),
        (change("0-6", "A:1", annotator="a,b"), 422, "an annotator's name has"),
        (change("0-6", "A:1", number="x"), 422, "save is 16 to 64"),
        (change("0-6", "A:1", state="gone"), 422, "changes.0.state: Input should be"),
        (change("0-6", "A:1", txt=1), 422, "unknown field 'changes.0.txt'"),
        (change("0-6", "a\tb"), 422, "changes.0: 'a\\tb' is no id"),
        ({**change(), "changes": []}, 422, "a save has 1 to 5,000 changes"),
        (change("0-6", "A:1", revision=5), 409, ""),
    ],
)
def test_a_save_that_cannot_be(service, body, status, why) -> None:
    number = add(service, "refusals")
    answer = post(service, number, body)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"].startswith(why)
    assert service.client.get(f"/project/documents/{number}").json()["revision"] == 0


def test_ids_that_the_kb_does_not_have_are_refused_in_decisions(service) -> None:
    number = add(service, "unknown")
    refused = post(service, number, change("0-6", "A:4", "A:99"))
    assert refused.status_code == 422
    assert refused.json() == {"error": "the KB made has no concept 'A:99': search for another one"}
    assert service.client.get(f"/project/documents/{number}").json()["revision"] == 0
    for revision, id in enumerate(("A:4", "a:4", "A:20", "-1", "NIL")):  # live, spelt otherwise, retired for A:2, none
        assert post(service, number, change("0-6", id, revision=revision)).json() == {"revision": revision + 1}
    assert service.refused(404, "/project/documents/99/changes", json=change("0-6", "A:99")).startswith("the project")


def test_a_project_of_an_older_kb_is_opened_exported_and_told_about(kb, tmp_path) -> None:
    older = build(tmp_path / "older.kb", [Entity("B:1", (Name("Ataxia"),))], BuildOptions("older"))
    path = tmp_path / "team.sqlite"
    with Served(older.path, "--project", path) as served:
        number = add(served, "one", mentions=[{"spans": [[0, 6]]}, {"spans": [[8, 15]], "gold": [["C:1"]]}])
        assert served.client.get("/project/unknown").json() == {"total": 1, "ids": {"C:1": 1}}
        mine = change("0-6", "B:1")
        assert post(served, number, mine).json() == {"revision": 1}
    with Served(kb.path, "--project", path) as served:
        said = "team.sqlite: 2 decided ids are not in the KB made, and kept as they are: B:1, C:1\n"
        assert said in served.log
        assert served.client.get("/project/unknown").json() == {"total": 2, "ids": {"B:1": 1, "C:1": 1}}
        assert served.client.get("/project/unknown?annotator=ben").json() == {"total": 0, "ids": {}}
        document = json.loads(served.client.get("/project/export").text)
        assert [mention["gold"] for mention in document["mentions"]] == [[["B:1"]], [["C:1"]]]
        assert post(served, number, mine).json() == {"revision": 1}  # the very same save again
        assert post(served, number, change("0-6", "A:4", revision=1)).json() == {"revision": 2}
        assert post(served, number, change("0-6", "B:1", revision=2)).json() == {"revision": 3}  # had back by undo
        assert "no concept 'B:2'" in post(served, number, change("0-6", "B:2", revision=3)).text


ONES = ",".join(["1"] * 200_000)


@pytest.mark.parametrize(
    ("parse", "body"),
    [
        ("_ADD", '{"annotator":"a","save":"0123456789abcdef","document":{"id":"x","text":"a","mentions":[%s]}}'),
        ("_ADD", '{"annotator":"a","save":"0123456789abcdef","document":{"id":"x","text":"a","sections":[%s]}}'),
        ("_ADD", '{"document":{"id":"x","text":"a","mentions":[{"spans":[%s]}]}}'),
        ("_ADD", '{"document":{"id":"x","text":"a","mentions":[{"spans":[[0,1]],"gold":[%s]}]}}'),
        ("_ADD", '{"document":{"mentions":[{"finding":{"candidates":[%s]}}]}}'),
        ("_CHANGE", '{"annotator":"a","save":"0123456789abcdef","revision":0,"changes":[%s]}'),
        ("_CHANGE", '{"changes":[{"key":"0-1","state":"decided","gold":[[%s]]}]}'),
    ],
)
def test_lists_of_faults_only_are_refused_at_the_first(parse, body) -> None:
    raw = (body % ONES).encode()
    tracemalloc.start()
    try:
        with pytest.raises(Refusal) as told:
            parsed(getattr(project_routes, parse), raw)
        assert tracemalloc.get_traced_memory()[1] < 30 * len(raw)  # without, 250 times
    finally:
        tracemalloc.stop()
    assert len(str(told.value)) < 200


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="reads /proc")
@pytest.mark.parametrize("value", [b"1", b"{}", b'"a"', b"[]"])
def test_bodies_of_millions_of_values_are_refused_before_they_are_made(kb, tmp_path, value) -> None:
    """Of 16 MB of them, most of a gigabyte would be made, and nobody answered for seconds meanwhile."""
    body = b'{"documents":[' + b",".join([value] * (15_000_000 // (len(value) + 1))) + b"]}"
    with Served(kb.path, "--project", tmp_path / "p.sqlite") as served:
        for path in ("/link", "/project/documents", "/project/documents/1/changes"):
            why = served.refused(413, path, content=body, headers=JSON)
            assert why == "a body has 1,000,000 values at most: send less at a time"
        status = Path(f"/proc/{served.process.pid}/status").read_text(encoding="utf-8")
        peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
        assert peak < 500_000  # kB


def test_long_bodies_are_parsed_beside_the_event_loop(service, monkeypatch) -> None:
    """A document that takes a while to read does not hold up who asks whether the service is alive."""
    text, mentions = "ab", [{"spans": [[0, 1]], "type": "x" * 5}] * 2_000
    document = {"id": "beside", "text": text, "mentions": mentions}
    content = json.dumps({"annotator": "a", "save": save(), "document": document}, separators=(",", ":"))
    assert 10_000 < len(content) < 100_000
    threads: list[bool] = []

    def noted(parse, raw):
        threads.append(threading.current_thread() is threading.main_thread())
        return parsed(parse, raw)

    monkeypatch.setattr(project_routes, "parsed", noted)
    engine = Engine.open(Settings(service.kb, "dictionary"))

    async def play() -> None:
        made = Service(
            Settings(service.kb, "dictionary", project=service.path.with_name("b.sqlite")), engine, Metrics()
        )
        made.start()
        transport = httpx.ASGITransport(make_app(made))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            answer = await client.post("/project/documents", content=content, headers=JSON)
            assert answer.status_code == 200, answer.text
            short = change("0-1", "A:4")
            place = f"/project/documents/{answer.json()['number']}/changes"
            assert (await client.post(place, json=short)).status_code == 200
        await made.stop()

    asyncio.run(play())
    assert threads == [False, True]


def test_the_schema_has_every_refusal_of_a_project(service) -> None:
    paths = service.client.get("/openapi.json").json()["paths"]
    for path, statuses in {
        "/project": {"401", "403", "422", "429", "503", "504"},
        "/project/documents": {"401", "403", "408", "413", "415", "422", "429", "503", "504"},
        "/project/documents/{number}/changes": {"401", "403", "404", "408", "409", "413", "415", "422", "429"},
    }.items():
        (operation,) = paths[path].values()
        assert statuses <= set(operation["responses"])


def test_what_is_refused(service) -> None:
    good = {"annotator": "a", "save": save(), "document": {"id": "x", "text": "a" * 5001}}
    assert service.refused(413, "/project/documents", json=good).startswith("text has 5,001 characters")
    add(service, "same")
    other = {"annotator": "a", "save": save(), "document": {"id": "same", "text": "other"}}
    assert "another document has the id" in service.refused(422, "/project/documents", json=other)
    assert service.refused(404, "/project/documents/99", "GET") == "the project has no document 99"
    service.refused(404, "/project/documents/99/changes", json=change())
    service.refused(422, "/project/documents/0", "GET")
    service.refused(422, "/project/export?format=../x", "GET")
    service.refused(422, "/project?annotator=a,b", "GET")
    service.refused(415, "/project/documents", content=b"{}", headers={"content-type": "text/plain"})
    service.refused(422, "/project/documents", content=b"\xff", headers={"content-type": "application/json"})
    service.refused(413, "/project/documents", content=b" " * 100_001, headers={"content-type": "application/json"})
    score = '{"entity_id":"A","preferred":"A","name":"A","score":NaN,"rank":1,"rule":"r","row":0}'
    mention = f'{{"spans":[[0,1]],"finding":{{"candidates":[{score}]}}}}'
    raw = f'{{"annotator":"a","save":"{save()}","document":{{"id":"n","text":"ab","mentions":[{mention}]}}}}'
    assert "is no number" in service.refused(
        422, "/project/documents", content=raw, headers={"content-type": "application/json"}
    )
    assert "Traceback" not in service.log
    assert " 500 " not in service.log


def test_a_name_of_a_host_needs_a_token(service, kb, tmp_path) -> None:
    for host, status in (("evil.example", 403), ("127.0.0.1:80", 200), ("localhost", 200), ("[::1]:80", 200)):
        assert service.client.get("/project", headers={"host": host}).status_code == status
    (tmp_path / "token").write_text("secret", encoding="utf-8")
    with Served(kb.path, "--project", tmp_path / "p", "--token-file", tmp_path / "token") as served:
        assert served.client.get("/project").status_code == 401
        known = {"host": "nomina.example", "authorization": "Bearer secret"}
        assert served.client.get("/project", headers=known).status_code == 200


def test_without_a_project_there_are_no_routes(served) -> None:
    served.refused(404, "/project", "GET")
    assert served.client.get("/info").json()["project"] is None
    assert "/project" not in served.client.get("/openapi.json").json()["paths"]


def test_the_schema_knows_the_bodies_and_no_text_is_logged(service) -> None:
    add(service, "logged", "private words", [])
    schema = service.client.get("/openapi.json").json()
    assert {"AddRequest", "ChangeRequest"} <= set(schema["components"]["schemas"])
    assert "private" not in service.log
    assert "POST /project 200" in service.log
    assert service.client.get("/project").headers["cache-control"] == "no-store"


@pytest.mark.parametrize("format", ["jsonl", "pubtator", "bioc_xml"])
def test_exports_read_back_equal_to_the_project(kb, tmp_path, format) -> None:
    with Served(kb.path, "--project", tmp_path / "p.sqlite") as served:
        sections = [{"start": 0, "end": 7, "name": "title"}, {"start": 8, "end": 16, "name": "abstract"}]
        add(served, "a", sections=sections)
        number = add(served, "b & <c>", "😀 Ataxia, seizure.", [{"spans": [[2, 8]], "type": "Disease"}])
        assert post(served, number, change("2-8", "A:4")).status_code == 200
        answer = served.client.get("/project/export", params={"format": format})
        (tmp_path / "out").write_bytes(answer.content)
        assert served.client.get("/project/export", params={"annotator": "ben"}).text.count("gold") == 0
    found = list(read_corpus(tmp_path / "out", format))
    expected = list(read_corpus(tmp_path / "p.sqlite"))
    if format == "pubtator":  # which has a section in every document
        found = [each if each.id == "a" else type(each)(each.id, each.text, each.mentions) for each in found]
    assert found == expected
    assert [len(document.mentions) for document in expected] == [1, 1]


def test_what_cannot_be_a_project_is_said_before_anything_is_served(kb, tmp_path, capsys) -> None:
    assert main(["serve", "--blind"]) == 2
    assert "--blind is about a project" in capsys.readouterr().err
    for file, why in ((kb.path, "a SQLite file but no review project"), (tmp_path / "no" / "p", "cannot be used")):
        assert main(["serve", "--kb", str(kb.path), "--project", str(file)]) == 2
        assert why in capsys.readouterr().err
