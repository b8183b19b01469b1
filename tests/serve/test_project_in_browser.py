"""The review page over a project: who decides, what is saved, conflicts, a service that dies; in headless Chromium."""

import json
import sqlite3

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from browser_cases import browser  # noqa: F401, the fixture
from page_cases import (
    add,
    exported,
    is_asked_when_left,
    looks_right,
    marks,
    press,
    saved,
    says,
    state,
    words,
    work,
)
from serve_cases import PATIENCE, Served

from nomina.corpora import read_corpus
from nomina.kb.build import BuildOptions, build
from nomina.types import Entity, Name

pytestmark = pytest.mark.extras

TEXT = "Ataxia and seizure."


def history(path):
    """Annotator, key, state and ids of every decision, in the order in which they were saved."""
    with sqlite3.connect(path) as connection:
        query = "SELECT annotator, key, state, gold FROM decisions JOIN saves USING (document, revision)"
        return connection.execute(f"{query} ORDER BY document, revision, key").fetchall()


def test_a_name_is_asked_for_once_and_decisions_are_in_the_project(opened, project):
    page = work(opened, project, "anna <b>")
    assert page.evaluate("Object.keys(localStorage)") == ["nomina.annotator"]
    add(page, TEXT)
    press(page, "a")
    assert state(page).startswith("decided: A:4 Ataxia · by anna <b>")
    press(page, "j", "x")
    saved(page)
    page.reload()
    page.wait_for_function("() => document.getElementById('count').textContent.startsWith('2 mentions, 2 decided')")
    assert (words(page), "· by anna <b>, 2" in state(page)) == ("Ataxia", True)
    assert page.locator("#project b").count() == 0
    (document,) = read_corpus(project.project)
    assert [(mention.text, mention.gold) for mention in document.mentions] == [
        ("Ataxia", (("A:4",),)),
        ("seizure", (("-1",),)),
    ]
    assert page.evaluate("Object.keys(localStorage)") == ["nomina.annotator"]
    page.click("#rename")
    page.wait_for_selector("#annotator-form", state="visible")
    assert not page.is_visible("#work")


def test_undo_of_a_decision_a_removal_a_new_span_and_a_split(opened, project):
    page = work(opened, project, "anna")
    add(page, json.dumps({"id": "1", "text": "Ataxia and seizure, fits.", "mentions": [{"spans": [[0, 18]]}]}))
    press(page, "s")
    says(page, "Split into 2")
    saved(page)
    page.evaluate(
        "() => { const node = document.getElementById('text').lastChild;"
        " getSelection().setBaseAndExtent(node, 2, node, 6); }"
    )
    page.keyboard.press("m")
    says(page, "New mention: fits")
    press(page, "a", "k", "d")
    saved(page)
    assert marks(page) == ["Ataxia", "fits"]
    (document,) = read_corpus(project.project)
    assert [(mention.text, mention.gold) for mention in document.mentions] == [("fits", (("A:5",),))]
    press(page, "u", "u", "u", "u")
    says(page, "Undone")
    saved(page)
    page.reload()
    page.wait_for_selector("mark")
    assert marks(page) == ["Ataxia and seizure"]
    assert next(iter(read_corpus(project.project))).mentions == ()
    states = {(key, state) for _, key, state, _ in history(project.project)}
    assert {("0-18", "rejected"), ("0-18", "open"), ("20-24", "decided"), ("20-24", "rejected")} <= states


def test_two_annotators_do_not_overwrite_each_other(opened, project):
    anna = work(opened, project, "anna")
    add(anna, TEXT)
    saved(anna, "")
    ben = work(opened, project, "ben")
    ben.wait_for_selector("mark")
    press(anna, "a")
    saved(anna)
    press(ben, "x")
    ben.wait_for_selector("#conflict", state="visible")
    assert ben.text_content("#conflict-title") == "anna has changed this document meanwhile"
    saved(ben, "Not saved")
    assert history(project.project) == [("anna", "0-6", "decided", '[["A:4"]]')]
    ben.click("#take-theirs")
    ben.wait_for_selector("#conflict", state="hidden")
    assert state(ben).startswith("decided: A:4 Ataxia · by anna")
    press(ben, "u")
    saved(ben)
    assert state(ben).startswith("decided: no concept")
    assert history(project.project)[1:] == [("ben", "0-6", "decided", '[["-1"]]')]


