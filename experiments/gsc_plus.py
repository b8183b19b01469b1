"""Phenotypes in abstracts: our two linkers, FastHPOCR and plain Aho-Corasick on GSC+ dev (spans) and JAX (documents).

Strict mention level: the span from the first to the last character and the id must be right. Ids that HPO has replaced
since are resolved on both sides. The mode is chosen on dev; JAX's gold lists only a case's main phenotypes, so that its
precision is low for all. FastHPOCR (``pip install fasthpocr pronto``) and Aho-Corasick (``pip install pyahocorasick``)
are left out where they are not installed.
"""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from common import benchmark, parser, record
from gsc_data import Links, concepts, document_level, mention_level, read_gsc, read_jax

from nomina.detect import Detector
from nomina.kb.sources import default_kb, hpo_file
from nomina.kb.store import KnowledgeBase
from nomina.lexicon import Lexicon
from nomina.linkers.dictionary import DictionaryLinker
from nomina.linkers.tfidf import TfidfLinker
from nomina.pipeline import Pipeline
from nomina.types import Document

Annotate = Callable[[str], Links]


def ours(kb: KnowledgeBase, linker: str, mode: str, abbreviations: bool) -> Annotate:
    """Detection and a linker, top concept."""
    detector = Detector(Lexicon.open(kb), mode, abbreviations=abbreviations)
    ranker = DictionaryLinker(kb) if linker == "dictionary" else TfidfLinker(kb)
    pipeline = Pipeline(ranker, detector, k=1, context=False)

    def annotate(text: str) -> Links:
        found = pipeline.link([Document("", text)])
        return {((p.mention.start, p.mention.end), p.candidates[0].entity_id) for p in found if not p.abstained}

    return annotate


def fasthpocr(folder: Path, longest: bool) -> Annotate:
    """FastHPOCR with its own index, a paragraph at a time (``longestMatch`` fails on long texts).

    Its index step looks for the tokens of each cluster by a scan over all tokens; here it gets the inverse map.
    """
    from FastHPOCR.cr.CRIndexKB import CRIndexKB
    from FastHPOCR.HPOAnnotator import HPOAnnotator
    from FastHPOCR.IndexHPO import IndexHPO

    members: dict[int, dict[str, list[str]]] = {}

    def tokens_of(self: object, cluster: str, base: dict[str, str]) -> list[str]:
        if id(base) not in members:
            members[id(base)] = defaultdict(list)
            for token, owner in base.items():
                members[id(base)][owner].append(token)
        return list(members[id(base)][cluster])

    CRIndexKB.compileClusterList = tokens_of
    if not (folder / "hp.index").exists():
        with contextlib.redirect_stdout(io.StringIO()):
            IndexHPO(str(hpo_file()), str(folder)).index()
    annotator = HPOAnnotator(str(folder / "hp.index"))

    def annotate(text: str) -> Links:
        found: Links = set()
        for paragraph in re.finditer(r"[^\n]*\S[^\n]*", text):
            for hit in annotator.annotate(paragraph.group(), longest):
                span = hit.getStartOffset() + paragraph.start(), hit.getEndOffset() + paragraph.start()
                found.add((span, hit.getHPOUri()))
        return found

    return annotate


def aho_corasick(kb: KnowledgeBase, longest: bool) -> Annotate:
    """Names as they are, lower-cased, a final "s" of every word dropped; the first concept that has the name."""
    import ahocorasick

    automaton = ahocorasick.Automaton()
    for row, surface in enumerate(kb.surfaces()):
        words = [_plain(word) for word in re.findall(r"\w+", surface.lower())]
        if words:
            key = f" {' '.join(words)} "
            if key not in automaton:
                automaton.add_word(key, (kb.owners(row)[0], len(words)))
    automaton.make_automaton()

    def annotate(text: str) -> Links:
        words = list(re.finditer(r"\w+", text))
        flat = " " + "".join(f"{_plain(word.group().lower())} " for word in words)
        ends = {place: n for n, place in enumerate(m.start() for m in re.finditer(" ", flat))}
        found: Links = set()
        for end, (concept, size) in automaton.iter(flat):
            last = ends[end]
            found.add(((words[last - size].start(), words[last - 1].end()), concept))
        return _longest(found) if longest else found

    return annotate


def _plain(word: str) -> str:
    return word[:-1] if word.endswith("s") else word


