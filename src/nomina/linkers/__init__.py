"""Linkers by name, as dotted classes imported on use. A new linker is one file and one line here."""

from __future__ import annotations

LINKERS: dict[str, str] = {
    "cascade": "nomina.linkers.cascade.CascadeLinker",
    "dictionary": "nomina.linkers.dictionary.DictionaryLinker",
    "tfidf": "nomina.linkers.tfidf.TfidfLinker",
    "embedding": "nomina.linkers.embedding.EmbeddingLinker",
}

GENERATIVE = "nomina.linkers.generative.GenerativeLinker"
"""Of a generator's folder; nomina comes with none, so that this has no name of its own."""

FITTED = "nomina.linkers.fitted_cascade.folder.load"
"""Of the folder of a cascade that was fitted on a corpus of the user's."""

DEFAULT = "cascade"
"""What ``nomina.load`` and ``nomina link`` use if nothing else is said."""

ENCODING = ("cascade", "embedding")
"""Those that take an encoder, and tell a callback ``progress`` while they encode the names of a KB."""
