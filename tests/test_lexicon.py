"""Names and their variants: the rules, the table of hashes, the file in the cache folder."""

import mmap
import os
import random
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomina.lexicon import (
    LEXICON_VERSION,
    STEP,
    Lexicon,
    Table,
    bag_hash,
    forms,
    mixed_hash,
    rule_between,
    sequence_hash,
    token_hash,
)
from nomina.linkers.base import Rule
from nomina.text import normalise
from nomina.variants import family, inflect


def rule(one: str, other: str) -> Rule | None:
    return rule_between(forms(normalise(one)), forms(normalise(other)))


@pytest.mark.parametrize(
    ("mention", "name", "expected"),
    [
        ("Short stature", "short stature", Rule.NORMALISED),
        ("Ground-glass opacities", "Ground glass opacities", Rule.NORMALISED),
        ("IFN-γ", "ifn gamma", Rule.NORMALISED),
        ("Haemorrhage", "Hemorrhage", Rule.SPELLING),
        ("pre-auricular pit", "preauricular pit", Rule.SPELLING),
        ("pre auricular pit", "preauricular pit", Rule.SPELLING),
        ("Ground glass opacities", "Ground-glass opacity", Rule.INFLECTION),
        ("factor VIII", "factor 8", Rule.INFLECTION),
        ("5FU", "5-FU", Rule.INFLECTION),
        ("haemorrhages", "hemorrhage", Rule.INFLECTION),
        ("opacity of the lungs", "lung opacity", Rule.ORDER),
        ("passage of meconium, delayed", "Delayed passage of meconium", Rule.ORDER),
        ("Delayed Meconium Passage", "Delayed passage of meconium", Rule.ORDER),
        ("renal anomaly", "abnormality of the kidney", Rule.DERIVATION),
        ("stenotic aortic valve", "Aortic valve stenosis", Rule.DERIVATION),
        ("abnormal clavicle", "Abnormal clavicle morphology", Rule.DERIVATION),
        ("increased tone", "decreased tone", None),
        ("vitamin deficiency", "vitamin A deficiency", None),
        ("fever with rash", "fever without rash", None),
        ("fever and rash", "fever with rash", None),
        ("renal", "kidney", None),
        ("stenotic", "stenosis", None),
        ("of the lung", "lung", None),
        ("lung lung opacity", "lung opacity", None),
        ("type 1 diabetes", "type 2 diabetes", None),
        ("Lipoma", "Multiple lipomas", None),
        ("+", "++", None),
    ],
)
def test_the_most_trusted_rule_between_two_names(mention: str, name: str, expected: Rule | None) -> None:
    assert rule(mention, name) is expected
    assert rule(name, mention) is expected


@pytest.mark.parametrize(
    ("mention", "name", "expected"),
    [
        ("Breathlessness", "Dyspnea", Rule.LAY_TERM),
        ("breathlessness", "dyspnoea", Rule.LAY_TERM),
        ("breathlessness on exertion", "Dyspnea on exertion", Rule.LAY_TERM),
        ("loss of hair", "Alopecia", Rule.LAY_TERM),  # in any order
        ("low blood platelet count", "Thrombocytopenia", None),  # not a word more
        ("Febrile convulsions", "Febrile seizure", Rule.LAY_TERM),
        ("Dyspnea", "Breathlessness", None),  # and not the other way round
        ("itching", "Itching", Rule.NORMALISED),
    ],
)
def test_a_lay_term_finds_the_clinical_one(mention: str, name: str, expected: Rule | None) -> None:
    assert rule(mention, name) is expected


def test_forms_of_a_key() -> None:
    form = forms("delayed passages of the haemorrhages iv")
    assert form.key == "delayed passages of the haemorrhages iv"
    assert form.spelt == "delayed passages of the hemorrhages iv"
    assert form.inflected == ("delayed", "passage", "of", "the", "hemorrhage", "4")
    assert form.words == ("4", "delayed", "hemorrhage", "passage")
    assert form.families == tuple(sorted(map(family, form.words)))


WORDS = st.lists(
    st.sampled_from("heart hearts cardiac disease of the renal kidney tumour tumor iv 4 and".split()),
    min_size=1,
    max_size=5,
)


@given(WORDS, WORDS)
def test_rules_are_symmetric_and_hold_of_a_name_and_itself(one: list[str], other: list[str]) -> None:
    first, second = forms(" ".join(one)), forms(" ".join(other))
    assert rule_between(first, second) == rule_between(second, first)
    assert rule_between(first, first) is Rule.NORMALISED


