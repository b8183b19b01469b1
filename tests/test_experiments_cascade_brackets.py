"""``experiments/cascade_brackets.py``: mentions read as the names that stand beside them in brackets."""

import pytest
from cascade_cases import NAMES, PARTS, documents

from nomina.lexicon import Lexicon
from nomina.types import Document, Mention


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Corix (heart failure) was", "heart failure"),
        ("Corix was; then Corix [heart failure, mild] was", "heart failure"),
        ("Corix (heart failure (mild)) was", ""),
        ("a bad failing heart (Corix) was", "failing heart"),
        ("heart failure (also Corix) was", ""),
        ("Corix and (heart failure) was", ""),
        ("Corix (heart failure was", ""),
        ("Corixes (heart failure) was", ""),
        ("Corix was", ""),
    ],
)
def test_the_name_beside_a_mention(script, make_kb, text, name):
    assert script("cascade_brackets").other_name(text, "Corix", Lexicon.open(make_kb(NAMES))) == name


def test_names_and_defined_short_forms_are_left_alone(script, make_kb):
    brackets, lexicon = script("cascade_brackets"), Lexicon.open(make_kb(NAMES))
    assert brackets.other_name("lung tumour (heart failure)", "lung tumour", lexicon) == ""
    assert brackets.other_name("heart failures (HFs); one HF (lung tumour)", "HF", lexicon) == ""
    assert brackets.other_name("one HF (lung tumour)", "HF", lexicon) == "lung tumour"


def test_a_cascade_is_asked_for_the_name_in_place_of_the_mention(script, make_kb):
    brackets, mistakes, kb = script("cascade_brackets"), script("cascade_errors"), make_kb(NAMES)
    linker, _, _ = script("cascade").fitted(kb, PARTS, script("cascade").dev_of(documents(), kb))
    (task,) = [script("eval_tasks").Task("ncbi", "clean-raw", "made", lambda s: [], lambda s: [])]
    cell = mistakes.Cell(task, kb, linker, mistakes.protocol_of("clean-raw"))
    text = "Corix (heart failure), lung x3 (skin tumour), lung tumour"
    spans = {"Corix": (0, 5), "lung x3": (23, 30), "lung tumour": (46, 57)}
    gold = {"Corix": "A:heart", "lung x3": "A:stomach", "lung tumour": "B:lung"}
    mentions = tuple(Mention((span,), text[slice(*span)], gold=((gold[name],),)) for name, span in spans.items())
    asked = [Document("d", text, mentions), *documents()]
    assert brackets.alone(cell, asked) == {"mentions": 2, "right": 1}
    found = brackets.tried(cell, asked)
    assert (found["mentions"], found["documents"], found["read"]["mentions"], found["read"]["after"]) == (67, 17, 2, 1)
    assert (found["gained"], found["lost"], found["texts"]["gained"]) == (1, 0, ["Corix"])