def test_what_two_decide_of_different_mentions_is_kept_of_both(opened, project):
    anna = work(opened, project, "anna")
    add(anna, TEXT)
    ben = work(opened, project, "ben")
    ben.wait_for_selector("mark")
    press(anna, "a")
    saved(anna)
    press(ben, "j", "a")
    ben.wait_for_selector("#conflict", state="visible")
    ben.click("#keep-mine")
    ben.wait_for_selector("#conflict", state="hidden")
    saved(ben)
    assert ben.text_content("#count").startswith("2 mentions, 2 decided")
    assert history(project.project) == [
        ("anna", "0-6", "decided", '[["A:4"]]'),
        ("ben", "11-18", "decided", '[["A:2"]]'),
    ]


def test_two_tabs_of_one_annotator_do_not_overwrite_each_other(opened, project):
    first = work(opened, project, "anna")
    add(first, TEXT)
    second = work(opened, project, "anna", context=first.context)
    second.wait_for_selector("mark")
    press(first, "a")
    saved(first)
    press(second, "x")
    second.wait_for_selector("#conflict", state="visible")
    assert history(project.project) == [("anna", "0-6", "decided", '[["A:4"]]')]


def test_what_a_killed_service_did_not_save_is_sent_to_the_next_one(opened, kb, tmp_path):
    path = tmp_path / "team.sqlite"
    with Served(kb.path, "--project", path) as service:
        page = work(opened, service, "anna")
        add(page, TEXT)
        press(page, "a")
        saved(page)
        service.process.kill()
        service.process.wait(PATIENCE)
        press(page, "j", "x")
        saved(page, "Not saved")
        page.wait_for_function(
            "() => document.getElementById('problem').textContent.startsWith('not saved yet, it is tried')"
        )
    with Served(kb.path, "--project", path, "--port", service.port):
        saved(page)
        page.wait_for_selector("#problem", state="hidden")
        assert [decision[:3] for decision in history(path)] == [
            ("anna", "0-6", "decided"),
            ("anna", "11-18", "decided"),
        ]


def test_blind_annotators_see_their_own_decisions(opened, kb, tmp_path):
    path = tmp_path / "team.sqlite"
    with Served(kb.path, "--project", path, "--blind") as service:
        anna = work(opened, service, "anna")
        add(anna, TEXT)
        press(anna, "a", "j", "d")
        saved(anna)
        ben = work(opened, service, "ben")
        ben.wait_for_selector("mark")
        assert (marks(ben), state(ben)[:11]) == (["Ataxia", "seizure"], "not decided")
        press(ben, "x")
        saved(ben)
        assert exported(ben, "#jsonl", tmp_path / "ben.jsonl")[0].mentions[0].gold == (("-1",),)
        assert len(next(iter(read_corpus(path, options={"annotator": "anna"}))).mentions) == 1


def test_all_three_exports_are_those_of_the_page_and_read_back_equal(opened, project, served, tmp_path):
    sections = [{"start": 0, "end": 9, "name": "title"}, {"start": 10, "end": 27, "name": "abstract"}]
    mentions = [{"spans": [[2, 8]], "type": "Disease", "gold": [["A:4"]]}, {"spans": [[10, 17]], "gold": [["-1"]]}]
    line = json.dumps(
        {"id": "a&<b>", "text": "😀 Ataxia. Seizure & <fits>.", "mentions": mentions, "sections": sections}
    )
    found = {}
    for name, page in (("page", opened(served)), ("project", work(opened, project, "anna"))):
        add(page, line)
        files = {"#jsonl": "r.jsonl", "#pubtator": "r.pubtator", "#bioc": "r.xml"}
        paths = {button: tmp_path / f"{name}-{file}" for button, file in files.items()}
        found[name] = [exported(page, button, path) for button, path in paths.items()]
        assert len(found[name][0][0].mentions) == 2
        assert found[name][0] == found[name][1] == found[name][2]
    assert found["page"] == found["project"] != []
    assert found["project"][0] == list(read_corpus(project.project))