@given(WORDS, WORDS)
def test_what_a_rule_allows_has_a_hash_in_common(one: list[str], other: list[str]) -> None:
    first, second = forms(" ".join(one)), forms(" ".join(other))
    if rule_between(first, second) is not None:
        same_sequence = sequence_hash(first.inflected) == sequence_hash(second.inflected)
        assert same_sequence or bag_hash(first.families) == bag_hash(second.families)


def test_hashes_are_the_same_on_every_machine() -> None:
    assert token_hash("heart") == 0xE2FB8351AE0EEFDA
    assert sequence_hash(()) == bag_hash(()) == 0


@given(st.lists(st.text("ab", min_size=1, max_size=3), max_size=6))
def test_a_sequence_hash_knows_the_order_and_a_bag_hash_does_not(tokens: list[str]) -> None:
    by_hand = 0
    for token in tokens:
        by_hand = (by_hand * STEP + token_hash(token)) % 2**64
    assert sequence_hash(tokens) == by_hand
    assert bag_hash(tokens) == sum(map(mixed_hash, tokens)) % 2**64
    orders = set(permutations(tokens[:4]))
    assert len({sequence_hash(order) for order in orders}) == len(orders)
    assert len({bag_hash(order) for order in orders}) == 1


def entries(keys: list[str]) -> dict[int, list[int]]:
    """Rows by hash, as the documentation has it: each name as a sequence, and as a bag if two of its words matter."""
    rows: dict[int, list[int]] = {}
    for row, key in enumerate(keys):
        form = forms(key)
        rows.setdefault(sequence_hash(form.inflected), []).append(row)
        if len(form.families) >= 2:
            rows.setdefault(bag_hash(form.families), []).append(row)
    return rows


def check_table(keys: list[str], others: list[int]) -> None:
    expected = entries(keys)
    table = Table.of(iter(keys))
    assert (table.hashes.dtype, table.rows.dtype, table.bits.dtype) == (np.uint64, np.uint32, np.uint8)
    assert np.all(table.hashes[:-1] <= table.hashes[1:])
    near = [(value + step) % 2**64 for value in expected for step in (-1, 1, 2**32, 2**63)]
    asked = [*others, *near, *expected, 0, 2**64 - 1]
    found = table.suspects(np.array(asked, np.uint64)).tolist()
    assert found == [place for place, value in enumerate(asked) if value in expected]
    assert {value: table.rows_of(value) for value in expected} == expected
    assert all(table.rows_of(value) == [] for value in near if value not in expected)


KEYS = st.lists(
    st.lists(st.sampled_from("heart hearts disease of renal iv 4".split()), min_size=1, max_size=4).map(" ".join)
)


@given(KEYS, st.lists(st.integers(0, 2**64 - 1), max_size=20))
def test_the_table_finds_what_a_plain_set_finds(keys: list[str], others: list[int]) -> None:
    check_table(keys, others)


def test_a_large_table_finds_what_a_plain_set_finds() -> None:
    chosen = random.Random(5)
    words = [
        f"{stem}{ending}"
        for stem in ("hepat", "ren", "card", "neur", "derm", "oste")
        for ending in ("al", "ic", "itis", "oma")
    ]
    keys = [" ".join(chosen.choices([*words, "of", "the", "2"], k=chosen.randint(1, 5))) for _ in range(4000)]
    check_table(keys, [chosen.getrandbits(64) for _ in range(4000)])


@pytest.fixture(scope="module")
def lexicon(make_kb) -> Lexicon:
    return Lexicon.open(
        make_kb(
            {
                "A:1": "Delayed passage of meconium",
                "A:2": "Lipoma",
                "A:3": ("Multiple lipomas", "Lipomas"),
                "A:4": "Haemorrhage",
                "A:5": "Renal anomaly",
                "A:6": "Abnormality of the kidney",
                "A:7": "Lung opacity",
                "A:8": "Opacity of lung",
                "A:9": "Drug-induced alopecia",
            }
        )
    )


