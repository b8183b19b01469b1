"""What is linked over HTTP is what the plain API links."""

from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

from linker_cases import ENCODER
from serve_cases import JSON, Served

import nomina
from nomina.output import as_record
from nomina.types import Document, Mention

TEXTS = [
    "She has short stature and had two seizures.",
    "No seizures. Her brother has ataxia.",
    "",
    "nothing of note",
    "A fit, then febrile seizures; fitness 😀 ataxia.",
    "Risk of ataxia",
]


def plain(pipeline: nomina.Pipeline, documents: list[Document], **options) -> list[list[dict]]:
    """The predictions of each document as a service should answer them."""
    answers = []
    for document in documents:
        records = json.loads(json.dumps([as_record(p) for p in pipeline.link([document], **options)]))
        for record in records:
            del record["document_id"], record["mention"]["gold"]
        answers.append(records)
    return answers


def test_a_text(served, kb) -> None:
    (document,) = served.link(text="She has SHORT STATURE.")
    (prediction,) = document.pop("predictions")
    assert document == {"id": "text", "kb": kb.fingerprint}
    assert prediction == {
        "mention": {"spans": [[8, 21]], "text": "SHORT STATURE", "type": None},
        "candidates": [
            {
                "entity_id": "A:3",
                "preferred": "Short stature",
                "name": "Short stature",
                "score": 1.0,
                "rank": 1,
                "rule": "normalised",
                "row": 3,
            }
        ],
        "ambiguous": False,
        "abstained": False,
        "probability": None,
        "negated": False,
        "experiencer": "patient",
        "hypothetical": False,
    }


def test_documents_are_answered_in_order_though_their_ids_are_alike(served, kb) -> None:
    documents = served.link(documents=[{"id": "same", "text": text} for text in TEXTS])
    assert [document["id"] for document in documents] == ["same"] * len(TEXTS)
    expected = plain(nomina.load("dictionary", kb), [Document("d", text) for text in TEXTS])
    assert [document["predictions"] for document in documents] == expected
    assert list(map(len, expected)) == [2, 2, 0, 0, 4, 1]


def test_given_mentions_are_linked_and_others_are_not_looked_for(served) -> None:
    given = {"id": "m", "text": "ataxia, fits", "mentions": [{"spans": [[8, 12]], "type": "symptom"}]}
    ((prediction,),) = [document["predictions"] for document in served.link(documents=[given])]
    assert prediction["mention"] == {"spans": [[8, 12]], "text": "fits", "type": "symptom"}
    assert [candidate["entity_id"] for candidate in prediction["candidates"]] == ["A:5", "A:2"]


@pytest.mark.parametrize(
    "options",
    [
        {"k": 1},
        {"threshold": 0.97},
        {"under": ["A:2"]},
        {"types": ["sign", "symptom"]},
        {"under": ["A:1"], "types": ["symptom"], "threshold": 0.97, "k": 1},
    ],
)
def test_options_are_those_of_load(served, kb, options) -> None:
    documents = [Document("d", text) for text in TEXTS]
    found = served.link(documents=[{"text": text} for text in TEXTS], **options)
    assert [document["predictions"] for document in found] == plain(nomina.load("dictionary", kb, **options), documents)


def test_many_clients_at_once_with_an_encoder(kb) -> None:
    documents = [Document(str(i), f"{TEXTS[i % 6]} ataxi{'a' * (i % 5)} and seizur {i}") for i in range(60)]
    documents += [Document(str(i), f"seisure{i}", (Mention(((0, 7),), "seisure"),)) for i in range(60, 80)]
    bodies = [
        {
            "documents": [{"id": d.id, "text": d.text, "mentions": [{"spans": m.spans} for m in d.mentions]}],
            "k": 1 + i % 3,
        }
        for i, d in enumerate(documents)
    ]
    with Served(kb.path, linker=ENCODER) as service, ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda body: service.link(**body), bodies))
        batches = service.metric("nomina_batches_total")
    pipeline = nomina.load(ENCODER, kb)
    for i, (document, (answer,)) in enumerate(zip(documents, answers, strict=True)):
        assert answer["id"] == document.id
        assert [answer["predictions"]] == plain(pipeline, [document], k=1 + i % 3)
    assert 1 <= batches <= 80


def test_a_batch_is_answered_line_by_line(served, kb) -> None:
    lines = [json.dumps({"id": str(i), "text": TEXTS[i % 6]}) for i in range(100)]
    lines[7], lines[50] = "{", '{"text": "ataxia", "mentions": [{"spans": [[0, 60]]}]}'
    lines.insert(20, "  ")
    answers = served.batch("\n".join(lines))
    assert answers.pop(50) == {
        "line": 52,
        "error": "mentions.0: the span [0, 60] ends behind the text (6 characters)",
    }
    assert answers.pop(7) == {"line": 8, "error": "not JSON (EOF while parsing an object at column 1)"}
    documents = [Document(str(i), TEXTS[i % 6]) for i in range(100) if i not in (7, 50)]
    assert [answer["id"] for answer in answers] == [document.id for document in documents]
    assert [answer["predictions"] for answer in answers] == plain(nomina.load("dictionary", kb), documents)


