"""The review page in headless Chromium, over a real server process: link, correct, reload, export, read again.

With NOMINA_SCREENSHOTS (a folder), pictures of the page are left there.
"""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from browser_cases import accessible, browser  # noqa: F401, the fixture
from page_cases import add, exported, looks_right, marks, press, says, state, words
from serve_cases import Served, until

from nomina.kb.build import BuildOptions, build
from nomina.types import Entity, Name

pytestmark = pytest.mark.extras

HOSTILE = "<img src=x onerror=alert(1)>"
SCRIPT = "<script>alert(1)</script>"
TEXT = f"😀 Fit, 𝐀taxia and {SCRIPT}; seizure.\nShort stature."
DOCUMENT = "9|t|😀 Fit.\n9|a|Ataxia and seizure.\n9\t2\t5\tFit\tDisease\tA:2\n9\t7\t13\tAtaxia\tDisease\t\n"


def test_link_correct_reload_export_and_read_again(opened, tmp_path):
    page = opened()
    add(page, TEXT)
    assert page.text_content("#text") == TEXT
    assert marks(page) == ["Fit", "𝐀taxia", SCRIPT.strip("<>"), "seizure", "Short stature"]
    assert page.locator("#text script").count() == 0
    press(page, "c", "a")
    assert "decided: A:" in state(page)
    press(page, "j", "j", "x", "j", "a")
    assert state(page).startswith("decided: A:2 Seizure")
    page.reload()
    assert page.text_content("#count").startswith("5 mentions, 3 decided")
    (document,) = exported(page, "#jsonl", tmp_path / "reviewed.jsonl")
    assert document.text == TEXT
    fit, script, seizure = document.mentions
    assert (fit.text, script.text, script.gold, seizure.gold) == ("Fit", SCRIPT.strip("<>"), (("-1",),), (("A:2",),))
    assert all(TEXT[slice(*mention.spans[0])] == mention.text for mention in document.mentions)
    (again,) = exported(page, "#pubtator", tmp_path / "reviewed.pubtator")
    assert [mention.gold for mention in again.mentions] == [mention.gold for mention in document.mentions]
    assert exported(page, "#bioc", tmp_path / "reviewed.xml") == [document]
    assert again.text == TEXT.replace("\n", " ")
    page.on("dialog", lambda dialog: dialog.accept())
    page.click("#forget")
    add(page, (tmp_path / "reviewed.jsonl").read_text(encoding="utf-8"))
    assert page.text_content("#count").startswith("3 mentions, 3 decided")


def test_search_undo_and_concept(opened):
    page = opened()
    add(page, "Ataxia.")
    press(page, "/")
    page.keyboard.type("short stature")
    page.keyboard.press("Enter")
    says(page, "concepts found")
    page.wait_for_selector("#concept h3")
    assert page.text_content("#concept h3") == "Short stature A:3"
    assert "Abnormality (A:1)" in page.text_content("#concept dl")
    page.click("#accept")
    assert state(page).startswith("decided: A:3 Short stature")
    press(page, "u")
    assert state(page).startswith("not decided")
    for typed, name in (("a:20", "Seizure A:2"), ("short st", "Short stature A:3")):
        page.fill("#query", typed)
        page.press("#query", "Enter")
        says(page, f"found for {typed}")
        page.wait_for_function("name => document.querySelector('#concept h3')?.textContent === name", arg=name)


