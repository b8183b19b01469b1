"""GenBioEL's tables 5, 8, 9, figure 2 and appendix D out of ``generative_report*.json``, for ``RESULTS.md``.

And which generator the checkpoint is made of, out of ``checkpoint_choice.json`` and ``checkpoint_generator.json``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tables import CORPORA, pair, read, table, trainings

STRATA = """## GenBioEL: sub-populations

Tables 5, 8 and 9 of the paper, its figures of BC5CDR joint first, and figure 2, by the TF-IDF cosine of a mention and
the most similar name of its concept (the paper plots COMETA, which we do not link). Test sets, mentions without their
texts, any id, at 1 and 5 names: generators of the long pre-training, fine-tuned as the development sets chose, one seed
({models}). "not direct match": no name of the concept is the mention; the paper counts more of them
(`docs/statistics.md`). Its row without pre-training has none of ours beside it: those weights were not kept.
"""
CANDIDATES = """## GenBioEL: candidates against all names

The same generators, which may write all names of the dictionary or only those nearest to the mention by an embedding
linker; 5 beams both times. Candidates that hold the right concept: "offered", in percent. Only all / only
candidates right: mentions that one of them alone gets right, with the exact McNemar test. Development sets choose the
number of candidates (bold); test sets were asked with that alone. All names are better on each, by one and a half to
five points at 1, the least on BC5CDR. As another encoder finds its candidates, corpora cannot be compared by that.
"""
IN_TRAIN = "trained as something else"
IN_TEST = "several concepts in the test set"
ELSEWHERE = "a name of something else"
SECOND = "the right concept is written second or later"
OTHER = "another name is written"
"""Why a mention is never right."""
CASES = """## GenBioEL: cases

Appendix D of the paper on our generator: NCBI disease with the published dictionary. Of {mentions:,} test mentions
{wrong:,} are wrong. Of these, {never:,} ({points:.1f} points) are {texts} pairs of a text and ids that stand there at
least twice and are never right. {against:,} test mentions have a text that the training set has, but never with
an id that is right here, as the paper's colorectal adenomas; right of these: {right:,}. Times in brackets.

"{trained}": such a text. "{elsewhere}": the dictionary, which has the mentions of the sets before, has the text, but
not for a concept that is right here.
"""
CHOICE = """## One generator for any knowledge base

Development sets at 1 and 5, all names, mentions without their texts: generators of the long pre-training, before and
after fine-tuning, each on every corpus. Mean at 1 over corpora (NCBI disease counts once): {chosen} is the best.
Fine-tuned on one corpus, a generator is worse at 1 on the others than before.
"""
CHECKED = """`checkpoints/{name}`: {size:.1f} MB of int8 rows, on a CPU. In brackets how much better it is at 1
than the float16 weights that it was packed from{within}.
"""
FURTHER = ": further apart than the 0.2 that was aimed at, by a mention or two of a small set"
SPLITS = ("dev", "test")
NAMES = {
    "bc5cdr clean": CORPORA["bc5cdr"],
    "ncbi clean": CORPORA["ncbi"],
    "ncbi published": f"{CORPORA['ncbi']}, published",
    "aap-0 clean": "AskAPatient, fold 0",
}
ENCODERS = {"encoder": "the embedded encoder"}
"""By the folders of encoders whose names do not tell."""
SUBSETS = (
    "overall", "single word", "multi-word", "unseen mention", "unseen concept", "not direct match", "top 100 concepts",
)  # fmt: skip


def section(results: Path, papers: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """All of them; nothing of what was not recorded."""
    if found := trainings(results, "generative_report", renewed=True):
        corpora = {name: found[name] for name in NAMES if name in found}
        tested = {name: one for name, one in corpora.items() if "test" in one}
        yield from _strata(tested, papers.get("subpopulations", []))
        yield CANDIDATES
        yield from _candidates(corpora)
        for one in tested.values():
            yield from _cases(one.get("cases"))
    yield from _checkpoint(read(results, "checkpoint_choice.json"), read(results, "checkpoint_generator.json"))


def _strata(tested: dict[str, dict[str, Any]], papers: list[dict[str, Any]]) -> Iterator[str]:
    """The paper's sub-populations with its figures, then the bins."""
    yield STRATA.format(models=", ".join(sorted({one["model"] for one in tested.values()})))
    found = {
        name: {(each["group"], each["name"]): each for each in one["test"]["strata"]} for name, one in tested.items()
    }
    ours = [title for name in found for title in ("mentions", NAMES[name])]
    head = ["subset", *(paper["system"] for paper in papers), *ours]
    subsets = ([name, *(_paper(paper, name) for paper in papers), *_ours(found, "genbioel", name)] for name in SUBSETS)
    yield from table(head, subsets)
    bins = sorted({name for each in found.values() for group, name in each if group == "similarity"})
    yield ""
    yield from table(["similarity", *ours], ([name, *_ours(found, "similarity", name)] for name in bins))
    yield ""


