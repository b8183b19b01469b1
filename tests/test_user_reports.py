"""What users of such tools report, as small inputs with the right answers: against the full HPO where it can show them.

Rows that HPO cannot show ("in a KB that has it") are shown by a made KB. The order is that of the reports; those on how
one works with nomina are in test_user_reports_work.py.
"""

import json
import os
import subprocess
import sys

import pytest
from linker_cases import needs_shipped

import nomina
from nomina.abbreviations import definitions
from nomina.cli.main import main
from nomina.types import Document, Mention, Prediction
from nomina.variants import spelling

LINKERS = ("cascade", "dictionary", "tfidf")
pytestmark = needs_shipped


@pytest.fixture(scope="module", params=LINKERS)
def hpo(request):
    """A linker over the full HPO."""
    return nomina.load(request.param)


@pytest.fixture(scope="module")
def detector():
    """The linker whose detection over the full HPO is looked at: it is the same for all."""
    return nomina.load()


def ids(prediction: Prediction) -> list[str]:
    return [candidate.entity_id for candidate in prediction.candidates]


def first(linker: nomina.Pipeline, mention: str) -> str | None:
    """The concept that a mention by itself is linked to."""
    (prediction,) = linker.link_mentions([mention])
    return None if prediction.abstained else prediction.candidates[0].entity_id


def found(linker: nomina.Pipeline, text: str) -> list[tuple[str, tuple[tuple[int, int], ...], str]]:
    """Mention, spans and first concept of what is found in a text."""
    return [(p.mention.text, p.mention.spans, p.candidates[0].entity_id) for p in linker.link_text(text)]


def in_context(linker: nomina.Pipeline, text: str, *mentions: str) -> list[Prediction]:
    """Given mentions, the first place of each in the text, in their context."""
    places = [(text.index(mention), mention) for mention in mentions]
    marked = tuple(Mention(((start, start + len(mention)),), mention) for start, mention in places)
    return list(linker.link([Document("1", text, marked)]))


# Names

NAMES = {
    "Coronary Artery Aneurysms": "HP:0030882",
    "Delayed Meconium Passage": "HP:6000224",
    "Ground glass opacities": "HP:0025179",
    "Ground-glass opacities": "HP:0025179",
    "restrictive deficit on pulmonary function test": "HP:0002091",
    "Lipoma": "HP:0012032",
    "Lipomas": "HP:0001012",
    "Albers-Schönberg disease": "HP:0011002",
    "Albers-Schonberg disease": "HP:0011002",
    "albers schönberg disease": "HP:0011002",
}


@pytest.mark.parametrize("mention", NAMES)
def test_names_by_themselves(hpo, mention):
    assert first(hpo, mention) == NAMES[mention]


@pytest.mark.parametrize("mention", NAMES)
def test_names_in_a_text(detector, mention):
    assert found(detector, f"There was {mention}.") == [(mention, ((10, 10 + len(mention)),), NAMES[mention])]


def test_singular_and_plural_that_are_two_concepts_are_both_offered(hpo):
    for mention in ("Lipoma", "Lipomas"):
        (prediction,) = hpo.link_mentions([mention])
        assert {"HP:0012032", "HP:0001012"} <= set(ids(prediction))
        assert prediction.candidates[1].score < prediction.candidates[0].score


def test_a_synonym_that_is_not_in_the_kb():
    for linker in ("cascade", "dictionary"):
        assert first(nomina.load(linker), "Breathlessness") == "HP:0002094"
        assert found(nomina.load(linker), "Breathlessness at night.") == [("Breathlessness", ((0, 14),), "HP:0002094")]


def test_a_general_mention_is_not_a_narrower_concept():
    assert first(nomina.load(), "systolic murmur") == "HP:0031664"


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("apostrophe", ["'", "’"])
def test_quotes(make_kb, linker, apostrophe):
    pipeline = nomina.load(linker, make_kb({"X:1": f"Löfgren{apostrophe}s syndrome", "X:2": "Lofgren syndrome"}))
    assert {first(pipeline, name) for name in ("Löfgren's syndrome", "Löfgren’s syndrome")} == {"X:1"}


@pytest.mark.parametrize("gamma", ["γ", "ɣ", "\U0001d6fe", "gamma"])
def test_greek_letters(detector, make_kb, gamma):
    text = f"increased serum interferon-{gamma} level"
    assert found(detector, text) == [(text, ((0, len(text)),), "HP:0030356")]
    made = make_kb({"X:1": ("interferon-gamma", "IFN-γ"), "X:2": "interferon alpha", "X:3": "interferon"})
    for linker in LINKERS:
        pipeline = nomina.load(linker, made)
        assert {first(pipeline, f"{name}-{gamma}") for name in ("interferon", "IFN")} == {"X:1"}


