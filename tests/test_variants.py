"""Spelling, inflection, numerals and families of tokens."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomina import variant_tables
from nomina.text import tokens
from nomina.variants import (
    COORDINATORS,
    PREFIXES,
    STOP_WORDS,
    family,
    inflect,
    lay_forms,
    numeral,
    singular,
    spelling,
    stem,
)

BRITISH = """
    oedema edema, anaemia anemia, haemorrhage hemorrhage, oesophagus esophagus, tumour tumor, paediatric pediatric,
    leukaemia leukemia, haemoglobin hemoglobin, haematuria hematuria, haemangioma hemangioma, haemophilia hemophilia,
    ischaemic ischemic, hypoglycaemia hypoglycemia, hyperaemia hyperemia, hypoxaemic hypoxemic, anaesthesia anesthesia,
    paraesthesia paresthesia, aetiology etiology, caecum cecum, faeces feces, faecal fecal, foetus fetus, foetal fetal,
    naevus nevus, naevi nevi, orthopaedic orthopedic, gynaecomastia gynecomastia, caesarean cesarean, coeliac celiac,
    lymphoedema lymphedema, myxoedema myxedema, papilloedema papilledema, angiooedema angioedema,
    oesophagitis esophagitis, tracheooesophageal tracheoesophageal, oestrogen estrogen, diarrhoea diarrhea,
    seborrhoeic seborrheic, dyspnoea dyspnea, apnoeic apneic, neutropaenia neutropenia, hydrocoele hydrocele,
    praevia previa, praecox precox, leucocytosis leukocytosis, leucodystrophy leukodystrophy, colour color,
    discoloured discolored, behavioural behavioral, odour odor, labour labor, sulphate sulfate, fibre fiber,
    centre center, litre liter, centimetre centimeter, titre titer, goitre goiter, grey gray, ageing aging,
    generalised generalized, localised localized, mineralisation mineralization, organisation organization,
    visualisation visualization, paralysed paralyzed, signalling signaling
"""
UNTOUCHED = """
    aerobic anaerobic aerosol aerophagia aeroplane aerial israel michael raphael vertebrae bullae fistulae algae larvae
    papillae archaea phoenix phoebe coefficient poem poetry does goes toe toes shoe shoes tiptoe hoe canoe oboe foe
    coexist coerce coenzyme autoerotic electroencephalogram gastroenteritis gastroesophageal choreoathetosis
    retinoic echoes mangoes potatoes heroes larger maestro maelstrom reggae tae nae noel joe zoe
    peritoneal metabolic barometer diameter meter metrorrhagia symmetrical discectomy discharge discrete
    fiberoptic colorectal humoral laboratory centrifugal
"""


def pairs(table: str) -> list[tuple[str, str]]:
    return [tuple(entry.split()) for entry in table.split(",")]  # type: ignore[misc]


@pytest.mark.parametrize(("british", "american"), pairs(BRITISH))
def test_the_two_spellings_are_one(british: str, american: str) -> None:
    assert spelling(british) == american
    assert spelling(american) == american


@pytest.mark.parametrize("word", UNTOUCHED.split())
def test_a_word_that_holds_a_british_form_by_chance_stays(word: str) -> None:
    assert spelling(word) == word


def test_no_american_form_is_changed_again() -> None:
    entries = [entry.split() for entry in variant_tables.SPELLING.split(",")]
    assert len(entries) > 90
    for british, american in entries:
        before = "" if british.startswith("^") else "xx"
        behind = "" if british.endswith("$") else "xx"
        written = f"{before}{british.strip('^$')}{behind}"
        assert spelling(written) == f"{before}{american}{behind}"
        assert spelling(spelling(written)) == spelling(written)


PLURALS = """
    opacities opacity, aneurysms aneurysm, lipomas lipoma, tumors tumor, cysts cyst, eyes eye, knees knee, toes toe,
    seizures seizure, diseases disease, hernias hernia, kidneys kidney, biopsies biopsy, anomalies anomaly,
    bodies body, arteries artery, deformities deformity, vertebrae vertebra, bursae bursa, fistulae fistula,
    bullae bulla, sclerae sclera, petechiae petechia, synechiae synechia, metastases metastasis, stenoses stenosis,
    diagnoses diagnosis, exostoses exostosis, thromboses thrombosis, biopsies biopsy, analyses analysis,
    epiphyses epiphysis, masses mass, abscesses abscess, processes process, reflexes reflex, eyelashes eyelash,
    rashes rash, arches arch, patches patch, teeth tooth, feet foot, children child, nevi nevus, thrombi thrombus,
    nuclei nucleus, bronchi bronchus, calculi calculus, diverticula diverticulum, septa septum, ganglia ganglion,
    bacteria bacterium, foramina foramen, carcinomata carcinoma, stigmata stigma, phalanges phalanx,
    cortices cortex, varices varix, femora femur, testes testis, lenses lens, calves calf, irides iris
