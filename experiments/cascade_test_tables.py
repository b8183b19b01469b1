"""What cascades reach on the test sets, out of ``cascade_test_*.json``, and what they get wrong, for ``RESULTS.md``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import targets
from cascade_tables import NAMES, generator_of
from tables import percent, read, table

from nomina.text import normalise

HEAD = """## Cascade, test sets

acc@1 / acc@5, any id, and beside it strict; each protocol as in its own table above. Weights and probabilities are
learnt on the development mentions in the form of the protocol (as-published: against the dictionary without their own
names), models were trained on the training set; each cascade has looked at the test set once. The generator reads
mentions without their texts, scores the 16 names that are best so far and offers 5 of its own; a part alone ranks all
names, the generator by 5 beams. Encoder "tuned": fine-tuned on the corpus, else the one that nomina comes with; of
NCBI the latter, as a cascade with tuned models was no better on the development set ("Cascade"). BC5CDR's generators
read diseases and chemicals, where nothing else is said the one before pairs; "by ANGEL", of the joint set one with
the likelihood beside DPO, else one by the paper's loss at a lower rate ("Runs": angel-mini, slow-bc5cdr).
AskAPatient's mentions have no texts, so that its two protocols are one. Target: the design's for a system trained on
the corpus. Published: the highest acc@1 of its protocol, of BC5CDR-c with CTD's chemicals, of AskAPatient over ten
folds, as the target; without the labels that its KB lacks (see "Cascade") its generator has 84.4 in place of the 85.6
in "Generation". Ahead: of the best part, by the rule that the protocol compares by (clean-raw: strict), with the 95%
interval over resampled documents and the exact McNemar test over mentions. On dev: the cascade's accuracy on the
development mentions, by which one of several is chosen, and how far its probabilities are off (ECE).
"""
AFTER = """NCBI's raw texts are linked to MEDIC as it is spelt, where the generator, fine-tuned on BioSyn's
spelling, has seven points less than with BioSyn's dictionary ("GenBioEL: with and without
pre-training"). Under clean-raw a cascade is ahead of each of its parts, and so it is on chemicals in
every form where the encoder was not fine-tuned. Where it was, and the generator has seen pairs, both are
better alone, the cascade too on the development set and not on the test set. Where mentions are as
BioSyn processed them and a part was fine-tuned on the names of the very dictionary (NCBI's generator,
BC5CDR-d's encoder), and on AskAPatient, it is little ahead of that one, or not surely; nor of the
encoder on diseases as published, where most mentions equal a name. Behind pairs of its own beams (ANGEL)
BC5CDR's generator is better alone, and of diseases has the right concept less often among its five. With
it a cascade of diseases is better where mentions are looked up without those of training among the names
(clean-kb), by the development set too; elsewhere development sets tell the two apart by less than a
quarter of a point, test sets by less than a half: the other parts, so it seems, had offered before what
the pairs win. What the table lacks was not run.
"""
ERRORS = """## What cascades get wrong

{count} errors of development mentions, of either protocol {shares},
drawn from the distinct ones of fitted cascades; a reader gave each a kind and the remedy that it asks for. They have
{texts} texts, capitals and punctuation aside, of which {both} stand under both protocols. BC5CDR's cascades are those
of the tables above with the generator before pairs, NCBI's are not. The few weights were learnt on mentions of the
same set, by the commands under "Runs", and such mentions are among the errors. Found: how often the right concept is
among the cascade's 20 best, is the first of any part alone, and of each.
"""
KINDS = """Errors of diseases are mostly decided by annotators and dictionaries: which of two related concepts is meant,
and, of NCBI, names that the dictionary gives to another concept. Several concepts in one mention can be had right only
by taking the mention apart before it is linked; genes in the place of diseases and homonyms need the text, which this
generator does not read. More than half of the chemicals' errors are brands, codes, formulas and short forms, which
share no word with any name that their concept has here. Names of nearly the same words are found by other parts and
voted down by the generator, which prefers what training has shown.
"""
REMEDIES = """What the reader took each to ask for. None: gold is no better than the answer, or the training set has the
mention as another concept. Weighed otherwise: a part alone is right, and one can see why. In brackets: "Mellaril
(thioridazine)", or "PA" where the text defines "PAs"; clean-kb has no texts, so that it cannot help there. One record:
the dictionary has the disease twice, and the annotators took the other.
"""
REMEDIED = """Training mentions as names, votes of parts and mentions taken apart are tried below. Of BC5CDR-d little
asks for the first: the encoder of this cascade was fine-tuned on these mentions, which that of the cascade below was
not, and what is still wrong of them mostly stands in the training set as another concept. As little is to be taken
apart. Votes are asked for more often than they help. Chemicals ask for names, from the text or from other vocabularies:
neither the encoder that nomina comes with nor the generator can guess them. Those in brackets are tried below.
"""
PARTS = {"dictionary": "dictionary", "tfidf": "TF-IDF", "embedding": "embedding", "generative": "generator"}
PROTOCOLS = ("as-published", "as-published-generative", "clean-kb", "clean-raw")
CORPORA = ("ncbi", "bc5cdr-d", "bc5cdr-c", "bc5cdr", "aap-0")
COLUMNS = ("corpus", "mentions", "target", "published", "encoder", "cascade", "strict", *PARTS.values(), "ahead",
           "on dev", "ECE")  # fmt: skip
READ = ("cell", "fitted on", "mentions", "right", "distinct errors", "read", "found among 20", "found by a part",
        *PARTS.values(), "in the training set")  # fmt: skip
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
    yield from errors(read(results, "cascade_errors*.json"))


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
    named = NAMES[corpus] + (", generator by ANGEL" if generator_of(result["command"]) == "ANGEL" else "")
    return [named, f"{metrics['corpus']['mentions']:,}", met, published(corpus, protocol, papers),
            encoder, f"**{at(cascade, 'any')}**", at(cascade, "strict"), *(parts.get(part, "") for part in PARTS),
            ahead(metrics), f"{100 * metrics['dev']['accuracy']:.1f}", f"{metrics['dev']['ece']:.3f}"]  # fmt: skip


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
    """A row for each cell that was read; then one for each kind and one for each remedy, the most frequent first."""
    cases = [case for result in found for case in result["errors"] if "kind" in case]
    if not cases:
        return
    texts, cells = _texts(cases), {cell: counts for result in found for cell, counts in result["metrics"].items()}
    of_corpora = (dict.fromkeys(_named(cell).split(",")[0] for cell in result["metrics"]) for result in found)
    yield ERRORS.format(
        count=len(cases), texts=len(texts), both=sum(len(protocols) > 1 for protocols in texts.values()),
        shares=", ".join(f"{one['sample']} of {' and '.join(of)}" for one, of in zip(found, of_corpora, strict=True)),
    )  # fmt: skip
    yield from table(READ, (_read(cell, cells[cell], cases) for cell in sorted(cells, key=_place)))
    yield ""
    yield KINDS
    yield from counted(cases, "kind")
    yield ""
    yield REMEDIES
    yield from counted(cases, "remedy")
    yield ""
    yield REMEDIED


def _read(cell: str, counts: dict[str, Any], cases: Sequence[dict[str, Any]]) -> list[str]:
    """How many of a cell's errors were read, and what finds the right concept."""
    some = [case for case in cases if case["corpus"] == cell]
    alone = [sum(case["parts"].get(part, {}).get("right", False) for case in some) for part in PARTS]
    reached = sum(any(part["right"] for part in case["parts"].values()) for case in some)
    found = [sum(case["place"] is not None for case in some), reached, *alone, sum(case["seen"] for case in some)]
    totals = [f"{counts[what]:,}" for what in ("fitted_on", "mentions", "right", "distinct_errors")]
    return [_named(cell), *totals, str(len(some)), *map(str, found)]


def counted(cases: Sequence[dict[str, Any]], what: str) -> Iterator[str]:
    """How many errors of each cell have each value of a field, with the shortest of them."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for case in cases:
        groups.setdefault(case[what], []).append(case)
    cells = sorted({case["corpus"] for case in cases}, key=_place)
    rows = []
    for value, some in sorted(groups.items(), key=lambda each: (-len(each[1]), each[0])):
        counts = [str(sum(case["corpus"] == cell for case in some)) for cell in cells]
        rows.append([value, *counts, example(min(some, key=_length))])
    yield from table([what, *map(_named, cells), "for example"], rows)


def _named(cell: str) -> str:
    corpus, protocol = cell.split("_")
    return f"{NAMES[corpus].partition(',')[0]}, {protocol}"


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


def _place(cell: str) -> tuple[int, int]:
    corpus, protocol = cell.split("_")
    return PROTOCOLS.index(protocol), CORPORA.index(corpus)