def test_pubtator_file_new_span_split_and_remove(opened, tmp_path):
    page = opened()
    path = tmp_path / "one.pubtator"
    path.write_text(DOCUMENT, encoding="utf-8")
    page.wait_for_selector("#file")
    page.set_input_files("#file", path)
    says(page, "1 of 1 documents added")
    assert page.text_content("#text") == "😀 Fit. Ataxia and seizure."
    assert state(page).startswith("decided: A:2")
    page.evaluate(
        "() => { const node = document.getElementById('text').lastChild;"
        " getSelection().setBaseAndExtent(node, 5, node, 12); }"
    )
    page.keyboard.press("m")
    says(page, "New mention: seizure")
    assert (marks(page), words(page)) == (["Fit", "Ataxia", "seizure"], "seizure")
    press(page, "a", "k", "d")
    says(page, "Removed")
    (document,) = exported(page, "#jsonl", tmp_path / "out.jsonl")
    assert [(m.spans, m.text, m.gold) for m in document.mentions] == [
        (((2, 5),), "Fit", (("A:2",),)),
        (((18, 25),), "seizure", (("A:2",),)),
    ]
    assert [section.name for section in document.sections] == ["title", "abstract"]
    line = {"id": "c", "text": "ataxia and seizure", "mentions": [{"spans": [[0, 18]]}]}
    add(page, json.dumps(line))
    page.select_option("#document", label="c")
    press(page, "s")
    says(page, "Split into 2")
    assert marks(page) == ["ataxia", "seizure"]


def test_two_tabs_do_not_overwrite_each_other(opened):
    first = opened()
    add(first, "Ataxia and seizure.")
    second = opened(context=first.context)
    press(first, "a")
    second.wait_for_selector("#conflict", state="visible")
    press(second, "x")
    stored = "JSON.parse(Object.values(localStorage)[0]).mentions[0].gold"
    assert second.evaluate(stored) == [["A:4"]]
    second.click("#take-theirs")
    assert state(second).startswith("decided: A:4")
    press(second, "x")
    first.wait_for_selector("#conflict", state="visible")
    first.click("#keep-mine")
    assert first.evaluate(stored) == [["A:4"]]
    assert second.is_visible("#conflict")


def test_a_document_that_another_tab_has_added_is_taken_as_it_is_there(opened):
    first = opened()
    second = opened(context=first.context)
    add(first, "Ataxia and seizure.")
    press(first, "a")
    add(second, "Ataxia and seizure.")
    assert state(second).startswith("decided: A:4")
    assert not first.is_visible("#conflict")


def test_filters(opened):
    page = opened()
    add(page, "Ataxia, seizure.")
    press(page, "a")
    page.select_option("#filter", "undone")
    assert words(page) == "seizure"
    assert "1 fit the filter" in page.text_content("#count")
    page.select_option("#filter", "abstained")
    assert not page.is_visible("#mention")


def test_hostile_names_are_shown_as_text(opened, browser, tmp_path):  # noqa: F811
    kb = build(
        tmp_path / "h.kb", [Entity(HOSTILE, (Name(f"fever {HOSTILE}"), Name("fever")), HOSTILE)], BuildOptions("h")
    )
    with Served(kb.path) as service:
        page = opened(service)
        add(page, json.dumps({"id": HOSTILE, "text": f"fever {HOSTILE}", "mentions": [{"spans": [[0, 5]]}]}))
        page.wait_for_selector("#concept h3")
        press(page, "a")
        assert page.locator("img").count() == 0
        # What is decided is shown anew: the concept is gone for as long as it is asked for.
        shown = "hostile => document.querySelector('#concept').textContent.includes(hostile)"
        page.wait_for_function(shown, arg=HOSTILE)
        assert page.locator("img").count() == 0
        assert HOSTILE in state(page)


def test_what_is_wrong_is_said(opened):
    page = opened()
    page.fill("#paste", '{"id": "a", "text": "Ataxia", "mentions": [{"spans": [[0, 9]]}]}')
    page.click("#add button")
    page.wait_for_selector("#problem", state="visible")
    assert page.text_content("#problem") == "line 1: [[0,9]] are no spans of the text (6 characters)"


def test_what_is_pasted_while_another_text_is_linked_stays(opened):
    page = opened()
    page.fill("#paste", "Ataxia.")
    paste = "document.getElementById('paste').value = 'x'"
    page.evaluate(f"() => {{ const own = fetch; fetch = (...asked) => {{ {paste}; return own(...asked); }}; }}")
    page.click("#add button")
    says(page, "1 of 1 documents added")
    assert page.input_value("#paste") == "x"
    assert page.is_visible("#paste")


