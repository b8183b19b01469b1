"""What pairs of a small generator's own beams are, where they push it, what they break, for ``RESULTS.md``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generative_tables import NAMES
from tables import percent, read, table

HEAD = """## What pairs of its own beams do to a small generator

By `angel_analysis.py`, which takes the mining and the losses of `angel.py`, on the generators fine-tuned from the long
pre-training; mentions without a text, NCBI with the dictionary without mentions. Pairs under ANGEL's rule of {sample}
training mentions, drawn, and, to compare, those that the development mentions would give. "preserve": the first name is
right and is chosen over the first wrong one; "lower": the first name is right, and a right one further down is chosen
over a wrong one above it; "repair": the first name is wrong, and a right one is chosen over it or another above.

The trainings are at twice the rate of "ANGEL: own beams as pairs", for more epochs of fewer mentions, and nothing
stops them: they show where such training goes.

**Why BC5CDR differs**, the only corpus of the three where DPO alone gains on the development set from this start, in a
fifth of an epoch: not by more to repair. Its training mentions are known as well by heart, one pair of 1,085 repairs,
and what repairs has no share in the gradient. What differs is what the same push does at the start to development
mentions that are wrong: on BC5CDR it lowers wrong names and leaves right ones, on NCBI it lowers both, on AskAPatient
it does little to either. And a fifth of BC5CDR's development mentions (2,053 of 9,531; NCBI: 81 of 787) are of concepts
that the training set has not: there lies nearly all of the gain, 111 fixed against 28 broken of 188 against 95 in all.
It comes early and is partly lost: after thirds of the training 123 / 48, 183 / 69, 188 / 95. One generator and one
training of it; why its right names are spared the figures do not say.
"""
MENTIONS = """**Which pairs.** Training mentions are known nearly by heart: few pairs of NCBI and one of each other
corpus repair anything, where of the development mentions' one in eight (NCBI), nine and fourteen (BC5CDR) would.
The paper does not say how many of its models' training mentions were right, nor of which kinds their pairs were. In
percent of mentions, where their right names stand, and how many are right at once of those whose text is, and is not,
that of a training mention; pairs, with their share in brackets.
"""
PAIRS = """Means of the cosines by character 3-grams (TF-IDF); quantiles of the margin, log p of the chosen less log p
of the rejected name, before training. What "preserve" rejects looks little like the mention and is in the median
already thousands of times less likely than what is right. What is to be repaired on NCBI looks at least as much like
the mention as what is right; on BC5CDR it looks less like it (0.42 against 0.57).
"""
GRADIENTS = """**Which gradient.** Norms of the mean gradients at the start, when all pairs weigh 0.5 beta in DPO and
the likelihood counts in full; without dropout, of up to {probed} pairs of each kind, weighted by the kind's share. Of
DPO's gradient, in percent, what each kind gives: what repairs is less than a hundredth of it.
"""
EFFECTS = """What a step of norm 1 down each loss, or down DPO of one kind of pairs alone, does to the mean log p of
chosen / rejected names, to first order; and its cosine with the best step for the margins of what is to be repaired
in the development set. DPO lowers rejected names and raises chosen ones little, the most those of "lower". Of the
development pairs to be repaired it lowers both names on NCBI and hardly any on AskAPatient; on BC5CDR it lowers the
wrong ones alone, so that their margin gains 3.3 there, 1.5 on NCBI, 0.1 on AskAPatient. Between BC5CDR and NCBI the
difference is what "preserve" does: on NCBI it lowers those right names more than the wrong ones (3.9 against 3.2), on
BC5CDR less (0.5 against 2.8); by "lower" alone the margins gain alike (2.9 and 2.8).
On NCBI those training pairs that repair would, alone, raise what is right there, but they are few;
AskAPatient and BC5CDR have one each, and AskAPatient 18 of "lower", whose figures say little. The likelihood raises
right names, and on AskAPatient the wrong names to be repaired even more.
"""
MOVED = """Two trainings of {epochs} epochs of these pairs, batches of {batch}, a rate of {lr} (the highest that the
paper tried), one seed: change of the mean log p of chosen / rejected names of up to {probed} pairs of each kind, and
what a training pair of each kind weighs, 1 at the start. "paper" is DPO alone: rejected names that were out of reach
fall on, and in the end right ones fall with them, the most where there is something to repair: there wrong names of
BC5CDR fall by 5.3 more than right ones, of NCBI by 2.1. "likelihood" adds the likelihood with weight 1, and right names
of the development set rise, but those that BC5CDR has to repair. "dev: fixed / broken": first names of development
mentions that are right / wrong and were not before; of BC5CDR alone this was looked at on the way.
"""
MASS = """Where the probability is, in percent, for {weighed} mentions of each set that have pairs: at the names that
were the first five before, right and wrong; at others among the ten now found; the rest. Of all that can be written,
and of names alone, as the dictionary allows them token by token. What right names lose by "paper" goes for the most
part to what is no name: of the names' probability hardly more lies beyond the ten than before. With the likelihood
right names have more of all than before, and of the names' probability on NCBI about as much as before. On BC5CDR they
have less of it by either training, most by "paper", though more of them stand first.
"""
ERRORS = """**Which errors.** Development mentions whose first name became right / wrong ("fixed / broken"), and whose
right name left / came among the five ("lost / found"). By "paper" the first names of NCBI change about as often for
the better as for the worse, but right names leave the five: most of them stood there behind a wrong one, and most are
of mentions that are new, of concepts that are not. That pairs have rejected a name does not show in this: of mentions
whose first name is only rejected in pairs none is broken, no name that wins is one, and the counts are small.

