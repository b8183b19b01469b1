"""Made-up sentences in lay and clinical words: how many findings are found, and none where there is nothing to find.

They were written before words of measuring were left unsaid, when 10 of the 30 were found. What they came out as was
read while that rule was made, so that they guard it and are no blind measure of it.
"""

from __future__ import annotations

from linker_cases import needs_shipped

from nomina.pipeline import load

FINDINGS = (
    ("The blood test showed low blood sodium.", "HP:0002902"),  # Hyponatremia
    ("He was admitted with high blood potassium.", "HP:0002153"),  # Hyperkalemia
    ("Laboratory tests revealed a high white cell count.", "HP:0001974"),  # Leukocytosis
    ("She has low blood oxygen.", "HP:0012418"),  # Hypoxemia
    ("The child has raised blood lactate.", "HP:0002151"),  # Increased circulating lactate concentration
    ("He has low blood magnesium.", "HP:0002917"),  # Hypomagnesemia
    ("Her main problem is high blood fat.", "HP:0003077"),  # Hyperlipidemia
    ("The boy vomits blood.", "HP:0002248"),  # Hematemesis
    ("He coughs up blood.", "HP:0002105"),  # Hemoptysis
    ("The girl wets the bed.", "HP:0000805"),  # Enuresis
    ("She walks on her toes.", "HP:0030051"),  # Tip-toe gait
    ("He sees poorly at night.", "HP:0000662"),  # Nyctalopia
    ("His hands tremble.", "HP:0002378"),  # Hand tremor
    ("Her bones break easily.", "HP:0002659"),  # Increased susceptibility to fractures
    ("She sleeps badly.", "HP:0100785"),  # Insomnia
    ("He faints repeatedly.", "HP:0001279"),  # Syncope
    ("His ears ring.", "HP:0000360"),  # Tinnitus
    ("The scan showed fluid around the lungs.", "HP:0002202"),  # Pleural effusion
    ("There is fluid around the heart.", "HP:0001698"),  # Pericardial effusion
    ("She suffers from gallbladder stones.", "HP:0001081"),  # Cholelithiasis
    ("He has inflamed joints.", "HP:0001369"),  # Arthritis
    ("The scan showed an inflamed pancreas.", "HP:0001733"),  # Pancreatitis
    ("The mother reports fatty liver disease.", "HP:0001397"),  # Hepatic steatosis
    ("Biopsy showed scarring of the lung.", "HP:0002206"),  # Pulmonary fibrosis
    ("She noticed clouding of the lens.", "HP:0000518"),  # Cataract
    ("There was loss of the sense of smell.", "HP:0000458"),  # Anosmia
    ("The infant has trouble feeding.", "HP:0011968"),  # Feeding difficulties
    ("He reports frequent night-time urination.", "HP:0000017"),  # Nocturia
    ("The patient has abnormally fast breathing.", "HP:0002789"),  # Tachypnea
    ("She complains of a painful menstrual period.", "HP:0100607"),  # Dysmenorrhea
)
NOTHING = (
    "He takes aspirin and metformin every morning.",
    "She was started on levothyroxine 50 micrograms daily.",
    "The dose of prednisone was reduced last week.",
    "He lives with his wife in a small flat.",
    "She works as a school teacher and drives a car.",
    "He has smoked ten cigarettes a day for twenty years.",
    "She drinks a glass of red wine on Sundays.",
    "An appendectomy was performed in 2010.",
    "He underwent a knee replacement on the right side.",
    "A blood sample was taken from the left arm.",
    "Chest X-ray and blood count were ordered.",
    "The next visit is planned for the third of May.",
    "She was referred to the eye clinic for a check.",
    "The family moved to a new house last summer.",
    "An electrocardiogram was recorded before surgery.",
    "He was given two units of packed red cells.",
    "The wound was closed with absorbable sutures.",
    "She practises yoga and swims twice a week.",
    "He received the influenza vaccine in October.",
    "The blood pressure cuff was placed on the upper arm.",
    "Her mother is a nurse at the heart hospital.",
    "The hearing aid battery was replaced.",
    "He uses reading glasses and a walking stick.",
    "Skin biopsy specimens were stored in formalin.",
    "The liver function test was repeated on Monday.",
    "A urine sample was sent to the laboratory.",
    "She wears contact lenses during the day.",
    "The patient was advised to drink more water.",
    "He plays the piano and sings in a choir.",
    "Genetic testing was offered to both parents.",
)
RIGHT = 15
BESIDE = {"liver disease", "scarring"}  # of "fatty liver disease" and "scarring of the lung"


@needs_shipped
def test_findings_in_lay_words() -> None:
    linker = load()
    right = 0
    for text, expected in FINDINGS:
        found = {p.candidates[0].entity_id: p.mention.text for p in linker.link_text(text) if not p.abstained}
        right += found.pop(expected, None) is not None
        assert set(found.values()) <= BESIDE
    assert right >= RIGHT


@needs_shipped
def test_sentences_with_nothing_to_find() -> None:
    linker = load()
    assert [p.mention.text for text in NOTHING for p in linker.link_text(text)] == []
