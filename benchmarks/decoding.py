"""Mentions a second of beam search over all names of a KB, beside ``generate`` of transformers over nested dicts.

``python benchmarks/decoding.py GENERATOR NAMES --output FILE [--mentions FILE] [--commit C] [--device cuda]``.

- GENERATOR is a generator's folder; ``random-bart-large``: BART of that size with random weights and a byte-level BPE
  of 50,265 tokens trained on the names (its own is not to be had without a network); ``random-bart-tiny``: a small one,
  for a trial; ``shallow:FOLDER``: an untrained decoder on the encoder in a folder, as fast as a trained one but for
  where names end.
- NAMES is a KB, or a text with a name in the last column of each line (.xz and .gz too). It needs torch, transformers
  and tokenizers alone.
- Mentions stand alone, without a text around; those of ``--mentions`` (the same layout) or else names, drawn. They are
  distinct, and times are from tokens to leaves, the best of ``--repeat``. On a CPU that others use too, the figure of a
  core's seconds counts; ``OMP_WAIT_POLICY=PASSIVE`` keeps waiting out of it.
- Batches are timed one after another; ``pooled``: as one search over all, in which what is left of several goes on
  together; ``mentions_a_second_first_name``: the same, until the first name of each mention is beyond change.

The reference is asked ``--reference`` mentions, one and 64 at a time, in float32 and bfloat16. ``generate`` counts
positions of a left-padded prefix from the padding on, so that its batches are of prefixes of one length: the mentions
of the most frequent lengths are asked. ``equal``: the share of mentions whose names and sums are the same in float32,
sums within 1e-4 of their size, names whose sums lie nearer than that in any order. ``same_first_bf16``: whose best
name in bfloat16 is that of float32. The file is written after each figure: a run that is cut off keeps what it has.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import lzma
import os
import platform
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
import torch
import transformers
from decoding_reference import Best, Reference, is_same, most_alike, nested_of
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from nomina import generation
from nomina.generation.device import DeviceTrie
from nomina.generation.generator import Generator
from nomina.generation.layers import layered
from nomina.generation.pool import beam_searches
from nomina.generation.prompt import Prompt, Prompted
from nomina.generation.search import Asked, Batch, Found, Search, beam_search
from nomina.generation.trie import FlatTrie
from nomina.linkers.generative import batch_of, spelling_of
from nomina.types import Document, Mention, Query

VOCABULARY = 50_265
SIZES = {"random-bart-large": (12, 1024, 16, 4096), "random-bart-tiny": (2, 32, 2, 64)}
"""Layers, width, heads, inner width."""

SETTINGS = {
    "float32": ("highest", torch.float32),
    "tf32": ("high", torch.float32),
    "bf16": ("high", torch.bfloat16),
}
REFERENCE_BATCHES = (1, 64)
MULTIPLE = 8
_BATCHES = 32
"""Most batches of a size that are timed: thousands of mentions one at a time take minutes and tell no more."""
SEED, MB = 0, 1e6


def main() -> None:
    """Measure, print, write."""
    given = command_line().parse_args()
    torch.manual_seed(SEED)
    names = sorted({name.strip() for name in texts(given.names)} - {""})
    random.Random(SEED).shuffle(names)
    names = names[: given.most]
    generator = made(given.generator, names)
    generator.module.to(given.device).eval()
    prompt = Prompt.of(generator, context=False)
    trie = trie_of(generator, names)
    asked = sorted(set(texts(given.mentions))) if given.mentions else names
    asked = random.Random(SEED).sample(asked, min(given.asked, len(asked)))
    prompted = prompt.of_parts([prompt.parts(query) for query in map(alone, asked)])
    report = Report(given, {"names": len(names), "trie_nodes": trie.size, "mentions": len(prompted)})
    device_trie = DeviceTrie(trie, given.device, generator.vocabulary)
    search = Search(given.beams, min(device_trie.depth, given.tokens))
    # First, as the buffers of graphs stay.
    report.memory(generator, device_trie, prompted, search, len(names), encoder_of(generator))
    for setting in SETTINGS if given.device != "cpu" else ("float32",):
        with precision(generator, setting):
            time_all(report, generator, device_trie, prompted, search, setting)
    generator.graphs = False
    if given.reference:
        compare(report, generator, trie, device_trie, most_alike(prompted, given.reference), search)


def time_all(
    report: Report, generator: Generator, trie: DeviceTrie, prompted: Sequence[Prompted], search: Search, setting: str
) -> None:
    """Mentions a second of each batch and way in one precision."""
    given, kind = report.given, "mentions_a_second"
    ways = [(kind, "", run_of, search), (kind, ", pooled", pooled_run_of, search)]
    ways.append((f"{kind}_first_name", ", pooled", pooled_run_of, replace(search, certain=1)))
    if given.device != "cpu" and given.graphs:
        ways.append((kind, ", graphs", run_of, search))
    for kind, way, runs, how in ways:
        generator.graphs = way == ", graphs"
        for batch in given.batches:
            asked = prompted[: batch * _BATCHES]
            title = f"{setting}{way}, batch {batch}"
            seconds, core_seconds = best_of(runs(generator, trie, asked, how, batch), given.repeat)
            report.add(kind, title, len(asked) / seconds)
            if given.device == "cpu":
                report.add(f"{kind}_of_a_core", title, len(asked) / core_seconds)


def command_line() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("generator", help="a folder, random-bart-large, random-bart-tiny or shallow:FOLDER")
    options.add_argument("names", type=Path)
    options.add_argument("--output", type=Path, required=True)
    options.add_argument("--mentions", type=Path)
    options.add_argument("--commit", default="unknown")
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--batches", type=int, nargs="+", default=[1, 64, 256, 1024])
    options.add_argument("--beams", type=int, default=5)
    options.add_argument("--tokens", type=int, default=64, help="of a name at most")
    options.add_argument("--asked", type=int, default=4096, help="mentions")
    options.add_argument("--reference", type=int, default=128, help="mentions of the reference; 0: none")
    options.add_argument("--most", type=int, help="names")
    options.add_argument("--repeat", type=int, default=2)
    options.add_argument("--graphs", action=argparse.BooleanOptionalAction, default=True, help="on a GPU, too")
    return options


def texts(path: Path) -> Iterator[str]:
    """The names of a KB, or the last column of each line."""
    if path.suffix == ".kb":
        from nomina.kb.store import KnowledgeBase

        yield from KnowledgeBase.open(path).surfaces()
        return
    opened: Callable[..., Any] = {".xz": lzma.open, ".gz": gzip.open}.get(path.suffix, open)
    with opened(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            yield line.rstrip("\n").split("\t")[-1]


def made(what: str, names: Sequence[str]) -> Generator:
    """The generator that the command line names."""
    if what.startswith("shallow:"):
        return generation.begin(what.removeprefix("shallow:"))
    if what not in SIZES:
        return generation.load(what)
    layers, width, heads, inner = SIZES[what]
    tokenizer = byte_level(names)
    bos, pad, eos = (tokenizer.token_to_id(token) for token in ("<s>", "<pad>", "</s>"))
    config = transformers.BartConfig(
        vocab_size=VOCABULARY, d_model=width, encoder_layers=layers, decoder_layers=layers,
        encoder_attention_heads=heads, decoder_attention_heads=heads, encoder_ffn_dim=inner, decoder_ffn_dim=inner,
        pad_token_id=pad, bos_token_id=bos, eos_token_id=eos, decoder_start_token_id=eos, forced_eos_token_id=None,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        transformers.BartForConditionalGeneration(config).save_pretrained(folder)
        tokenizer.save(str(Path(folder, "tokenizer.json")))
        return generation.load(folder)


def byte_level(names: Sequence[str]) -> Tokenizer:
    """A tokenizer of BART's kind and size."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, initial_alphabet=alphabet, special_tokens=special, show_progress=False
    )
    tokenizer.train_from_iterator((f" {name.lower()}" for name in names), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[(token, tokenizer.token_to_id(token)) for token in ("<s>", "</s>")]
    )
    return tokenizer


