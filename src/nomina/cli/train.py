"""``nomina train``: an encoder or a generator of your own, out of a recipe."""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from nomina.cli.places import PLACE
from nomina.cli.train_data import Data, Given, read
from nomina.cli.train_stages import staged
from nomina.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from nomina.encoders.export import Weights
    from nomina.training.generative import TrainedGenerator
    from nomina.training.recipe import Recipe
    from nomina.training.run import Trained

_FILE = click.Path(path_type=Path)
_NEEDED = ("torch", "transformers", "safetensors")
_SAMPLE = 256
"""Names on which an exported encoder is compared with torch."""

_HELP = """Train an encoder for the linker "embedding", or a model that writes names for the linker "generative".

RECIPE is one of these, or a TOML file of the same form:

\b
  sapbert   a BERT-type model; with --corpus fine-tuned on it (sapbert-corpus)
  rescnn    a small, fast ResCNN over its word pieces; so with --corpus
  genbioel  a model that writes names; --base is an encoder, which gets a shallow decoder, or an encoder-decoder
  angel     the same in stages, with wrong names: names, names-negatives, and with --corpus corpus, corpus-negatives

Without a corpus names of one concept are drawn together: any KB with synonyms will do. The folder that comes out is
for `nomina link --linker` and for --base; an earlier model in its place is replaced once the new one is whole. Progress
goes to stderr. A training that was stopped or killed goes on where it stood when the same command is given again.
"""

_EXAMPLES = """\b
Examples:
  nomina train sapbert --kb mesh --base minilm/ -o aligned/
  nomina train sapbert --kb mesh --base aligned/ --corpus train.pubtator --dev dev.pubtator -o tuned/
  nomina train sapbert --kb hpo --base aligned/ --corpus team.sqlite --annotator anna -o corrected/
  nomina train rescnn --kb mesh --base minilm/ --teacher aligned/ -o small/
  nomina train sapbert --kb my.kb --set fit.batch_size=64 --set fit.epochs=3 -o mine/
  nomina train genbioel --kb mesh --base minilm/ -o writer/
  nomina train genbioel --kb mesh --base writer/ --corpus train.pubtator --dev dev.pubtator -o tuned-writer/
  nomina train my.toml --kb my.kb -o mine/
  torchrun --nproc-per-node 4 -m nomina train sapbert --kb mesh -o aligned/
"""


@click.command(epilog=_EXAMPLES, help=_HELP)
@click.argument("recipe", metavar="RECIPE")
@click.option("--kb", required=True, metavar="NAME|FILE", help="The knowledge base whose names are learnt.")
@click.option("-o", "--output", required=True, type=PLACE, metavar="FOLDER", help="The model to write.")
@click.option("--base", metavar="FOLDER|NAME", help="The model to start from: saved, or one of Hugging Face.")
@click.option("--corpus", type=_FILE, metavar="FILE", help="Annotated mentions to train on (formats: docs/corpora).")
@click.option("--dev", type=_FILE, metavar="FILE", help="Mentions to measure accuracy on, which chooses the weights.")
@click.option("--format", metavar="FORMAT", help="The format of both, where a look at them says something else.")
@click.option("--option", "texts", multiple=True, metavar="KEY=VALUE", help="An option of it; may be repeated.")
@click.option("--annotator", multiple=True, metavar="NAME", help="Of a project: whose corrections; may be repeated.")
@click.option("--teacher", metavar="FOLDER", help="A saved encoder whose vectors to come near to as well.")
@click.option("--set", "settings", multiple=True, metavar="TABLE.KEY=VALUE", help="Change the recipe; may be repeated.")
@click.option("--seed", type=click.IntRange(min=0), help="Of all that is random; by default the recipe's.")
@click.option("--device", default="auto", show_default=True, type=click.Choice(["auto", "cpu", "cuda"]))
@click.option("--resume/--no-resume", default=True, help="Go on from the checkpoints beside the output, or begin anew.")
@click.option("--export/--no-export", "exported", default=None, help="Write an ONNX model too: it links without torch.")
@click.option(
    "--weights",
    default="int8",
    show_default=True,
    type=click.Choice(["int8", "float16", "float32"]),
    help="How that one stores them.",
)
@click.option("--skip", multiple=True, metavar="STAGE", help="A stage of angel to leave out; may be repeated.")
@staged
def train(
    recipe: str,
    kb: str,
    output: Path,
    base: str | None,
    corpus: Path | None,
    dev: Path | None,
    format: str | None,
    texts: tuple[str, ...],
    annotator: tuple[str, ...],
    teacher: str | None,
    settings: tuple[str, ...],
    seed: int | None,
    device: str,
    resume: bool,
    exported: bool | None,
    weights: Weights,
) -> None:
    """See ``_HELP``."""
    wanted = _recipe(recipe, settings, {"encoder.base": base, "distil.teacher": teacher, "fit.seed": seed}, corpus)
    _check_extras()
    from nomina import encoders
    from nomina.training import gather
    from nomina.training.output import check_place
    from nomina.training.preference.recipe import check_reference

    check_place(output)
    check_reference(wanted.preference)
    if wanted.encoder.base:
        encoders.check_base(wanted.encoder.base)
    if wanted.distil.teacher:
        encoders.check_folder(wanted.distil.teacher)
    _quiet()
    own = gather.join()
    say = _Say(gather.share()[0] == 0)
    writes = wanted.encoder.kind == "generator"
    if writes and exported:
        raise UsageError("a generator has no ONNX form: leave out --export")
    stored = weights if not writes and _exports(exported, say) else None
    checkpoints = output.with_name(f"{output.name}.checkpoints")
    with _stoppable(checkpoints) as stop:
        data = read(kb, Given(corpus, dev, format, texts, annotator), writes)
        trained = _train(wanted, data, str(own or device), checkpoints, resume, say, stop)
        gather.leave()
        if not say.is_first:
            return
        _write(trained, wanted, data, output, stored, say)
    shutil.rmtree(checkpoints)


