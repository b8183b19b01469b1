"""``RESULTS.md`` out of ``results/*.json`` and ``published.toml``: ``make results``.

A table for each protocol: published systems, then ours; what nobody has measured stays empty.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from common import RESULTS, ROOT

TARGET = ROOT / "experiments" / "RESULTS.md"
PUBLISHED = ROOT / "experiments" / "published.toml"
CORPORA = {
    "ncbi": "NCBI", "bc5cdr-d": "BC5CDR-d", "bc5cdr-c": "BC5CDR-c, MeSH dictionary", "bc5cdr": "BC5CDR joint",
    "askapatient": "AskAPatient", "cometa": "COMETA",
}  # fmt: skip
PROTOCOLS = {
    "as-published": "Mentions without context; dictionaries hold the corpus's own mentions; k counts names; any id.",
    "as-published-generative": "Raw text; abbreviations expanded; mentions that overlap or are not in the KB dropped;"
    " k counts names; any id. Deviation: MEDIC for NCBI; MeSH expanded by Mondo and DOID in place of UMLS for BC5CDR.",
    "clean-kb": "The same mentions as in as-published; KBs without the corpus's own; k counts concepts; any id."
    " COMETA: closed world, a KB of its labels.",
    "clean-raw": "Raw text, nothing dropped; k counts concepts; strict: a homonym's first concept must be right.",
}
KINDS = {"bert": "MiniLM, self-aligned", "rescnn": "ResCNN, attention pooling, distilled"}
FORMS = {
    "dense": "encoder alone",
    "ngram": "and a share of the 3-gram cosine",
    "names": "training mentions as names",
    "names+ngram": "both",
}
TUNED = """## Fine-tuned on the training sets

NCBI and BC5CDR-d: clean-kb mentions and KB, any id, mean and deviation over three seeds; the development set chose
epoch, shares and recipe, the test set was looked at once for each seed. AskAPatient: closed world of its labels, over
ten folds. Loss: the share of right names among the nearest (BioSyn). Trained at {commit} on one {device}:
`{command}`; scored there.
"""
HEAD = """# Results

Made by `make results` out of `experiments/results/*.json`, each written by the command that stands in it; published
figures are those of `experiments/published.toml`. acc@1, acc@5 behind the bar, in brackets the 95% interval of acc@1
over resampled documents. Empty cells have not been measured.
"""


def main() -> None:
    """Write the page."""
    TARGET.write_text(page(RESULTS, PUBLISHED), encoding="utf-8")


def page(results: Path, published: Path) -> str:
    """The whole page."""
    papers = tomllib.loads(published.read_text(encoding="utf-8"))
    ours = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(results.glob("baselines_*.json"))]
    parts = [HEAD, *(section(p, papers.get(p, []), [o for o in ours if o["protocol"] == p]) for p in PROTOCOLS)]
    return "\n".join([*parts, *tuned(results), *strata(ours), *runs(ours)])


def section(protocol: str, papers: Sequence[dict[str, Any]], ours: Sequence[dict[str, Any]]) -> str:
    """The table of a protocol."""
    columns = [c for c in CORPORA if any(c in p for p in papers) or any(o["corpus"] == c for o in ours)]
    names = dict.fromkeys(s["name"] for o in ours for s in o["metrics"]["systems"])
    rows = [[paper["system"], *(_published(paper.get(c)) for c in columns)] for paper in papers]
    rows += [[f"**{name}**", *(_ours(name, c, ours) for c in columns)] for name in names]
    rows += [["mentions", *(_mentions(c, ours) for c in columns)], ["dropped", *(_dropped(c, ours) for c in columns)]]
    if not any(rows[-1][1:]):
        rows.pop()
    title = [f"## {protocol}\n", f"{PROTOCOLS[protocol]} Rows in bold are ours.\n"]
    return "\n".join([*title, *table(["system", *(CORPORA[c] for c in columns)], rows), ""])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Lines of a Markdown table."""
    yield "| " + " | ".join(head) + " |"
    yield "|---" * len(head) + "|"
    yield from ("| " + " | ".join(row) + " |" for row in rows)


def _published(figures: Sequence[float] | None) -> str:
    return " / ".join(f"{figure:.1f}" for figure in figures or ())


def _cell(corpus: str, ours: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    return next((o["metrics"] for o in ours if o["corpus"] == corpus), None)


def _ours(name: str, corpus: str, ours: Sequence[dict[str, Any]]) -> str:
    cell = _cell(corpus, ours) or {"systems": []}
    system = next((s for s in cell["systems"] if s["name"] == name), None)
    if system is None:
        return ""
    rule = system["primary"]["metric"].split()[-1]
    five = system["metrics"][rule].get("5")
    shown = _percent(system["primary"]["value"]) + (f" / {_percent(five)}" if five is not None else "")
    if interval := system["primary"].get("interval"):
        return f"{shown} [{_percent(interval[0])}-{_percent(interval[1])}]"
    return f"{shown} ± {_percent(system['deviation'])}" if "deviation" in system else shown


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _mentions(corpus: str, ours: Sequence[dict[str, Any]]) -> str:
    cell = _cell(corpus, ours)
    return f"{cell['corpus']['mentions']:,.0f}" if cell else ""


def _dropped(corpus: str, ours: Sequence[dict[str, Any]]) -> str:
    cell = _cell(corpus, ours) or {}
    return ", ".join(f"{n:,} {why}" for why, n in cell.get("dropped", {}).items())


def strata(ours: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The first system's strata, a table for each result that has them."""
    yield "## By kind of mention\n"
    for result in ours:
        first, *others = result["metrics"]["systems"]
        if not first.get("strata"):
            continue
        yield f"### {CORPORA[result['corpus']]}, {result['protocol']}\n"
        others = [system for system in others if system.get("strata")]
        rows = []
        for i, stratum in enumerate(first["strata"]):
            values = [system["strata"][i]["value"] for system in (first, *others)]
            shown = ["" if value is None else _percent(value) for value in values]
            rows.append([stratum["group"], stratum["name"], f"{stratum['count']:,}", *shown])
        yield from table(["group", "stratum", "mentions", *(s["name"] for s in (first, *others))], rows)
        yield ""


def tuned(results: Path) -> Iterator[str]:
    """Encoders that were fine-tuned on the training sets: means over seeds or folds."""
    path = results / "fine_tune_final.json"
    if not path.exists():
        return
    result = json.loads(path.read_text(encoding="utf-8"))
    found = result["metrics"]["test"]
    yield TUNED.format(**result["trained"])
    corpora = {corpus: CORPORA[corpus] for corpus in ("ncbi", "bc5cdr-d", "askapatient")}
    rows = []
    for kind, name in KINDS.items():
        for form, told in FORMS.items():
            cells = [found.get(f"{corpus}:{kind}", {}).get(form) for corpus in corpora]
            shown = [f"{c['@1']:.1f} / {c['@5']:.1f} ± {c['deviation']:.1f}" if c else "" for c in cells]
            rows.append([name, told, *shown])
    yield from table(["encoder", "form", *corpora.values()], rows)
    yield ""


def runs(ours: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What made each result."""
    yield "## Runs\n"
    rows = [
        [
            o["name"],
            f"`{o['command']}`",
            str(o["seed"]),
            (o["commit"] or "")[:10],
            o["versions"]["python"],
            o["hardware"],
        ]
        for o in ours
    ]
    yield from table(["result", "command", "seed", "commit", "Python", "hardware"], rows)
    yield ""


if __name__ == "__main__":
    main()
