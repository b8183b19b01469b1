"""Clinical sentences with their right answers: {mention|+} stands, {mention|-} is denied.

f: it is a relative's; h: it is only thought of.
"""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomina.context import Attributes, attributes, negation_triggers
from nomina.context_tables import FAMILY, HYPOTHETICAL, NEGATION

MARKED = re.compile(r"\{([^{}|]+)\|(f?h?[+-])\}")

SENTENCES = [
    # plain
    "She has {short stature|+} and had a {seizure|+}.",
    "Physical examination revealed {hypotonia|+}, {microcephaly|+} and {ptosis|+}.",
    # triggers before the mention, and lists
    "No {fever|-}, {seizures|-} or {rash|-}.",
    "There was no {hepatomegaly|-}, {splenomegaly|-}, or {jaundice|-}, but {ascites|+} was present.",
    "He denies {chest pain|-}, {dyspnea|-} and {syncope|-}.",
    "The patient denied having had {headaches|-}.",
    "The mother denies {seizures|-} in the boy.",
    "A 5-year-old girl without {dysmorphic features|-} or {intellectual disability|-}.",
    "Absence of {deep tendon reflexes|-} was noted in the legs.",
    "In the absence of {fever|-}, {lethargy|+} was attributed to the drug.",
    "Examination was negative for {hearing loss|-} and {cataract|-}.",
    "He is free of {tremor|-}, however {ataxia|+} persists.",
    "She never had {febrile seizures|-}.",
    "She has never had {seizures|-} or {migraine|-}.",
    "Neither {nystagmus|-} nor {ptosis|-} was seen.",
    "He doesn't have {hearing loss|-}.",
    "He didn’t develop {scoliosis|-}.",
    "The EEG ruled out {epilepsy|-}.",
    "No patient had {cardiomyopathy|-}.",
    "None of the patients had {seizures|-}.",
    "MRI did not show {cerebral atrophy|-} or {heterotopia|-}.",
    "Pt w/o {fever|-}, has {cough|+}.",
    "She does not have {diabetes|-}, but has {hypertension|+}.",
    "There is no evidence of {retinopathy|-}.",
    "Findings suggest {ataxia|+} rather than {chorea|-}.",
    "Lack of {speech|-} at 4 years and {autism|-}.",
    # triggers behind the mention
    "{Hearing loss|-} was not observed.",
    "{Cataract|-} and {glaucoma|-} were not detected.",
    "{Seizures|-} were ruled out by EEG.",
    "{Reflexes|-} were absent, and {clonus|+} was elicited.",
    "{Hypotonia|+} was noted at birth and {seizures|-} were not observed.",
    "{Seizures|-} did not occur.",
    "{Seizures|-}: none.",
    "{Fever|-}: no\n{Cough|+}: yes",
    "{Hepatosplenomegaly|-} has not been reported.",
    "{Proteinuria|-} negative.",
    "He has been {seizure|-}-free since 2010.",
    "In patients with {ataxia|+}, {seizures|-} were not observed.",
    # only looks like a denial
    "There was no increase in {tremor|+}.",
    "There was no significant change in {ataxia|+}.",
    "He had not only {ataxia|+} but also {dystonia|+}.",
    "We cannot exclude {epilepsy|h+}.",
    "{Meningitis|h+} could not be excluded.",
    "{Epilepsy|+} was not ruled out.",
    "{Epilepsy|+} has not been ruled out.",
    "He walks without difficulty, mild {hypotonia|+}.",
    "{Seizures|+} were not controlled by valproate.",
    "{Scoliosis|+} is not uncommon.",
    "Whether or not {fever|+} was present is unknown.",
    "No further {seizures|+} after treatment.",
    "Rule out {epilepsy|h+}.",
    # where the reach ends
    "No {fever|-} but {cough|+}.",
    "No {fever|-}; {cough|+} for two days.",
    "No {seizures|-} and has {hypotonia|+}.",
    "No {seizures|-}, and she has {hypotonia|+}.",
    "No {dysmorphism|-} apart from {low-set ears|+}.",
    "He had no {seizures|-} and {hypotonia|+} was noted.",
    "No {seizures|-}, {ataxia|-} or {tremor|-} was noted.",
    "No {hearing loss|-}. {Myopia|+} since age 4.",
    "Dr. Smith found no {murmur|-} (e.g. {aortic stenosis|-}) at 3.5 years.",
    "{Seizures|+}\nNo {fever|-}\n{Hypotonia|+}",
    "No {renal anomalies|-} were found in patients with {ataxia|+}.",
    "ROS: no {vomiting|-}. Neuro: {ataxia|+}.",
    # names that hold a word of denial
    "{Absent speech|+} and {seizures|+} were noted.",
    "{Absence of the corpus callosum|+}, {hypotonia|+}.",
    "{Lack of insight|+} and {apathy|+}.",
    "No {absent speech|-}.",
    "{Non-obstructive azoospermia|+} was diagnosed.",
    # whose
    "His mother has {epilepsy|f+}.",
    "Family history of {breast cancer|f+} and {diabetes|f+}.",
    "A maternal grandfather with {deafness|f+}.",
    "Her brother had {ataxia|f+}, but she has {tremor|+}.",
    "A sibling died of {cardiomyopathy|f+}.",
    "FH: {migraine|f+}, {epilepsy|f+}.",
    "The patient's mother reports that he had {seizures|+}.",
    "Parents report {feeding difficulties|+} since birth.",
    "{Familial hypercholesterolemia|+} was diagnosed in this patient.",
    "There is no family history of {epilepsy|f-}.",
    "Her mother denies {migraine|-}.",
    "{Epilepsy|f+} in his older sister.",
    "He was born to consanguineous parents and had {microcephaly|+}.",
    "The boy of healthy parents presented with {microcephaly|+}.",
    "The mother of the patient has {epilepsy|f+}.",
    "We report two affected brothers with {ataxia|+}.",
    "Sister chromatid exchange and {anemia|+} were found.",
    "{Ataxia|+}. Father: {tremor|f+}.",
    "Her mother’s {epilepsy|f+} began at 20; the patient has {migraine|+}.",
    "Family history:\n{Epilepsy|f+}\n- {migraine|f+}\n\nExam: {ataxia|+}",
    "Her father does not have {deafness|f-}.",
    "His mother is healthy and his {hypotonia|+} improved.",
    # mixed
    "His height was normal and there were no signs of {arthrogryposis|-}, {contractures|-} or {hip dislocation|-}.",
    "She was born at term after an uneventful pregnancy; no {polyhydramnios|-} was reported.",
    "Unlike previously reported cases, our patient did not have {cleft palate|-} but showed {micrognathia|+}.",
    "Ophthalmological evaluation excluded {optic atrophy|-} and {coloboma|-}.",
    "Cardiac ultrasound was normal, excluding {ventricular septal defect|-}.",
    "The proband has {intellectual disability|+}; his sister, who has the same variant, has {epilepsy|f+}.",
    "Two sisters with {congenital ataxia|+} are described.",
    "His paternal uncle died from {colon cancer|f+} at 45.",
    "{Hearing loss|+} was present in all patients, whereas {seizures|-} were absent.",
    "{Seizures|-} were present in none of the patients.",
    "Hearing was normal, with no {nystagmus|-} and no {strabismus|-}.",
    "The affected individuals had {brachydactyly|+} without {polydactyly|-}.",
    "{Polydactyly|-} has never been described in this syndrome.",
    "There was neither {ptosis|-} nor {ophthalmoplegia|-}, although {diplopia|+} was reported.",
    "Mother with {systemic lupus erythematosus|f+}.",
    "Her maternal aunt and two cousins had {breast cancer|f+}.",
    "She had a history of {asthma|+} and no history of {eczema|-}.",
    "Her parents noticed {strabismus|+} at 6 months.",
    "Grandmother noticed {pallor|+}.",
    "According to his mother, he has {sleep disturbance|+}.",
    "PMH: {asthma|+}. FHx: {asthma|f+} (brother). Exam: no {wheeze|-}.",
    "Lungs clear, no {wheezing|-}/{rales|-}. {Murmur|-}: none. {Edema|+} 2+.",
    "Negative for {fever|-}, {chills|-}, {weight loss|-}, {night sweats|-}; positive for {fatigue|+}.",
    "He reports {fatigue|+}, denies {fever|-}.",
    "Denies {fever|-}, reports {fatigue|+}.",
    "No known {drug allergy|-}.",
    "The rash is not associated with {itching|+}.",
    "Not all patients had {ataxia|+}.",
    "It is not clear whether {epilepsy|+} is part of the syndrome.",
    "No cause for {syncope|+} was found.",
    "No mutation was found in patients with {ataxia|+}.",
    "{Optic atrophy|-}, {retinitis pigmentosa|-} and {deafness|-} were not found in this family.",
    "She has {ataxia|+} with no {tremor|-} and {dysarthria|+} is mild.",
    "Exam showed {hypotonia|+}, absent {reflexes|-}, and {scoliosis|+}.",
    "Karyotype was normal; {Turner syndrome|-} was excluded.",
    "The cause is unlikely to be {meningitis|-}.",
    "{Meningitis|-} is unlikely.",
    "No {seizures|-} since 2015 when {status epilepticus|+} occurred.",
    "{Dysphagia|-} denied.",
    "Never smoker, no {hemoptysis|-}.",
    "Brother: {epilepsy|f+}. Sister: healthy.",
    "Mother and brother with {migraine|f+}, patient with {tremor|+}.",
    "The family history is positive for {diabetes|f+} and negative for {cancer|f-}.",
    "The family history was unremarkable. He had {tics|+}.",
    "Family history was noncontributory; she had {edema|+}.",
    "She is the daughter of a man with {Huntington disease|f+}.",
    "Neither parent had {deafness|f-}.",
    "The father had {hypospadias|f+} and the patient had {cryptorchidism|+}.",
    "Her son was diagnosed with {autism|f+}.",
    "There were no {cafe-au-lait spots|-}, {neurofibromas|-}, {Lisch nodules|-}, or {glioma|-} at age 3.5 years.",
    "He did not present with {jaundice|-} but with {pruritus|+}.",
    "In contrast to {ataxia|+}, {chorea|-} was not seen.",
    "Her mother had noticed that she had {tremor|+}.",
    "Her mother said she never had {seizures|-}.",
    "Mutations were not identified in the patient with {ataxia|+}.",
    "No {edema|-}, {rash|-}. {Fever|+}.",
    "He has two brothers with {epilepsy|f+}.",
    "Patients with or without {seizures|+} were enrolled.",
    "{Ataxia|+} with or without {deafness|+}.",
    "He has not yet developed {seizures|-}.",
    "The presence or absence of {ptosis|+} was recorded.",
    "Family history:\nMother: {epilepsy|f+}\nFather: healthy\n\nExam:\n{Ataxia|+}",
    "“No {fever|-}” was written.",
    "{Feeding difficulties|+} reported by parents.",
    "The boy had {ataxia|+}, noticed by his mother.",
    "Two brothers with {ataxia|+} were seen.",
    "She was found to have no {nystagmus|-}, but {strabismus|+} was evident.",
    "Seizure-free, with {ataxia|+}.",
    "He was never diagnosed with {autism|-}.",
    # the patient beside a relative
    "The patient, whose mother has epilepsy, has {ataxia|+}.",
    "The patient, whose mother has {epilepsy|f+}, has {ataxia|+}.",
    "The patient whose older brother had {epilepsy|f+} and {migraine|f+} developed {ataxia|+}.",
    "A girl whose mother and father have {migraine|f+}, presented with {chorea|+}.",
    "The boy (whose sister has {epilepsy|f+}) has {ataxia|+}.",
    "His {ataxia|+} (mother has {tremor|f+}) began with {dysarthria|+}.",
    "The patient's sister, whose daughter has {epilepsy|f+}, has {ataxia|f+}.",
    "Her brother, aged 5, has {ataxia|f+}.",
    "The proband and his sister had {microcephaly|+}.",
    "The proband (II-1) and his younger sister (II-2) had {microcephaly|+}.",
    "He and his two brothers have {ataxia|+}.",
    "The patient, his mother, and his sister had {deafness|+}.",
    "The patient's mother and sister had {deafness|f+}.",
    "The proband has {ataxia|+} and his sister has {chorea|f+}.",
    "His mother has {migraine|f+}; the proband and his sister had {microcephaly|+}.",
    "The patient and her brother had {ataxia|+}, and their father had {tremor|f+}.",
    "His sister and the patient had {ataxia|+}.",
    "{Ataxia|+} was found in the patient, and his mother had {epilepsy|f+}.",
    "The father of the patient reported that she had {seizures|+}.",
    "The mother of the boy first noticed that he had {tremor|+}.",
    "The parents of the proband denied {seizures|-}.",
    "The sister of our patient had {seizures|f+}.",
    "Her father told us that she had {seizures|+}.",
    "The mother's pregnancy was complicated by {polyhydramnios|+}.",
    "During his mother's third pregnancy, {oligohydramnios|+} was seen.",
    "The mother's {epilepsy|f+} was treated.",
    "Her sister's pregnancy was complicated by {preeclampsia|f+}.",
    "The infant of a diabetic mother had {macrosomia|+}.",
    "A newborn of a 32-year-old hypothyroid mother presented with {goiter|+}.",
    "A boy born to a mother with {epilepsy|f+} had {spina bifida|+}.",
    "A boy born to a mother who had {epilepsy|f+} showed {spina bifida|+}.",
    "Mother and father have {migraine|f+}.",
    "His mother, who has {epilepsy|f+}, has {migraine|f+}.",
    "The mother of the boy has {epilepsy|f+} and had {cancer|f+}.",
    "The father of the patient's mother had {ataxia|f+}.",
    "He was born to a mother with {diabetes|f+} and has {macrosomia|+}.",
    "The patient as well as her mother had {deafness|+}.",
    "The child's father and brother had {deafness|f+}.",
    "The mother of the child and his sister had {deafness|f+}.",
    "The girl, her father and two brothers had {deafness|+}.",
    # denied by a noun, in brackets, by a sign
    "The absence of {ataxia|-} and {nystagmus|-} was notable.",
    "Notably, the complete absence of {ataxia|-} and {nystagmus|-} was striking.",
    "The lack of {ataxia|-}, {chorea|-} and {nystagmus|-} is remarkable.",
    "{Nystagmus|-} (absent)",
    "{Ptosis|+}, {nystagmus|-} (absent), {ataxia|+} (present)",
    "{Nystagmus|-} (not seen) and {ptosis|+} (mild).",
    "{Nystagmus|-} - no",
    "{Nystagmus|-} – no",
    "{Nystagmus|-} - absent, {ataxia|+} - present",
    "{Nystagmus|+} - no {ataxia|-}",
    "{Nystagmus|-}: no",
    "{Ptosis|+}: yes, {nystagmus|-}: no",
    "{Ptosis|-}: no, {nystagmus|+}: yes, {rash|-}: no",
    "{rash|-} (-)",
    "{rash|-} (-), {fever|+} (+)",
    "{rash|+} (+), {fever|-} (−)",
    "{rash|+} (+) {fever|-} (-) {cough|+} (+)",
    "(-) {fever|-}",
    "(+) {rash|+} (-) {fever|-}",
    "(-) {fever|-}, (+) {rash|+}",
    "-{fever|-}, +{cough|+}",
    "+{cough|+}, -{fever|-}, -{rash|-}",
    "ROS: +{cough|+} -{fever|-}",
    "-{fever|+}",
    "-{fever|+}\n-{cough|+}",
    "- {fever|+}\n- {cough|+}",
    "Unlikely to have {osteoporosis|-}.",
    "He seems unlikely to have {osteoporosis|-}.",
    "{Osteoporosis|-} unlikely.",
    "It is unlikely that she has {osteoporosis|-}.",
    "It is not unlikely to be {meningitis|+}.",
    "{Seizures|+} (no {fever|-}), {ataxia|+}.",
    "{Catechin|+} (-)-epicatechin",
    # only thought of
    "She is at increased risk of {heart problems|h+}.",
    "He has a high risk for developing {stroke|h+} or {dementia|h+}.",
    "The drug may cause {liver problems|h+} and {nausea|h+}.",
    "This could eventually lead to {renal failure|h+}.",
    "An EEG was done to rule out {epilepsy|h+}.",
    "MRI to exclude {hydrocephalus|h+}.",
    "CT r/o {stroke|h+}.",
    "She had {ataxia|+} and was screened for {hearing loss|h+}.",
    "Annual screening for {scoliosis|h+} is advised.",
    "She was told to watch for {seizures|h+}.",
    "{Epilepsy|h+} must be ruled out.",
    "{Meningitis|h+} should be excluded.",
    "{Seizures|h+} may occur.",
    "{Seizure|h+} prophylaxis was started.",
    "{Stroke|h+} risk is raised by {hypertension|+}.",
    "Aspirin to prevent {stroke|h+}, but {headache|+} persisted.",
    "If {fever|h+} or {vomiting|h+} develops, return at once; {cough|+} is mild.",
    "If {fever|h+} develops, {pain|+} is treated.",
    "Even if {fever|+} is mild.",
    "Medication if needed for {pain|+}.",
    "At risk of {stroke|h+} due to {atrial fibrillation|+}.",
    "There is no risk of {blindness|h-}.",
    "Her mother is at risk of {stroke|fh+}.",
    "Screening for {diabetes|h+} revealed {hyperglycemia|+}.",
    "He is at risk of {falls|h+} and has {ataxia|+}.",
    "Prevalence may be high; {ataxia|+} was seen.",
    "There was no evidence of {heart problems|-}.",
]