def _recipe(name: str, settings: Sequence[str], given: dict[str, object], corpus: Path | None) -> Recipe:
    """The recipe as the command line changes it; a corpus makes NAME out of NAME-corpus.

    Raises:
        UsageError: a corpus for a recipe that learns from names.
    """
    from nomina.training.recipe import RECIPES, load, parsed

    if corpus is not None and f"{name}-corpus" in RECIPES:
        name = f"{name}-corpus"
    chosen = load(name, {**{key: value for key, value in given.items() if value is not None}, **parsed(settings)})
    if corpus is not None and chosen.data.source != "corpus":
        raise UsageError(f"{name} learns from the names of a KB and takes no --corpus: its data.source is not corpus")
    if corpus is None and chosen.data.source == "corpus":
        raise UsageError(f"{name} fine-tunes on a corpus: name one with --corpus")
    return chosen


def _check_extras() -> None:
    """Whether all that a training needs is installed.

    Raises:
        MissingExtra: something is not.
    """
    for module in _NEEDED:
        try:
            import_module(module)
        except ImportError as error:
            raise MissingExtra("train", "nomina train") from error


def _quiet() -> None:
    """Keep what transformers tells of its own doings off the terminal."""
    transformers: Any = import_module("transformers")
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()


def _exports(wanted: bool | None, say: _Say) -> bool:
    """Whether there is to be an ONNX model: as wanted, else where that is possible.

    Raises:
        MissingExtra: it is wanted, and cannot be.
    """
    from nomina.encoders.compress import import_onnx

    if wanted is False:
        return False
    try:
        import_onnx()
    except MissingExtra as error:
        if wanted:
            raise
        say(f"there will be no ONNX model: {error}")
        return False
    return True


class _Say:
    """Lines on stderr, of the first process only."""

    def __init__(self, is_first: bool) -> None:
        self.is_first = is_first

    def __call__(self, line: str) -> None:
        if self.is_first:
            click.echo(line, err=True)

    def report(self, record: dict[str, Any]) -> None:
        """A record of progress."""
        known = {"loss": "loss {:.4f}", "lr": "rate {:.1e}", "steps_per_s": "{:.2f} steps a second"}
        parts = [known.get(key, key + " {}").format(value) for key, value in record.items() if key not in _NOT_SHOWN]
        if parts:
            self(f"step {record['step']:,}: {', '.join(parts)}")


_NOT_SHOWN = frozenset({"step", "seconds"})


