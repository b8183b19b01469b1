"""The figures of ``docs/generation.md`` out of ``results/decoding_*.json``: ``python benchmarks/decoding_page.py``.

They stand between two marks and take the place of what is there; the rest of the page is written by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from startup import ROOT

PAGE = ROOT / "docs/generation.md"
RESULTS = ROOT / "benchmarks/results"
MARKS = ("<!-- figures by benchmarks/decoding_page.py -->", "<!-- end of figures -->")
FILES = {
    "decoding_gpu": "small, trained (30M parameters)",
    "decoding_bart_gpu": "BART-large, random weights",
    "decoding_cpu": "small, trained",
}
HELD = ("generator, float32", "trie on the device", "encoder, float32", "index, float32", "index, int8")


def main() -> None:
    """Fill in the page."""
    text = PAGE.read_text(encoding="utf-8")
    start, end = MARKS
    before, _, rest = text.partition(start)
    PAGE.write_text("\n".join([before + start, "", *lines(), "", end + rest.partition(end)[2]]), encoding="utf-8")


def lines() -> Iterator[str]:
    """The best figure of each model and precision, what ``generate`` does, and where each was measured."""
    found = {name: json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8")) for name in FILES}
    yield "| model | names | on | mentions a second | at | `generate`, one by one | `generate`, 64 |"
    yield "|---|---|---|---|---|---|---|"
    for name, what in FILES.items():
        yield from _rows(what, found[name])
    yield ""
    yield "| MB of tensors | generator, float32 | trie | encoder, float32 | its index, float32 | int8 |"
    yield "|---|---|---|---|---|---|"
    for name, one in found.items():
        held = [f"{one['memory_mb'][key]:,.1f}" for key in HELD]
        yield f"| {FILES[name]}, {one['names']:,} names | {' | '.join(held)} |"
    yield ""
    for name, one in found.items():
        same = one.get("same_first_bf16", {}).get("ours")
        equal = one.get("equal", {})
        said = [f"{share:.1%} of mentions have the same best name in bfloat16" for share in [same] if same is not None]
        if equal:
            said.append(f"names and sums are those of `generate` for {min(equal.values()):.0%}")
        if first := one.get("mentions_a_second_first_name"):
            said.append(f"mentions a second until the first name alone is certain: {_best(first)}")
        yield f"* `{name}.json`, commit {one['commit']}, torch {one['versions']['torch']}: {'; '.join(said)}."


def _best(speeds: dict[str, float]) -> str:
    """The fastest of each precision."""
    precisions = dict.fromkeys(title.partition(",")[0] for title in speeds)
    found = {each: max(speed for title, speed in speeds.items() if title.startswith(f"{each},")) for each in precisions}
    return ", ".join(f"{speed:,.0f} ({precision})" for precision, speed in found.items())


def _rows(what: str, one: dict[str, Any]) -> Iterator[str]:
    """A row for each precision: the batch that is fastest."""
    best: dict[str, tuple[float, str]] = {}
    for title, speed in one["mentions_a_second"].items():
        precision = title.partition(",")[0]
        best[precision] = max(best.get(precision, (0.0, "")), (speed, title.partition(", ")[2]))
    where = one["machine"]["card"] or f"{one['machine']['cpu cores']} cores"
    theirs = one.get("reference_mentions_a_second", {})
    for precision, (speed, how) in best.items():
        others = [theirs.get(f"generate, {precision}, batch {batch}") for batch in (1, 64)]
        shown = ["" if other is None else f"{other:.1f}" for other in others]
        yield f"| {what} | {one['names']:,} | {where} | {precision}: {speed:,.0f} | {how} | {' | '.join(shown)} |"


if __name__ == "__main__":
    main()
