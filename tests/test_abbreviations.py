import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomina.abbreviations import Definition, definitions


def pairs(text: str) -> list[tuple[str, str]]:
    return [(found.short, found.long) for found in definitions(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # the orders of long and short
        ("Acute kidney injury (AKI) was seen.", [("AKI", "Acute kidney injury")]),
        ("CKD (chronic kidney disease) was seen.", [("CKD", "chronic kidney disease")]),
        ("the barrier (blood-brain barrier, BBB) opens", [("BBB", "blood-brain barrier")]),
        ("a scan (GWAS; genome-wide association study)", [("GWAS", "genome-wide association study")]),
        ("positron emission tomography [PET]", [("PET", "positron emission tomography")]),
        ("NANB (non-A, non-B hepatitis)", [("NANB", "non-A, non-B hepatitis")]),
        # what else the brackets hold
        ("blood-brain barrier (BBB; Fig. 1)", [("BBB", "blood-brain barrier")]),
        ("ventricular septal defect (VSD, 3 mm)", [("VSD", "ventricular septal defect")]),
        ("body mass index (BMI = 31)", [("BMI", "body mass index")]),
        ("positron emission tomography (also known as PET)", [("PET", "positron emission tomography")]),
        ("“chronic obstructive lung disease” (“COLD”)", [("COLD", "chronic obstructive lung disease")]),
        ("attention deficit disorder ( ADD )", [("ADD", "attention deficit disorder")]),
        # the long form whole
        ("human induced pluripotent stem cells (hiPSC)", [("hiPSC", "human induced pluripotent stem cells")]),
        ("the International Index of Erectile Function (IIEF)", [("IIEF", "International Index of Erectile Function")]),
        ("with 2,4-dinitrophenol (DNP)", [("DNP", "2,4-dinitrophenol")]),
        ("Ngn3/paired box factor 6 (PAX6)", [("PAX6", "paired box factor 6")]),
        (
            "Proprotein convertase subtilisin/kexin type 9 (PCSK9) binds LDL. PCSK9",
            [("PCSK9", "Proprotein convertase subtilisin/kexin type 9")],
        ),
        # letters
        ("induced pluripotent stem cells (iPSCs)", [("iPSCs", "induced pluripotent stem cells")]),
        ("angiotensin receptor blockers (ARBs)", [("ARBs", "angiotensin receptor blockers")]),
        ("interferon-γ (IFN-γ)", [("IFN-γ", "interferon-γ")]),
        ("tumour necrosis factor α (TNF-alpha)", [("TNF-alpha", "tumour necrosis factor α")]),
        ("anti-Müllerian hormone (AMH)", [("AMH", "anti-Müllerian hormone")]),
        ("three-dimensional (3D) model", [("3D", "three-dimensional")]),
        ("Escherichia coli (E. coli)", [("E. coli", "Escherichia coli")]),
        ("forced expiratory volume in 1 second (FEV(1))", [("FEV(1)", "forced expiratory volume in 1 second")]),
        ("magnetic resonance\nimaging (MRI)", [("MRI", "magnetic resonance\nimaging")]),
        # several, and brackets that do not match
        (
            "(autism spectrum disorder (ASD) and global developmental delay (GDD).",
            [("ASD", "autism spectrum disorder"), ("GDD", "global developmental delay")],
        ),
        (
            "autism spectrum disorder (ASD) and) global developmental delay (GDD).",
            [("ASD", "autism spectrum disorder"), ("GDD", "global developmental delay")],
        ),
        ("deep vein thrombosis (DVT) (n = 3), then DVT", [("DVT", "deep vein thrombosis")]),
        ("heart rate (HR). The heart rate (HR)", [("HR", "heart rate"), ("HR", "heart rate")]),
    ],
)
def test_definitions(text, expected):
    assert pairs(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no bracket",
        "() [] ( ) ((())) )(",
        "patients (n = 20), controls (12%), p (P < 0.05), dose (10 mM)",
        "our cohort (OR = 2.3)",
        "cases (see below), mice (rats), a group (welders)",
        "Vitamin B. Deficiency in fever (VBDF)",
        "the kidney; injury in adults (KIA)",
        "acute (mean 3 days) kidney injury (AKI)",
        "methods: (i) first, (ii) second, (a) third",
        "the red zone (red)",
        "soluble silver(S) salts",
        "(AKI) acute kidney injury",
    ],
)
def test_no_definition(text):
    assert definitions(text) == ()


def test_offsets():
    text = "We saw acute kidney injury (AKI), as CKD (chronic kidney disease)."
    assert definitions(text) == (
        Definition("AKI", "acute kidney injury", (28, 31), (7, 26)),
        Definition("CKD", "chronic kidney disease", (37, 40), (42, 64)),
    )


WORDS = [
    "acute",
    "kidney",
    "injury",
    "Failure",
    "(AKI)",
    "(KF",
    "AKIF",
    "[",
    ")",
    "(",
    "α",
    ".",
    ";",
    "\n",
    "β-",
    "(IF, x)",
]


@given(st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join))
def test_spans_hold_the_strings(text):
    found = definitions(text)
    for short, long, short_span, long_span in found:
        assert text[slice(*short_span)] == short == short.strip()
        assert text[slice(*long_span)] == long == long.strip()
        assert len(short) < len(long)
        assert short_span[1] <= long_span[0] or long_span[1] <= short_span[0]
    assert all(a.short_span < b.short_span for a, b in pairwise(found))


@given(st.text(max_size=60))
def test_any_text_is_answered(text):
    for short, long, short_span, long_span in definitions(text + " (" + text + ")"):
        assert (text + " (" + text + ")")[slice(*short_span)] == short
        assert (text + " (" + text + ")")[slice(*long_span)] == long


@pytest.mark.parametrize("piece", ["(", ")", "()", "(A) ", "a (A ", "(a, b; ", "a-b ", "acute injury (AI) "])
def test_a_hundred_thousand_brackets_take_linear_time(piece):
    times = 100_000 // len(piece)
    before = time.process_time()
    found = definitions(piece * times)
    assert len(found) == (times if "AI" in piece else 0)
    assert time.process_time() - before < 5  # measured: 0.2 s at most
