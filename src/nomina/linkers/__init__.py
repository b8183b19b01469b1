"""Linkers by name, as dotted classes imported on use. A new linker is one file and one line here."""

LINKERS: dict[str, str] = {
    "dictionary": "nomina.linkers.dictionary.DictionaryLinker",
    "tfidf": "nomina.linkers.tfidf.TfidfLinker",
    "embedding": "nomina.linkers.embedding.EmbeddingLinker",
}
