"""Pre-train a generative linker on open terminologies and fine-tune it on corpora, on one GPU (GenBioEL).

    python experiments/generative.py pretrain --data DATA --base DATA/minilm --out OUT --minutes 8
    python experiments/generative.py finetune --data DATA --model MODEL --corpus ncbi --out OUT --seeds 0 1 2

``DATA`` is what ``open_names.py --definitions``, ``tune_data.py`` and ``generative_data.py`` write. Models lie under
``--work``; results are written to ``OUT/NAME.json`` as they come, the weights (float16) to ``OUT/NAME.tar.00N``, to be
put together with ``cat``. A pre-training that is cut off goes on from its checkpoint in ``--work``; with ``--until`` it
stops by itself after so many seconds of this call. Weights are chosen on development sets; a test set is looked at with
``--test``, once, with the chosen weights. Table 4: ``--target``, ``--names``, ``--no-prompt``, ``--no-context``. Beyond
the paper: ``--copies`` noisy copies of each mention; ``--mix``: a share of the batches is of ``generative_beside.py``.
"""

from __future__ import annotations

import argparse
import json
import random
import tarfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from align_data import merged, rows
from generative_beside import BESIDE, beside
from generative_eval import Bench, Dictionary, Judge, items
from sapbert_align import say, versions

from nomina import generation
from nomina.encoders.bert import device_of
from nomina.generation.generator import Generator
from nomina.generation.prompt import Parts, Prompt
from nomina.text import normalise
from nomina.training.examples import Ints
from nomina.training.kb_text import KbText, Named, TextOptions
from nomina.training.loop import FitOptions, Objective, fit
from nomina.training.mixed import Mixed
from nomina.training.noise import NOISE, noisy
from nomina.training.seq2seq import Seq2SeqOptions, Seq2SeqTraining
from nomina.training.similarity import SIMILARITIES
from nomina.training.targets import MentionExamples, TargetOptions, name_set, targets_of

STARTED = time.monotonic()
PART = 15 * 2**20


class AnyTraining(NamedTuple):
    """An objective, how many steps it has in an epoch, and its seed."""

    objective: Objective[Any]
    epoch: int
    seed: int


def main() -> None:
    """Do a stage."""
    arguments = command_line()
    device, record = prepared(arguments)
    {"pretrain": pretrain, "finetune": finetune}[arguments.stage](arguments, device, record)
    record.add("seconds", round(time.monotonic() - STARTED, 1))


def prepared(arguments: argparse.Namespace) -> tuple[torch.device, Record]:
    """The device, and the file of results."""
    device = device_of(arguments.device)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    say(versions(device))
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
        if arguments.memory:
            torch.cuda.set_per_process_memory_fraction(arguments.memory)
    arguments.out.mkdir(parents=True, exist_ok=True)
    return device, Record(arguments, device)