@pytest.mark.parametrize("mark", "™®")
def test_marks(make_kb, mark):
    for linker in LINKERS:
        pipeline = nomina.load(linker, make_kb({"X:1": "ibuprofen", "X:2": "ibuproxam"}))
        assert first(pipeline, f"ibuprofen{mark}") == "X:1"
        assert found(pipeline, f"Took ibuprofen{mark}.") == [("ibuprofen", ((5, 14),), "X:1")]


SPELLINGS = {
    ("oedema", "edema"): "HP:0000969",
    ("anaemia", "anemia"): "HP:0001903",
    ("retinal haemorrhage", "retinal hemorrhage"): "HP:0000573",
    ("anomaly of the oesophagus", "anomaly of the esophagus"): "HP:0002031",
    ("tumour", "tumor"): "HP:0002664",
    ("paediatric glaucoma", "pediatric glaucoma"): "HP:0001087",
    ("leukaemia", "leukemia"): "HP:0001909",
}


@pytest.mark.parametrize("forms", SPELLINGS)
def test_british_and_american_spelling(hpo, make_kb, forms):
    assert {first(hpo, form) for form in forms} == {SPELLINGS[forms]}
    for listed, typed in (forms, forms[::-1]):
        pipeline = nomina.load(kb=make_kb({"X:1": listed}))
        assert pipeline.link_mentions([typed])[0].candidates[0].rule == "spelling"
        assert [concept for *_, concept in found(pipeline, f"He had {typed}.")] == ["X:1"]


def test_what_has_ae_or_oe_by_chance_is_left_alone():
    words = (
        "Israel aerobic aerosol maestro michaelis graefe vertebrae influenzae intraepithelial shoe canoe does poem toe"
    )
    assert [word for word in words.split() if spelling(word.lower()) != word.lower()] == []


def test_synonyms_of_a_kb_that_has_them(make_kb):
    for linker in LINKERS:
        pipeline = nomina.load(
            linker, make_kb({"X:1": ("calcaneal fracture", "heel bone fracture"), "X:2": "fracture"})
        )
        assert [first(pipeline, name) for name in ("heel bone fracture", "calcaneal fracture")] == ["X:1", "X:1"]


def test_edges(make_kb, detector):
    for linker in LINKERS:
        pipeline = nomina.load(linker, make_kb({"X:1": "tibialis anterior"}))
        assert first(pipeline, ", tibialis anterior") == first(pipeline, "tibialis anterior") == "X:1"
        assert found(pipeline, ", tibialis anterior") == [("tibialis anterior", ((2, 19),), "X:1")]
    assert found(detector, "(‘short stature’),") == [("short stature", ((2, 15),), "HP:0004322")]


def test_a_stray_byte_in_the_source_is_counted_and_harms_no_lookup(tmp_path, capsys):
    source, path = tmp_path / "drugs.tsv", tmp_path / "drugs.kb"
    source.write_bytes(b"id\tname\nD:1\tFluorouracil\xa0\nD:2\tFluor\n")
    assert main(["kb", "build", str(source), "-o", str(path), "--lenient"]) == 0
    assert "1 fault in the sources was dropped or mended" in capsys.readouterr().err
    for linker in LINKERS:
        assert first(nomina.load(linker, path), "Fluorouracil") == "D:1"


# Homonyms, ties, the unknown


def test_three_concepts_of_one_name(make_kb):
    kb = make_kb({"X:3": "mole", "X:1": "mole", "X:2": ("naevus", "mole"), "X:4": "moles of the skin"})
    for linker in LINKERS:
        (prediction,) = nomina.load(linker, kb, k=1).link_mentions(["mole"])
        assert [(c.entity_id, c.rank, c.score) for c in prediction.candidates] == [
            ("X:3", 1, 1.0),
            ("X:1", 1, 1.0),
            ("X:2", 1, 1.0),
        ]
        assert prediction.ambiguous
        outputs = set()
        for seed in ("0", "1", "2"):
            command = [sys.executable, "-m", "nomina", "link", "--kb", str(kb.path), "--linker", linker, "-k", "1"]
            environment = {**os.environ, "PYTHONHASHSEED": seed}
            outputs.add(subprocess.run(command, input=b"A mole.", capture_output=True, env=environment).stdout)
        assert len(outputs) == 1
        assert [c["entity_id"] for c in json.loads(outputs.pop())["candidates"]] == ["X:3", "X:1", "X:2"]


READINGS = {"X:1": ("endoplasmic reticulum", "ER"), "X:2": ("emergency room", "ER"), "X:3": "erythema"}
TEXTS = ("Calcium is released from the ER.", "She was admitted to the ER.")