"""
NO_PLURALS = """
    stenosis diagnosis iris testis pelvis virus sinus nevus uterus abscess mass gas lens pancreas diabetes ascites
    caries rabies scabies series species facies herpes biceps feces menses rickets his its us as bus aes
"""


@pytest.mark.parametrize(("plural", "one"), pairs(PLURALS))
def test_the_plural_and_the_singular_are_one(plural: str, one: str) -> None:
    assert singular(plural) == singular(one) == one


@pytest.mark.parametrize(
    ("plural", "one"),
    [
        ("headaches", "headache"),
        ("viruses", "virus"),
        ("sinuses", "sinus"),
        ("fetuses", "fetus"),
        ("crises", "crisis"),
        ("noses", "nose"),
        ("doses", "dose"),
        ("sneezes", "sneeze"),
        ("wheezes", "wheeze"),
        ("foci", "focus"),
        ("villi", "villus"),
        ("gyri", "gyrus"),
        ("adenomata", "adenoma"),
        ("colobomata", "coloboma"),
        ("irises", "iris"),
        ("causes", "cause"),
        ("bruises", "bruise"),
        ("exercises", "exercise"),
    ],
)
def test_what_looks_like_another_ending(plural: str, one: str) -> None:
    assert singular(plural) == singular(one)


@pytest.mark.parametrize("word", NO_PLURALS.split())
def test_a_singular_that_looks_like_a_plural_stays(word: str) -> None:
    assert singular(word) == word


def test_singular_and_plural_are_classes() -> None:
    words = [word for table in (PLURALS, NO_PLURALS, UNTOUCHED) for word in re.findall(r"\w+", table)]
    for word in words:
        assert singular(singular(word)) == singular(word)


def test_no_two_different_things_have_one_plural() -> None:
    different = (
        "lens lense, bases basis, mitosis mites, uterus ureter, testis test, nares nerve, axes axon, media medium"
    )
    for one, other in pairs(different):
        assert singular(one) != singular(other)


@pytest.mark.parametrize(("roman", "arabic"), [("ii", "2"), ("iv", "4"), ("viii", "8"), ("xiii", "13"), ("i", "1")])
def test_roman_numerals(roman: str, arabic: str) -> None:
    assert numeral(roman) == arabic
    assert inflect(roman) == inflect(arabic)


@pytest.mark.parametrize("word", ["x", "c", "d", "m", "l", "mi", "iix", "vix", "mild", "3"])
def test_what_is_no_small_roman_numeral_stays(word: str) -> None:
    assert numeral(word) == word


@pytest.mark.parametrize(
    ("token", "parts"),
    [
        ("5fu", ("5", "fu")),
        ("il2", ("il", "2")),
        ("tumours", ("tumor",)),
        ("haemorrhages", ("hemorrhage",)),
        ("8p23", ("8", "p", "23")),
        ("+", ("+",)),
    ],
)
def test_a_token_falls_into_letters_and_digits_each_in_its_singular_american_form(
    token: str, parts: tuple[str, ...]
) -> None:
    assert inflect(token) == parts


ENDINGS = [entry.split()[0] for entry in variant_tables.ENDINGS.split(",")]


def stem_by_definition(token: str) -> str:
    """Strip the longest ending that leaves four letters, then of what is left."""
    if token in variant_tables.UNDERIVED.split():
        return token
    left = {ending: rest for ending, *rest in (entry.split() for entry in variant_tables.ENDINGS.split(","))}
    for size in range(len(token), 0, -1):
        if token[-size:] in left:
            shorter = token[:-size] + "".join(left[token[-size:]])
            if len(shorter) >= 4:
                return stem_by_definition(shorter)
    return token


@given(st.text("abceilmnorstuy", max_size=6), st.lists(st.sampled_from(ENDINGS), max_size=4))
def test_stems_are_what_the_endings_say(word: str, endings: list[str]) -> None:
    token = word + "".join(endings)
    assert stem(token) == stem_by_definition(token)


@pytest.mark.parametrize("word", variant_tables.UNDERIVED.split())
def test_an_underived_word_is_its_own_stem_alone_and_under_an_ending(word: str) -> None:
    assert stem(word) == word
    assert stem(f"{word}ness") == stem_by_definition(f"{word}ness")
    assert stem(f"un{word}") == stem_by_definition(f"un{word}")


@pytest.mark.parametrize("ending", ["e", "y", "ed", "ing", "al", "ic", "ation"])
def test_a_token_of_nothing_but_endings_has_a_stem_however_long_it_is(ending: str) -> None:
    many = stem(ending * 20_000)
    assert 4 <= len(many) < 16
    assert many == stem(ending * 20)


KIN = """
    stenosis stenotic, hypoplasia hypoplastic, atrophy atrophic, anemia anemic, hypertension hypertensive,
    fibrosis fibrotic, hypotonia hypotonic, calcification calcified, dilatation dilated, ulceration ulcerated,
    delayed delay, kidney renal, heart cardiac, liver hepatic, lung pulmonary, eye ocular, skin cutaneous,
    tooth dental, rib costal, vertebra vertebral, ovary ovarian, breast mammary, tumor neoplasm, finger digital,
    abnormality anomaly, malformation anomaly, absent absence, agenesis absence, increased elevated, decreased reduced,
    short shortened, broad wide, multiple numerous, impaired impairment, thickened thickening, intestine bowel
