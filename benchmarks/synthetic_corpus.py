"""As many abstracts as wanted, made of real ones: the same for the same seed and texts, on any machine.

``python benchmarks/synthetic_corpus.py OUT [--documents 200000] [--shards 8] [--seed 1] [--data BENCHMARKS]`` writes a
folder of JSON lines. The abstracts of BC5CDR and of the NCBI disease corpus (by default in ``../shared/benchmarks``)
are taken apart; a made one has sentences of many of them, as many as a real one has. In each a word is put in another
one's place, a name of HPO is said now and then, and a code that nothing else has stands in a bracket, so that phrases
and words go on being new, as they do in real texts, however many documents there are.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path

from nomina.kb.sources import default_kb
from nomina.sentences import starts
from nomina.types import Document

DOCUMENTS, SHARDS, SEED = 200_000, 8, 1
NAMED = 0.2
"""Share of sentences that a name of the KB is said behind."""

CODED = 0.1
"""Share of sentences with a code in a bracket."""

_WORD = re.compile(r"[a-z]{4,}")
_CODE = "ABCDEFGHJKLMNPRSTUVWXYZ"


def sentences(text: str) -> list[str]:
    """The sentences of a text."""
    bounds = [0, *starts(text), len(text)]
    return [text[start:end].strip() for start, end in pairwise(bounds)]


def made(source: Sequence[str], names: Sequence[str], number: int, seed: int = SEED) -> Iterator[Document]:
    """So many documents of the sentences of others.

    Args:
        source: texts.
        names: what is said besides.
        number: of documents.
        seed: another one makes others.
    """
    rng = random.Random(seed)
    parts = [sentences(text) for text in source]
    sizes, every = list(map(len, parts)), [sentence for sentences in parts for sentence in sentences]
    for place in range(number):
        chosen = [rng.choice(every) for _ in range(rng.choice(sizes))]
        yield Document(f"made-{place}", " ".join(_changed(sentence, every, names, rng) for sentence in chosen))


def _changed(sentence: str, every: Sequence[str], names: Sequence[str], rng: random.Random) -> str:
    """A sentence with a word of another, and at times a name and a code."""
    there, other = list(_WORD.finditer(sentence)), _WORD.findall(rng.choice(every))
    if there and other:
        start, end = rng.choice(there).span()
        sentence = sentence[:start] + rng.choice(other) + sentence[end:]
    if rng.random() < CODED:
        sentence += f" ({''.join(rng.choices(_CODE, k=3))}{rng.randrange(10_000)})."
    if rng.random() < NAMED:
        sentence += f" There was {rng.choice(names)}."
    return sentence


def write(documents: Iterator[Document], folder: Path, shards: int, number: int) -> Path:
    """Documents as JSON lines in so many files of about one size."""
    folder.mkdir()
    for shard in range(shards):
        size = number * (shard + 1) // shards - number * shard // shards
        with open(folder / f"{shard:03d}.jsonl", "w", encoding="utf-8") as stream:
            for document in islice(documents, size):
                stream.write(json.dumps({"id": document.id, "text": document.text}) + "\n")
    return folder


def names_of_hpo() -> list[str]:
    """The names of the default KB, sorted."""
    return sorted(set(default_kb().surfaces()))


def main() -> None:
    """Write them."""
    from link import CORPORA, abstracts
    from startup import ROOT

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--shards", type=int, default=SHARDS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/benchmarks")
    given = parser.parse_args()
    texts = [document.text for corpus in CORPORA for document in abstracts(given.data, corpus)]
    write(made(texts, names_of_hpo(), given.documents, given.seed), given.out, given.shards, given.documents)


if __name__ == "__main__":
    main()
