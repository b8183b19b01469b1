"""A trie of as many names as UMLS has: size, time to build and map, look-ups; nested dicts and marisa-trie beside it.

``python benchmarks/trie.py TOKENIZER_FOLDER [--names N]`` writes ``benchmarks/results/trie.json`` (``trie_N.json`` with
``--names``). The folder has a tokenizer.json, such as that of all-MiniLM-L6-v2 (WordPiece). BART's own is not to be had
without a network: a byte-level BPE of as many tokens, 50,265, is trained on the names of ``REAL`` and stands for it.

The large KB is made by ``synthetic_kb.py``, of words of HPO and MeSH; ``--folder`` keeps it for the next run. What is
compared with others are the real names of the KBs in ``REAL``: run ``nomina kb get`` for each first. Each step is a
process of its own. Look-ups are of 64 beams at a time, each behind a prefix of a name that was drawn, of a length that
was drawn; the root, where every beam starts, stands apart. ``marisa-trie`` must be installed (not nomina's dependency):
names are strings of one character a token there, and what may follow a prefix is read off all names that begin with it,
as in GENRE. A nested dict is walked from its root, as ``prefix_allowed_tokens_fn`` of ``transformers`` has to.

It takes a quarter of an hour, 2 GB of memory and 2 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from startup import ROOT, commit, machine, run
from synthetic_kb import CONCEPTS, NAMES, WORDS_OF, entities, words_of
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from nomina.arrays import read, write
from nomina.files import sha256
from nomina.generation.grown import GrownTrie
from nomina.generation.layers import layered
from nomina.generation.opening import open_trie
from nomina.generation.spelling import Spelling
from nomina.generation.trie import FlatTrie
from nomina.kb.build import BuildOptions, build
from nomina.kb.sources import resolve_kb
from nomina.kb.store import KnowledgeBase

RESULTS = ROOT / "benchmarks/results"
REAL = ("hpo", "mesh", "mondo", "doid", "go", "efo", "hgnc")
VOCABULARY = 50_265
BATCH, ASKED = 64, 12_800
ADDED = 1000
MAPPED = 5
PART = 1 << 16
SECONDS = 20.0
TARGETS = {"file_mb": 300, "build_seconds": 300, "map_seconds": 0.05, "step_ns": 2000, "children_ns": 2000}
"""What is asked of the full size with the tokenizer that was named; upper bounds."""


def spelling_of(path: Path) -> Spelling:
    """Names in the tokens of a tokenizer.json; a byte-level one writes them behind a space."""
    tokenizer = Tokenizer.from_file(str(path))
    if tokenizer.token_to_id("[SEP]") is not None:
        return Spelling(tokenizer, "[SEP]")
    return Spelling(tokenizer, "</s>", before=" ", lower=True)


def real_names() -> list[str]:
    """The raw names of the real KBs, those of one look-up key once."""
    names: dict[str, str] = {}
    for kb in map(resolve_kb, REAL):
        for key, surface in zip(kb.names, kb.surfaces(), strict=True):
            names.setdefault(key, surface)
    return list(names.values())


def make_kb(folder: Path, tokenizer: Path, names: int) -> dict[str, Any]:
    """The large KB."""
    made = entities(words_of(map(resolve_kb, WORDS_OF)), round(CONCEPTS * names / NAMES), names)
    kb = build(folder / "made.kb", made, BuildOptions("synthetic"))
    return {"names": kb.manifest.counts.names}


def make_bpe(folder: Path, tokenizer: Path, names: int) -> dict[str, Any]:
    """A byte-level BPE of BART's size, trained on the real names."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, initial_alphabet=alphabet, special_tokens=special, show_progress=False
    )
    tokenizer.train_from_iterator((f" {name.lower()}" for name in real_names()), trainer)
    tokenizer.save(str(folder / "bpe.json"))
    return {"vocabulary": tokenizer.get_vocab_size()}


def make_trie(folder: Path, tokenizer: Path, names: int) -> dict[str, Any]:
    """The trie of the large KB, in the cache folder."""
    kb, spelling = KnowledgeBase.open(folder / "made.kb"), spelling_of(tokenizer)
    start = time.perf_counter()
    trie = open_trie(kb, spelling)
    (file,) = (path for path in Path(os.environ["NOMINA_HOME"], "tries").iterdir() if path.suffix != ".lock")
    return {
        "build_seconds": round(time.perf_counter() - start, 1),
        "rows": len(kb.names),
        "nodes": trie.size,
        "file_mb": round(file.stat().st_size / 1e6, 1),
    }