"""
OPPOSITES = """
    hypotonia hypertonia, hypoplasia hyperplasia, hypertension hypotension, hypoglycemia hyperglycemia,
    hypopigmentation hyperpigmentation, microcephaly macrocephaly, brachycephaly dolichocephaly, increased decreased,
    elevated reduced, high low, absent present, absence presence, long short, large small, wide narrow, broad thin,
    thick thin, upslanting downslanting, premature delayed, early late, left right, upper lower, anterior posterior,
    proximal distal, medial lateral, acute chronic, benign malignant, primary secondary, maternal paternal,
    sensory motor, systolic diastolic, afferent efferent, atrophy hypertrophy, atrophy dystrophy, aplasia dysplasia,
    aplasia hypoplasia, adduction abduction, flexion extension, inversion eversion, pronation supination,
    normal abnormal, symmetric asymmetric, regular irregular, complete incomplete, septic aseptic, typical atypical,
    loss gain, open closed, male female, internal external, superior inferior, dominant recessive, prenatal postnatal,
    preaxial postaxial, tachycardia bradycardia, polyuria oliguria, polydactyly oligodactyly, convex concave,
    kidney adrenal, finger toe, hand foot, ureter urethra, ulna ulcer, tibia fibula, ileum ilium, malleolus malleus,
    arthritis arthrosis, nephritis nephrosis, neuritis neuropathy, malaria malar, anomia anomaly, colony colonic
"""


@pytest.mark.parametrize(("one", "other"), pairs(KIN))
def test_one_family(one: str, other: str) -> None:
    assert family(one) == family(other)


@pytest.mark.parametrize(("one", "other"), pairs(OPPOSITES))
def test_opposites_and_look_alikes_are_two_families(one: str, other: str) -> None:
    assert family(one) != family(other)
    assert stem(one) != stem(other)


def test_families_keep_to_themselves() -> None:
    groups = [{family(word) for word in group.split()} for group in variant_tables.FAMILIES.split(",")]
    assert [len(group) for group in groups] == [1] * len(groups)
    assert len(set().union(*groups)) == len(groups)


def test_a_stem_is_stable_and_long_enough_to_be_the_word() -> None:
    for word in {word for table in (KIN, OPPOSITES, BRITISH, PLURALS) for word in re.findall(r"\w+", table)}:
        assert len(stem(word)) >= min(4, len(word))
        assert stem(stem(word)) == stem(word)


def test_what_turns_a_meaning_round_is_no_stop_word() -> None:
    assert STOP_WORDS.isdisjoint(("no", "not", "without", "non", "absent", "a", "or", "and", "against"))
    assert {"and", "or"} == COORDINATORS


def test_words_of_the_tables_are_look_up_keys() -> None:
    for table in (variant_tables.SPELLING, variant_tables.PLURALS, variant_tables.FAMILIES, variant_tables.STOP_WORDS):
        for word in re.findall(r"[^\s,^$]+", table):
            assert [token.key for token in tokens(word)] == [word]
    assert {"pre", "hyper", "hypo"} <= set(PREFIXES)


LAY_TERMS = [entry.split(":") for entry in variant_tables.LAY_TERMS.split(",")]


def test_each_lay_term_has_one_clinical_term_and_is_none() -> None:
    clinical = [" ".join(term.split()) for term, _ in LAY_TERMS]
    lay = [" ".join(phrase.split()) for _, phrases in LAY_TERMS for phrase in phrases.split(";")]
    assert len(set(clinical)) == len(clinical)
    assert len(set(lay)) == len(lay)
    assert set(clinical).isdisjoint(lay)
    for phrase in (*clinical, *lay):
        assert [token.key for token in tokens(phrase)] == phrase.split()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("alopecia", ["hair loss"]),
        ("alopecia totalis", ["hair loss totalis"]),
        ("oral ulcer", ["mouth sore", "mouth ulcer"]),
        ("oral thrush", []),
        ("urticaria urticaria", ["hive urticaria", "urticaria hive"]),
        ("", []),
    ],
)
def test_a_clinical_term_of_a_name_is_said_in_lay_words(name: str, expected: list[str]) -> None:
    assert [" ".join(lay) for lay in lay_forms(tuple(name.split()))] == expected
