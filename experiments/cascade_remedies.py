"""Remedies of what cascades get wrong (``cascade_errors.py``), tried on development mentions.

    python experiments/cascade_remedies.py ncbi bc5cdr-d --generators FOLDER FOLDER [--documents 150] [--work DIR]

Corpora and judging are those of ``cascade.py``: raw texts, the first concept, any id, weights of other documents; no
test data is read. Against the same cascade without a remedy:

names: the mentions of the training set are further names of their concepts, and the cascade is fitted anew. Such a KB
is not one of clean-kb by its definition, though it holds no development mention.
votes: the last part's ranking is learnt with more features: one divided by the place in each part's list, and the
number of parts whose first name is of the same concept.
apart: an enumeration is read as its parts (``READINGS``), whose first concepts stand before those of the whole. A
mention that needs n concepts is right where they are the first n ("strict at n").

Writes ``results/cascade_remedies.json``. ``--documents``: so many, drawn, where a corpus has more.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from cascade import CORPORA, card, parts_of
from common import parser, record
from eval_kbs import Workshop, of_type
from eval_tasks import TASKS
from numpy.typing import NDArray

from nomina.corpora import read_corpus
from nomina.detect import Detector, Found
from nomina.enumerations import joined
from nomina.evaluation.ids import IdMap
from nomina.evaluation.match import pair
from nomina.evaluation.outcome import KS, outcome
from nomina.evaluation.significance import mcnemar, paired_bootstrap
from nomina.kb.store import KnowledgeBase
from nomina.lexicon import Lexicon
from nomina.linkers.fitted_cascade.linker import FittedCascadeLinker
from nomina.linkers.fitted_cascade.parts import PartOptions
from nomina.linkers.fitted_cascade.pools import FEATURES, Flags, Floats, Pools
from nomina.linkers.fitted_cascade.weights import Owners
from nomina.text import normalise
from nomina.training.cascade import fit
from nomina.training.cascade.fit import Dev, Judged, dev_of
from nomina.types import Candidate, Document, Mention, Prediction

NAMED = "{}-mentions"
"""A KB with the training mentions as names."""
SEED, DEPTH = 0, 5
FIVE = KS.index(DEPTH)
JOINTS = re.compile(r"\s*(?:,\s*(?:and\s+|or\s+)?|\s(?:and/or|and|or)\s|/)\s*")

Hits = NDArray[np.bool_]
Reading = Callable[[Lexicon, str], list[str]]


class Fitted(NamedTuple):
    """A cascade, what the folds say of it, and what each of its stages was learnt from: the arguments of ``judge``."""

    linker: FittedCascadeLinker
    judged: Judged
    stages: list[tuple[Any, ...]]


class Outcomes(NamedTuple):
    """Of each mention whether the first concept is right, all needed ones are the first ones, or are among five."""

    any: Hits
    strict: Hits
    five: Hits


def main() -> None:
    """Fit, try, record, print, corpus by corpus."""
    arguments = command_line().parse_args()
    shop, metrics = Workshop(arguments.shared, arguments.work), {}
    for corpus, generator in zip(arguments.corpora, arguments.generators, strict=True):
        arguments.generator = generator
        parts = parts_of(arguments)
        metrics[corpus] = tried(corpus, shop, parts, arguments.documents)
        print(corpus, metrics[corpus], flush=True)
        described = [{"part": part.part, "many": part.many, "beams": part.beams} for part in parts]
        record("cascade_remedies", metrics, seed=SEED, parts=described, card=card(generator))


def command_line() -> argparse.ArgumentParser:
    """The options."""
    options = parser(__doc__)
    options.add_argument("corpora", nargs="+", choices=list(CORPORA))
    options.add_argument("--generators", nargs="+", required=True, help="one for each corpus")
    options.add_argument("--encoder", default="", help="by default the one that nomina comes with")
    options.add_argument("--scored", type=int, default=16, help="names that the generator scores")
    options.add_argument("--beams", type=int, default=5, help="names that the generator finds itself")
    options.add_argument("--documents", type=int, default=0, help="0: all")
    options.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "nomina-evaluation")
    return options


def tried(corpus: str, shop: Workshop, parts: Sequence[PartOptions], many: int) -> dict[str, Any]:
    """All remedies of one corpus."""
    name, kind, place = CORPORA[corpus]
    kb, documents = shop(name), drawn(list(of_type(read_corpus(shop.file(*place)), kind)), many)
    dev = dev_of(documents, kb)
    base = fitted(kb, parts, dev)
    figures = {"mentions": len(dev.queries), "documents": len(set(dev.groups)), **reach(base)}
    print(corpus, figures, flush=True)
    votes = {way: against(voted(base, read), base.judged.right, dev) for way, read in VOTES.items()}
    parts_read = apart(base, kb, dev)
    named = fitted(shop(NAMED.format(name)), parts, dev).judged.right
    train = next(task.train(shop) for task in TASKS if (task.corpus, task.protocol) == (corpus, "clean-raw"))
    seen = {normalise(mention.text) for document in train for mention in document.mentions}
    known = np.array([normalise(query.mention.text) in seen for query in dev.queries])
    names = against(named, base.judged.right, dev) | {
        who: {
            "mentions": int(some.sum()),
            "before": int(base.judged.right[some].sum()),
            "after": int(named[some].sum()),
        }
        for who, some in (("seen", known), ("unseen", ~known))
    }
    return {**figures, "names": names, "votes": votes, "apart": parts_read}


def drawn(documents: list[Document], many: int) -> list[Document]:
    """So many of them, each as likely as any other, in their order; all where it is 0 or there are no more."""
    if not 0 < many < len(documents):
        return documents
    kept = sorted(random.Random(SEED).sample(range(len(documents)), many))
    return [documents[i] for i in kept]


def fitted(kb: KnowledgeBase, parts: Sequence[PartOptions], dev: Dev) -> Fitted:
    """``fit.fitted``, with what its stages were learnt from."""
    stages: list[tuple[Any, ...]] = []
    judge = fit._judged

    def noted(*given: Any) -> Any:  # noqa: ANN401
        stages.append(given)
        return judge(*given)

    with patch.object(fit, "_judged", noted):
        linker, _, judged = fit.fitted(kb, parts, dev)
    return Fitted(linker, judged, stages)


def reach(base: Fitted) -> dict[str, Any]:
    """How many mentions are right; how many have a right name in front of the last part, or as the first of a part."""
    pools, right, *_ = base.stages[-1]
    rows = right.rows(pools)
    firsts = (pools.features[:, 1::FEATURES] == 1).any(axis=1) & rows
    offered, first = (set(pools.mention[some].tolist()) for some in (rows, firsts))
    lost = {int(i) for i in np.flatnonzero(~base.judged.right)}
    return {
        "right": int(base.judged.right.sum()),
        "offered": len(offered),
        "first_of_a_part": len(first),
        "wrong_though_first_of_a_part": len(first & lost),
    }


def against(new: Hits, old: Hits, dev: Dev) -> dict[str, Any]:
    """A remedy beside the cascade without it; see ``compared``."""
    return compared(new, old, dev.groups, [query.mention.text for query in dev.queries])


def compared(new: Hits, old: Hits, documents: Sequence[str], mentions: Sequence[str]) -> dict[str, Any]:
    """One beside another, in percent and points; the distinct texts that it wins and loses."""
    paired, exact = paired_bootstrap(new, old, documents), mcnemar(new, old)
    texts = np.array(mentions, object)
    return {
        "accuracy": round(100 * float(new.mean()), 2),
        "difference": round(100 * paired.difference, 2),
        "interval": [round(100 * end, 2) for end in paired.interval],
        "gained": exact.only_a,
        "lost": exact.only_b,
        "bootstrap_p": round(paired.p, 4),
        "mcnemar_p": round(exact.p_exact, 4),
        "texts": {"gained": sorted(set(texts[new & ~old])), "lost": sorted(set(texts[old & ~new]))},
    }


def voted(base: Fitted, read: Callable[[Pools, Owners], Floats]) -> Hits:
    """Whether each mention is right where names are ranked by more features behind the last part."""
    pools, right, fold, reached, owners = base.stages[-1]
    _, _, hits = fit._judged(widened(pools, read(pools, owners)), right, fold, reached, owners)
    return np.where(reached, hits, base.judged.right)


def widened(pools: Pools, more: Floats) -> Pools:
    """With further values, (t, v), by which names are ranked as by those of parts."""
    columns = np.stack([more, np.zeros_like(more)], axis=2).reshape(len(more), -1)
    return pools._replace(features=np.hstack([pools.features, columns]))


def places(pools: Pools, owners: Owners) -> Floats:
    """One divided by the place of each name in each part's list, (t, parts)."""
    del owners
    return pools.features[:, 1::FEATURES]