def test_the_token_is_asked_for_and_kept_for_the_tab(opened, kb, tmp_path):
    (tmp_path / "token").write_text("secret\n", encoding="utf-8")
    with Served(kb.path, "--token-file", tmp_path / "token") as service:
        page = opened(service)
        page.wait_for_selector("#token-form", state="visible")
        page.fill("#token", "secret")
        page.click("#token-form button")
        page.wait_for_selector("#token-form", state="hidden")
        add(page, "Ataxia.")
        assert marks(page) == ["Ataxia"]
        assert "secret" not in page.evaluate("JSON.stringify(Object.entries(localStorage)) + document.cookie")
        assert page.evaluate("Object.values(sessionStorage)") == ["secret"]
        assert service.client.get("/page/review.js").status_code == 200
        assert service.client.get("/info").status_code == 401


def test_one_bad_document_does_not_stop_the_others(opened):
    page = opened()
    add(page, '{"id": "a", "text": "Ataxia."}')
    section = {"start": 0, "end": 99, "name": "title"}
    documents = [
        {"id": "a", "text": "Seizure."},
        {"id": "b", "text": "Fit.", "sections": [section]},
        {"id": "c", "text": "Fit."},
    ]
    add(page, "\n".join(map(json.dumps, documents)))
    page.wait_for_selector("#problem", state="visible")
    assert page.text_content("#status") == "1 of 3 documents added"
    assert page.text_content("#problem").startswith("a: another document has this id")
    assert page.text_content("#problem").endswith("(and 1 more)")
    assert page.locator("#document option").all_text_contents() == ["a", "c"]


def test_a_file_is_dropped(opened):
    page = opened()
    drop = """([name, content]) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([content], name));
      document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
    }"""
    page.wait_for_selector("#input")
    page.evaluate(drop, ["note.txt", "Ataxia 😀 fit."])
    says(page, "1 of 1 documents added")
    assert page.locator("#document option").all_text_contents() == ["note.txt"]
    assert marks(page) == ["Ataxia", "fit"]


def test_a_full_store_is_said_and_the_work_goes_on(opened):
    page = opened()
    add(page, "Ataxia.")
    page.evaluate("() => { Storage.prototype.setItem = () => { throw new DOMException('full'); }; }")
    press(page, "a")
    assert "not saved" in page.text_content("#problem")
    assert state(page).startswith("decided: A:4")
    assert page.evaluate("() => !dispatchEvent(new Event('beforeunload', { cancelable: true }))")


def test_letters_can_be_switched_off(opened):
    page = opened()
    add(page, "Ataxia.")
    page.uncheck("#keys")
    press(page, "x")
    assert state(page).startswith("not decided")
    press(page, "Enter")
    assert state(page).startswith("decided: A:4")


def test_a_span_by_mouse(opened):
    page = opened()
    add(page, "😀 unknown words.")
    page.evaluate(
        "() => { const node = document.getElementById('text').firstChild;"
        " getSelection().setBaseAndExtent(node, 2, node, 10); }"
    )
    page.click("#span")
    says(page, "New mention: unknown")
    assert words(page) == "unknown"
    page.click("#nil")
    assert state(page).startswith("decided: no concept")


def test_mentions_that_overlap_are_reached_in_turn(opened):
    page = opened()
    mentions = [{"spans": [[0, 15]]}, {"spans": [[8, 15]]}, {"spans": [[0, 7], [16, 19]]}]
    add(page, json.dumps({"id": "o", "text": "Febrile seizure fit", "mentions": mentions}))
    assert marks(page) == ["Febrile", " ", "seizure", "fit"]
    seizure = page.locator("mark", has_text="seizure")
    seizure.click()
    assert words(page) == "seizure"
    seizure.click()
    assert words(page) == "Febrile seizure"
    page.locator("mark", has_text="fit").click()
    assert words(page) == "Febrile fit"
    press(page, "s")
    says(page, "Split into 2")