def test_the_most_uncertain_document_is_opened(opened, project):
    page = work(opened, project, "anna")
    lines = [
        {"id": "sure", "text": "Ataxia."},
        {"id": "unsure", "text": "Fit."},
        {"id": "half", "text": "Ataxia, fit."},
    ]
    add(page, "\n".join(map(json.dumps, lines)))
    page.click("#uncertain")
    says(page, "most uncertain")
    assert page.text_content("#text") == "Fit."
    press(page, "x")
    saved(page)
    page.click("#uncertain")
    says(page, "most uncertain")
    page.wait_for_function("() => document.getElementById('text').textContent === 'Ataxia, fit.'")
    assert words(page) == "Ataxia"


def test_ids_of_an_older_kb_are_told_kept_and_not_decided_anew(opened, kb, tmp_path):
    entities = [Entity("B:1", (Name("Ataxia"),)), Entity("B:2", (Name("Seizure"),))]
    older = build(tmp_path / "older.kb", entities, BuildOptions("older"))
    path = tmp_path / "team.sqlite"
    with Served(older.path, "--project", path) as service:
        page = work(opened, service, "anna")
        add(page, TEXT)
        assert not page.is_visible("#unknown")
        press(page, "a")
        saved(page)
    with Served(kb.path, "--project", path) as service:
        page = work(opened, service, "anna")
        page.wait_for_selector("#unknown", state="visible")
        told = "1 decided id is not in this version of the KB: B:1 (1). They stay, and are exported."
        assert page.text_content("#unknown") == told
        assert state(page).startswith("decided: B:1 Ataxia")
        assert exported(page, "#jsonl", tmp_path / "old.jsonl")[0].mentions[0].gold == (("B:1",),)
        press(page, "x", "j", "a")
        why = "the KB made has no concept 'B:2': search for another one"
        saved(page, f"Not saved: {why}")
        assert page.text_content("#problem") == f"not saved, undo it or decide otherwise: {why}"
        press(page, "x")
        saved(page)
        assert not page.is_visible("#problem")
    assert history(path)[0] == ("anna", "0-6", "decided", '[["B:1"]]')


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_it_fits_its_window_and_can_be_read(opened, project, width, scheme):
    page = opened(project, viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.wait_for_selector("#annotator-form", state="visible")
    looks_right(page, f"project-name-{width}-{scheme}", width)
    page.fill("#annotator", "a" * 100)
    page.click("#annotator-form button")
    add(page, TEXT)
    ben = work(opened, project, "ben")
    ben.wait_for_selector("mark")
    press(ben, "x")
    saved(ben)
    press(page, "a")
    page.wait_for_selector("#conflict", state="visible")
    page.wait_for_selector("#concept h3")
    looks_right(page, f"project-{width}-{scheme}", width)


def test_what_is_not_saved_is_not_left_out_of_an_export_unseen(opened, kb, tmp_path):
    with Served(kb.path, "--project", tmp_path / "team.sqlite") as service:
        page = work(opened, service, "anna")
        add(page, TEXT)
        page.route("**/changes", lambda route: route.abort())
        press(page, "a")
        saved(page, "Not saved")
        page.click("#jsonl")
        page.wait_for_function("() => document.getElementById('problem').textContent.startsWith('not all is saved')")
        asked = page.evaluate("() => !dispatchEvent(new Event('beforeunload', { cancelable: true }))")
        page.unroute("**/changes")
        saved(page)
        assert asked
        assert exported(page, "#jsonl", tmp_path / "out.jsonl")[0].mentions[0].gold == (("A:4",),)
        assert not page.evaluate("() => !dispatchEvent(new Event('beforeunload', { cancelable: true }))")


@pytest.mark.parametrize("status", [403, 404, 408, 425])
def test_a_refusal_that_may_pass_is_tried_again(opened, project, status):
    page = work(opened, project, "anna")
    add(page, TEXT)
    page.route("**/changes", lambda route: route.fulfill(status=status, json={"error": "too slow"}), times=1)
    press(page, "a")
    page.wait_for_function("() => document.getElementById('problem').textContent.includes('again: too slow')")
    assert is_asked_when_left(page)
    saved(page)
    page.wait_for_selector("#problem", state="hidden")
    assert history(project.project) == [("anna", "0-6", "decided", '[["A:4"]]')]
    assert not is_asked_when_left(page)


def test_what_is_refused_stays_unsaved_until_it_is_saved_or_undone(opened, project, tmp_path):
    page = work(opened, project, "anna")
    add(page, json.dumps({"id": "a", "text": TEXT}))
    add(page, json.dumps({"id": "b", "text": "Fit."}))
    page.route("**/documents/1/changes", lambda route: route.fulfill(status=422, json={"error": "no such thing"}))
    press(page, "a")
    saved(page, "Not saved: no such thing")
    assert page.text_content("#problem") == "not saved, undo it or decide otherwise: no such thing"
    assert is_asked_when_left(page)
    page.select_option("#document", label="b")
    page.wait_for_function("() => document.getElementById('text').textContent === 'Fit.'")
    press(page, "x")
    saved(page, "Not saved")
    asked = []
    page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    page.click("#jsonl")
    page.wait_for_function("() => document.getElementById('problem').textContent.startsWith('not all is saved yet')")
    page.once("dialog", lambda dialog: dialog.accept())
    without = exported(page, "#jsonl", tmp_path / "out.jsonl")
    assert asked == ["Not all is saved of a: export the project without what is not saved?"]
    assert [len(document.mentions) for document in without] == [0, 1]
    page.unroute("**/documents/1/changes")
    page.select_option("#document", label="a")
    page.wait_for_function("() => document.getElementById('text').textContent.startsWith('Ataxia')")
    assert state(page).startswith("decided: A:4")
    press(page, "j", "x")
    saved(page)
    assert history(project.project) == [
        ("anna", "0-6", "decided", '[["A:4"]]'),
        ("anna", "11-18", "decided", '[["-1"]]'),
        ("anna", "0-3", "decided", '[["-1"]]'),
    ]
    assert not is_asked_when_left(page)


def test_nothing_is_added_elsewhere_before_the_project_is_open(opened, project):
    page = opened(project)
    page.wait_for_selector("#annotator-form", state="visible")
    later = "fetch = (...asked) => new Promise((go) => waits.push(go)).then(() => own(...asked))"
    page.evaluate(f"() => {{ waits = []; own = fetch; {later}; }}")
    page.fill("#annotator", "anna")
    page.click("#annotator-form button")
    assert not page.is_visible("#input")
    drop = "const dataTransfer = new DataTransfer(); dataTransfer.setData('text/plain', 'Ataxia.');"
    page.evaluate(
        f"() => {{ {drop} document.body.dispatchEvent(new DragEvent('drop', {{ dataTransfer, bubbles: true }})); }}"
    )
    page.wait_for_selector("#problem", state="visible")
    assert page.text_content("#problem").startswith("nothing can be added before the service has answered")
    page.evaluate("() => { fetch = own; waits.forEach((go) => go()); }")
    add(page, "Seizure.")
    assert page.evaluate("Object.keys(localStorage)") == ["nomina.annotator"]
    (document,) = read_corpus(project.project)
    assert document.text == "Seizure."


def test_a_document_is_there_once_and_another_of_its_id_is_refused(opened, project):
    page = work(opened, project, "anna")
    add(page, json.dumps({"id": "a", "text": "Ataxia."}))
    ben = work(opened, project, "ben")
    add(ben, json.dumps({"id": "a", "text": "Ataxia."}))
    assert ben.locator("#document option").all_text_contents() == ["a"]
    add(ben, json.dumps({"id": "a", "text": "Seizure."}))
    ben.wait_for_selector("#problem", state="visible")
    assert "another document has this id" in ben.text_content("#problem")


def test_the_token_is_asked_for_before_the_project(opened, kb, tmp_path):
    (tmp_path / "token").write_text("secret\n", encoding="utf-8")
    with Served(kb.path, "--token-file", tmp_path / "token", "--project", tmp_path / "team.sqlite") as service:
        page = opened(service)
        page.wait_for_selector("#token-form", state="visible")
        assert not page.is_visible("#annotator-form")
        page.fill("#token", "secret")
        page.click("#token-form button")
        page.fill("#annotator", "anna")
        page.click("#annotator-form button")
        page.wait_for_function("() => document.getElementById('who').textContent.startsWith('anna')")
        add(page, TEXT)
        press(page, "a")
        saved(page)