def agreement(pools: Pools, owners: Owners) -> Floats:
    """How many parts have a name of the same concept first, (t, 1)."""
    firsts = pools.features[:, 1::FEATURES] == 1
    named: dict[tuple[int, int], set[int]] = {}
    for entry, part in np.argwhere(firsts).tolist():
        for owner in owners(int(pools.rows[entry])):
            named.setdefault((int(pools.mention[entry]), owner), set()).add(part)
    entries = zip(pools.mention.tolist(), pools.rows.tolist(), strict=True)
    counts = [len(set().union(*(named.get((m, owner), ()) for owner in owners(row)))) for m, row in entries]
    return np.array(counts, np.float64)[:, None]


VOTES: dict[str, Callable[[Pools, Owners], Floats]] = {
    "places": places,
    "agreement": agreement,
    "both": lambda pools, owners: np.hstack([places(pools, owners), agreement(pools, owners)]),
}


def as_detected(lexicon: Lexicon, text: str) -> list[str]:
    """The names that detection finds in a mention, where two of them share a word; else none."""
    return [joined(text, one.spans) for one in _shared(lexicon, text)]


def nothing_left(lexicon: Lexicon, text: str) -> list[str]:
    """The same, only where no word of the mention is left over: "hereditary breast and ovarian cancer" is one."""
    found = _shared(lexicon, text)
    inside = {i for one in found for start, end in one.spans for i in range(start, end)}
    rest = "".join(" " if i in inside else character for i, character in enumerate(text))
    return [joined(text, one.spans) for one in found] if set(re.findall(r"\w+", rest)) <= {"and", "or"} else []


