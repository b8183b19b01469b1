"""The table ``generation`` of a recipe. Needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class GenerationRecipe:
    """What a generator reads and writes; of other kinds of encoder nothing here counts.

    Attributes:
        layers: encoder layers, from 0, that a new shallow decoder is made of.
        window: most tokens of a mention with its context.
        context: whether there is any; None: as the base reads mentions (with it where that is no generator yet), and
            none where ``bare`` is 1.
        prompt: whether the decoder begins with "MENTION is"; a saved generator that has no prompt gets none.
        others: other synonyms beside a mention in pre-training, at most.
        bare: share of the mentions of pre-training that stand alone.
        around: most tokens of these, or of a definition.
        target: the name a mention is to be written as: the most similar one, by "tfidf", an "encoder" that nomina has
            saved or a "sentence" encoder of Hugging Face; "shortest" or "random".
        top: of the similar ones so many, of which each epoch draws one.
        similarity: the folder of the encoder for these.
        similar: in pre-training the target is the synonym most similar to the mention, not any.
        names: names of a concept that may be written: "all", "shortest" or "random", one of them.
        smoothing: of labels.
        beams: of the search that accuracy is measured with.
        ab3p: the program of Ab3P, identify_abbr, by path or by its name on the PATH, which finds the abbreviations of
            the corpus to train on; "": nomina's own rules do.
    """

    layers: str = "1 3 5"
    window: int = 128
    context: bool | None = None
    prompt: bool = True
    others: int = 6
    bare: float = 0.0
    around: int = 64
    target: Literal["tfidf", "encoder", "sentence", "shortest", "random"] = "tfidf"
    top: int = 1
    similarity: str = ""
    similar: bool = False
    names: Literal["all", "shortest", "random"] = "all"
    smoothing: float = 0.1
    beams: int = 5
    ab3p: str = ""