def parse(marked: str) -> tuple[str, list[tuple[int, int]], list[Attributes]]:
    text, spans, expected, at = "", [], [], 0
    for match in MARKED.finditer(marked):
        text += marked[at : match.start()]
        spans.append((len(text), len(text) + len(match.group(1))))
        text += match.group(1)
        at = match.end()
        sign = match.group(2)
        experiencer = "family" if sign.startswith("f") else "patient"
        expected.append(Attributes(sign.endswith("-"), experiencer, "h" in sign))
    return text + marked[at:], spans, expected


@pytest.mark.parametrize("marked", SENTENCES)
def test_clinical_sentences(marked):
    text, spans, expected = parse(marked)
    assert expected
    found = attributes(text, spans)
    assert {text[slice(*span)]: value for span, value in zip(spans, found, strict=True)} == {
        text[slice(*span)]: value for span, value in zip(spans, expected, strict=True)
    }


def test_nothing_to_say():
    assert attributes("", []) == []
    assert attributes("No fever.", []) == []
    assert attributes("Seizures.", [(0, 8)]) == [Attributes(negated=False, experiencer="patient")]


def test_answers_keep_the_order_of_the_spans():
    text = "Ataxia was present. No seizures."
    assert [a.negated for a in attributes(text, [(23, 31), (0, 6), (23, 31)])] == [True, False, True]