def _shared(lexicon: Lexicon, text: str) -> list[Found]:
    (found,) = Detector(lexicon).find([text])
    return found if any(len(one.spans) > 1 for one in found) else []


def by_form(lexicon: Lexicon, text: str) -> list[str]:
    """What is listed, whether the KB has it or not; what is no name alone has the last word, or the first ones, too."""
    first, *others = JOINTS.split(text.strip())
    if not others or not all((first, *others)):
        return []
    *listed, last = first, *others
    head, shared = last.split(), first.split()[:-1]
    if len(head) > 1:
        return [*(one if lexicon.lookup(one) else f"{one} {head[-1]}" for one in listed), last]
    return [first, *(one if lexicon.lookup(one) else " ".join((*shared, one)) for one in others)] if shared else []


READINGS: dict[str, Reading] = {"as detected": as_detected, "nothing left": nothing_left, "by form": by_form}


def apart(base: Fitted, kb: KnowledgeBase, dev: Dev) -> dict[str, Any]:
    """Each reading, always and only where the cascade is surer of every part than of the whole."""
    lexicon, ids = Lexicon.open(kb), IdMap(kb, splits=True)
    needed = np.array([len(ids.gold(query.mention.gold)) for query in dev.queries])
    texts = [query.mention.text for query in dev.queries]
    read = {name: [reading(lexicon, text) for text in texts] for name, reading in READINGS.items()}
    asked = [i for i in range(len(texts)) if needed[i] > 1 or any(found[i] for found in read.values())]
    wholes = dict(zip(asked, linked(base, dev, [(i, texts[i]) for i in asked]), strict=True))
    parts = sorted({(i, part) for found in read.values() for i in asked for part in found[i]})
    of_part = dict(zip(parts, linked(base, dev, parts), strict=True))
    before, several = judged(base, dev, wholes, ids), needed > 1
    figures: dict[str, Any] = {"several": counted(before, several), "readings": {}}
    for name, found in read.items():
        for surer in (False, True):
            taken = {i: [of_part[i, part] for part in found[i]] for i in asked if found[i]}
            if surer:
                taken = {i: own for i, own in taken.items() if least(own) > (wholes[i].probability or 0.0)}
            after = judged(base, dev, wholes | {i: merged(own, wholes[i]) for i, own in taken.items()}, ids)
            read_so = np.isin(np.arange(len(texts)), list(taken))
            figures["readings"][f"{name}, surer" if surer else name] = {
                who: {"before": counted(before, some), "after": counted(after, some)}
                for who, some in (("several", read_so & several), ("one", read_so & ~several))
            } | {"strict": against(after.strict, before.strict, dev),
                 "any": against(after.any, before.any, dev)}  # fmt: skip
    return figures