def map_trie(folder: Path, tokenizer: Path, names: int) -> dict[str, Any]:
    """Opened once more, to the first answer."""
    kb, spelling = KnowledgeBase.open(folder / "made.kb"), spelling_of(tokenizer)
    start = time.perf_counter()
    trie = open_trie(kb, spelling)
    children = trie.children(np.array([trie.root]))
    return {"map_seconds": round(time.perf_counter() - start, 4), "first_tokens": len(children.tokens)}


def ask_trie(folder: Path, tokenizer: Path, names: int) -> dict[str, Any]:
    """Look-ups; a restriction to the rows of two of 21 types; small tries of candidates."""
    kb = KnowledgeBase.open(folder / "made.kb")
    trie = open_trie(kb, spelling_of(tokenizer))
    figures = asked_of(trie, len(kb.names))
    rows = kb.subset(types=sorted(kb.types())[:2]).rows
    start = time.perf_counter()
    within = trie.within(rows)
    figures["restrict_seconds"] = round(time.perf_counter() - start, 3)
    figures["restricted_nodes"] = int(within.nodes.sum())
    candidates = np.random.default_rng(2).integers(0, len(kb.names), (20, BATCH, 64))
    figures["candidates_us_a_mention"] = round(
        each(trie.of_rows, [(list(part),) for part in candidates]) / BATCH / 1e3, 1
    )
    figures["grown"] = grown_of(kb, trie, spelling_of(tokenizer))
    start = time.perf_counter()
    figures["edges_mb"] = round(sum(part.nbytes for part in trie.edges() if isinstance(part, np.ndarray)) / 1e6, 1)
    figures["edges_seconds"] = round(time.perf_counter() - start, 3)
    return figures


def grown_of(kb: KnowledgeBase, trie: FlatTrie, spelling: Spelling) -> dict[str, Any]:
    """The same with names beside it that are made of two names each."""
    rows = np.random.default_rng(4).integers(0, len(kb.names), (ADDED, 2)).tolist()
    start = time.perf_counter()
    tokens, lengths = spelling.tokens([f"{kb.surface(one)} {kb.surface(other)}" for one, other in rows])
    size = len(kb.names) + ADDED
    grown = GrownTrie(trie, FlatTrie(layered(tokens, lengths, np.arange(len(kb.names), size))))
    return {"names": ADDED, "seconds": _since(start), **asked_of(grown, size)}


def asked_of(trie: Any, size: int) -> dict[str, Any]:  # noqa: ANN401
    """Nanoseconds a beam, medians over batches; and how far they are apart, the slowest of twenty."""
    nodes, tokens = drawn(trie, size)
    batches = [(nodes[i : i + BATCH], tokens[i : i + BATCH]) for i in range(0, len(nodes), BATCH)]
    held = [(part,) for part, _ in batches]
    start, stop = trie.ranges(nodes)
    root = np.full(BATCH, trie.root)
    return {
        "ranges_ns": round(each(trie.ranges, held) / BATCH),
        "step_ns": round(each(trie.step, batches) / BATCH),
        "step_ns_p95": round(each(trie.step, batches, 0.95) / BATCH),
        "children_ns": round(each(trie.children, held) / BATCH),
        "children_ns_p95": round(each(trie.children, held, 0.95) / BATCH),
        "children_a_node": round(float((stop - start).mean()), 1),
        "root_step_ns": round(each(trie.step, [(root, following) for _, following in batches]) / BATCH),
        "root_children_us": round(each(trie.children, [(root[:1],)] * MAPPED) / 1e3, 1),
    }


def drawn(trie: Any, size: int) -> tuple[np.ndarray, np.ndarray]:  # noqa: ANN401
    """Nodes behind one token or more of names, of drawn lengths, and the token that follows there."""
    rng = np.random.default_rng(1)
    flat, lengths = trie.paths(rng.integers(0, size, 2 * ASKED))
    paths = [path for path in np.split(flat, np.cumsum(lengths)[:-1]) if len(path)][:ASKED]
    stops = np.array([rng.integers(1, len(path)) for path in paths])
    nodes = np.full(len(paths), trie.root)
    for depth in range(int(stops.max())):
        going = np.flatnonzero(stops > depth)
        nodes[going] = trie.step(nodes[going], np.array([paths[i][depth] for i in going]))
    whole = len(paths) // BATCH * BATCH
    return nodes[:whole], np.array([path[stop] for path, stop in zip(paths, stops, strict=True)])[:whole]


