"""The word lists behind ``noise``."""

from __future__ import annotations

_BRITISH = """
    anemi anaemi, anesth anaesth, behavior behaviour, celiac coeliac, center centre, color colour, diarrhe diarrhoe,
    edema oedema, esophag oesophag, estrogen oestrogen, fetal foetal, fetus foetus, fiber fibre, gynec gynaec,
    hematoma haematoma, hematolog haematolog, hematuri haematuri, hemoglob haemoglob, hemoly haemoly, hemophil
    haemophil, hemorrh haemorrh, ischemi ischaemi, leukemi leukaemi, leukocyt leucocyt, leukopen leucopen,
    orthoped orthopaed, pediatr paediatr, pnea pnoea, rrhea rrhoea, septicemi septicaemi, sulf sulph, tumor tumour,
    uremi uraemi, glycemi glycaemi, calcemi calcaemi, kalemi kalaemi, lipidemi lipidaemi, goiter goitre
"""
_BEFORE = """
    marked, significant, suspected, possible, probable, known, underlying, mild, moderate, severe, worsening,
    intermittent, occasional, persistent, documented, typical, apparent, associated, prominent, pronounced, slight,
    subtle, progressive, recurrent, chronic, early, advanced, isolated, sporadic, symptomatic, the, his, her, their,
    a, history of, signs of, symptoms of, evidence of, presence of, episodes of, risk of, development of, features of,
    onset of, some degree of, susceptibility to, predisposition to, presented with, complained of, patients with
"""
_AFTER = """
    patients, cases, symptoms, families, in childhood, in infancy, at birth, in adults, of unknown cause, was noted,
    were present, in one patient, in her family
"""

BRITISH = dict(pair.split() for pair in _BRITISH.split(","))
"""Stems whose British spelling is sure, and that spelling."""

QUALIFIERS = tuple(tuple(word.strip() for word in " ".join(part.split()).split(",")) for part in (_BEFORE, _AFTER))
"""What texts put beside a name without meaning another concept: before it, and behind it."""
