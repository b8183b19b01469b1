"""Other ways to write a token: spelling, inflection, numerals, derivation. Tables and small rules over look-up keys.

Each function takes a token key (``text.tokens``) to the representative of its class, so that two tokens are variants of
each other if and only if their representatives are equal. A wrong representative is harmless by itself ("diabetes" ->
"diabete"): both sides of a comparison go the same way. What must not happen is two concepts falling together.
"""

from __future__ import annotations

import re
from functools import lru_cache

# British -> American. Stems long enough to be unmistakable count anywhere in a word; "^" ties one to the beginning, "$" to
# the end. A word that merely contains "ae" or "oe" (aerobic, Israel, vertebrae, phoenix) has no entry and stays.
_SPELLING = {
    "haemo": "hemo", "haema": "hema", "haemi": "hemi", "^haem": "hem", "anaem": "anem", "aemia": "emia",
    "aemic": "emic", "hyperaem": "hyperem", "ischaem": "ischem", "anaesth": "anesth", "aesthe": "esthe",
    "^aetio": "etio", "^caec": "cec", "^faec": "fec", "^foet": "fet", "^naev": "nev", "^paed": "ped",
    "paediatr": "pediatr", "orthopaed": "orthoped", "gynaec": "gynec", "caesar": "cesar", "coeliac": "celiac",
    "^oedem": "edem", "ooedem": "oedem", "lymphoedem": "lymphedem", "myxoedem": "myxedem", "papilloedem": "papilledem",
    "^oesoph": "esoph", "ooesoph": "oesoph", "^oestr": "estr", "paenia": "penia", "poenia": "penia",
    "coele$": "cele", "praevia": "previa", "^laesion": "lesion", "rrhoe": "rrhe", "pnoea": "pnea", "pnoeic": "pneic",
    "homoeo": "homeo", "manoeuv": "maneuv", "palaeo": "paleo", "praecox": "precox", "coelomic": "celomic",
    "leucocyt": "leukocyt", "leucopen": "leukopen", "leucoencephal": "leukoencephal", "leucoderm": "leukoderm",
    "leucodystroph": "leukodystroph", "leuconychia": "leukonychia", "leucocor": "leukocor",
    "tumour": "tumor", "colour": "color", "behaviour": "behavior", "odour": "odor", "humour": "humor",
    "^labour": "labor", "^vapour": "vapor", "^favour": "favor", "neighbour": "neighbor", "sulph": "sulf",
    "fibre": "fiber", "^centre$": "center", "centred$": "centered", "litre": "liter", "metre": "meter",
    "^titre": "titer", "goitre": "goiter", "aluminium": "aluminum", "^grey": "gray", "^mould": "mold",
    "^disc$": "disk", "^discs$": "disks", "artefact": "artifact", "^ageing$": "aging", "lysed$": "lyzed",
    "labelled": "labeled", "signalling": "signaling", "^programme": "program", "^defence": "defense",
    "generalis": "generaliz", "localised": "localized", "localisation": "localization", "specialis": "specializ",
    "visualis": "visualiz", "hospitalis": "hospitaliz", "immunis": "immuniz", "mineralis": "mineraliz",
    "characterise": "characterize", "organise": "organize", "organising": "organizing",
    "organisation": "organization", "recognis": "recogniz", "keratinis": "keratiniz",
    "vascularis": "vasculariz", "lateralised": "lateralized", "lateralisation": "lateralization",
    "myelinis": "myeliniz", "synchronis": "synchroniz", "sensitis": "sensitiz", "stabilis": "stabiliz",
    "metabolise": "metabolize", "oxidis": "oxidiz", "sterilis": "steriliz", "pressuris": "pressuriz",
}  # fmt: skip