def test_a_screen_reader_finds_mentions_and_controls_by_name(opened):
    page = opened()
    add(page, "Ataxia.")
    assert page.get_by_role("button", name="Ataxia", exact=True).get_attribute("aria-description") == "not decided"
    press(page, "a")
    assert page.get_by_role("button", name="Ataxia", exact=True).get_attribute("aria-description") == "decided"
    assert page.get_by_role("combobox", name="Document").count() == 1
    assert page.get_by_role("searchbox", name="Another concept").count() == 1
    assert page.get_by_role("region", name="Concept").count() == 1
    assert page.get_by_role("list", name="Candidates").count() == 1


def test_headers_of_the_page(served):
    for path in ("/", "/page/review.js", "/page/review.css"):
        answer = served.client.get(path)
        assert answer.status_code == 200
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert served.client.get("/page/..%2Freview.py").status_code == 404
    page = served.client.get("/").text
    assert "<style" not in page
    assert " style=" not in page


def test_after_a_reload_definitions_are_those_of_the_new_kb(opened, browser, kb, tmp_path):  # noqa: F811
    newer = [Entity("A:4", (Name("Ataxia"),), "Newly <b>defined</b>."), Entity("A:3", (Name("Short stature"),))]
    copy = Path(shutil.copy(kb.path, tmp_path / "served.kb"))
    new = build(tmp_path / "newer.kb", newer, BuildOptions("newer"))
    with Served(copy) as service:
        page = opened(service)
        add(page, "Ataxia and seizure.")
        page.wait_for_selector("#concept h3")
        assert page.text_content("#concept") == "Ataxia A:4NamesAtaxia"
        assert "another version" not in page.text_content("#count")
        os.replace(new.path, copy)
        service.signal(signal.SIGHUP)
        until(lambda: service.metric("nomina_reloads_total") == 1, service)
        press(page, "j", "k")
        page.wait_for_function("() => document.querySelector('#concept dd')?.textContent === 'Newly <b>defined</b>.'")
        page.wait_for_function(
            "() => document.getElementById('count').textContent.includes('another version of the KB')"
        )
        assert page.text_content("#kb").strip() == "newer"
        press(page, "j")
        page.wait_for_function(
            "() => document.querySelector('#concept p')?.textContent === 'the KB has no concept of this id'"
        )
        assert not page.is_visible("#problem")


def test_what_is_decided_is_shown_though_no_candidate_is_it(opened, tmp_path):
    page = opened()
    add(page, '{"id": "g", "text": "Ataxia.", "mentions": [{"spans": [[0, 6]], "gold": [["A:3"]]}]}')
    page.wait_for_function("() => document.querySelector('#concept h3')?.textContent === 'Short stature A:3'")
    assert page.locator("#candidates [aria-pressed=true]").count() == 0
    press(page, "a")
    assert state(page).startswith("decided: A:3")
    press(page, "C", "c", "a")
    assert state(page).startswith("decided: A:4 Ataxia")


def test_forms_and_warnings_are_accessible(opened, kb, tmp_path):
    (tmp_path / "token").write_text("secret\n", encoding="utf-8")
    options = ("--token-file", tmp_path / "token", "--project", tmp_path / "p.sqlite")
    with Served(kb.path, *options) as service:
        page = opened(service)
        page.wait_for_selector("#token-form", state="visible")
        assert accessible(page) == []
        page.fill("#token", "secret")
        page.click("#token-form button")
        page.wait_for_selector("#annotator-form", state="visible")
        assert accessible(page) == []
    first = opened()
    assert accessible(first) == []
    add(first, "Ataxia and seizure.")
    second = opened(context=first.context)
    press(first, "a")
    second.wait_for_selector("#conflict", state="visible")
    assert accessible(second) == []
    first.click("summary")
    first.fill("#paste", '{"id": 1}')
    first.click("#add button")
    first.wait_for_selector("#problem", state="visible")
    assert accessible(first) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_it_fits_its_window_and_can_be_read(opened, width, scheme):
    page = opened(viewport={"width": width, "height": 800}, color_scheme=scheme)
    add(page, f"{TEXT} {'x' * 300} Febrile seizure, fitness.")
    page.wait_for_selector("#concept h3")
    press(page, "a", "j", "x", "j")
    page.wait_for_selector("#concept h3")
    looks_right(page, f"review-{width}-{scheme}", width)