def _paper(paper: dict[str, Any], name: str) -> str:
    return str(paper["bc5cdr"][SUBSETS.index(name)])


def _ours(found: dict[str, dict[tuple[str, str], dict[str, Any]]], group: str, name: str) -> Iterator[str]:
    """Mentions and figures of a stratum, two cells a corpus; empty ones where it has no mention."""
    for each in found.values():
        one = each.get((group, name))
        yield from ("", "") if one is None else (f"{one['count']:,}", pair(one))


def _candidates(corpora: dict[str, dict[str, Any]]) -> Iterator[str]:
    """A row a set and number of candidates."""
    rows = (
        [NAMES[name], split, pair(one[split]["full"]), *_among(many, found, one)]
        for name, one in corpora.items()
        for split in SPLITS
        for many, found in one.get(split, {"among": {}})["among"].items()
    )
    right = "only all / only candidates right"
    yield from table(["corpus", "set", "all names", "candidates", "offered", "among them", right, "p"], rows)
    yield ""


def _among(many: str, found: dict[str, Any], one: dict[str, Any]) -> list[str]:
    """The cells of a number of candidates; in bold the one that the development set chose."""
    only = f"{found['only_full']:,} / {found['only_among']:,}"
    shown = f"**{many}**" if int(many) == one["chosen"] else many
    by = ENCODERS.get(one["encoder"], one["encoder"])
    return [f"{shown} by {by}", f"{found['offered']:.1f}", pair(found), only, _p(found["p"])]


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _cases(found: dict[str, Any] | None) -> Iterator[str]:
    """What is never right."""
    if not found:
        return
    never = sum(case["count"] for case in found["cases"])
    yield CASES.format(
        mentions=found["mentions"],
        wrong=found["wrong"],
        texts=len(found["cases"]),
        never=never,
        points=100 * never / found["mentions"],
        against=found["against"]["mentions"],
        right=found["against"]["right"],
        trained=IN_TRAIN,
        elsewhere=ELSEWHERE,
    )
    yield from table(["mention", "right", "training set", "written", "why"], map(_case, found["cases"]))
    yield ""


def _case(case: dict[str, Any]) -> list[str]:
    written = f"{case['answer']['name']} ({' '.join(case['answer']['ids'])})" if case["answer"] else ""
    told = _concepts([{"ids": case["gold"], "count": case["count"]}], case["names"])
    return [case["mention"], told, _concepts(case["train"], case["names"]), written, "; ".join(case["why"])]


def _concepts(counted: list[dict[str, Any]], names: dict[str, str]) -> str:
    """Ids by frequency, with the name of the first that has one."""
    shown = []
    for each in counted:
        named = next((names[id] for id in each["ids"] if names.get(id)), "")
        shown.append(f"{named} {' '.join(each['ids'])} ({each['count']})".strip())
    return "; ".join(shown)


def _checkpoint(choices: list[dict[str, Any]], checks: list[dict[str, Any]]) -> Iterator[str]:
    """Models on development sets, then what was packed."""
    for choice in (each["metrics"] for each in choices):
        yield CHOICE.format(chosen=choice["chosen"])
        head = ["model", *(NAMES[name] for name in NAMES), "mean"]
        rows = (
            [model, *(pair(found[name]) for name in NAMES), f"{choice['mean'][model]:.2f}"]
            for model, found in choice["dev"].items()
        )
        yield from table(head, rows)
        yield ""
    for check in (each["metrics"] for each in checks):
        within = "" if check.get("within", True) else FURTHER
        yield CHECKED.format(name=check.get("checkpoint", "genbioel-mini"), size=check["bytes"] / 1e6, within=within)
        apart = check.get("difference", {})
        dev = [f"{pair(check['dev'][name])}{_apart(apart.get(name))}" for name in NAMES]
        test = [pair(check["test"][name]) for name in NAMES]
        yield from table(["set", *NAMES.values()], [["dev", *dev], ["test", *test]])
        yield ""


def _apart(points: float | None) -> str:
    return "" if points is None else f" ({points:+.2f})"
