"""What cascades reach on the test sets, out of ``cascade_test_*.json``, and what they get wrong, for ``RESULTS.md``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import targets
from cascade_tables import NAMES
from tables import percent, read, table

from nomina.text import normalise

HEAD = """## Cascade, test sets

acc@1 / acc@5, any id, and beside it strict; each protocol as in its own table above. Weights and probabilities are
learnt on the development mentions in the form of the protocol (as-published: against the dictionary without their own
names), models were trained on the training set; the test set was looked at once. The generator reads mentions without
their texts, scores the 16 names that are best so far and offers 5 of its own; a part alone ranks all names, the
generator by 5 beams. Encoder "tuned": fine-tuned on the corpus, else the one that nomina comes with; none that was
fine-tuned on NCBI was at hand. One generator reads BC5CDR's diseases and chemicals. Target: the design's for a system
trained on the corpus. Published: the highest acc@1 of its protocol, of BC5CDR-c with CTD's chemicals, of AskAPatient
over ten folds, as the target; without the labels that its KB lacks (see "Cascade") its generator has 84.4 in place of
the 85.6 in "Generation". Ahead: of the best part, by the rule that the protocol compares by (clean-raw: strict),
with the 95% interval over resampled documents and the exact McNemar test over mentions.
"""
AFTER = """NCBI's raw texts are linked to MEDIC as it is spelt, where the generator, fine-tuned on BioSyn's spelling,
has seven points less than with BioSyn's dictionary ("GenBioEL: with and without pre-training"). From raw texts a
cascade is ahead of each of its parts, and so it is on chemicals in every form, for which no encoder was fine-tuned.
Where mentions are as BioSyn processed them and a part was fine-tuned on the names of the very dictionary (NCBI's
generator, BC5CDR-d's encoder), and on AskAPatient, it is not surely ahead of that one; nor is it of the encoder as
published on diseases, where most mentions equal a name. What the table lacks was not run; the encoder fine-tuned on
BC5CDR-c was not kept.
"""
ERRORS = """## What cascades get wrong

{count} errors of development mentions of {corpora}, {each} of either protocol, drawn from the distinct ones of fitted
cascades and sorted by kind by a reader; BC5CDR's were not read. They have {texts} texts, capitals and punctuation
aside, of which {both} stand under both protocols. The cascades are not those of the tables: their few weights were
learnt on {fitted} mentions of the same set, by the commands under "Runs", and such mentions are partly among the
errors. For {near} errors the right concept is among the cascade's 20 best, for {alone} it is the first of a part alone
({parts}); {seen} of the mentions stand in the training set.

Most are decided by annotators and dictionaries: which of two related concepts is meant, and names that the dictionary
gives to another concept. Several concepts in one mention can be had right only by taking the mention apart before it
is linked; abbreviations, genes in the place of diseases and homonyms need the text, which this generator does not
read. Names of nearly the same words are found by other parts and voted down by the generator, which prefers what
training has shown.
"""
PARTS = {"dictionary": "dictionary", "tfidf": "TF-IDF", "embedding": "embedding", "generative": "generator"}
PROTOCOLS = ("as-published", "as-published-generative", "clean-kb", "clean-raw")
CORPORA = ("ncbi", "bc5cdr-d", "bc5cdr-c", "bc5cdr", "aap-0")
COLUMNS = ("corpus", "mentions", "target", "published", "encoder", "cascade", "strict", *PARTS.values(), "ahead",
           "ECE on dev")  # fmt: skip
LEAST = 0.001

Papers = Mapping[str, Sequence[dict[str, Any]]]


def section(results: Path, papers: Papers) -> Iterator[str]:
    """A row for each corpus and protocol, then the errors by kind."""
    found = read(results, "cascade_test_*.json")
    if found:
        yield HEAD
        for protocol in PROTOCOLS:
            some = [one for one in found if one["protocol"] == protocol]
            if some:
                yield f"**{protocol}**\n"
                yield from table(COLUMNS, (row(one, papers) for one in sorted(some, key=_corpus)))
                yield ""
        yield AFTER
    yield from errors(read(results, "cascade_errors.json"))


def _corpus(result: dict[str, Any]) -> int:
    return CORPORA.index(result["corpus"])


def row(result: dict[str, Any], papers: Papers) -> list[str]:
    """A corpus under a protocol."""
    corpus, protocol, metrics = result["corpus"], result["protocol"], result["metrics"]
    cascade, *others = metrics["systems"]
    parts = {system["name"]: at(system, "any") for system in others}
    aim = target(corpus, protocol)
    met = "" if aim is None else f"{aim:.1f} ({'met' if reached(cascade, aim) else 'missed'})"
    encoder = "tuned" if "--encoder" in result["command"] else "default"
    return [NAMES[corpus], f"{metrics['corpus']['mentions']:,}", met, published(corpus, protocol, papers),
            encoder, f"**{at(cascade, 'any')}**", at(cascade, "strict"), *(parts.get(part, "") for part in PARTS),
            ahead(metrics), f"{metrics['dev']['ece']:.3f}"]  # fmt: skip


def at(system: dict[str, Any], rule: str) -> str:
    """Accuracy at 1 and, where it ranks as deep, 5."""
    figures = system["metrics"][rule]
    return " / ".join(percent(figures[k]) for k in ("1", "5") if k in figures)


def target(corpus: str, protocol: str) -> float | None:
    """What the design aims at for a system trained on the corpus."""
    name = "askapatient" if corpus.startswith("aap-") else corpus
    aims = {one.protocol: one.aims for one in targets.TARGETS if one.trained}
    return aims.get(protocol.removesuffix("-generative"), {}).get(name)


def reached(system: dict[str, Any], aim: float) -> bool:
    """Whether a target is met, any id, at 1."""
    first: float = system["metrics"]["any"]["1"]
    return 100 * first >= aim


def published(corpus: str, protocol: str, papers: Papers) -> str:
    """The highest figure of the papers; nothing where there is none."""
    name = {"aap-0": "askapatient", "bc5cdr-c": "bc5cdr-c-ctd"}.get(corpus, corpus)
    figures = [paper[name][0] for paper in papers.get(protocol, ()) if name in paper]
    return f"{max(figures):.1f}" if figures else ""


def ahead(metrics: dict[str, Any]) -> str:
    """How far a cascade is ahead of its best part, and how sure that is."""
    best = max(metrics["systems"][1:], key=lambda system: system["primary"]["value"])["name"]
    pair = next(one for one in metrics["comparisons"] if one["b"] == best)
    low, high = (f"{100 * end:+.1f}" for end in pair["interval"])
    p = pair["p_mcnemar"]
    sure = f"p < {LEAST}" if p < LEAST else f"p = {p:.3f}"
    return f"{100 * pair['difference']:+.1f} [{low}, {high}] of {PARTS[best]}, {sure}"


def errors(found: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A row a kind, the most frequent first, with how many of each cell and the shortest of them."""
    cases = [case for result in found for case in result["errors"] if "kind" in case]
    if not cases:
        return
    near, seen = sum(case["place"] is not None for case in cases), sum(case["seen"] for case in cases)
    alone = sum(any(part["right"] for part in case["parts"].values()) for case in cases)
    parts = ", ".join(
        f"{name} {sum(c['parts'][part]['right'] for c in cases if part in c['parts'])}" for part, name in PARTS.items()
    )
    fitted = " and ".join(dict.fromkeys(f"{one['fitted_on']:,}" for one in found[0]["metrics"].values()))
    texts = _texts(cases)
    yield ERRORS.format(
        count=len(cases), each=found[0]["sample"], near=near, alone=alone, parts=parts, seen=seen, fitted=fitted,
        corpora=" and ".join(dict.fromkeys(NAMES[case["corpus"].split("_")[0]] for case in cases)),
        texts=len(texts), both=sum(len(protocols) > 1 for protocols in texts.values()),
    )  # fmt: skip
    kinds: dict[str, list[dict[str, Any]]] = {}
    for case in cases:
        kinds.setdefault(case["kind"], []).append(case)
    columns = sorted({tuple(case["corpus"].split("_")) for case in cases}, key=_place)
    rows = []
    for kind, some in sorted(kinds.items(), key=lambda each: (-len(each[1]), each[0])):
        counts = [str(sum(case["corpus"] == "_".join(cell) for case in some)) for cell in columns]
        rows.append([kind, *counts, example(min(some, key=_length))])
    yield from table(["kind", *(f"{NAMES[corpus]}, {protocol}" for corpus, protocol in columns), "for example"], rows)
    yield ""


def _texts(cases: Sequence[dict[str, Any]]) -> dict[str, set[str]]:
    """The protocols under which each text stands."""
    found: dict[str, set[str]] = {}
    for case in cases:
        found.setdefault(normalise(case["mention"]), set()).add(case["corpus"].split("_")[1])
    return found


def example(case: dict[str, Any]) -> str:
    """What was answered, and what is right."""
    answer = " and ".join(names[0] for names in case["answers"] if names) or "nothing"
    right = " and ".join(case["gold_names"]) or "a concept that the KB lacks"
    return f"{case['mention']}: {answer}, not {right}".replace("|", " / ")


def _length(case: dict[str, Any]) -> tuple[int, str]:
    return len(example(case)), case["mention"]


def _place(cell: tuple[str, ...]) -> tuple[int, int]:
    return PROTOCOLS.index(cell[1]), CORPORA.index(cell[0])