def _longest(found: Links) -> Links:
    spans = {span for span, _ in found}
    inner = {a for a in spans for b in spans if a != b and b[0] <= a[0] and a[1] <= b[1]}
    return {link for link in found if link[0] not in inner}


def systems(kb: KnowledgeBase, folder: Path) -> dict[str, Annotate]:
    """Every system that is there, by its label."""
    made: dict[str, Annotate] = {}
    for linker in ("dictionary", "tfidf"):
        for mode in ("longest", "all"):
            made[f"nomina {linker}, {mode}"] = ours(kb, linker, mode, True)
    for mode in ("longest", "all"):
        made[f"nomina dictionary, {mode}, no short forms"] = ours(kb, "dictionary", mode, False)
    for mode in ("longest", "all"):
        with contextlib.suppress(ImportError):
            made[f"FastHPOCR, {mode}"] = fasthpocr(folder, mode == "longest")
        with contextlib.suppress(ImportError):
            made[f"Aho-Corasick, {mode}"] = aho_corasick(kb, mode == "longest")
    return made


def errors(texts: dict[str, str], gold: dict[str, Links], found: dict[str, Links]) -> dict[str, int]:
    """Kinds of what was missed and of what was found in excess."""
    kinds: Counter[str] = Counter()
    for name in texts:
        for span, concept in gold[name] - found[name]:
            near = [(s, c) for s, c in found[name] if s[0] < span[1] and span[0] < s[1]]
            if any(s == span for s, _ in near):
                kinds["missed: right span, other concept"] += 1
            elif any(c == concept for _, c in near):
                kinds["missed: right concept, other span"] += 1
            else:
                kinds["missed: part of it linked to another concept" if near else "missed: nothing found there"] += 1
        for span, _ in found[name] - gold[name]:
            near = [s for s, _ in gold[name] if s[0] < span[1] and span[0] < s[1]]
            kinds["excess: overlaps a gold mention" if near else "excess: no gold mention there"] += 1
    return dict(sorted(kinds.items()))


def main() -> None:
    """Measure, print, record."""
    options = parser(__doc__).parse_args()
    folder = benchmark(options.shared, "gsc-plus")
    kb = default_kb()
    dev_texts, dev_gold = read_gsc(folder / "GSCplus_dev_gold.tsv")
    jax_texts, jax_gold = read_jax(folder / "jax")
    resolved = {d: {(span, kb.resolve(c) or c) for span, c in links} for d, links in dev_gold.items()}
    dev_documents = concepts(dev_gold, kb.resolve)
    jax_documents = {d: {kb.resolve(c) or c for c in ids} for d, ids in jax_gold.items()}
    rows = {}
    print(f"{'':46}{'dev mentions P / R / F1':>26}{'dev documents':>24}{'JAX documents':>24}{'texts/s':>9}")
    with tempfile.TemporaryDirectory() as temporary:
        for label, annotate in systems(kb, Path(temporary)).items():
            dev = {d: {(s, kb.resolve(c) or c) for s, c in annotate(t)} for d, t in dev_texts.items()}
            start = time.process_time()
            jax = {d: {(s, kb.resolve(c) or c) for s, c in annotate(t)} for d, t in jax_texts.items()}
            seconds = time.process_time() - start
            row = {
                "dev_mentions": mention_level(resolved, dev),
                "dev_documents": document_level(dev_documents, dev),
                "jax_documents": document_level(jax_documents, jax),
                "jax_characters_per_second": round(sum(map(len, jax_texts.values())) / seconds),
                "dev_errors": errors(dev_texts, resolved, dev),
            }
            rows[label] = row
            shown = "".join(
                f"{row[part]['precision']:>10.1f}{row[part]['recall']:>7.1f}{row[part]['f1']:>7.1f}"
                for part in ("dev_mentions", "dev_documents", "jax_documents")
            )
            print(f"{label:46}{shown}{len(jax_texts) / seconds:9.0f}")
    own = {label: row for label, row in rows.items() if label.startswith("nomina dictionary")}
    chosen = max(own, key=lambda label: own[label]["dev_mentions"]["f1"])
    print(f"chosen on dev: {chosen}")
    for kind, count in rows[chosen]["dev_errors"].items():
        print(f"  {count:4} {kind}")
    record("gsc_plus", rows, chosen_on_dev=chosen, kb=kb.manifest.release, peers=_versions())


def _versions() -> dict[str, str]:
    found = {}
    for package in ("fasthpocr", "pronto", "pyahocorasick"):
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


if __name__ == "__main__":
    main()
