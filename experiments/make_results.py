"""``RESULTS.md`` out of ``results/*.json`` and ``published.toml``: ``make results``.

A table for each protocol: published systems, then ours; what nobody has measured stays empty.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import ablation
import angel_analysis_tables
import angel_bins_tables
import angel_tables
import cascade_remedies_tables
import cascade_tables
import cascade_test_tables
import genbioel_report_tables
import genbioel_tables
import generative_tables
import generative_tries_tables
import labels
import paper_tables
import probe_tables
import provenance
import speed_tables
import targets
import tune_tables
from common import RESULTS, ROOT
from tables import CORPORA, cell, own, percent, read, table

TARGET = ROOT / "experiments" / "RESULTS.md"
PUBLISHED = ROOT / "experiments" / "published.toml"
BENCHMARKS = ROOT / "benchmarks" / "results"
PROTOCOLS = {
    "as-published": "Mentions without context; dictionaries hold the corpus's own mentions; k counts names; any id."
    " BC5CDR-c: the papers link to CTD's chemicals, which are not to be had; we to MeSH's, which hold 99.5% of the test"
    " ids, not always under these names: of the 496 test mentions that equal no name of gold there the default's ResCNN"
    " gets a third right, of all others every one ('not direct match' in 'By kind of mention')."
    " AskAPatient: one label for each of its 1,036 ids. The row fine-tuned on clean-kb was trained by that recipe, with"
    " a prefix that lets a mention leave its very name for another; here, where that name is mostly right, it is no"
    " better than a network not fine-tuned. What was fine-tuned for this protocol stands in the tables below.",
    "as-published-generative": "Raw text; abbreviations expanded; mentions that overlap or are not in the KB dropped;"
    " k counts names; any id. Deviation: MEDIC for NCBI; MeSH expanded by Mondo and DOID in place of UMLS for BC5CDR."
    " (r): as ANGEL reproduced it, whose preparation of AskAPatient this is.",
    "clean-kb": "The same mentions as in as-published; KBs without the corpus's own; k counts concepts; any id."
    " COMETA: closed world, a KB of its labels.",
    "clean-raw": "Raw text, nothing dropped; k counts concepts; strict: a homonym's first concept must be right.",
}
TUNED_ENCODERS = (
    ("raw", "seeds"),
    ("aligned", "final"),
    ("attention", "final"),
    ("attention", "seeds"),
    ("max", "seeds"),
)
"""Base and plan."""
LEAST = 3
"""Seeds or folds; a cell with fewer is in the tables of the SapBERT and ResCNN papers."""
FORMS = {
    "dense": "encoder alone",
    "ngram": "and a share of the 3-gram cosine",
    "names": "training mentions as names",
    "names+ngram": "both",
}
TUNED = """## Fine-tuned on the training sets

NCBI and BC5CDR-d: mentions of clean-kb, any id, mean and deviation over three seeds; the development set chose epoch,
shares and recipe, the test set was looked at once for each seed. The forms with training mentions as names are not
clean-kb by its definition, as the KB then holds mentions of the corpus, though none of the test set. AskAPatient:
closed world of its labels, over ten folds. Loss: the share of right names among the nearest (BioSyn). "=": the
development set chose epoch 0, so that the figure is that of the weights not trained, which are the same for all seeds;
"=1/3": of one of three. Commands: "Runs", plans `final` and `seeds`. The default's own ResCNN was not trained by this
recipe on NCBI and BC5CDR-d, the one distilled before it was.
"""
TUNED_PUBLISHED = """## Fine-tuned: encoders, losses, train+dev

acc@1 / acc@5 on the test set, any id, one seed: the plan had the breadth of losses first, and the further seeds of plan
`seeds` were cut off. As-published: dictionaries hold the mentions of the sets before (from its own very text a mention
is kept apart in training); k counts names. clean-kb: k counts concepts. The development set chose epoch and share;
train+dev: both sets for as many epochs, as the ResCNN paper does. Loss "none": before fine-tuning. "=": epoch 0 was
chosen, so that the figure is that of the weights not trained. Trained at {commit} on one {device}: `{command}`; scored
there.
"""
PAIRED = """## Paired tests