def least(parts: Sequence[Prediction]) -> float:
    """How sure the cascade is of the part that it is least sure of."""
    return min(part.probability or 0.0 for part in parts)


def linked(base: Fitted, dev: Dev, asked: Sequence[tuple[int, str]]) -> list[Prediction]:
    """What a cascade learnt on other documents says of texts in the places of mentions, given by number."""
    fold, answers = base.stages[-1][2], {}
    for number in sorted({int(fold[i]) for i, _ in asked}):
        base.linker.stages = [_without(number, *stage) for stage in base.stages]
        some = [each for each in asked if fold[each[0]] == number]
        documents = (_with_text(*dev.queries[i], text) for i, text in some)
        answers |= dict(zip(some, base.linker.link(documents, k=DEPTH, threshold=0.0), strict=True))
    return [answers[each] for each in asked]


def _without(number: int, pools: Pools, right: Any, fold: Any, reached: Flags, owners: Owners) -> Any:  # noqa: ANN401
    """A stage learnt on all folds but one."""
    return fit._learnt(pools, right.rows(pools), right, fold != number, reached, owners)[0]


def _with_text(document: Document, mention: Mention, text: str) -> Document:
    return replace(document, mentions=(replace(mention, text=text),))


def merged(parts: Sequence[Prediction], whole: Prediction) -> Prediction:
    """The first concept of each part, one behind the other, before those of the whole."""
    return replace(whole, candidates=tuple(_in_order([p.candidates for p in parts], whole.candidates)))


def _in_order(parts: Sequence[Sequence[Candidate]], whole: Sequence[Candidate]) -> Iterator[Candidate]:
    firsts = [candidates[0] for candidates in parts if candidates]
    yield from (replace(candidate, rank=rank) for rank, candidate in enumerate(firsts, start=1))
    yield from (replace(candidate, rank=candidate.rank + len(firsts)) for candidate in whole)


def judged(base: Fitted, dev: Dev, answers: dict[int, Prediction], ids: IdMap) -> Outcomes:
    """With these answers, by the number of the mention; all others are judged by the first concept, as ever."""
    numbers = sorted(answers)
    documents = [replace(dev.queries[i].document, id=str(i), mentions=(dev.queries[i].mention,)) for i in numbers]
    given = [replace(answers[i], document_id=str(i), mention=dev.queries[i].mention) for i in numbers]
    items = pair(documents, given, ids).items
    found = outcome(items, ids, "concept")
    needed = np.array([len(item.gold) for item in items])
    any_, strict, five = (base.judged.right.copy() for _ in range(3))
    any_[numbers], five[numbers] = found.any[:, 0], found.strict[:, FIVE]
    strict[numbers] = found.reciprocal_rank * needed >= 1
    return Outcomes(any_, strict, five)


def counted(found: Outcomes, some: Hits) -> dict[str, int]:
    """How many of some mentions are right under each rule."""
    return {"mentions": int(some.sum()), **{rule: int(hits[some].sum()) for rule, hits in found._asdict().items()}}


if __name__ == "__main__":
    main()