def test_a_trigger_inside_a_mention_counts_for_no_mention():
    text = "Absence of speech, seizures"
    assert [a.negated for a in attributes(text, [(0, 17), (19, 27)])] == [False, False]
    assert [a.negated for a in attributes(text, [(11, 17), (19, 27)])] == [True, True]


@pytest.mark.parametrize(
    ("text", "triggers"),
    [
        ("No seizures.", ["No"]),
        ("She denies fever; rash was not observed.", ["denies", "not observed"]),
        ("Hearing loss: none. Cataract was ruled out.", ["none", "was ruled out"]),
        ("Seizure-free, without any pain.", ["free", "without"]),
        ("No increase in tremor, not only ataxia; not ruled out.", []),
        ("Wasn’t noted. İt was ABSENT, free of pain", ["Wasn’t noted", "was ABSENT", "free of"]),
        ("Noted nothing notable.", []),
        ("", []),
    ],
)
def test_negation_triggers(text, triggers):
    assert [text[start:end] for start, end in negation_triggers(text)] == triggers


@given(st.lists(st.sampled_from(["no", "not", "fever", ",", ".", "\n", "mother", "absent", "free", "-", "İ", "’"])))
def test_triggers_are_apart_in_order_and_not_blank(words):
    text = " ".join(words)
    before = 0
    for start, end in negation_triggers(text):
        assert before <= start < end <= len(text)
        assert text[start].isalnum()
        assert text[end - 1].isalnum()
        before = end


