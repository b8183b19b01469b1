"""The model of phrases that the dictionary misses (``nomina.proposals``): fitted, and what it gives on GSC+ and JAX.

    python experiments/span_model.py [--encoder FOLDER]

Two weights are fitted on text that nobody annotated for it, the abstracts of NCBI-disease and BC5CDR train: a phrase
that the dictionary knows is judged with the names hidden that it was known by, as if the KB had none of them; its
concept is the right answer, every other one a wrong one, and so is every answer to a phrase that touches no known name.
The constant and the threshold are chosen on GSC+ dev, where they are also judged with each document left out in turn.
JAX is not used to choose anything. Single words of dev that no KB name knows are counted, and those shown that are
nearest to a name: whether phrases of one word are worth asking for.

Writes ``results/span_model.json``, and the model as ``spans.json`` beside the encoder.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnxruntime
from calibrate import fit
from common import benchmark, parser, record
from gsc_data import Links, document_level, mention_level, read_gsc, read_jax
from numpy.typing import NDArray

from nomina import encoders
from nomina.artifact import Artifact
from nomina.corpora import read_corpus
from nomina.detect import Detector, Overlaps
from nomina.encoders.onnx import KIND
from nomina.kb.sources import default_kb
from nomina.linkers.cascade import CascadeLinker
from nomina.pipeline import Pipeline
from nomina.proposals import FEATURES, Hit, SpanLinker, SpanModel, unshared
from nomina.span_words import comparable, is_empty, terms
from nomina.spans import Proposal, propose
from nomina.types import Document, Span

LEAST = 0.65  # cosine of the names that are looked at while fitting
SILVER = (("ncbi-disease", "raw", "NCBItrainset_corpus.txt"), ("bc5cdr", "raw", "CDR_TrainingSet.PubTator.txt"))
UNFITTED = SpanModel((0.0, 1.0, 0.0), 0.5)
DECIMALS = 4
SHORTEST = 5
NEAREST = 8
WORD = re.compile(rf"[^\W\d_]{{{SHORTEST},}}")

COSINES = (0.85, 0.9, 0.95)

Floats = NDArray[np.float64]
Phrase = tuple[Proposal, frozenset[str]]


class Answer(NamedTuple):
    """What is said of a phrase of a document: span from the first to the last character, concept, log odds."""

    document: str
    span: Span
    concept: str
    odds: float


def main() -> None:
    """Fit, write, measure, print."""
    options = parser(__doc__)
    options.add_argument("--encoder", type=Path, default=None, help="default: the one that nomina comes with")
    arguments = options.parse_args()
    model = Artifact.open(arguments.encoder or encoders.shipped(), KIND)
    kb = default_kb()
    linker = CascadeLinker(kb, model.folder)
    texts = [d.text for parts in SILVER for d in read_corpus(benchmark(arguments.shared, *parts), "pubtator")]
    texts = list(dict.fromkeys(texts))
    unfitted = SpanLinker(linker, UNFITTED)
    phrases = silver_phrases(unfitted, texts)
    features, right = silver(unfitted, phrases)
    scale = np.append(1.0, features[:, 1:].std(axis=0))  # so that the penalty weighs on both features alike
    weights = fit(features / scale, right, np.ones(len(right))) / scale
    dev, gold = read_gsc(benchmark(arguments.shared, "gsc-plus", "GSCplus_dev_gold.tsv"))
    gold = {d: {(span, kb.resolve(c) or c) for span, c in links} for d, links in gold.items()}
    chosen, crossed = on_dev(linker, weights, dev, gold)
    jax, mains = read_jax(benchmark(arguments.shared, "gsc-plus", "jax"))
    mains = {d: {kb.resolve(c) or c for c in ids} for d, ids in mains.items()}
    metrics: dict[str, Any] = {
        "weights": dict(zip(FEATURES, chosen.weights, strict=True)),
        "threshold": chosen.threshold,
        "silver": {
            "texts": len(texts),
            "phrases": len(phrases),
            "known_phrases": sum(bool(known) for _, known in phrases),
            "answers": len(right),
            "right_answers": int(right.sum()),
        },
        "silver_by_cosine_alone": by_cosine_alone(unfitted, phrases),
        "dev_each_document_left_out": crossed,
    }
    for mode in ("all", "longest"):
        for label, spans in (("before", None), ("after", SpanLinker(linker, chosen))):
            pipeline = Pipeline(linker, Detector(linker.dictionary.lexicon, mode), k=1, context=False, spans=spans)
            metrics[f"{mode}_{label}"] = measured(pipeline, dev, gold, jax, mains)
    metrics["single_unknown_words"] = single_words(SpanLinker(linker, chosen), dev, gold)
    metrics["speed"] = speed(linker, chosen, texts)
    record("span_model", metrics, kb=kb.manifest.release, model=model.fingerprint, onnxruntime=onnxruntime.__version__)
    # Written last: the file is among the code whose state the record names.
    chosen.write(model)
    print_figures(metrics)


def silver_phrases(spans: SpanLinker, texts: Sequence[str]) -> list[Phrase]:
    """Phrases of texts, each with the concepts that the dictionary knows it as; none where it touches no known name."""
    phrases: list[Phrase] = []
    for text, known in zip(texts, dictionary(spans.linker, texts, "all"), strict=True):
        concepts: dict[Span, set[str]] = {}
        for span, concept in known:
            concepts.setdefault(span, set()).add(concept)
        free = propose(text, list(concepts), spans.known)
        phrases += [(proposal, frozenset()) for proposal in free if len(proposal.spans) == 1]
        for proposal in propose(text, [], spans.known):
            if len(proposal.spans) == 1 and proposal.spans[0] in concepts:
                phrases.append((proposal, frozenset(concepts[proposal.spans[0]])))
    return phrases


def silver(spans: SpanLinker, phrases: Sequence[Phrase]) -> tuple[Floats, Floats]:
    """Features of answers to phrases, and 1.0 where the answer is right."""
    rows, right = [], []
    for phrase, hits in zip(phrases, spans.hits([proposal for proposal, _ in phrases], LEAST), strict=True):
        hidden = hidden_rows(spans, phrase)
        for concept, hit in nearest(spans, (hit for hit in hits if hit.row not in hidden)).items():
            rows.append((1.0, hit.cosine, hit.missing))
            right.append(concept in phrase[1])
    return np.array(rows), np.array(right, float)


def hidden_rows(spans: SpanLinker, phrase: Phrase) -> set[int]:
    """The names that a phrase is known by."""
    lookup = spans.linker.dictionary.lexicon.lookup
    return {match.row for query in phrase[0].queries for match in lookup(query)} if phrase[1] else set()


def by_cosine_alone(spans: SpanLinker, phrases: Sequence[Phrase]) -> dict[str, dict[str, int]]:
    """What asking for no counterparts would bring: by least cosine, more answers, those of known phrases, the right.

    An answer is the nearest name that may differ from the phrase as it does; none where a nearer one is a hit anyway.
    """
    texts = list(dict.fromkeys(proposal.text for proposal, _ in phrases))
    rows, scores, _ = spans.linker.embedding.nearest(texts, NEAREST)
    near = dict(zip(texts, zip(rows.tolist(), scores.tolist(), strict=True), strict=True))
    counts = {f"{least:.2f}": {"answers": 0, "of_known_phrases": 0, "right": 0} for least in COSINES}
    for phrase, hits in zip(phrases, spans.hits([proposal for proposal, _ in phrases], LEAST), strict=True):
        proposal, known = phrase
        hidden, taken = hidden_rows(spans, phrase), {hit.row for hit in hits}
        for row, score in zip(*near[proposal.text], strict=True):
            if row in hidden:
                continue
            if row in taken or score < min(COSINES):
                break
            if not spans.owners(row) or not is_likely_alone(spans, proposal, row):
                continue
            for least in (least for least in COSINES if score >= least):
                found = counts[f"{least:.2f}"]
                found["answers"] += 1
                found["of_known_phrases"] += bool(known)
                found["right"] += any(owner.entity_id in known for owner in spans.owners(row))
            break
    return counts


def is_likely_alone(spans: SpanLinker, proposal: Proposal, row: int) -> bool:
    """Whether a phrase says something that a name does not, and may differ from it so."""
    said, named = comparable(proposal.terms, terms(spans.linker.kb.names[row].split()))
    phrase, name = unshared(said, named), unshared(named, said)
    return bool(phrase) and spans.may_differ(row, phrase, name)


def dictionary(linker: CascadeLinker, texts: Iterable[str], mode: Overlaps) -> list[Links]:
    """What the dictionary finds in each text."""
    pipeline = Pipeline(linker.dictionary, Detector(linker.dictionary.lexicon, mode), k=1, context=False)
    return list(links(pipeline, {str(i): text for i, text in enumerate(texts)}).values())


def links(pipeline: Pipeline, texts: Mapping[str, str]) -> dict[str, Links]:
    """What a pipeline finds, by document."""
    found: dict[str, Links] = {name: set() for name in texts}
    for p in pipeline.link(Document(name, text) for name, text in texts.items()):
        if not p.abstained:
            found[p.document_id].add(((p.mention.start, p.mention.end), p.candidates[0].entity_id))
    return found


def nearest(spans: SpanLinker, hits: Iterable[Hit]) -> dict[str, Hit]:
    """The nearest name of each concept."""
    found: dict[str, Hit] = {}
    for hit in sorted(hits, key=lambda hit: -hit.cosine):
        for owner in spans.owners(hit.row):
            found.setdefault(owner.entity_id, hit)
    return found


def on_dev(
    linker: CascadeLinker, weights: Floats, texts: Mapping[str, str], gold: Mapping[str, Links]
) -> tuple[SpanModel, dict[str, float]]:
    """Constant and threshold chosen on all documents; figures with both chosen without the document they judge."""
    base = dict(zip(texts, dictionary(linker, texts.values(), "all"), strict=True))
    unchosen = SpanModel((float(weights[0]), float(weights[1]), float(weights[2])), 0.001)
    detector = Detector(linker.dictionary.lexicon, "all")
    documents = list(detector.mentions(Document(name, text) for name, text in texts.items()))
    answers = [
        Answer(p.document_id, (p.mention.start, p.mention.end), p.candidates[0].entity_id, odds(p.probability or 0.0))
        for predictions in SpanLinker(linker, unchosen).link(documents, k=1)
        for p in predictions
    ]
    crossed: dict[str, Links] = {}
    for left in texts:
        shift, threshold = choose([a for a in answers if a.document != left], without(base, left), without(gold, left))
        crossed[left] = base[left] | accepted(answers, left, shift, threshold)
    shift, threshold = choose(answers, base, gold)
    rounded = [round(float(value), DECIMALS) for value in (weights[0] + shift, *weights[1:])]
    return SpanModel(tuple(rounded), round(threshold, DECIMALS)), mention_level(gold, crossed)


def without(documents: Mapping[str, Links], left: str) -> dict[str, Links]:
    """All documents but one."""
    return {name: found for name, found in documents.items() if name != left}


def odds(probability: float) -> float:
    """Logarithm of the odds."""
    kept = min(max(probability, 1e-6), 1 - 1e-6)
    return math.log(kept / (1 - kept))


def accepted(answers: Iterable[Answer], document: str, shift: float, threshold: float) -> Links:
    """The links of a document whose probability reaches the threshold."""
    return {(a.span, a.concept) for a in answers if a.document == document and a.odds + shift >= odds(threshold)}


def choose(answers: Sequence[Answer], base: Mapping[str, Links], gold: Mapping[str, Links]) -> tuple[float, float]:
    """What to add to the log odds so that they sum up to the right answers, and the threshold of the best F1.

    Thresholds lie in the middle between neighbouring answers; of equally good ones the highest counts.
    """
    given = np.array([a.odds for a in answers])
    right = sum((a.span, a.concept) in gold[a.document] for a in answers)
    low, high = -20.0, 20.0
    for _ in range(60):
        shift = (low + high) / 2
        low, high = (shift, high) if (1 / (1 + np.exp(-given - shift))).sum() < right else (low, shift)
    best, chosen = -1.0, 0.5
    steps = np.unique(given + shift)
    for middle in ((steps[:-1] + steps[1:]) / 2).tolist():
        threshold = 1 / (1 + math.exp(-middle))
        found = {d: base[d] | accepted(answers, d, shift, threshold) for d in base}
        f1 = mention_level(gold, found)["f1"]
        if f1 >= best:
            best, chosen = f1, threshold
    return shift, chosen


def measured(
    pipeline: Pipeline,
    dev: Mapping[str, str],
    gold: Mapping[str, Links],
    jax: Mapping[str, str],
    mains: Mapping[str, set[str]],
) -> dict[str, dict[str, float]]:
    """Strict and lenient (overlapping span, right id) figures of GSC+ dev, and documents of both."""
    found, cases = links(pipeline, dev), links(pipeline, jax)
    return {
        "dev_strict": mention_level(gold, found),
        "dev_lenient": lenient(gold, found),
        "dev_documents": document_level({d: {c for _, c in gold[d]} for d in gold}, found),
        "jax_documents": document_level(mains, cases),
    }


def lenient(gold: Mapping[str, Links], found: Mapping[str, Links]) -> dict[str, float]:
    """A link is right where one of the other side has its id and a span that overlaps."""

    def hits(links: Mapping[str, Links], others: Mapping[str, Links]) -> tuple[int, int]:
        near = [
            any(c == concept and a < end and start < b for (a, b), c in others[d])
            for d in links
            for (start, end), concept in links[d]
        ]
        return sum(near), len(near)

    (right, given), (reached, there) = hits(found, gold), hits(gold, found)
    precision, recall = right / given, reached / there
    f1 = 2 * precision * recall / (precision + recall)
    return {name: round(100 * v, 2) for name, v in (("precision", precision), ("recall", recall), ("f1", f1))}


def single_words(
    spans: SpanLinker, texts: Mapping[str, str], gold: Mapping[str, Links]
) -> dict[str, int | list[tuple[str, str, float, bool]]]:
    """How many words stand alone as an unknown one, how many are annotated, and the nearest: word, name, cosine, right.

    Words that carry no finding and those shorter than ``SHORTEST`` are left out.
    """
    words: dict[str, set[str]] = {}
    count = annotated = 0
    for document, text in texts.items():
        for match in WORD.finditer(text):
            word = match.group().lower()
            if not is_empty(word) and not spans.known.knows(word):
                concepts = {concept for span, concept in gold[document] if span == match.span()}
                count, annotated = count + 1, annotated + bool(concepts)
                words.setdefault(word, set()).update(concepts)
    ranking = spans.linker.embedding.nearest(list(words), 1)
    kb = spans.linker.kb
    rated = [
        (word, kb.surface(row), round(score, DECIMALS), not words[word].isdisjoint(kb.owners(row)))
        for word, row, score in zip(words, ranking.rows[:, 0].tolist(), ranking.scores[:, 0].tolist(), strict=True)
    ]
    nearest = sorted(rated, key=lambda each: -each[2])[:NEAREST]
    return {"words": count, "annotated": annotated, "nearest": nearest}


def speed(linker: CascadeLinker, model: SpanModel, texts: Sequence[str]) -> dict[str, float]:
    """Abstracts a second of processor time with and without phrases; every abstract is new, names are encoded."""
    documents = [Document(str(i), text) for i, text in enumerate(texts)]
    found = {"abstracts": float(len(documents))}
    for label, spans in (("without", None), ("with", SpanLinker(linker, model))):
        pipeline = Pipeline(linker, Detector(linker.dictionary.lexicon), k=1, context=False, spans=spans)
        start = time.process_time()
        predictions = sum(1 for _ in pipeline.link(documents))
        found[f"{label}_spans_per_second"] = round(len(documents) / (time.process_time() - start), 1)
        found[f"{label}_spans_predictions"] = float(predictions)
    return found


def print_figures(metrics: Mapping[str, Any]) -> None:
    """A line each."""
    for name, found in metrics.items():
        print(name, found)


if __name__ == "__main__":
    main()