def _train(
    recipe: Recipe,
    data: Data,
    device: str,
    checkpoints: Path,
    resume: bool,
    say: _Say,
    stop: _Stop,
) -> Trained | TrainedGenerator:
    """Train, from the checkpoint on where there is one."""
    import torch

    from nomina.encoders.bert import device_of
    from nomina.training import gather
    from nomina.training.prepare import Task
    from nomina.training.run import begun, claim, train

    if device == "cuda" and not torch.cuda.is_available():
        raise UsageError("there is no GPU that torch can use: leave out --device")
    if say.is_first and claim(checkpoints, recipe, data.prints, resume=resume):
        say(f"going on from step {_step(checkpoints):,}, see {checkpoints}")
    gather.wait()
    chosen, asked = device_of(device), stop if gather.share()[1] == 1 else None
    trained: Trained | TrainedGenerator
    with begun(checkpoints):
        if recipe.encoder.kind == "generator":
            from nomina.training.generative import GenerativeTask, train_generator

            told = GenerativeTask(data.kb, data.concepts, data.train_samples, data.dev_samples, checkpoints)
            trained = train_generator(recipe, told, chosen, say=say, report=say.report, stop=asked)
        else:
            task = Task(data.kb, data.concepts, data.train, data.dev, checkpoints)
            trained = train(recipe, task, chosen, say=say, report=say.report, stop=asked)
    stop.training = False
    if stop.asked:
        raise KeyboardInterrupt
    return trained


class _Stop:
    """Ends a training behind the step it is at; at once where there is no step to end, or when asked twice.

    Several processes would not stop behind the same step: there it is not asked, and they end at once.
    """

    def __init__(self) -> None:
        self.asked, self.training = False, False

    def __call__(self) -> bool:
        self.training = True
        return self.asked

    def ask(self, number: int, frame: FrameType | None) -> None:
        """As the handler of a signal."""
        if self.asked or not self.training:
            raise KeyboardInterrupt
        self.asked = True


@contextlib.contextmanager
def _stoppable(checkpoints: Path) -> Iterator[_Stop]:
    """Signals end what is done in here, saying how to go on.

    Raises:
        KeyboardInterrupt: the user, or the system, has stopped it.
    """
    stop = _Stop()
    before = {number: signal.signal(number, stop.ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    except KeyboardInterrupt as interrupt:
        raise KeyboardInterrupt(
            f"stopped; the same command goes on behind step {_step(checkpoints):,}, which is saved in {checkpoints}"
        ) from interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _step(checkpoints: Path) -> int:
    """The step of the last checkpoint, 0 where there is none."""
    from nomina.training.loop import STATE

    try:
        return int(json.loads((checkpoints / STATE).read_text(encoding="utf-8"))["steps"])
    except (OSError, ValueError, KeyError):
        return 0


def _write(
    trained: Trained | TrainedGenerator, recipe: Recipe, data: Data, output: Path, weights: Weights | None, say: _Say
) -> None:
    """Write the model, and say what it is."""
    from nomina.training.output import write, write_generator
    from nomina.training.run import Trained

    texts = data.concepts.texts
    sample = texts[:: max(len(texts) // _SAMPLE, 1)][:_SAMPLE]
    sample += [recipe.data.prefix + text for text in sample[::4]] if recipe.data.prefix else []
    record = {
        "command": shlex.join(["nomina", *sys.argv[1:]]),
        "recipe": recipe.as_json(),
        "kb": {"name": data.kb.manifest.name, "release": data.kb.manifest.release},
        "data": data.prints,
        "versions": trained.versions,
        "parameters": trained.parameters,
        "before": trained.before,
        "best": trained.best,
        "steps": trained.result.steps,
        "seconds": round(trained.result.seconds, 1),
        "log": trained.result.log,
    }
    size = ""
    if not isinstance(trained, Trained):
        write_generator(trained.generator, output, record)
    else:
        if weights:
            say("exporting")
        if figures := write(trained.encoder, output, record, sample, weights):
            size = f", ONNX {figures['bytes'] / 1e6:.1f} MB (cosine with torch at least {figures['least']:.5f})"
    if trained.best:
        say(f"best: {', '.join(f'{key} {value}' for key, value in trained.best.items())}")
    say(f"{output}: {trained.parameters}{size}")