def test_a_batch_has_options_too(served) -> None:
    answers = served.batch('{"text": "a fit, ataxia"}\n', "/link/batch?k=1&under=A:1&under=A:4&types=symptom")
    assert [[c["entity_id"] for c in p["candidates"]] for p in answers[0]["predictions"]] == [["A:2"]]
    why = served.refused(422, "/link/batch?under=A:99", content="{}", headers={"content-type": "application/x-ndjson"})
    assert why == "'A:99' is not a concept of the KB made"


def test_a_batch_is_answered_while_it_is_still_sent(served) -> None:
    head = "POST /link/batch HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n"
    head += "Transfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as connection:
        connection.sendall(head.encode())
        stream = connection.makefile("rb")
        for i in range(3):
            line = json.dumps({"id": str(i), "text": "ataxia"}) + "\n"
            connection.sendall(f"{len(line):x}\r\n{line}\r\n".encode())
            while f'"id":"{i}"'.encode() not in stream.readline():
                pass
        connection.sendall(b"0\r\n\r\n")
        assert stream.read(0) == b""
        while (line := stream.readline()) != b"0\r\n":
            assert line


def test_a_concept(served, kb) -> None:
    assert served.client.get("/concepts/A:2").json() == {
        "id": "A:2",
        "name": "Seizure",
        "names": [
            {"text": "Seizure", "scope": "exact", "kind": None, "source": None},
            {"text": "Fit", "scope": "related", "kind": None, "source": None},
        ],
        "definition": None,
        "types": ["symptom"],
        "parents": [{"id": "A:1", "name": "Abnormality"}],
        "children": [{"id": "A:8", "name": "Febrile seizure"}],
        "children_total": 1,
        "xrefs": ["UMLS:C0036572"],
        "retired_ids": ["A:20"],
        "kb": kb.fingerprint,
    }
    assert served.refused(404, "/concepts/A:99", "GET") == "the KB has no concept of this id"
    assert served.refused(404, "/concepts/A:20", "GET") == "this id is retired: use A:2"


def test_a_search(served) -> None:
    found = served.client.get("/search", params={"q": "fits", "k": 1}).json()
    assert [candidate["entity_id"] for candidate in found["candidates"]] == ["A:5"]
    for words, expected in {
        "A:2": [("A:2", "Seizure", "id")],
        " a:2": [("A:2", "Seizure", "id")],
        "a:20": [("A:2", "Seizure", "retired id")],
        "sei": [("A:2", "Seizure", "name begins"), ("A:8", "Febrile seizure", "name has words")],
    }.items():
        found = served.client.get("/search", params={"q": words}).json()["candidates"]
        assert [(each["entity_id"], each["name"], each["rule"]) for each in found] == expected
    found = served.client.get("/search", params={"q": "fits"}).json()["candidates"]
    assert {each["rule"] for each in found}.isdisjoint({"name", "name begins"})
    assert len({each["entity_id"] for each in found}) == len(found) == 2
    assert served.client.get("/search", params={"q": "unheard of"}).json()["candidates"] == []
    assert served.refused(422, "/search", "GET").startswith("query.q: ")
    assert served.refused(422, "/search?q=%20", "GET").startswith("query.q: ")


def test_info(served, kb) -> None:
    info = served.client.get("/info").json()
    assert info["kb"]["fingerprint"] == kb.fingerprint
    assert (info["kb"]["name"], info["kb"]["concepts"], info["linker"]) == ("made", 7, "DictionaryLinker")
    assert (info["versions"]["nomina"], info["limits"]["documents"]) == (nomina.__version__, 20)
    assert str(kb.path.parent) not in json.dumps(info)


def test_metrics_count_documents_and_requests(served) -> None:
    before = served.metric("nomina_documents_total"), served.metric("nomina_mentions_total")
    served.link(documents=[{"text": "ataxia, fits"}, {"text": "nothing"}])
    after = served.metric("nomina_documents_total"), served.metric("nomina_mentions_total")
    assert (after[0] - before[0], after[1] - before[1]) == (2, 2)
    text = served.client.get("/metrics").text
    assert 'nomina_requests_total{path="/link",status="200"}' in text
    assert f'fingerprint="{served.client.get("/info").json()["kb"]["fingerprint"]}"' in text


def test_the_openapi_document_has_the_types_of_bodies_and_examples(served) -> None:
    document = served.client.get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    assert {"LinkRequest", "DocumentIn", "MentionIn", "DocumentOut", "LineError", "ConceptOut"} <= set(schemas)
    assert "gold" not in json.dumps(document)
    for example in schemas["LinkRequest"]["examples"]:
        example.pop("under", None)
        assert served.client.post("/link", json=example, headers=JSON).status_code == 200
