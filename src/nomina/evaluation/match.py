"""Gold mentions paired with the predictions made for them."""

from __future__ import annotations

from typing import NamedTuple

from nomina.types import Mention, Prediction


class Item(NamedTuple):
    """One thing to be got right: a gold mention, or all parts of a composite, with what was predicted.

    Attributes:
        document_id: Its document.
        mention: The first part; its text is that of all parts joined by ``|``.
        predictions: One a part, in the order of the parts; () where one or all are missing.
        gold: Parts that are all needed, each with ids any of which will do, in the form of ``ids.IdMap``; () = NIL.
    """

    document_id: str
    mention: Mention
    predictions: tuple[Prediction, ...]
    gold: tuple[frozenset[str], ...]
