"""How little a linker knew of a mention: from 0, it was sure, to 1."""

from __future__ import annotations

from nomina.review.records import Finding


def uncertainty(found: Finding) -> float:
    """One minus the probability of the first candidate (least confidence: Lewis and Gale, SIGIR 1994).

    Without a probability, one minus the margin between the scores of the two best candidates (Scheffer et al., IDA
    2001), of which a single one has its own score; both within 0 and 1. No candidate, or several that nothing tells
    apart: 1. A linker that is sure that its first candidate is wrong is as uncertain here as can be: what is right
    is still to be said.
    """
    if not found.candidates or found.ambiguous:
        return 1.0
    if found.probability is not None:
        return 1.0 - found.probability
    scores = [candidate.score for candidate in found.candidates[:2]]
    margin = scores[0] - scores[1] if len(scores) > 1 else scores[0]
    return 1.0 - min(max(margin, 0.0), 1.0)
