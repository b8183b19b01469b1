"""The dictionary linker: tiers of trust, and what a definition in the text changes."""

from __future__ import annotations

import numpy as np
import pytest

from nomina.lexicon import Lexicon
from nomina.linkers.base import NO_ROW, Rule
from nomina.linkers.dictionary import DictionaryLinker
from nomina.types import Document, Mention, Prediction, Query

NAMES = {
    "A:1": ("Acute kidney injury", "Sudden renal failure"),
    "A:2": "Chronic kidney disease",
    "A:3": ("Acute abdomen", "AKI"),
    "A:4": "Lipoma",
    "A:5": ("Multiple lipomas", "Lipomas"),
    "A:6": "Haemorrhage",
    "A:7": "Opacity of the lung",
    "A:8": "Abnormality of the kidney",
    "A:9": "PCSK9",
    "A:10": "Spinocerebellar ataxia",
}


@pytest.fixture(scope="module")
def linker(make_kb) -> DictionaryLinker:
    return DictionaryLinker(make_kb(NAMES))


def link(linker: DictionaryLinker, mention: str, text: str | None = None, **options) -> Prediction:
    """Link the last occurrence of a mention in a text, else the mention alone."""
    text = mention if text is None else text
    start = text.rindex(mention)
    document = Document("d", text, (Mention(((start, start + len(mention)),), mention),))
    (prediction,) = linker.link([document], **options)
    return prediction


def shown(prediction: Prediction) -> list[tuple[str, str, float]]:
    return [(c.entity_id, c.rule, c.score) for c in prediction.candidates]


@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        ("Lipoma", [("A:4", "exact", 1.0), ("A:5", "inflection", 0.95)]),
        ("Lipomas", [("A:5", "exact", 1.0), ("A:4", "inflection", 0.95)]),
        ("LIPOMA", [("A:4", "normalised", 1.0), ("A:5", "inflection", 0.95)]),
        ("hemorrhage", [("A:6", "spelling", 0.98)]),
        ("hemorrhages", [("A:6", "inflection", 0.95)]),
        ("lung opacities", [("A:7", "order", 0.9)]),
        ("kidney abnormality", [("A:8", "order", 0.9)]),
        ("renal anomaly", [("A:8", "derivation", 0.7)]),
        ("chronic kidney disease", [("A:2", "normalised", 1.0)]),
        ("chronic liver disease", []),
        ("", []),
        ("?", []),
    ],
)
def test_tiers_of_trust(linker: DictionaryLinker, mention: str, expected: list) -> None:
    document = Document("d", mention or " ", (Mention(((0, len(mention) or 1),), mention),))
    (prediction,) = linker.link([document])
    assert shown(prediction) == expected
    assert prediction.abstained is not bool(expected)


def test_the_name_that_matched_is_named(linker: DictionaryLinker) -> None:
    (candidate,) = link(linker, "failure, renal, sudden").candidates
    assert (candidate.preferred, candidate.name, candidate.rule) == (
        "Acute kidney injury",
        "Sudden renal failure",
        "order",
    )


def test_a_short_form_is_looked_up_in_its_long_form_too(linker: DictionaryLinker) -> None:
    assert shown(link(linker, "CKD")) == []
    for text in (
        "Chronic kidney disease (CKD). CKD",
        "Chronic kidney disease [CKD]: CKD",
        "CKD (chronic kidney disease) CKD",
    ):
        assert shown(link(linker, "CKD", text)) == [("A:2", "abbreviation", 0.97)]
        assert shown(link(linker, "ckd", text.replace("CKD", "CKD, ckd"))) == [("A:2", "abbreviation", 0.97)]


def test_a_variant_of_the_long_form_keeps_its_lower_trust(linker: DictionaryLinker) -> None:
    assert shown(link(linker, "CKDs", "chronic kidney diseases (CKDs) and CKDs")) == [("A:2", "abbreviation", 0.9215)]


def test_its_own_reading_stays_behind_the_defined_one(linker: DictionaryLinker) -> None:
    assert shown(link(linker, "AKI")) == [("A:3", "exact", 1.0)]
    text = "Acute kidney injury (AKI) and AKI"
    assert shown(link(linker, "AKI", text)) == [("A:1", "abbreviation", 0.97), ("A:3", "exact", 0.8)]


def test_its_own_reading_stays_where_the_long_form_is_unknown(linker: DictionaryLinker) -> None:
    text = "Arctic krill index (AKI) and AKI"
    assert shown(link(linker, "AKI", text)) == [("A:3", "exact", 1.0)]


def test_a_long_form_is_looked_up_in_its_short_form_where_nothing_else_is_found(linker: DictionaryLinker) -> None:
    long = "Proprotein convertase subtilisin/kexin type 9"
    text = f"{long} (PCSK9) binds; PCSK9"
    assert shown(link(linker, long)) == []
    assert shown(link(linker, long, text)) == [("A:9", "abbreviation", 0.97)]
    assert shown(link(linker, "PCSK9", text)) == [("A:9", "exact", 1.0)]
    text = "Acute kidney injury (AKI)"
    assert shown(link(linker, "Acute kidney injury", text)) == [("A:1", "exact", 1.0)]


def test_the_first_of_two_definitions_counts(linker: DictionaryLinker) -> None:
    text = "Spinocerebellar ataxia (SCA). Sickle cell anomaly (SCA). SCA"
    assert shown(link(linker, "SCA", text)) == [("A:10", "abbreviation", 0.97)]


def test_other_mentions_of_the_text_are_left_alone(linker: DictionaryLinker) -> None:
    text = "Chronic kidney disease (CKD), lipoma"
    assert shown(link(linker, "lipoma", text)) == shown(link(linker, "lipoma"))


def test_rank_gives_the_most_trusted_rows_first_and_fills_up(linker: DictionaryLinker) -> None:
    queries = [
        Query(Document("d", text), Mention(((0, len(text)),), text)) for text in ("lipoma", "nothing", "Lipomas")
    ]
    ranking = linker.rank(queries, 3)
    row = linker.kb.row
    assert ranking.rows.tolist() == [
        [row("lipoma"), row("lipomas"), NO_ROW],
        [NO_ROW] * 3,
        [row("lipomas"), row("lipoma"), NO_ROW],
    ]
    assert ranking.rules[0].tolist()[:2] == [Rule.NORMALISED, Rule.INFLECTION]
    assert linker.rank(queries, 1).rows.tolist() == [[row("lipoma")], [NO_ROW], [row("lipomas")]]


def test_rank_names_only_rows_within(linker: DictionaryLinker) -> None:
    query = Query(Document("d", "lipoma"), Mention(((0, 6),), "lipoma"))
    within = np.ones(len(linker.kb.names), np.bool_)
    within[linker.kb.row("lipoma")] = False
    assert linker.rank([query], 2, within).rows.tolist() == [[linker.kb.row("lipomas"), NO_ROW]]


def test_a_lexicon_that_is_open_already_is_used(linker: DictionaryLinker) -> None:
    lexicon = Lexicon.open(linker.kb)
    assert DictionaryLinker(linker.kb, lexicon).lexicon is lexicon