def spell_real(folder: Path, tokenizer: Path, names: int) -> dict[str, Any]:
    """The tokens of the real names."""
    spelling, texts = spelling_of(tokenizer), real_names()
    parts = [spelling.tokens(texts[start : start + PART]) for start in range(0, len(texts), PART)]
    tokens, lengths = (np.concatenate(found) for found in zip(*parts, strict=True))
    write(folder / "real", [lengths[lengths > 0], tokens])
    return {"names": int((lengths > 0).sum()), "tokens": len(tokens)}


def real_trie(folder: Path, tokenizer: Path, names: int) -> dict[str, Any]:
    """Nomina's trie of the real names; a beam holds its node."""
    lengths, tokens = read(folder / "real")
    start = time.perf_counter()
    trie = FlatTrie(layered(tokens, lengths, np.arange(len(lengths))))
    figures = {"seconds": _since(start), "memory_mb": round(sum(array.nbytes for array in trie.arrays) / 1e6, 1)}
    write(folder / "real.trie", trie.arrays)
    asked = asked_of(trie, len(lengths))
    return figures | {"file_mb": _megabytes(folder / "real.trie"), "next_us": round(asked["children_ns"] / 1e3, 2)}


def real_dicts(folder: Path, tokenizer: Path, names: int) -> dict[str, Any]:
    """Nested dicts of the same."""
    lengths, tokens = read(folder / "real")
    before, start = held_mb(), time.perf_counter()
    root: dict[int, Any] = {}
    for path in _paths(tokens, lengths):
        node = root
        for token in path:
            node = node.setdefault(token, {})
    figures = {"seconds": _since(start), "memory_mb": round(held_mb() - before, 1)}

    def walk(prefix: list[int]) -> list[int]:
        node = root
        for token in prefix:
            node = node[token]
        return list(node)

    asked = [(prefix,) for prefix in prefixes(folder)]
    return figures | {"next_us": round(each(walk, asked) / 1e3, 2)}


def real_marisa(folder: Path, tokenizer: Path, names: int) -> dict[str, Any]:
    """marisa-trie of the same, one character a token."""
    import marisa_trie

    lengths, tokens = read(folder / "real")
    # No zero and no half of a surrogate pair, which are no text.
    letters = [chr(i if i < 0xD800 else i + 0x800) for i in range(1, int(tokens.max()) + 2)]
    before, start = held_mb(), time.perf_counter()
    trie = marisa_trie.Trie("".join(letters[token] for token in path) for path in _paths(tokens, lengths))
    figures = {"seconds": _since(start), "memory_mb": round(held_mb() - before, 1)}
    trie.save(str(folder / "real.marisa"))

    def walk(prefix: list[int]) -> set[str]:
        text = "".join(letters[token] for token in prefix)
        return {key[len(text)] for key in trie.iterkeys(text)}

    asked = [(prefix,) for prefix in prefixes(folder)]
    figures |= {"file_mb": _megabytes(folder / "real.marisa")}
    figures["next_us"] = round(each(walk, asked) / 1e3, 2)
    return figures | {"next_us_p95": round(each(walk, asked, 0.95) / 1e3, 2)}


def prefixes(folder: Path) -> list[list[int]]:
    """Prefixes of names that were drawn, of one token or more, of drawn lengths."""
    lengths, tokens = read(folder / "real")
    ends, rng = np.cumsum(lengths), np.random.default_rng(3)
    found = []
    for row in rng.integers(0, len(lengths), 1000).tolist():
        start = int(ends[row] - lengths[row])
        found.append(tokens[start : start + int(rng.integers(1, lengths[row]))].tolist())
    return found


def _paths(tokens: np.ndarray, lengths: np.ndarray) -> Iterator[list[int]]:
    start = 0
    for stop in np.cumsum(lengths).tolist():
        yield tokens[start:stop].tolist()
        start = stop


def each(work: Callable[..., Any], batches: Sequence[tuple[Any, ...]], at: float = 0.5) -> float:
    """Nanoseconds of a call, the median or another quantile of all that fit in some seconds."""
    spent: list[float] = []
    begin = time.perf_counter()
    for batch in batches:
        start = time.perf_counter()
        work(*batch)
        spent.append(time.perf_counter() - start)
        if time.perf_counter() - begin > SECONDS:
            break
    return float(np.quantile(spent, at)) * 1e9


