"""A made KB and made development mentions for tests of fitted cascades."""

from __future__ import annotations

from pathlib import Path

from nomina.linkers.fitted_cascade.parts import PartOptions
from nomina.types import Document, Mention

ENCODER = Path(__file__).parent / "data" / "tiny-encoder"

ORGANS = "heart kidney liver lung stomach retina skin tongue".split()
NAMES = {f"A:{organ}": (f"{organ} failure", f"failing {organ}") for organ in ORGANS} | {
    f"B:{organ}": (f"{organ} tumour", f"cancer of the {organ}") for organ in ORGANS
}

PARTS = (PartOptions("dictionary"), PartOptions("tfidf", many=8), PartOptions("embedding", str(ENCODER), many=8))


def documents() -> list[Document]:
    """64 mentions in 16 documents: names, names with a typing error, other words, and one whose concept is unknown."""
    found = []
    for i, organ in enumerate(ORGANS):
        for kind, names in (("A", NAMES[f"A:{organ}"]), ("B", NAMES[f"B:{organ}"])):
            texts = (
                names[0],
                names[1][:3] + names[1][4:],
                f"a {organ}{'' if kind == 'A' else ' mass'}",
                f"{organ} x{i}",
            )
            found.append(document(f"{kind}{i}", texts, (f"{kind}:{organ}",) * 3 + ("C:0",)))
    return found


def document(id: str, texts: tuple[str, ...], gold: tuple[str, ...]) -> Document:
    """A text of mentions with semicolons between."""
    mentions, at = [], 0
    for text, own in zip(texts, gold, strict=True):
        mentions.append(Mention(((at, at + len(text)),), text, gold=((own,),)))
        at += len(text) + 2
    return Document(id, "; ".join(texts), tuple(mentions))