def trie_of(generator: Generator, names: Sequence[str]) -> FlatTrie:
    """The trie of names; the row of each is its place."""
    tokens, lengths = spelling_of(generator, Prompt.of(generator)).tokens(names)
    rows = np.flatnonzero(lengths)
    return FlatTrie(layered(tokens, lengths[rows], rows))


def alone(text: str) -> Query:
    """A mention without a text around."""
    return Query(Document("", text), Mention(((0, len(text)),), text))


@contextlib.contextmanager
def precision(generator: Generator, setting: str) -> Iterator[None]:
    """The module in another precision, from its weights in float32 and back."""
    matmul, kind = SETTINGS[setting]
    before, state = torch.get_float32_matmul_precision(), None
    torch.set_float32_matmul_precision(matmul)
    if kind != torch.float32:
        state = {name: tensor.cpu().clone() for name, tensor in generator.module.state_dict().items()}
        generator.module.to(kind)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
        if state is not None:
            generator.module.float().load_state_dict(state)


def run_of(
    generator: Generator, trie: DeviceTrie, prompted: Sequence[Prompted], search: Search, size: int
) -> Callable[[], list[Any]]:
    """What is timed: a search of each batch."""
    asked = ordered(prompted)

    def run() -> list[Any]:
        batches = batches_of(generator, asked, size)
        return [on_host(beam_search(generator, trie, batch, search)) for batch in batches]

    return run