_IRREGULAR = {
    "teeth": "tooth", "feet": "foot", "men": "man", "women": "woman", "children": "child", "mice": "mouse",
    "lice": "louse", 
    
    "metastases": "metastasis", "prostheses": "prosthesis", "phalanges": "phalanx", "testes": "testis",
    "testicles": "testis", "testicle": "testis", "iris": "iris", "irides": "iris", "cortices": "cortex",
    "indices": "index", "calices": "calyx", "calyces": "calyx", "helices": "helix", "varices": "varix",
    "cervices": "cervix", "appendices": "appendix", "matrices": "matrix", "apices": "apex", "vertices": "vertex",
    "foramina": "foramen", "lumina": "lumen", "stigmata": "stigma", "stomata": "stoma", "carcinomata": "carcinoma",
    "fibromata": "fibroma", "neuromata": "neuroma", "condylomata": "condyloma", "diverticula": "diverticulum",
    "septa": "septum", "ova": "ovum", "ganglia": "ganglion", "bacteria": "bacterium", "criteria": "criterion",
    "phenomena": "phenomenon", "mitochondria": "mitochondrion", "spermatozoa": "spermatozoon", "atria": "atrium",
    "crania": "cranium", "media": "media", "nevi": "nevus", "bronchi": "bronchus", "thrombi": "thrombus",
    "emboli": "embolus", "calculi": "calculus", "fundi": "fundus", "nuclei": "nucleus", "stimuli": "stimulus",
    "canthi": "canthus", "humeri": "humerus", "femora": "femur", "halluces": "hallux", "comedones": "comedo",
    "meninges": "meninx", "nares": "naris", "epiphyses": "epiphysis", "diaphyses": "diaphysis", "pelves": "pelvis",
    "metaphyses": "metaphysis", "menses": "menses", "caries": "caries", "feces": "feces", "series": "series",
    "species": "species", "herpes": "herpes", "rabies": "rabies", "scabies": "scabies", "facies": "facies",
    "biceps": "biceps", "triceps": "triceps", "quadriceps": "quadriceps", "forceps": "forceps", "gas": "gas",
    "lens": "lens", "pancreas": "pancreas", "diabetes": "diabetes", "ascites": "ascites", "rickets": "rickets",
    "lenses": "lens", "leaves": "leaf", "calves": "calf", "knives": "knife", "halves": "half", "lives": "life",
    "axes": "axis", "abscesses": "abscess", "thighs": "thigh",
}  # fmt: skip

_ROMAN = {
    "i": "1", "ii": "2", "iii": "3", "iv": "4", "v": "5", "vi": "6", "vii": "7", "viii": "8", "ix": "9", "xi": "11",
    "xii": "12", "xiii": "13",
}  # fmt: skip
"""Roman numerals as written in names of types, grades, factors and nerves; "x" is left out: it is a chromosome."""

STOP_WORDS = frozenset(
    ("an", "as", "at", "by", "for", "from", "in", "into", "is", "its", "of", "on", "s", "than", "that", "the", "their")
    + ("this", "to", "was", "were", "with")
)
"""Words that a change of word order may drop or add. Not "a" (vitamin A), not "without" or "no" (the opposite), not "and" or
"or" (they join two findings)."""

EMPTY_WORDS = frozenset(("morphology",))
"""Words of systematic names ("Abnormal clavicle morphology") that texts leave out; their family is none."""

COORDINATORS = frozenset(("and", "or"))

PREFIXES = (
    "anti", "bi", "co", "de", "extra", "hemi", "hyper", "hypo", "infra", "inter", "intra", "macro", "micro", "mid", "multi",
    "non", "over", "para", "peri", "poly", "post", "pre", "pseudo", "re", "retro", "semi", "sub", "super", "supra", "tetra",
    "trans", "tri", "ultra", "under", "uni",
)  # fmt: skip
"""Beginnings that are written with a hyphen, apart, or together: "pre-auricular", "preauricular"."""

_SPELLING_AT = re.compile(
    "|".join(f"(?:^{k[1:]})" if k[0] == "^" else k for k in sorted(_SPELLING, key=lambda k: -len(k.strip("^$"))))
)
_AMERICAN = {british.strip("^$"): american for british, american in _SPELLING.items()}
_PARTS = re.compile(r"\d+|[^\W\d_]+")
_SHORTEST_PLURAL = 4


@lru_cache(maxsize=1 << 16)
def spelling(token: str) -> str:
    """The American spelling of a token where the table has its British one.

    >>> spelling("haemorrhage"), spelling("anaemic"), spelling("aerobic")
    ('hemorrhage', 'anemic', 'aerobic')
    """
    return _SPELLING_AT.sub(lambda match: _AMERICAN[match.group()], token)


@lru_cache(maxsize=1 << 16)
def singular(token: str) -> str:
    """The singular of a plural, English or Latin, by table and four endings.

    >>> singular("opacities"), singular("vertebrae"), singular("biopsies"), singular("stenosis")
    ('opacity', 'vertebra', 'biopsy', 'stenosis')
    """
    if token in _IRREGULAR:
        return _IRREGULAR[token]
    if token.endswith("ae") and len(token) > _SHORTEST_PLURAL:
        return token[:-1]
    if len(token) < _SHORTEST_PLURAL or not token.endswith("s") or token.endswith(("ss", "us", "is")):
        return token
    if token.endswith("ies"):
        return token[:-3] + "y"
    if token.endswith("oses") or token.endswith("yses"):
        return token[:-2] + "is"
    if token.endswith(("sses", "xes", "ches", "shes", "zes")):
        return token[:-2]
    return token[:-1]


def numeral(token: str) -> str:
    """The arabic form of a small roman numeral."""
    return _ROMAN.get(token, token)


@lru_cache(maxsize=1 << 16)
def inflect(token: str) -> tuple[str, ...]:
    """The representative of a token up to spelling, number and numerals; letters and digits apart ("5fu" -> "5", "fu")."""
    return tuple(numeral(singular(spelling(part))) for part in _PARTS.findall(token)) or (token,)


