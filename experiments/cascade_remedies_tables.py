"""What remedies of cascades' errors do on development sets, for ``RESULTS.md``.

Out of ``cascade_remedies.json`` and ``cascade_brackets.json``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cascade_tables import NAMES
from tables import read, table

HEAD = """### Remedies of these errors, tried

Raw development mentions ({sizes}; BC5CDR-d's
are drawn), judged as under "Cascade": dictionary of clean-kb, first concept, any id, weights of other documents, no
test data. BC5CDR-d's cascade is another than there: a generator from the long pre-training in place of the first,
"sure" at 99% in place of 95%, and a fifth of the documents, to learn from too, which is why "none" is not its figure
there. In brackets the difference to the cascade without the remedy in points, with the 95% interval over resampled
documents, mentions won and lost, and the exact McNemar test, not corrected for the number of tests.
{offered} mentions have a right name among those that the generator scores;
for {first} of the wrong ones that name is the first of a part.

Training mentions as names: further names of their concepts, and all is learnt anew. That KB is not one of clean-kb by
its definition, though it holds no development mention. Votes: the ranking behind the generator is learnt with one
divided by the place in each part's list, with the number of parts whose first name is of the same concept, or both.
"""
APART = """Taken apart: the parts' first concepts stand before those of the whole mention. A mention that needs n
concepts is right, strictly, where they are the first n. As detected: as nomina reads enumerations in a text, where each
part has to be a name ("breast and ovarian cancer"); nothing left: only where no other word is in the mention
("hereditary breast and ovarian cancer" is one concept); by form: at commas, "and", "or" and slashes, whether the KB has
the parts or not; surer: only where the cascade is surer of each part than of the whole. Readings that change nothing
are left out.
"""
AFTER = """Training mentions as names are a clear gain on BC5CDR-d, mostly of mentions that stand in the training set:
they say what its annotators mean by "depression", "hepatitis" or "nephrotoxicity". Its generator was fine-tuned on
these mentions too, but on the names of another KB. NCBI's was on those of this dictionary, and there as many mentions
are lost as won: the same words ("breast and ovarian cancer") are annotated as different concepts. The dictionaries of
as-published have such names; clean-kb is without them on purpose.

Votes are no sure gain: what is right is mostly offered, but weights that are learnt from some hundred mentions do not
tell when a part is to be believed against the generator; with places NCBI gets worse.

