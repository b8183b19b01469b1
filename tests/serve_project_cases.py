"""Documents and saves of a project, as the tests of its routes send them."""

from __future__ import annotations

import json

from review_cases import save
from serve_cases import JSON

TEXT = "Ataxia, seizure."
MENTIONS = [{"spans": [[0, 6]]}, {"spans": [[8, 15]], "gold": [["-1"]]}]


def add(served, id, text=TEXT, mentions=MENTIONS, annotator="anna", **more):
    document = {"id": id, "text": text, "mentions": mentions, **more}
    body = {"annotator": annotator, "save": save(), "document": document}
    compact = json.dumps(body, separators=(",", ":"))
    answer = served.client.post("/project/documents", content=compact, headers=JSON)
    assert answer.status_code == 200, answer.text
    return answer.json()["number"]


def change(key="0-6", *ids, revision=0, annotator="anna", number=None, **more):
    one = {"key": key, "state": "decided" if ids else "rejected", **({"gold": [[id] for id in ids]} if ids else {})}
    return {"annotator": annotator, "save": number or save(), "revision": revision, "changes": [{**one, **more}]}


def post(served, number, body):
    return served.client.post(f"/project/documents/{number}/changes", json=body)
