"""What a service refuses: by whom, how much, what cannot be; and what it does not say in its log."""

from __future__ import annotations

import json
import socket
import time

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

import httpx
from serve_cases import JSON, NDJSON, Served, until

from nomina.cli.main import main
from nomina.cli.serve import check_origins


def raw(served: Served, sent: bytes) -> bytes:
    """The first line of the answer to bytes, before all of them are sent."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as connection:
        connection.sendall(sent)
        return connection.makefile("rb").readline()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({}, "give either text or documents"),
        ({"text": "a", "documents": []}, "give either text or documents"),
        ({"txt": "a"}, "unknown field 'txt'; there are: text, documents, k, threshold, types, under"),
        ({"text": 5}, "text: Input should be a valid string"),
        ({"text": "a", "k": 0}, "k: Input should be greater than or equal to 1"),
        ({"text": "a", "k": 101}, "k: Input should be less than or equal to 100"),
        ({"text": "a", "k": True}, "k: Input should be a valid integer"),
        ({"text": "a", "threshold": 1.5}, "threshold: Input should be less than or equal to 1"),
        ({"text": "a", "types": ["x"]}, "the KB has no type 'x'; it has: sign, symptom"),
        ({"text": "a", "under": ["A:99"]}, "'A:99' is not a concept of the KB made"),
        ({"text": "a", "under": ["A:20"]}, "'A:20' is retired: use 'A:2'"),
        ({"documents": [{"id": "1"}]}, "the field 'documents.0.text' is missing"),
    ],
)
def test_a_body_that_cannot_be(served, body, why) -> None:
    assert served.refused(422, json=body) == why


@pytest.mark.parametrize(
    ("mention", "why"),
    [
        ({"spans": []}, "documents.0.mentions.0.spans: Tuple should have at least 1 item after validation, not 0"),
        ({"spans": [[0, 99]]}, "documents.0.mentions.0: the span [0, 99] ends behind the text (12 characters)"),
        ({"spans": [[3, 3]]}, "documents.0.mentions.0: spans must be non-empty, sorted and apart, not ((3, 3),)"),
        ({"spans": [[-1, 3]]}, "documents.0.mentions.0.spans.0.0: Input should be greater than or equal to 0"),
        ({"spans": [[0, 6]], "text": "fits"}, "documents.0.mentions.0: 'fits' is not what stands at 0-6, 'ataxia'"),
        ({"spans": [[0, 6]], "gold": [["A:1"]]}, "unknown field 'documents.0.mentions.0.gold'"),
    ],
)
def test_a_mention_that_cannot_be(served, mention, why) -> None:
    body = {"documents": [{"id": "a", "text": "ataxia, fits", "mentions": [mention]}]}
    assert served.refused(422, json=body).startswith(why)


@pytest.mark.parametrize("mention", [{"spans": [[0, 1001]]}, {"spans": [[0, 500], [501, 1002]]}])
def test_a_mention_of_many_words_is_refused(served, mention) -> None:
    mentions, text = [{"spans": [[0, 1000]]}, mention], "ataxia " * 200
    why = served.refused(422, json={"documents": [{"text": text, "mentions": mentions}]})
    assert why == "documents.0.mentions.1 has 1,001 characters, the most is 1,000"
    assert served.batch(json.dumps({"text": text, "mentions": mentions})) == [
        {"line": 1, "error": "mentions.1 has 1,001 characters, the most is 1,000"}
    ]
    (document,) = served.link(documents=[{"text": text, "mentions": mentions[:1]}])
    assert len(document["predictions"]) == 1


def test_a_section_behind_the_text(served) -> None:
    body = {"documents": [{"id": "a", "text": "fits", "sections": [{"start": 0, "end": 9, "name": "title"}]}]}
    assert served.refused(422, json=body).endswith("section 0-9 ends behind the text (4 characters)")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'{"text": "\xff"}', "byte 10 (from 0) is not UTF-8"),
        (b'{"text": "\\ud800"}', "not JSON ("),
        (b"", "not JSON ("),
        (b"[" * 90_000, "not JSON (recursion limit exceeded"),
        (b'{"text": ' * 9_000, "not JSON (recursion limit exceeded"),
        (b"[1]", "Input should be an object"),
    ],
)
def test_bytes_that_are_no_request(served, content, why) -> None:
    assert served.refused(422, content=content, headers=JSON).startswith(why)
    (answer,) = served.batch(content) if content else [{"line": 1}]
    assert answer["line"] == 1


def test_other_types_of_body(served) -> None:
    assert "application/json" in served.refused(415, content=b"{}")
    assert "application/x-ndjson" in served.refused(415, "/link/batch", content=b"{}", headers=JSON)
    packed = {**JSON, "content-encoding": "gzip"}
    assert served.refused(415, content=b"{}", headers=packed) == "send the body as it is, not packed"


def test_too_much_is_refused(served) -> None:
    many = [{"text": "a"}] * 21
    assert served.refused(413, json={"documents": many}).startswith("21 documents; one request has 20 at most")
    why = served.refused(413, json={"documents": [{"text": "a"}, {"text": "a" * 50_001}]})
    assert why == "documents.1.text has 50,001 characters, the most is 50,000"
    assert served.refused(413, json={"text": "a" * 100_000}) == "a body has 100,000 bytes at most"
    mentions = [{"spans": [[0, 1]]}] * 5_001
    why = served.refused(
        413,
        content=json.dumps({"documents": [{"text": "a", "mentions": mentions}]}, separators=(",", ":")),
        headers=JSON,
    )
    assert why == "documents.0.mentions are 5,001, the most is 5,000"
    chunks = (b"a" * 10_000 for _ in range(11))
    assert served.refused(413, content=chunks, headers=JSON) == "a body has 100,000 bytes at most"
    first, second = served.batch(b'{"text": "ataxia"}\n' + b"a" * 100_001 + b'\n{"text": "ataxia"}')[:2]
    assert (len(first["predictions"]), second) == (1, {"line": 2, "error": "a line has 100,000 bytes at most"})


def test_a_hundred_megabytes_are_refused_before_they_are_sent(served) -> None:
    head = b"POST /link HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000000\r\n\r\n"
    assert raw(served, head) == b"HTTP/1.1 413 Request Entity Too Large\r\n"
    for method in (b"GET /info", b"POST /healthz"):
        assert b" 413 " in raw(served, head.replace(b"POST /link", method))


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 100_000,
        b"POST /link HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"GET /concepts/%00%ff%0d%0aX:%20y HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /concepts/../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET //etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
def test_bytes_that_are_no_good_http(served, sent) -> None:
    assert raw(served, sent)[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 404", b"HTTP/1.1 431", b"HTTP/1.1 405")
    assert served.link(text="ataxia")[0]["predictions"]


def test_ids_with_tricks_are_only_ids(served) -> None:
    tricky = served.client.get("/concepts/..%2Fetc%2Fpasswd")
    assert tricky.headers["content-type"] == "application/json"
    assert tricky.json()["name"] == "<script>alert(1)</script>"
    assert served.refused(404, "/concepts/..%2F..%2Fetc%2Fpasswd", "GET") == "the KB has no concept of this id"
    assert served.refused(422, f"/concepts/{'a' * 201}", "GET").startswith("path.id: ")


def test_no_page_of_elsewhere_may_ask(served) -> None:
    answer = served.client.get("/info", headers={"origin": "https://example.org"})
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert served.refused(405, method="OPTIONS", headers={"origin": "https://example.org"}) == "Method Not Allowed"
    for path in ("/docs", "/redoc", "/nothing"):
        assert served.refused(404, path, "GET") == "Not Found"


@pytest.mark.parametrize(
    "origin",
    [
        "notanurl",
        "",
        "example.org",
        "https://",
        "https://example.org/",
        "https://Example.org",
        "http://a:b",
        "https://*",
    ],
)
def test_what_no_page_has_as_its_origin_is_refused_before_anything_is_served(origin, capsys) -> None:
    assert main(["serve", "--allow-origin", "http://localhost:3000", "--allow-origin", origin]) == 2
    assert capsys.readouterr() == (
        "",
        f"nomina: --allow-origin {origin!r} is no origin: write it as https://example.org or http://localhost:3000, "
        "in small letters and without a path\n",
    )


def test_origins_that_pages_have() -> None:
    check_origins(("*", "https://example.org", "http://localhost:3000", "http://[::1]:8080", "moz-extension://ab-1"))


def test_a_token_an_origin_and_a_slow_client(kb, tmp_path) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret-Token\n", encoding="utf-8")
    options = ("--token-file", token, "--allow-origin", "https://example.org", "--timeout", "1")
    with Served(kb.path, *options, env={"NOMINA_TOKEN": "another"}) as served:
        assert served.client.get("/healthz").json() == {"status": "alive"}
        for headers in ({}, {"authorization": "Bearer another"}, {"authorization": "Basic s3cret-Token"}):
            answer = served.client.get("/info", headers=headers)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        served.client.headers["authorization"] = "bearer s3cret-Token"
        assert served.link(text="ataxia")[0]["predictions"]
        asked = {"origin": "https://example.org", "access-control-request-method": "POST"}
        preflight = httpx.options(f"http://127.0.0.1:{served.port}/link", headers=asked)
        assert preflight.headers["access-control-allow-origin"] == "https://example.org"
        head = "POST {} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer s3cret-Token\r\nContent-Length: 9\r\n"
        slow = head + "Content-Type: application/json\r\n\r\n{{"
        assert raw(served, slow.format("/link").encode()) == b"HTTP/1.1 408 Request Timeout\r\n"
        assert b"s3cret" not in served.log.encode()


def test_the_log_holds_no_text(kb) -> None:
    with Served(kb.path) as served:
        served.link(text="ataxia Zebra1")
        served.refused(422, json={"text": "Zebra2", "k": "Zebra3"})
        served.client.get("/search", params={"q": "Zebra4"})
        served.client.get("/concepts/Zebra5")
        served.client.get("/Zebra6?a=Zebra7")
        served.batch('{"text": "Zebra8"}\n{"Zebra9": 1}')
        raw(served, b"ZEBRA / HTTP/1.1 Zebra\r\n\r\n")
        until(lambda: "/link/batch 200" in served.log, served)
    assert "zebra" not in served.log.lower()
    assert "POST /link 200 " in served.log
    assert "GET /search 200 " in served.log
    assert "readyz" not in served.log


def test_a_full_queue_says_when_to_come_again(kb) -> None:
    long = "short stature, ataxia and febrile seizures. " * 20_000
    with Served(kb.path, "--queue", 1) as served, httpx.Client(base_url=served.client.base_url) as other:
        with socket.create_connection(("127.0.0.1", served.port), timeout=120) as connection:
            body = json.dumps({"text": long}).encode()
            head = f"POST /link HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
            connection.sendall(f"{head}\r\n\r\n".encode() + body)
            until(lambda: served.metric("nomina_queue_documents") == 1, served)
            refused = other.post("/link", json={"text": "ataxia"})
            ready = other.get("/readyz")
            patient = other.post("/link/batch", content='{"text": "ataxia"}', headers=NDJSON, timeout=120)
            assert connection.makefile("rb").readline() == b"HTTP/1.1 200 OK\r\n"
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert ready.status_code == 503
        assert patient.status_code == 200
        until(lambda: served.metric("nomina_queue_documents") == 0, served)
        assert len(served.link(text="ataxia")[0]["predictions"]) == 1


def test_what_takes_too_long_is_given_up(kb) -> None:
    long = "short stature, ataxia and febrile seizures. " * 20_000
    with Served(kb.path, "--timeout", 0.2) as served:
        begun = time.monotonic()
        assert served.refused(504, json={"text": long}) == "this took too long: send less at a time"
        assert time.monotonic() - begun < 60
        until(lambda: served.metric("nomina_queue_documents") == 0, served)
        assert served.link(text="ataxia")[0]["predictions"]