@given(st.text(alphabet="no tabsenwihu,.;:\n-’İ", max_size=80), st.data())
def test_every_mention_gets_an_answer(text, data):
    bounds = st.integers(0, max(0, len(text) - 1))
    spans = [(start, min(len(text), start + 3)) for start in data.draw(st.lists(bounds))] if text else []
    assert len(attributes(text, spans)) == len(spans)


@pytest.mark.parametrize("table", [NEGATION, FAMILY, HYPOTHETICAL])
def test_table_phrases_are_cut_as_texts_are(table):
    for kind, rows in table.items():
        assert kind in {"forward", "person", "near", "backward", "both", "adjacent", "nothing", "stop", "stop_backward"}
        for row in rows:
            words = [word for choice in row.split(" ") for word in choice.rstrip("?").split("|")]
            assert all(re.fullmatch(r"[a-z]+(?:'s)?|[-–—,.;:/()]", word) for word in words), row


PIECES = (
    "no ", "no fever, ", "not not observed ", "FH:\n\n", "mother ", "he, his son", "whose mother ", "(no ", "-a, ",
    "a. ", "\n", " ",
)  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_hostile_texts_take_no_quadratic_time(piece):
    text = piece * (50_000 // len(piece))
    spans = [(start, start + 2) for start in range(0, len(text) - 2, 100)]
    before = time.process_time()
    assert len(attributes(text, spans)) == len(spans)
    assert len(negation_triggers(text)) <= len(text)
    assert time.process_time() - before < 10  # measured: 0.5 s at most


@pytest.mark.parametrize("label", ["ROS", "MRI brain", "Review of systems", "Skin"])
def test_a_label_before_negative_for(label: str) -> None:
    text = f"{label}: negative for fever, chills. Ataxia: negative."
    places = [(text.index(word), text.index(word) + len(word)) for word in ("fever", "chills", "Ataxia")]
    assert [found.negated for found in attributes(text, places)] == [True, True, True]