def held_mb() -> float:
    """Memory that this process has now, files that it has mapped included; 0 where the system does not say."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0.0
    held = [line.split()[1] for line in status.read_text("utf-8").splitlines() if line.startswith("VmRSS")]
    return int(held[0]) * 1024 / 1e6


def _since(start: float) -> float:
    return round(time.perf_counter() - start, 2)


def _megabytes(path: Path) -> float:
    return round(path.stat().st_size / 1e6, 1)


STEPS: dict[str, Callable[[Path, Path, int], dict[str, Any]]] = {
    "kb": make_kb, "bpe": make_bpe,
    "make": make_trie, "map": map_trie, "ask": ask_trie,
    "real": spell_real, "trie": real_trie, "dicts": real_dicts, "marisa-trie": real_marisa,
}  # fmt: skip


def step(name: str, folder: Path, tokenizer: Path, names: int, home: Path | None = None) -> dict[str, Any]:
    """A step in a process of its own, in a cache folder of its own where one is given."""
    asked = ("--step", name, "--folder", folder, "--names", str(names))
    done = run(sys.executable, __file__, tokenizer, *asked, home=str(home) if home else None)
    print(name, tokenizer.name, done.output.strip(), file=sys.stderr, flush=True)
    return json.loads(done.output) | {
        "cpu_seconds": round(done.cpu_seconds, 1),
        "peak_mb": round(done.peak_mb, 1),
        "load": round(os.getloadavg()[0], 1),
    }


def large(folder: Path, tokenizer: Path, names: int) -> dict[str, Any]:
    """The trie of the large KB with one tokenizer."""
    with tempfile.TemporaryDirectory(dir=folder) as home:
        made = step("make", folder, tokenizer, names, Path(home))
        mapped = [step("map", folder, tokenizer, names, Path(home)) for _ in range(MAPPED)]
        asked = step("ask", folder, tokenizer, names, Path(home))
    seconds = [found["map_seconds"] for found in mapped]
    return {
        **made,
        "map_seconds": statistics.median(seconds),
        "map_seconds_highest": max(seconds),
        "first_tokens": mapped[0]["first_tokens"],
        "look_ups": asked,
    }


def verdicts(figures: dict[str, Any]) -> dict[str, str]:
    """How each target was met."""
    found = {**figures, **figures["look_ups"]}
    said = {}
    for name, bound in TARGETS.items():
        said[name] = f"{found[name]:g} of {bound:g}: {'met' if found[name] <= bound else 'missed'}"
    return said


def measure(folder: Path, tokenizer: Path, names: int) -> dict[str, Any]:
    """All figures by name."""
    if not (folder / "made.kb").is_file():
        step("kb", folder, tokenizer, names)
    if not (folder / "bpe.json").is_file():
        step("bpe", folder, tokenizer, names)
    return {
        "large": {
            name: large(folder, path, names) for name, path in (("named", tokenizer), ("bpe", folder / "bpe.json"))
        },
        "real": {name: step(name, folder, tokenizer, names) for name in ("real", "trie", "dicts", "marisa-trie")},
    }


def main() -> None:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer", type=Path, help="a folder with a tokenizer.json")
    parser.add_argument("--names", type=int, default=NAMES, help="of the large KB; default: %(default)s")
    parser.add_argument("--folder", type=Path, help="where the files go; by default a temporary folder")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        print(json.dumps(STEPS[options.step](options.folder, options.tokenizer, options.names)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        figures = measure(options.folder or Path(temporary), options.tokenizer / "tokenizer.json", options.names)
    whole = options.names == NAMES
    packages = ("numpy", "tokenizers", "marisa-trie")
    report = {
        "machine": machine(),
        "versions": {name: metadata.version(name) for name in packages},
        "commit": commit(),
        "names": options.names,
        "tokenizer": {
            "named": options.tokenizer.name,
            "bpe": f"byte-level BPE of {VOCABULARY} tokens trained on the real names",
            "sha256": sha256(options.tokenizer / "tokenizer.json"),
        },
        "batch": BATCH,
        "targets": verdicts(figures["large"]["named"]) if whole else {},
        "figures": figures,
    }
    text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / ("trie.json" if whole else f"trie_{options.names}.json")).write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