On BC5CDR twice as many first names become right as wrong, and as many right names come among the five as leave them.
New mentions of concepts that are not new gain little, 73 / 65, and more of their right names leave the five (56) than
come (23), as on NCBI; what is gained is of new concepts. There too it is not that pairs have rejected the very name: of
the wrong first names that are only rejected in pairs 34 of 173 are fixed, of those in no pair 90 of 498, and nine in
ten names that win are in no pair.
"""
TEXTS = """The texts of the mentions that became right / wrong, of which there are many: the most frequent is 14 of 188.
Several that became right had a name unlike them (quetiapine, tiapride, irritable bowel syndrome) and now have one of
their own words.
"""
KINDS = ("preserve", "lower", "repair")
SETS = ("train", "dev")
PARTS = ("right", "wrong", "other", "rest")
FLIPS = (("fixed", "broken"), ("lost", "found"))
COSINES = ("mention, chosen", "mention, rejected", "chosen, rejected")

Found = dict[str, dict[str, Any]]


def section(results: Path) -> Iterator[str]:
    """Pairs, gradients, what training does to names, probabilities and development mentions."""
    recorded = read(results, "angel_analysis*.json")
    if not recorded:
        return
    found: Found = {corpus: one for result in recorded for corpus, one in result["metrics"].items()}
    options = recorded[0]["options"]
    yield HEAD.format(**options)
    learnt = {corpus: one for corpus, one in found.items() if "training" in one}
    parts = (
        (MENTIONS, _mentions, found),
        (PAIRS, _pairs, found),
        (GRADIENTS, _gradients, found),
        (EFFECTS, _effects, found),
        (MOVED, _moved, learnt),
        (MASS, _mass, learnt),
        (ERRORS, _errors, learnt),
        (TEXTS, _texts, {corpus: one for corpus, one in learnt.items() if any(_cases(one))}),
    )
    for text, rows, of in parts:
        if not of:
            continue
        yield text.format(**options)
        yield from rows(of)
        yield ""


def _sets(found: Found) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for corpus, one in found.items():
        for name in SETS:
            yield NAMES[corpus], name, one["pairs"][name]


def _mentions(found: Found) -> Iterator[str]:
    """A row a set of mentions: where their right names stand, and how many pairs of each kind they give."""
    rows = []
    for corpus, name, one in _sets(found):
        places = [percent(one[key] / one["mentions"]) for key in ("first", "below", "none")]
        new = one["mentions"] - one["seen"]
        right = [
            percent(one["first of seen"] / max(one["seen"], 1)),
            percent((one["first"] - one["first of seen"]) / max(new, 1)),
        ]
        pairs = [one["kinds"][kind]["pairs"] for kind in KINDS]
        shown = [f"{count} ({percent(count / max(sum(pairs), 1))})" for count in pairs]
        rows.append(
            [corpus, name, str(one["mentions"]), *places, *(right if new else ["", ""]), str(one["paired"]), *shown]
        )
    head = ["corpus", "set", "mentions", "first name right", "one below", "none", "first right: seen", "new",
            "with a pair", *KINDS]  # fmt: skip
    yield from table(head, rows)


def _pairs(found: Found) -> Iterator[str]:
    """A row a kind of pairs of a set."""
    rows = []
    for corpus, name, one in _sets(found):
        for kind in KINDS:
            facts = one["kinds"][kind]
            if facts["pairs"]:
                cosines = [f"{facts['cosine'][key]:.2f}" for key in COSINES]
                rows.append([corpus, name, kind, *cosines, *(f"{value:.2f}" for value in facts["margin"])])
    yield from table(["corpus", "set", "pairs", *COSINES, "margin: 5%", "25%", "median", "75%", "95%"], rows)


def _gradients(found: Found) -> Iterator[str]:
    """A row a corpus."""
    rows = []
    for corpus, one in found.items():
        of = one["gradients"]
        share = [percent(of["share"][kind]) if kind in of["share"] else "" for kind in KINDS]
        norms = [f"{of['norm'][name]:.2f}" for name in ("dpo", "likelihood")]
        rows.append([NAMES[corpus], *norms, f"{of['cosine']:.2f}", f"{of['chosen against rejected']:.2f}", *share])
    shares = [f"of DPO: {kind}" for kind in KINDS]
    yield from table(["corpus", "DPO", "likelihood", "cosine", "chosen, rejected: cosine", *shares], rows)


def _effects(found: Found) -> Iterator[str]:
    """A row a corpus and a loss, a column a kind of pairs."""
    ways = [f"{name} {kind}" for name in SETS for kind in KINDS]
    rows = []
    for corpus, one in found.items():
        for step, effects in one["gradients"]["effects"].items():
            there = [effects.get(way) for way in ways]
            cells = [f"{one['chosen']:+.1f} / {one['rejected']:+.1f}" if one else "" for one in there]
            rows.append([NAMES[corpus], step, *cells, f"{there[-1]['cosine']:.2f}" if there[-1] else ""])
    yield from table(["corpus", "step of", *ways, f"{ways[-1]}: cosine"], rows)


def _runs(found: Found) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for corpus, one in found.items():
        for name, run in one["training"].items():
            if name != "before":
                yield corpus, name, run


def _moved(found: Found) -> Iterator[str]:
    """A row a training and a step, a column a kind of pairs."""
    rows, ways = [], [(name, kind) for name in SETS for kind in KINDS]
    for corpus, variant, run in _runs(found):
        for line in run["log"]:
            there = [line[name].get(kind) for name, kind in ways]
            cells = [f"{one['chosen']:+.2f} / {one['rejected']:+.2f}" if one else "" for one in there]
            weights = [f"{one['weight'] / 0.5:.2f}" for one in there[: len(KINDS)] if one]
            flips = line.get("mentions")
            shown = f"{flips['fixed']} / {flips['broken']}" if flips else ""
            rows.append([NAMES[corpus], variant, str(line["step"]), *cells, ", ".join(weights), shown])
    head = ["corpus", "training", "step", *(" ".join(way) for way in ways), "weight", "dev: fixed / broken"]
    yield from table(head, rows)


def _mass(found: Found) -> Iterator[str]:
    """A row a set and a training: shares of the probability of all that can be written, then of that of names."""
    rows = []
    for corpus, one in found.items():
        for name in SETS:
            for variant, run in one["training"].items():
                mass = run["mass"][name]
                cells = [percent(mass[among][part]) for among in ("text", "names") for part in PARTS]
                rows.append([NAMES[corpus], name, variant, *cells])
    head = ["corpus", "set", "after", *(f"{among}: {part}" for among in ("all", "names") for part in PARTS)]
    yield from table(head, rows)


def _errors(found: Found) -> Iterator[str]:
    """A row an answer to a question about mentions, two columns a training; then by what stands first afterwards."""
    rows = []
    for corpus, one in found.items():
        runs = [run["dev"] for name, run in one["training"].items() if name != "before"]
        asked = [("all", "", [run["all"] for run in runs])]
        for question, answers in runs[0]["kinds"].items():
            asked += [(question, answer, [run["kinds"][question][answer] for run in runs]) for answer in answers]
        for question, answer, each in asked:
            counts = [str(each[0]["mentions"]), str(each[0]["right"])]
            cells = [f"{flips[a]} / {flips[b]}" for flips in each for a, b in FLIPS]
            rows.append([NAMES[corpus], question, answer, *counts, *cells])
        for answer in sorted({answer for run in runs for part in run["winners"].values() for answer in part}):
            won = [[run["winners"][name].get(answer, 0) for name in FLIPS[0]] for run in runs]
            rows.append([NAMES[corpus], "the name that wins", answer, "", ""])
            rows[-1] += [cell for fixed, broken in won for cell in (f"{fixed} / {broken}", "")]
    trainings = dict.fromkeys(name for one in found.values() for name in one["training"] if name != "before")
    heads = [f"{name}: {a} / {b}" for name in trainings for a, b in FLIPS]
    yield from table(["corpus", "by", "answer", "mentions", "right before", *heads], rows)


def _cases(one: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Training, what became of mentions, which these are."""
    for name, run in one["training"].items():
        for kind, found in run.get("dev", {}).get("cases", {}).items():
            yield name, kind, found


def _texts(found: Found) -> Iterator[str]:
    """A row a training and what became of mentions."""
    rows = []
    for corpus, one in found.items():
        for name, kind, each in _cases(one):
            count = one["training"][name]["dev"]["all"][kind]
            most = [f"{case['mention']}: {case['was']}, {case['is']} ({case['count']})" for case in each["most"]]
            rows.append([NAMES[corpus], name, kind, str(count), str(each["texts"]), "; ".join(most)])
    head = ["corpus", "training", "became", "mentions", "texts", "the most frequent: before, after (times)"]
    yield from table(head, rows)