def common_options(description: str | None, stages: list[str]) -> argparse.ArgumentParser:
    """The options that all training of generators has."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("stage", choices=stages)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--work", type=Path, default=Path("/tmp/nomina-training/generative"))
    options.add_argument("--name", help="of the results and of the model; by default the stage (and corpus)")
    options.add_argument("--device", default="auto")
    options.add_argument("--limit", type=int, help="only so many concepts, rows and mentions, to try things out")
    options.add_argument("--lr", type=float, help="by default 3e-4, of fine-tuning 5e-5")
    options.add_argument("--batch", type=int, help="by default 2048, of fine-tuning 32")
    options.add_argument("--warmup", type=int, default=200)
    options.add_argument("--clip", type=float, default=0.1)
    options.add_argument("--smoothing", type=float, default=0.1)
    options.add_argument("--noise", type=float, default=0.0)
    options.add_argument("--steps", type=int, default=1_000_000)
    options.add_argument("--evaluate-every", type=int)
    options.add_argument("--window", type=int, default=128)
    options.add_argument("--beams", type=int, default=5)
    options.add_argument("--no-prompt", action="store_true")
    options.add_argument("--pack", action=argparse.BooleanOptionalAction, default=True)
    options.add_argument("--memory", type=float, help="share of the GPU's memory that may be taken")
    return options


def command_line() -> argparse.Namespace:
    """The options of both stages."""
    options = common_options(__doc__, ["pretrain", "finetune"])
    pre = options.add_argument_group("pretrain")
    pre.add_argument("--base", type=Path, help="an encoder for a shallow decoder, or an encoder-decoder")
    pre.add_argument("--layers", type=int, nargs="*", default=[1, 3, 5])
    pre.add_argument("--minutes", type=float, default=8.0, help="of the whole training")
    pre.add_argument("--until", type=float, help="stop, saved, after so many seconds of this call")
    pre.add_argument("--repeat", type=int, default=1, help="how often diseases and findings come in an epoch")
    pre.add_argument("--copies", type=int, default=2, help="noisy copies of a name (mention), where there is noise")
    pre.add_argument("--bare", type=float, default=0.0, help="share of mentions without a template around")
    pre.add_argument("--similar", action="store_true", help="targets are the most similar synonyms (ANGEL)")
    pre.add_argument("--merge", action=argparse.BooleanOptionalAction, default=True, help="same concepts are one")
    fine = options.add_argument_group("finetune")
    fine.add_argument("--model", type=Path, help="a generator, or an encoder: one that was not pre-trained")
    fine.add_argument("--corpus", default="ncbi", help="ncbi, bc5cdr or aap-0")
    fine.add_argument("--seeds", type=int, nargs="*", default=[0])
    fine.add_argument("--epochs", type=float, default=10.0)
    fine.add_argument("--no-context", action="store_true")
    fine.add_argument("--target", default="tfidf", choices=[*SIMILARITIES, "shortest", "random"])
    fine.add_argument("--similarity", default="", help="the encoder's folder, for the targets encoder and sentence")
    fine.add_argument("--top", type=int, default=1)
    fine.add_argument("--names", default="all", choices=["all", "shortest", "random"])
    fine.add_argument("--mix", type=float, default=0.0, help="share of batches that are of what is trained beside")
    fine.add_argument("--mix-of", default="dictionary", choices=BESIDE, help="which: see generative_beside.py")
    fine.add_argument("--test", action="store_true")
    arguments = options.parse_args()
    arguments.name = arguments.name or "-".join(
        ["generative", arguments.stage, *([arguments.corpus] if arguments.stage == "finetune" else [])]
    )
    return arguments


class Record:
    """A JSON file that is written anew with every figure."""

    def __init__(self, arguments: argparse.Namespace, device: torch.device) -> None:
        options = {key: str(value) if isinstance(value, Path) else value for key, value in vars(arguments).items()}
        self.path = arguments.out / f"{arguments.name}.json"
        self.facts: dict[str, Any] = {"versions": versions(device), "options": options, "log": []}

    def add(self, key: str, value: object) -> None:
        """Set a fact."""
        self.facts[key] = value
        self._write()

    def log(self, facts: dict[str, Any]) -> None:
        """Say a line, and keep it."""
        say(facts)
        self.facts["log"].append(facts)
        self._write()

    def _write(self) -> None:
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text(json.dumps(self.facts, indent=1) + "\n", encoding="utf-8")
        temporary.replace(self.path)


def pretrain(arguments: argparse.Namespace, device: torch.device, record: Record) -> None:
    """KB-guided pre-training; zero-shot figures on development sets on the way."""
    torch.manual_seed(0)
    generator = started(arguments, generation.begin(arguments.base, arguments.layers), device)
    generator.writing = replace(generator.writing, context=arguments.bare < 1)
    prompt = Prompt.of(generator, window=arguments.window)
    copies = arguments.copies if arguments.noise else 0
    options = TextOptions(noise=arguments.noise, copies=copies, bare=arguments.bare, similar=arguments.similar)
    text = KbText(concepts(arguments), prompt, options)
    objective = Seq2SeqTraining(generator, text, Seq2SeqOptions(arguments.batch or 2048, arguments.smoothing))
    measure = zero_shot(arguments, generator)
    say(f"{text.count} names, ready after {time.monotonic() - STARTED:.0f} s")
    record.log({"step": 0, **measure(0)})
    how = FitOptions(
        arguments.steps,
        arguments.lr or 3e-4,
        warmup=arguments.warmup,
        clip=arguments.clip,
        seconds=arguments.minutes * 60,
        bf16=device.type == "cuda",
        folder=arguments.work / f"{arguments.name}-checkpoints",
        save_every=2000,
        report_every=200,
        evaluate_every=arguments.evaluate_every or 2000,
    )
    ends = STARTED + (arguments.until or 1e9)
    result = fit(objective, how, evaluate=measure, report=record.log, stop=lambda: time.monotonic() > ends)
    record.add("steps", result.steps)
    record.add("examples_per_s", round(result.steps * objective.options.batch_size / max(result.seconds, 1e-9)))
    record.add("stopped", result.stopped)
    saved(arguments, generator, arguments.name)


def started(arguments: argparse.Namespace, generator: Generator, device: torch.device) -> Generator:
    """A generator on its device, without its prompt where that is wanted; its size is said."""
    if arguments.no_prompt:
        generator.writing = replace(generator.writing, prompt="")
    generator.module.to(device)
    say(f"{generator.kind}: {sum(p.numel() for p in generator.module.parameters()):,} parameters")
    return generator


def concepts(arguments: argparse.Namespace) -> list[Named]:
    """Names and definitions of all terminologies, concepts that mean the same made one."""
    names: dict[str, list[str]] = defaultdict(list)
    for identifier, name in rows(arguments.data / "names.tsv.xz"):
        names[identifier].append(name)
    areas, xrefs = {}, {}
    for identifier, area, linked in rows(arguments.data / "concepts.tsv.xz"):
        areas[identifier], xrefs[identifier] = area, linked.split()
    path = arguments.data / "definitions.tsv.xz"
    definitions = {row[0]: row[1] for row in rows(path)} if path.exists() else {}
    if arguments.limit:
        names = dict(list(names.items())[:: max(len(names) // arguments.limit, 1)])
    groups = [[identifier] for identifier in names]
    if arguments.merge:
        groups = merged(names, xrefs, {text: normalise(text) for texts in names.values() for text in texts})
    found = []
    for group in groups:
        defined = next((definitions[identifier] for identifier in group if identifier in definitions), "")
        one = Named([text for identifier in group for text in names[identifier]], defined)
        found += [one] * (arguments.repeat if any(areas[identifier] == "d" for identifier in group) else 1)
    say(f"{len(groups)} concepts, {sum(bool(one.definition) for one in found)} with a definition")
    return found


def zero_shot(arguments: argparse.Namespace, generator: Generator) -> Callable[[int], dict[str, Any]]:
    """What measures a generator on development sets, with and without context."""
    judges = {}
    for corpus in ("ncbi", "bc5cdr"):
        asked = items(arguments.data, corpus, "dev", arguments.limit or 2000)
        judges[corpus] = Judge(generator, Dictionary.read(arguments.data, corpus, arguments.limit, asked), asked)

    def measure(step: int) -> dict[str, Any]:
        del step
        figures: dict[str, Any] = {}
        for corpus, judge in judges.items():
            for context, said in ((False, ""), (True, "+context")):
                found = judge.accuracy(context=context, beams=arguments.beams)
                figures |= {f"{corpus}{said} {key}": value for key, value in found.items()}
        return figures

    return measure


def finetune(arguments: argparse.Namespace, device: torch.device, record: Record) -> None:
    """Synonyms-aware fine-tuning, a training a seed."""
    bench = Bench(arguments)
    train, dictionary = bench.splits["train"], bench.dictionary
    say(f"{len(train)} mentions, {len(dictionary.texts)} names, read after {time.monotonic() - STARTED:.0f} s")
    runs: list[dict[str, Any]] = []
    known = [(item.parts, gold) for item in train if len(gold := dictionary.numbers(item.gold))]
    targets = None
    for seed in arguments.seeds:
        torch.manual_seed(seed)
        generator = started(arguments, generation.begin(arguments.model, arguments.layers), device)
        names = name_set(dictionary.concepts, arguments.names, seed)
        if targets is None or "random" in (arguments.target, arguments.names):
            options = TargetOptions(arguments.target, arguments.top, seed, arguments.similarity)
            targets = targets_of([parts.mention for parts, _ in known], [gold for _, gold in known], names, options)
            bench.tries.clear()
        objective = training(arguments, generator, [parts for parts, _ in known], targets, dictionary, seed)
        chosen = names.row if arguments.names != "all" else None
        run = tuned(arguments, generator, objective, bench.judges(generator, "dev", chosen), record)
        if arguments.test:
            run["test"] = bench.judges(generator, "test", chosen)()
        record.log({"seed": seed, **run})
        runs.append({"seed": seed, **run})
        record.add("runs", runs)
        saved(arguments, generator, f"{arguments.name}-{seed}", pack=seed == arguments.seeds[0])


def training(
    arguments: argparse.Namespace,
    generator: Generator,
    mentions: list[Parts],
    targets: list[Ints],
    dictionary: Dictionary,
    seed: int,
) -> AnyTraining:
    """The objective of one training, and how many steps an epoch has."""
    generator.writing = replace(generator.writing, context=not arguments.no_context)
    prompt = Prompt.of(generator, window=arguments.window)
    texts = [parts if not arguments.no_context else Parts("", parts.mention, "") for parts in mentions]
    if arguments.noise:
        rng, weights = random.Random(seed), dict.fromkeys(NOISE, 1.0)
        copies = [text._replace(mention=noisy(text.mention, rng, weights)) for text in texts * arguments.copies]
        texts, targets = texts + copies, targets * (1 + arguments.copies)
    made = MentionExamples(prompt.of_parts(texts), targets, dictionary.texts, prompt, seed)
    say(f"{made.count} mentions with a name, after {time.monotonic() - STARTED:.0f} s")
    options = Seq2SeqOptions(arguments.batch or 32, arguments.smoothing, seed)
    own = Seq2SeqTraining(generator, made, options)
    if not arguments.mix:
        return AnyTraining(own, own.steps, seed)
    mixed = Mixed(own, beside(arguments, generator, dictionary, prompt, options, say), arguments.mix)
    return AnyTraining(mixed, mixed.steps(own.steps), seed)


def tuned(
    arguments: argparse.Namespace,
    generator: Generator,
    training: AnyTraining,
    judges: Callable[[], dict[str, float]],
    record: Record,
) -> dict[str, Any]:
    """Train; the weights that are best on the development set stay. Its figures before, best and last."""
    best: dict[str, Any] = {}

    def measure(step: int) -> dict[str, Any]:
        figures = judges()
        if figures["dev"] > best.get("dev", -1.0):
            best.update(step=step, **figures)
            best["weights"] = {key: value.clone() for key, value in generator.module.state_dict().items()}
        return figures

    before = measure(0)
    record.log({"before": before})
    steps = min(round(arguments.epochs * training.epoch), arguments.steps)
    how = FitOptions(
        steps,
        arguments.lr or 5e-5,
        warmup=min(arguments.warmup, steps // 10),
        clip=arguments.clip,
        bf16=generator.device.type == "cuda",
        seed=training.seed,
        report_every=max(steps // 10, 1),
        evaluate_every=arguments.evaluate_every or max(steps // 5, 1),
    )
    result = fit(training.objective, how, evaluate=measure, report=record.log)
    last = next(line for line in reversed(result.log) if "dev" in line)
    generator.module.load_state_dict(best.pop("weights"))
    return {"before": before, "best": best, "last": last, "seconds": round(result.seconds, 1), "steps": result.steps}


def saved(arguments: argparse.Namespace, generator: Generator, name: str, *, pack: bool = True) -> None:
    """Save a model under ``--work``; with ``--pack`` its parts, too."""
    folder = arguments.work / name
    generator.save(folder, half=True)
    if not (pack and arguments.pack):
        return
    archive = arguments.work / f"{name}.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(folder, arcname=name)
    with archive.open("rb") as stream:
        for number, part in enumerate(iter(lambda: stream.read(PART), b"")):
            (arguments.out / f"{name}.tar.{number:03}").write_bytes(part)
    say(f"{name}: {archive.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