Differences in acc@1, in points, with the 95% interval over resampled documents. Of encoders not fine-tuned, and of
tiers with the encoder alone; fine-tuned ones were scored where they were trained, their single answers were not kept.
"""
EXPORTED = """## Exported encoders against torch

Cosines over the {names:,} names of NCBI's dictionary without mentions; what stands first for the {mentions:,} mentions
of its development set. Tied: torch has it no further from the mention, to a millionth. `{command}`
"""
HEAD = """# Results

Made by `make results` out of `experiments/results/*.json`, each written by the command that stands in it; published
figures are those of `experiments/published.toml`. acc@1, acc@5 behind the bar, in brackets the 95% interval of acc@1
over resampled documents. Empty cells have not been measured. A model has one name on this page:
`experiments/labels.py`.
"""


def main() -> None:
    """Write the page."""
    TARGET.write_text(page(RESULTS, PUBLISHED, BENCHMARKS), encoding="utf-8")


def page(results: Path, published: Path, benchmarks: Path) -> str:
    """The whole page."""
    papers = tomllib.loads(published.read_text(encoding="utf-8"))
    ours = [*read(results, "baselines_*.json"), *read(results, "embedding_*.json")]
    parts = [HEAD, *(section(p, papers.get(p, []), [o for o in ours if o["protocol"] == p]) for p in PROTOCOLS)]
    return "\n".join(
        [
            *parts,
            *paired(ours),
            *paper_tables.sections(results, papers),
            *ablation.section(results),
            *targets.section(results),
            *speed_tables.section(benchmarks, papers),
            *generative_tables.section(results),
            *genbioel_tables.section(results, papers),
            *generative_tries_tables.section(results),
            *genbioel_report_tables.section(results, papers),
            *angel_tables.section(results, papers),
            *angel_analysis_tables.section(results),
            *angel_bins_tables.section(results),
            *cascade_tables.section(results),
            *cascade_test_tables.section(results, papers),
            *cascade_remedies_tables.section(results),
            *tuned(results),
            *tuned_published(results),
            *exported(results),
            *probe_tables.section(results, papers),
            *strata(ours),
            *provenance.trainings(results),
            *provenance.runs(results, benchmarks),
        ]
    )


def section(protocol: str, papers: Sequence[dict[str, Any]], ours: Sequence[dict[str, Any]]) -> str:
    """The table of a protocol."""
    columns = [c for c in CORPORA if any(c in p for p in papers) or any(o["corpus"] == c for o in ours)]
    names = dict.fromkeys(system["name"] for o in ours for system in own(o))
    rows = [[paper["system"], *(_published(paper.get(c)) for c in columns)] for paper in papers]
    rows += [[f"**{name}**", *(_ours(name, c, ours) for c in columns)] for name in names]
    rows += [["mentions", *(_mentions(c, ours) for c in columns)], ["dropped", *(_dropped(c, ours) for c in columns)]]
    if not any(rows[-1][1:]):
        rows.pop()
    title = [f"## {protocol}\n", f"{PROTOCOLS[protocol]} Rows in bold are ours.\n"]
    return "\n".join([*title, *table(["system", *(CORPORA[c] for c in columns)], rows), ""])


def _published(figures: Sequence[float] | None) -> str:
    return " / ".join(f"{figure:.1f}" for figure in figures or ())


def _cell(corpus: str, ours: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    return next((o["metrics"] for o in ours if o["corpus"] == corpus), None)


def _ours(name: str, corpus: str, ours: Sequence[dict[str, Any]]) -> str:
    there = [system for o in ours if o["corpus"] == corpus for system in own(o)]
    system = next((s for s in there if s["name"] == name), None)
    return cell(system) if system else ""


def _mentions(corpus: str, ours: Sequence[dict[str, Any]]) -> str:
    found = _cell(corpus, ours)
    return f"{found['corpus']['mentions']:,.0f}" if found else ""


def _dropped(corpus: str, ours: Sequence[dict[str, Any]]) -> str:
    found = _cell(corpus, ours) or {}
    return ", ".join(f"{n:,} {why}" for why, n in found.get("dropped", {}).items())


def paired(ours: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What encoders are compared with, mention by mention."""
    rows = []
    for result in (o for o in ours if "encoder" in o):
        for pair in result["metrics"].get("comparisons", ()):
            low, high = (f"{100 * end:+.1f}" for end in pair["interval"])
            difference = f"{100 * pair['difference']:+.1f} [{low}, {high}]"
            only = f"{pair['only_a']:,} / {pair['only_b']:,}"
            tests = [f"{pair[p]:.2g}" for p in ("p_bootstrap", "p_mcnemar")]
            rows.append([CORPORA[result["corpus"]], result["protocol"], pair["a"], pair["b"], difference, only, *tests])
    if rows:
        yield PAIRED
        head = ["corpus", "protocol", "a", "b", "a - b", "only a / only b right", "p, bootstrap", "p, McNemar"]
        yield from table(head, rows)
        yield ""


