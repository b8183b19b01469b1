"""Names that share a word in an enumeration."""

import numpy as np
import pytest

import nomina
from nomina.detect import Detector
from nomina.enumerations import Shared, joined, shared_names
from nomina.lexicon import Lexicon
from nomina.units import Vocabulary

NAMES = """
    breast cancer, ovarian cancer, branchial anomaly, otic anomaly, renal anomaly, hypopigmentation of skin,
    hypopigmentation of hair, hepatitis B, hepatitis C, head and neck cancer, neck cancer, optic nerve atrophy,
    auditory nerve atrophy, short fingers, short toes, upper limb weakness, lower limb weakness, type 1 diabetes,
    type 2 diabetes, abnormality of the eye, abnormality of the ear, cancer, facial defect, limb defect
"""


@pytest.fixture(scope="module")
def lexicon(make_kb) -> Lexicon:
    names = [name.strip() for name in NAMES.split(",")]
    return Lexicon.open(make_kb({f"A:{i}": name for i, name in enumerate(names)}))


def found(lexicon: Lexicon, text: str) -> list[str]:
    """What the detector finds, sliced out of the text; the parts of one mention are joined by "+"."""
    return ["+".join(text[start:end] for start, end in f.spans) for f in Detector(lexicon).find([text])[0]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("breast and ovarian cancer", ["breast+cancer", "ovarian cancer"]),
        ("Breast or ovarian cancers.", ["Breast+cancers", "ovarian cancers"]),
        ("of hereditary breast and ovarian cancer", ["breast+cancer", "ovarian cancer"]),
        ("breast, ovarian cancer", ["breast+cancer", "ovarian cancer"]),
        ("branchial and otic anomalies", ["branchial+anomalies", "otic anomalies"]),
        ("branchial, otic and renal anomalies", ["branchial+anomalies", "otic+anomalies", "renal anomalies"]),
        ("branchial, otic, and renal anomalies", ["branchial+anomalies", "otic+anomalies", "renal anomalies"]),
        ("branchial, dental, otic or renal anomalies", ["otic+anomalies", "renal anomalies"]),
        ("hypopigmentation of skin or hair", ["hypopigmentation of skin", "hypopigmentation+hair"]),
        ("hypopigmentation of the skin and the hair", ["hypopigmentation of the skin", "hypopigmentation+hair"]),
        ("abnormality of the eyes and ears", ["abnormality of the eyes", "abnormality+ears"]),
        ("ear and eye abnormalities", ["ear+abnormalities", "eye abnormalities"]),
        ("hepatitis B and C", ["hepatitis B", "hepatitis+C"]),
        ("hepatitis C or B", ["hepatitis C", "hepatitis+B"]),
        ("short fingers and toes", ["short fingers", "short+toes"]),
        ("optic and auditory nerve atrophy", ["optic+nerve atrophy", "auditory nerve atrophy"]),
        ("upper and lower limb weakness", ["upper+limb weakness", "lower limb weakness"]),
        ("type 1 or type 2 diabetes", ["type 1+diabetes", "type 2 diabetes"]),
        ("breast cancer and ovarian cancer", ["breast cancer", "ovarian cancer"]),
    ],
)
def test_both_names_of_an_enumeration_are_found(lexicon: Lexicon, text: str, expected: list[str]) -> None:
    assert sorted(found(lexicon, text)) == sorted(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("head and neck cancer", ["head and neck cancer"]),
        ("lung and ovarian cancer", ["ovarian cancer"]),
        ("breast and lung cancer", ["cancer"]),
        ("breast. And ovarian cancer", ["ovarian cancer"]),
        ("breast (and ovarian) cancer", ["cancer"]),
        ("breast\n\nand ovarian cancer", ["ovarian cancer"]),
        ("breast; or ovarian cancer", ["ovarian cancer"]),
        ("breast with ovarian cancer", ["ovarian cancer"]),
        ("no breast and an ovarian cyst; cancer", ["cancer"]),
        ("limb and facial defect", ["limb+defect", "facial defect"]),
        ("limb and facial skin", []),
    ],
)
def test_what_is_none_is_left_alone(lexicon: Lexicon, text: str, expected: list[str]) -> None:
    assert sorted(found(lexicon, text)) == sorted(expected)


def test_the_parts_have_the_concepts_of_the_whole_names_and_offsets_of_the_text(lexicon: Lexicon) -> None:
    text = "We saw Breast, or ovarian cancers in 3."
    shared, plain = Detector(lexicon).find([text])[0]
    assert shared.spans == ((7, 13), (26, 33))
    assert (shared.start, shared.end) == (7, 33)
    assert plain.spans == ((18, 33),)
    assert [lexicon.kb.names[m.row] for m in (*shared.matches, *plain.matches)] == ["breast cancer", "ovarian cancer"]
    assert shared.matches == lexicon.lookup("Breast cancers")


def test_shared_names_of_several_texts(lexicon: Lexicon) -> None:
    texts = ["nothing", "hepatitis B and C", "", "branchial, otic and renal anomalies"]
    shared = shared_names(Vocabulary().cut(texts), texts, lexicon)
    assert sorted(shared) == [
        Shared(1, ((0, 9), (16, 17)), (0, 11)),
        Shared(3, ((0, 9), (26, 35)), (20, 35)),
        Shared(3, ((11, 15), (26, 35)), (20, 35)),
    ]
    assert [joined(texts[s.text], s.spans) for s in sorted(shared)] == [
        "hepatitis C",
        "branchial anomalies",
        "otic anomalies",
    ]


def test_an_enumeration_does_not_cross_texts(lexicon: Lexicon) -> None:
    texts = ["breast and", "ovarian cancer", "hepatitis B", "and C"]
    assert shared_names(Vocabulary().cut(texts), texts, lexicon) == []


def test_a_part_that_a_filter_leaves_out_is_no_mention(lexicon: Lexicon) -> None:
    rows = np.array([name != "breast cancer" for name in lexicon.kb.names])
    (only,) = Detector(lexicon, rows=rows).find(["breast and ovarian cancer"])[0]
    assert only.spans == ((11, 25),)
    rows = np.array([name != "ovarian cancer" for name in lexicon.kb.names])
    (only,) = Detector(lexicon, rows=rows).find(["breast and ovarian cancer"])[0]
    assert [lexicon.kb.names[match.row] for match in only.matches] == ["cancer"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("low-set, rotated ears", ["low-set ears", "rotated ears"]),
        ("ataxia, rotated ears", ["ataxia", "rotated ears"]),
        ("delayed motor and speech development", ["delayed motor", "delayed speech development"]),
        ("tonic-clonic and absence seizures", ["absence seizures", "tonic-clonic seizures"]),
    ],
)
def test_commas_longest_parts_and_whole_words(make_kb, text: str, expected: list[str]) -> None:
    names = ["low-set ears", "rotated ears", "ataxia", "ataxia ears", "delayed motor", "delayed speech"]
    names += ["delayed speech development", "absence seizures", "clonic seizures", "tonic-clonic seizures"]
    kb = make_kb({f"A:{i}": name for i, name in enumerate(names)})
    pipeline = nomina.load("dictionary", kb)
    assert sorted(p.mention.text for p in pipeline.link_text(text)) == sorted(expected)