@pytest.mark.parametrize("text", TEXTS)
def test_both_readings_of_a_mention_are_offered(make_kb, text):
    for linker in LINKERS:
        (prediction,) = in_context(nomina.load(linker, make_kb(READINGS)), text, "ER")
        assert [(c.entity_id, c.rank) for c in prediction.candidates[:2]] == [("X:1", 1), ("X:2", 1)]
        assert prediction.ambiguous
        assert not prediction.abstained


@pytest.mark.parametrize("text", TEXTS)
def test_both_readings_of_a_short_name_in_a_text(make_kb, text):
    (prediction,) = nomina.load(kb=make_kb(READINGS)).link_text(text)
    assert (prediction.mention.text, ids(prediction), prediction.ambiguous) == ("ER", ["X:1", "X:2"], True)


@pytest.mark.parametrize("unknown", ["dostarlimab", "date of birth: sex: male"])
def test_what_is_not_in_the_kb_is_not_linked(hpo, unknown):
    (prediction,) = hpo.link_mentions([unknown])
    assert prediction.abstained
    assert all(candidate.score < 0.5 or candidate.rule == "embedding" for candidate in prediction.candidates)
    assert hpo.link_text(unknown) == []
    assert hpo.link_text(f"Patient 7, {unknown}.") == []


# Abbreviations and composites

PCSK9 = "Proprotein convertase subtilisin/kexin type 9 (PCSK9) binds to the receptor; PCSK9 is secreted."


def test_long_and_short_form_are_tried(make_kb):
    pipeline = nomina.load(kb=make_kb({"X:1": "PCSK9", "X:2": "receptor"}))
    both = in_context(pipeline, PCSK9, "Proprotein convertase subtilisin/kexin type 9", "PCSK9")
    assert [(ids(p), p.abstained) for p in both] == [(["X:1"], False)] * 2
    pipeline = nomina.load(kb=make_kb({"X:1": "Proprotein convertase subtilisin/kexin type 9"}))
    assert found(pipeline, PCSK9) == [
        ("Proprotein convertase subtilisin/kexin type 9", ((0, 45),), "X:1"),
        ("PCSK9", ((47, 52),), "X:1"),
        ("PCSK9", ((77, 82),), "X:1"),
    ]


def test_a_defined_short_form_is_found_where_only_it_is_in_the_kb(make_kb):
    mentions = [mention for mention, *_ in found(nomina.load(kb=make_kb({"X:1": "PCSK9"})), PCSK9)]
    assert mentions == ["Proprotein convertase subtilisin/kexin type 9", "PCSK9", "PCSK9"]


def test_a_definition_has_its_whole_long_form():
    text = "We used human induced pluripotent stem cells (hiPSC)."
    assert [(d.short, d.long, d.long_span) for d in definitions(text)] == [
        ("hiPSC", "human induced pluripotent stem cells", (8, 44))
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Short stature (SS) was seen ( and congenital heart defect (CHD) too.",
        "Short stature (SS) was seen) and congenital heart defect (CHD) too.",
        "(Short stature (SS) was seen and congenital heart defect (CHD) too.",
    ],
)
def test_an_unbalanced_parenthesis_hides_no_definition(detector, text):
    assert [d.short for d in definitions(text)] == ["SS", "CHD"]
    found_ids = {mention: concept for mention, _, concept in found(detector, f"{text} SS and CHD.")}
    assert (found_ids["SS"], found_ids["CHD"]) == ("HP:0004322", "HP:0001627")


COMPOSITES = {
    "nausea and vomiting": [("nausea", ((10, 16),), "HP:0002018"), ("vomiting", ((21, 29),), "HP:0002013")],
    "breast and ovarian cancer": [
        ("breast cancer", ((10, 16), (29, 35)), "HP:0003002"),
        ("ovarian cancer", ((21, 35),), "HP:0100615"),
    ],
    "head and neck cancer": [("head and neck cancer", ((10, 30),), "HP:0012288")],
}


@pytest.mark.parametrize("composite", COMPOSITES)
def test_composites(detector, composite):
    assert found(detector, f"There was {composite}.") == COMPOSITES[composite]


def test_composites_that_share_their_head(make_kb):
    pipeline = nomina.load(kb=make_kb({"X:1": "hepatitis B", "X:2": "hepatitis C", "X:3": "hepatitis"}))
    assert sorted(found(pipeline, "hepatitis B and C")) == [
        ("hepatitis B", ((0, 11),), "X:1"),
        ("hepatitis C", ((0, 9), (16, 17)), "X:2"),
    ]