def found(lexicon: Lexicon, text: str) -> list[tuple[str, Rule, float]]:
    return [(lexicon.kb.surface(row), rule, round(score, 4)) for row, rule, score in lexicon.lookup(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("delayed meconium passage", [("Delayed passage of meconium", Rule.ORDER, 0.9)]),
        ("LIPOMA", [("Lipoma", Rule.NORMALISED, 1.0), ("Lipomas", Rule.INFLECTION, 0.95)]),
        ("lipomas", [("Lipomas", Rule.NORMALISED, 1.0), ("Lipoma", Rule.INFLECTION, 0.95)]),
        ("hemorrhage", [("Haemorrhage", Rule.SPELLING, 0.98)]),
        (
            "kidney abnormality",
            [("Abnormality of the kidney", Rule.ORDER, 0.9), ("Renal anomaly", Rule.DERIVATION, 0.7)],
        ),
        (
            "renal abnormality",
            [("Renal anomaly", Rule.DERIVATION, 0.775), ("Abnormality of the kidney", Rule.DERIVATION, 0.775)],
        ),
        ("opacities of the lung", [("Lung opacity", Rule.ORDER, 0.9), ("Opacity of lung", Rule.ORDER, 0.9)]),
        ("drug induced hair loss", [("Drug-induced alopecia", Rule.LAY_TERM, 0.7)]),
        ("loss of hair, drug induced", [("Drug-induced alopecia", Rule.LAY_TERM, 0.7)]),
        ("lung", []),
        ("", []),
        ("!", []),
    ],
)
def test_look_up_gives_all_variants_most_trusted_first_then_by_row(lexicon: Lexicon, text: str, expected: list) -> None:
    assert found(lexicon, text) == expected


def test_look_up_agrees_with_the_rules_on_every_name(lexicon: Lexicon) -> None:
    texts = [
        *lexicon.kb.names,
        "kidney anomalies",
        "opacity lung",
        "passage of delayed meconium",
        "lipomata",
        "anomaly",
        "drug-induced hair loss",
    ]
    for text in texts:
        by_hand = {
            row: found
            for row, name in enumerate(lexicon.kb.names)
            if (found := rule_between(forms(normalise(text)), forms(name))) is not None
        }
        assert {match.row: match.rule for match in lexicon.lookup(text)} == by_hand


def test_trust_falls_from_rule_to_rule_and_stays_above_zero(lexicon: Lexicon) -> None:
    texts = [
        "Lipoma",
        "hemorrhage",
        "renal anomalies",
        "meconium passage delayed",
        "kidney anomaly",
        "renal abnormality",
        "drug-induced hair loss",
    ]
    best = {match.rule: match.score for text in texts for match in lexicon.lookup(text)}
    assert set(best) == {Rule.NORMALISED, Rule.SPELLING, Rule.INFLECTION, Rule.ORDER, Rule.DERIVATION, Rule.LAY_TERM}
    scores = [best[rule] for rule in sorted(best)]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] > 0.5


# The file in the cache folder


def table_file(lexicon: Lexicon, home: Path) -> Path:
    return home / "lexicon" / f"{lexicon.kb.fingerprint}.{LEXICON_VERSION}.table"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_the_table_is_made_once_and_mapped_read_only(lexicon: Lexicon, home: Path) -> None:
    Lexicon.open(lexicon.kb)
    path = table_file(lexicon, home)
    before = path.stat()
    again = Lexicon.open(lexicon.kb)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert sorted(os.listdir(path.parent)) == [path.name, f"{path.name}.lock"]
    for array, expected in zip(again.table, lexicon.table, strict=True):
        assert np.array_equal(array, expected)
        assert not array.flags.writeable
        base = array
        while isinstance(base, np.ndarray):
            base = base.base
        assert isinstance(memoryview(base).obj, mmap.mmap)


@pytest.mark.parametrize("kept", [0.0, 0.1, 0.5, 0.99])
def test_a_table_that_was_cut_off_is_made_anew(lexicon: Lexicon, home: Path, kept: float) -> None:
    Lexicon.open(lexicon.kb)
    path = table_file(lexicon, home)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * kept)])
    assert found(Lexicon.open(lexicon.kb), "LIPOMA")[0] == ("Lipoma", Rule.NORMALISED, 1.0)
    assert path.read_bytes() == whole


def test_another_kb_has_another_table(lexicon: Lexicon, home: Path, make_kb) -> None:
    Lexicon.open(lexicon.kb)
    other = Lexicon.open(make_kb({"B:1": "Seizure"}))
    assert found(other, "seizures") == [("Seizure", Rule.INFLECTION, 0.95)]
    assert len(list((home / "lexicon").glob("*.table"))) == 2


def test_another_process_finds_the_same(lexicon: Lexicon) -> None:
    program = (
        "import sys; from nomina.kb.store import KnowledgeBase; from nomina.lexicon import Lexicon;"
        "print(Lexicon.open(KnowledgeBase.open(sys.argv[1])).lookup('renal abnormality'))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program, lexicon.kb.path], capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert shown.stdout.strip() == str(lexicon.lookup("renal abnormality"))


def test_inflection_keeps_lipoma_and_lipomas_apart_though_it_finds_both(lexicon: Lexicon) -> None:
    assert inflect("lipomas") == inflect("lipoma")
    first = [lexicon.kb.owners(lexicon.lookup(text)[0].row) for text in ("Lipoma", "Lipomas")]
    assert first == [("A:2",), ("A:3",)]