Taken apart, all needed concepts stand first, but where the protocols look, at 1 and 5, little changes: one first answer
cannot be two concepts, and among five they mostly were. Mentions that look the same and are one concept lose their
first place, and even the same words are annotated both ways. The most careful readings win more than they lose by
"strict at n", mostly of one phrase, breast and ovarian cancer; BC5CDR-d has hardly any. On NCBI none gains without
harm, so mentions that are given are not taken apart.
"""
BRACKETS = """Names in brackets: "Mellaril (thioridazine)". A mention that no name of the dictionary equals is read as
the name behind it in brackets, or in front of the brackets that it stands in; what the text defines as a short form is
left alone, as that is read already. Raw development mentions, strict, with the cascades of the tables, whose weights
were learnt on them. The rule was found on them, too; training texts, in which nobody looked for it, say how often the
name alone is right.
"""
AFTER_BRACKETS = """Names in brackets are a clear gain on chemicals: of brands, codes and formulas, at which the cascade
guesses and which the text explains. Of diseases hardly a mention is read so, none is won, and what stands in brackets
is rather its kind or what follows from it: "myelosuppression (leukopenia)". In the training texts the name alone is
right less often than where the rule was found, yet far more often than the cascade without it is on such mentions of
the development set. So it is a remedy for chemicals only; nomina's cascades do not have it.
"""
BRACKETS_COLUMNS = ("corpus", "mentions", "none", "read so", "right", "all mentions", "training: read so", "right")
WAYS = {"places": "votes: places", "agreement": "votes: parts that agree", "both": "votes: both"}
COLUMNS = ("corpus", "reading", "need several, read so", "strict at n", "strict at 5", "one concept, read so",
           "first is right", "all mentions, strict at n", "all mentions, first, any id")  # fmt: skip
LEAST = 0.001


def section(results: Path) -> Iterator[str]:
    """A row a remedy, a column a corpus; then each reading of enumerations."""
    for result in read(results, "cascade_remedies.json"):
        found = result["metrics"]
        yield HEAD.format(
            sizes=", ".join(f"{NAMES[corpus]}: {size(own)}" for corpus, own in found.items()),
            offered=" and ".join(f"{own['offered']:,} of {own['mentions']:,}" for own in found.values()),
            first=" and ".join(
                f"{own['wrong_though_first_of_a_part']} of {own['mentions'] - own['right']}" for own in found.values()
            ),
        )
        rows = [["none", *(f"{100 * own['right'] / own['mentions']:.1f}" for own in found.values())]]
        rows.append(["training mentions as names", *(beside(own["names"]) for own in found.values())])
        for who, told in (("seen", "a training mention"), ("unseen", "no training mention")):
            rows.append([f"... of mentions that are {told}", *(moved(own["names"][who]) for own in found.values())])
        rows += [[told, *(beside(own["votes"][way]) for own in found.values())] for way, told in WAYS.items()]
        yield from table(["remedy", *(NAMES[corpus] for corpus in found)], rows)
        yield ""
        yield APART
        yield from table(COLUMNS, (row for corpus, own in found.items() for row in readings(corpus, own["apart"])))
        yield ""
        yield AFTER
    for result in read(results, "cascade_brackets.json"):
        yield BRACKETS
        yield from table(BRACKETS_COLUMNS, (bracketed(corpus, own) for corpus, own in result["metrics"].items()))
        yield ""
        yield AFTER_BRACKETS


def size(figures: dict[str, Any]) -> str:
    """Mentions and documents."""
    return f"{figures['mentions']:,} of {figures['documents']:,} documents"


def beside(figures: dict[str, Any]) -> str:
    """An accuracy, and how it differs from that without the remedy."""
    return f"{figures['accuracy']:.1f} ({changed(figures)})"


def changed(figures: dict[str, Any]) -> str:
    """Points with their interval, mentions won and lost, the test."""
    low, high = figures["interval"]
    p = figures["mcnemar_p"]
    sure = f"p < {LEAST}" if p < LEAST else f"p = {p:.3f}"
    interval = f"[{low:+.1f}, {high:+.1f}]"
    return f"{figures['difference']:+.1f} {interval}, {figures['gained']} won, {figures['lost']} lost, {sure}"


def moved(figures: dict[str, int]) -> str:
    """Right ones before and after, of how many."""
    return f"{figures['before']:,} → {figures['after']:,} of {figures['mentions']:,}"


def bracketed(corpus: str, figures: dict[str, Any]) -> list[str]:
    """What names in brackets do to a corpus's cascade."""
    read_so, train = figures["read"], figures["train"]
    before = f"{100 * figures['right'] / figures['mentions']:.1f}"
    right = f"{read_so['before']:,} → {read_so['after']:,}"
    return [NAMES[corpus].partition(",")[0], f"{figures['mentions']:,}", before, f"{read_so['mentions']:,}", right,
            beside(figures), f"{train['mentions']:,}", f"{train['right']:,}"]  # fmt: skip


def readings(corpus: str, apart: dict[str, Any]) -> Iterator[list[str]]:
    """A row for each way of reading enumerations that changes anything."""
    many = apart["several"]["mentions"]
    for name, own in apart["readings"].items():
        if not any(own[rule][change] for rule in ("strict", "any") for change in ("gained", "lost")):
            continue
        several, one = own["several"], own["one"]
        yield [
            NAMES[corpus],
            name,
            f"{several['after']['mentions']} of {many}",
            *(f"{several['before'][rule]} → {several['after'][rule]}" for rule in ("strict", "five")),
            str(one["after"]["mentions"]),
            f"{one['before']['any']} → {one['after']['any']}",
            changed(own["strict"]),
            changed(own["any"]),
        ]
