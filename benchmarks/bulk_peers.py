"""The same abstracts by others that look names of HPO up: documents a second on one core, peak memory.

``python benchmarks/bulk_peers.py [BENCHMARKS] [DOCUMENTS]`` takes the first 500 abstracts of BC5CDR and of the NCBI
disease corpus (by default in ``../shared/benchmarks``) and writes ``benchmarks/results/bulk_peers.json``; with another
number it writes nothing, as a trial. What is not installed is left out and named: ``pip install nomina[experiments]
spacy``.

Each has a process and a core of its own. ``make_seconds`` are those until it has done a first sentence, indices that it
keeps for later included; ``documents_a_second`` is a first pass, text by text as each of them takes them, nomina in
batches as a worker of ``nomina bulk`` does. ``mentions`` are what it found: each decides in its own way what a name is,
so that more is not better. gilda and the PhraseMatcher get the names of nomina's HPO, FastHPOCR makes its index out of
the same file.
"""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from link import CORPORA, abstracts
from startup import ROOT, commit, machine

from nomina.bulk.engine import make_new, pipeline
from nomina.bulk.options import Options
from nomina.bulk.workers import ONE_THREAD
from nomina.kb.sources import default_kb
from nomina.types import Document

RESULT = ROOT / "benchmarks/results/bulk_peers.json"
DOCUMENTS = 500
FIRST = Document("first", "Ataxia, or rather a wobbling of her steps that nobody could name.")

Count = Callable[[Sequence[Document]], int]
"""How many mentions there are in documents."""


def main() -> None:
    """Measure, print and write the figures."""
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared/benchmarks"
    if not data.is_dir():
        raise SystemExit(f"no benchmark data at {data}: python benchmarks/bulk_peers.py FOLDER")
    number = int(sys.argv[2]) if len(sys.argv) > 2 else DOCUMENTS
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    here = {name: packages for name, (packages, _) in PEERS.items() if all(map(importlib.util.find_spec, packages))}
    report = {
        "command": "python benchmarks/bulk_peers.py",
        "commit": commit(),
        "machine": machine(),
        "versions": {
            package: metadata.version(package) for package in sorted({packages[0] for packages in here.values()})
        },
        "documents": number,
        "not_installed": sorted(set(PEERS) - set(here)),
        "figures": {name: _apart(name, data, number) for name in here},
    }
    text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    if number == DOCUMENTS:
        RESULT.write_text(text, encoding="utf-8")
    print(text, end="")


def _apart(name: str, data: Path, number: int) -> dict[str, Any]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, (name, data, number))


def measure(name: str, data: Path, number: int) -> dict[str, Any]:
    """The figures of one of them, in this process."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    documents = [document for corpus in CORPORA for document in abstracts(data, corpus)][:number]
    default_kb()  # for all of them the names come from there
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        count = PEERS[name][1](Path(folder))
        count([FIRST])  # some load what they need when they are first asked
        made = time.perf_counter() - began
        began = time.perf_counter()
        mentions = count(documents)
        seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    return {
        "make_seconds": round(made, 1),
        "seconds": round(seconds, 2),
        "documents_a_second": round(len(documents) / seconds, 1),
        "mentions": mentions,
        "peak_mb": round(peak),
    }


def names() -> Iterator[tuple[str, str]]:
    """Concept and name, of all names of HPO."""
    kb = default_kb()
    for row, name in enumerate(kb.surfaces()):
        for id in kb.owners(row):
            yield id, name


def nomina(linker: str) -> Callable[[Path], Count]:
    """As a worker of ``nomina bulk`` links."""

    def made(folder: Path) -> Count:
        loaded = pipeline(Options(linker=linker))
        make_new(loaded, 1)
        return lambda documents: sum(1 for _ in loaded.link(documents))

    return made


def fasthpocr(folder: Path) -> Count:
    """FastHPOCR, all matches."""
    sys.path.append(str(ROOT / "experiments"))
    from gsc_plus import fasthpocr as made

    annotate = made(folder, False)
    return lambda documents: sum(len(annotate(document.text)) for document in documents)


def gilda(folder: Path) -> Count:
    """gilda.annotate with the names of HPO and nothing else."""
    from gilda.grounder import Grounder
    from gilda.ner import annotate
    from gilda.process import normalize
    from gilda.term import Term

    terms = [Term(normalize(name), name, "HP", id, name, "name", "hp") for id, name in names()]
    grounder = Grounder(terms)
    # Else it would fetch its models, which tell names of genes apart, of which there are none here.
    grounder.gilda_disambiguators = {}
    return lambda documents: sum(len(annotate(document.text, grounder=grounder)) for document in documents)


def phrase_matcher(folder: Path) -> Count:
    """The PhraseMatcher of spaCy over lower-cased words, with the tokenizer of English alone."""
    import spacy
    from spacy.matcher import PhraseMatcher

    language = spacy.blank("en")
    matcher = PhraseMatcher(language.vocab, attr="LOWER")
    by_concept: dict[str, list[Any]] = {}
    for id, name in names():
        by_concept.setdefault(id, []).append(language.make_doc(name))
    for id, patterns in by_concept.items():
        matcher.add(id, patterns)
    return lambda documents: sum(len(matcher(language.make_doc(document.text))) for document in documents)


PEERS: dict[str, tuple[tuple[str, ...], Callable[[Path], Count]]] = {
    "nomina, default linker": (("nomina",), nomina(Options().linker)),
    "nomina, dictionary": (("nomina",), nomina("dictionary")),
    "FastHPOCR": (("FastHPOCR", "pronto"), fasthpocr),
    "gilda.annotate": (("gilda",), gilda),
    "spaCy PhraseMatcher": (("spacy",), phrase_matcher),
}
"""Name -> the packages that it needs, the one that it is of first, and what makes it."""


if __name__ == "__main__":
    main()