def exported(results: Path) -> Iterator[str]:
    """Exported encoders against torch."""
    path = results / "export.json"
    if not path.exists():
        return
    result = json.loads(path.read_text(encoding="utf-8"))
    yield EXPORTED.format(**result)
    rows = []
    for name, figures in result["metrics"].items():
        for how, found in ((how, found) for how, found in figures.items() if how != "torch"):
            share = f"{percent(found['int8'])}%" if "int8" in found else ""
            shares = [f"{100 * found[key]:.2f}%" for key in ("same_top1", "or_tied", "same_concept")]
            rows.append([name, how, f"{found['bytes'] / 1e6:.1f} MB", share, f"{found['least']:.6f}",
                         f"{found['mean']:.6f}", *shares])  # fmt: skip
    head = ["encoder", "weights", "size", "int8", "least cosine", "mean", "same name first", "or a tied one",
            "same concept first"]  # fmt: skip
    yield from table(head, rows)
    yield ""


def strata(ours: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Accuracy by stratum, a table for each corpus and protocol; of the first result's systems and the encoders."""
    yield "## By kind of mention\n"
    for key in dict.fromkeys((o["corpus"], o["protocol"]) for o in ours):
        results = [o for o in ours if (o["corpus"], o["protocol"]) == key]
        systems = [system for o in results for system in own(o) if system.get("strata")]
        if not systems:
            continue
        yield f"### {CORPORA[key[0]]}, {key[1]}\n"
        found = [{(s["group"], s["name"]): s["value"] for s in system["strata"]} for system in systems]
        rows = []
        for stratum in systems[0]["strata"]:
            values = [values.get((stratum["group"], stratum["name"])) for values in found]
            shown = ["" if value is None else percent(value) for value in values]
            rows.append([stratum["group"], stratum["name"], f"{stratum['count']:,}", *shown])
        yield from table(["group", "stratum", "mentions", *(s["name"] for s in systems)], rows)
        yield ""


def tuned(results: Path) -> Iterator[str]:
    """Encoders that were fine-tuned on the training sets: means over seeds or folds."""
    corpora = {"ncbi": "NCBI", "bc5cdr-d": "BC5CDR-d", "askapatient": "AskAPatient, 1,042 labels"}
    rows = []
    for base, plan in TUNED_ENCODERS:
        found = [tune_tables.runs_of(results, plan, base, corpus) for corpus in corpora]
        for form, told in FORMS.items():
            shown = [tune_tables.spread(runs, form) if len(runs) >= LEAST else "" for runs in found]
            rows += [[labels.ENCODERS[labels.encoder(base, plan)], told, *shown]] if any(shown) else []
    if rows:
        yield TUNED
        yield from table(["encoder", "form", *corpora.values()], rows)
        yield ""


def tuned_published(results: Path) -> Iterator[str]:
    """Encoders under several losses, on the as-published dictionaries and on clean-kb."""
    path = results / "fine_tune_published.json"
    if path.exists():
        result = json.loads(path.read_text(encoding="utf-8"))
        yield TUNED_PUBLISHED.format(**result["trained"])
        yield from table(tune_tables.HEAD, tune_tables.rows(result["metrics"]["runs"]))
        yield ""


if __name__ == "__main__":
    main()