def pooled_run_of(
    generator: Generator, trie: DeviceTrie, prompted: Sequence[Prompted], search: Search, size: int
) -> Callable[[], list[Any]]:
    """As ``run_of``, one search over all batches."""
    asked = ordered(prompted)

    def run() -> list[Any]:
        batches = map(Asked, batches_of(generator, asked, size))
        return [on_host(best) for best in beam_searches(generator, trie, batches, search)]

    return run


def ordered(prompted: Sequence[Prompted]) -> list[Prompted]:
    """By length."""
    return sorted(prompted, key=lambda each: (len(each.source), len(each.prefix)))


def batches_of(generator: Generator, prompted: Sequence[Prompted], size: int) -> Iterator[Batch]:
    """Batches of like length, each filled up to one size and to lengths of a multiple."""
    for start in range(0, len(prompted), size):
        yield batch_of(generator, prompted[start : start + size], MULTIPLE, size)


def on_host(found: Found) -> tuple[torch.Tensor, torch.Tensor]:
    """Leaves and sums, which wait for the device."""
    return found.nodes.cpu(), found.scores.cpu()


def best_of(run: Callable[[], Any], repeat: int) -> tuple[float, float]:
    """Seconds and seconds of all cores together, after a first run that chooses kernels and captures graphs."""
    run()
    seconds = []
    for _ in range(repeat):
        start, of_cores = time.perf_counter(), time.process_time()
        run()
        seconds.append((time.perf_counter() - start, time.process_time() - of_cores))
    return min(seconds)


def names_found(
    generator: Generator, trie: DeviceTrie, prompted: Sequence[Prompted], search: Search, size: int
) -> Best:
    """Ours, in the order of the mentions."""
    found: Best = []
    for start in range(0, len(prompted), size):
        batch = batch_of(generator, prompted[start : start + size])
        best = beam_search(generator, trie, batch, search)
        for nodes, scores in zip(best.nodes.tolist(), best.scores.tolist(), strict=True):
            found.append([(node, score) for node, score in zip(nodes, scores, strict=True) if node >= 0])
    return found


