"""Predictions that the tests of the export formats share."""

from nomina.types import Candidate, Mention, Prediction


def candidate(id, preferred="Seizure", *, name=None, score=1.0, rank=1, rule="exact", row=0):
    return Candidate(id, preferred, name or preferred, score, rank, rule, row)


def prediction(text, *candidates, document="d", start=0, **said):
    return Prediction(document, Mention(((start, start + len(text)),), text), candidates, **said)