# Derivation: endings that turn one word about a finding into another (stenosis, stenotic), longest first. What is left must
# be long enough to still be the word, and joins the family of the second part.
_DERIVED = (
    ("plastic", "plas"), ("plasia", "plas"), ("trophic", "troph"), ("trophy", "troph"), ("trophied", "troph"),
    ("otic", "os"), ("osis", "os"), ("osed", "os"), ("emic", "em"), ("emia", "em"), ("uric", "ur"), ("uria", "ur"),
    ("tensive", "tens"), ("tension", "tens"), ("itic", "it"), ("itis", "it"), ("ality", "al"), ("ically", "ic"),
    ("ification", "if"), ("ified", "if"), ("ization", "iz"), ("ized", "iz"), ("ectatic", "ectas"),
    ("ectasia", "ectas"), ("ectasis", "ectas"), ("ation", ""), ("ated", ""), ("ating", ""), ("ate", ""),
    ("ition", "it"), ("ional", ""), ("ion", ""), ("ive", ""), ("ment", ""), ("ness", ""), ("ical", ""), ("ally", "al"),
    ("ity", ""), ("ism", ""), ("istic", ""), ("ous", ""), ("ic", ""), ("ia", ""), ("al", ""), ("ar", ""), ("ed", ""),
    ("ing", ""), ("ly", ""), ("y", ""), ("e", ""),
)  # fmt: skip
_SHORTEST_STEM = 4
_UNDERIVED = frozenset(
    ("malaria", "several", "mention", "colony", "bell", "bull", "plane", "plant", "medical", "dollar", "later", "over")
    + ("evening", "fishy", "signal", "capital", "carbon", "general", "even", "malar", "cushing", "meaning", "party")
)


@lru_cache(maxsize=1 << 16)
def stem(token: str) -> str:
    """The family of an inflected token, across word classes.

    >>> stem("stenotic") == stem("stenosis"), stem("hypoplastic") == stem("hypoplasia")
    (True, True)
    """
    if token in _UNDERIVED:
        return token
    for ending, family in _DERIVED:
        if token.endswith(ending) and len(token) - len(ending) + len(family) >= _SHORTEST_STEM:
            shorter = token[: -len(ending)] + family
            return stem(shorter) if shorter != token else token
    return token


# Words that name the same organ or say the same of it, each line one family, as inflected tokens.
_SAME = (
    "abnormal abnormality anomaly anomalous malformation malformed defect defective deformity deformed",
    "kidney renal", "heart cardiac", "liver hepatic", "lung pulmonary", "eye ocular ophthalmic", "skin cutaneous dermal",
    "ear auricular otic", "nose nasal", "mouth oral", "tongue lingual", "tooth dental", "jaw mandible mandibular",
    "maxilla maxillary", "palate palatal", "lip labial", "face facial", "skull cranial cranium", 
    "spine spinal", "vertebra vertebral", "rib costal", "clavicle clavicular", "patella patellar kneecap", "nail ungual",
    "scapula scapular", "humerus humeral", "femur femoral", "tibia tibial", "fibula fibular", "ulna ulnar",
    "radius radial", "pelvis pelvic", "sternum sternal", "finger digit digital", "limb extremity", "muscle muscular",
    "vein venous", "artery arterial", "aorta aortic", "vessel vascular", "retina retinal", "cornea corneal",
    "lens lenticular", "larynx laryngeal", "pharynx pharyngeal", "trachea tracheal", "esophagus esophageal",
    "stomach gastric", "intestine intestinal bowel", "colon colonic", "rectum rectal", "bladder vesical",
    "ureter ureteral", "urethra urethral", "uterus uterine", "ovary ovarian", "testis testicular", "penis penile",
    "thyroid thyroidal", "bone osseous", "nerve neural", "hair", "breast mammary", "tumor neoplasm neoplasia neoplastic",
    "multiple numerous many", "broad wide widened broadened", "short shortened shortening",
    "absent absence lack lacking missing agenesis", "enlarged enlargement large", "increased elevated raised high",
    "decreased reduced low diminished", "delayed delay retarded retardation", "impaired impairment", "loss lost",
    "thin thinned thinning", "thick thickened thickening", "premature early preterm", "prominent prominence",
    "downslanting downslanted", "upslanting upslanted", "recurrent repeated", "mental intellectual",
    "occult occulta", "infant infantile", "neonate neonatal newborn", "child childhood", "birth", "atrophy atrophic wasting wasted",
)  # fmt: skip
_FAMILIES = {stem(word): stem(line.split()[0]) for line in _SAME for word in line.split()}


@lru_cache(maxsize=1 << 16)
def family(token: str) -> str:
    """The family of an inflected token: its stem, organs and their adjectives together, common findings together.

    >>> family("renal") == family("kidney"), family("anomaly") == family("abnormality")
    (True, True)
    """
    root = stem(token)
    return _FAMILIES.get(root, root)