def compare(
    report: Report, generator: Generator, trie: FlatTrie, device: DeviceTrie, asked: list[Prompted], search: Search
) -> None:
    """The reference's speed, and whether both find the same."""
    nested = nested_of(trie)
    like_it = replace(search, narrow=True)
    settings = ("float32", "bf16") if device.device.type != "cpu" else ("float32",)
    exact = names_found(generator, device, asked, like_it, 64)
    with precision(generator, "bf16"):
        rounded = names_found(generator, device, asked, like_it, 64)
    pairs = list(zip(exact, rounded, strict=True))
    report.add("same_first_bf16", "ours", sum(a[:1] and a[0][0] == b[0][0] for a, b in pairs) / len(pairs))
    for setting in settings:
        with precision(generator, setting):
            reference = Reference(generator, trie, nested, search)
            for batch in REFERENCE_BATCHES:
                reference(asked[: min(batch, 8)], batch)
                start = time.perf_counter()
                theirs = reference(asked, batch)
                title = f"generate, {setting}, batch {batch}"
                report.add("reference_mentions_a_second", title, len(asked) / (time.perf_counter() - start))
                if setting == "float32":
                    same = [is_same(a, b) for a, b in zip(exact, theirs, strict=True)]
                    report.add("equal", f"float32, batch {batch} of generate", sum(same) / len(same))


def encoder_of(generator: Generator) -> torch.nn.Module:
    """What an embedding linker of the same kind would hold: the encoder itself, or BERT of base size (SapBERT)."""
    own: torch.nn.Module | None = getattr(generator.module, "encoder", None)
    return transformers.BertModel(transformers.BertConfig()) if own is None else own


class Report:
    """The figures of a command line, written after each."""

    def __init__(self, given: argparse.Namespace, facts: dict[str, Any]) -> None:
        card = torch.cuda.get_device_name(0) if torch.cuda.is_available() and given.device != "cpu" else None
        versions = {"torch": torch.__version__, "transformers": transformers.__version__}
        versions["tokenizers"] = tokenizers.__version__
        shown = {name: str(value) for name, value in vars(given).items() if name not in ("commit", "output")}
        shown |= {name: Path(shown[name]).name for name in ("generator", "names", "mentions")}
        self.given, self._path = given, given.output
        self._found: dict[str, Any] = {
            "commit": given.commit,
            "command": shown,
            "machine": {
                "cpu cores": os.cpu_count(),
                "threads": torch.get_num_threads(),
                "card": card,
                "load": round(os.getloadavg()[0], 1),
            },
            "versions": {"python": platform.python_version(), **versions},
            **facts,
        }

    def add(self, kind: str, title: str, figure: float) -> None:
        """One more figure."""
        self._found.setdefault(kind, {})[title] = round(figure, 4 if figure <= 1 else 1)
        print(f"{kind}: {title}: {self._found[kind][title]}", flush=True)
        temporary = self._path.with_suffix(".tmp")
        temporary.write_text(json.dumps(self._found, indent=2) + "\n", encoding="utf-8")
        temporary.replace(self._path)

    def memory(
        self,
        generator: Generator,
        trie: DeviceTrie,
        prompted: Sequence[Prompted],
        search: Search,
        n: int,
        encoder: torch.nn.Module,
    ) -> None:
        """Tensors of model and trie, of an encoder and its indexes; on a GPU the peak while 64 mentions are written."""
        model, other = (sum(p.numel() * 4 for p in part.parameters()) / MB for part in (generator.module, encoder))
        width = encoder.config.hidden_size
        self.add("memory_mb", "generator, float32", model)
        self.add("memory_mb", "trie on the device", trie.bytes / MB)
        self.add("memory_mb", "encoder, float32", other)
        self.add("memory_mb", "index, float32", n * width * 4 / MB)
        self.add("memory_mb", "index, int8", n * (width + 4) / MB)
        if trie.device.type == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            run_of(generator, trie, prompted[:64], search, 64)()
            self.add("memory_mb", "generator and trie, peak at batch 64", torch.cuda.max_memory_allocated() / MB)


if __name__ == "__main__":
    main()
