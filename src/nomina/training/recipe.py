"""A recipe: all that a training is told, as TOML and as frozen dataclasses. Needs no torch.

A recipe is one of ``RECIPES`` or a file; what it leaves out has the default of its field. Keys are ``table.key``.
"""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from nomina.errors import RecipeError
from nomina.training.generation_recipe import GenerationRecipe
from nomina.training.preference.recipe import PreferenceRecipe

FOLDER = Path(__file__).with_name("recipes")
RECIPES = tuple(name + of for name in ("sapbert", "rescnn", "genbioel", "angel-negatives") for of in ("", "-corpus"))
"""The recipes that nomina brings; NAME with a corpus is NAME-corpus."""

Pooling = Literal["cls", "mean", "max", "attention"]

_YES, _NO = frozenset("true yes on 1".split()), frozenset("false no off 0".split())


@dataclass(frozen=True, slots=True)
class EncoderRecipe:
    """What is trained.

    Attributes:
        kind: "bert", all of a BERT-type model, "rescnn", a ResCNN over its word-piece embeddings, or "generator", what
            writes names; see ``GenerationRecipe``.
        base: what to start from: the folder of a saved encoder or of a Hugging Face model, or a name of one; of a
            generator a folder of one, or an encoder, which gets a shallow decoder.
        pooling: of bert "cls" or "mean", of rescnn "max" or "attention".
        length: most tokens of a text.
        width, blocks, filters, hidden, tune_embeddings: of a new ResCNN; see ``encoders.rescnn``.
    """

    kind: Literal["bert", "rescnn", "generator"] = "bert"
    base: str = ""
    pooling: Pooling = "mean"
    length: int = 25
    width: int = 256
    blocks: int = 4
    filters: int = 100
    hidden: int = 278
    tune_embeddings: bool = False


@dataclass(frozen=True, slots=True)
class DataRecipe:
    """What it is trained on.

    Attributes:
        source: "names", the synonyms of a KB, or "corpus", annotated mentions and the names of a KB.
        most_pairs: synonym pairs that one concept gives at most.
        noise: share of the pairs whose left name is made noisy: a typo, another order of words, ...
        copies: noisy copies of each name to draw from; 0: none.
        hard: share of a batch that are pairs of concepts near to the others'.
        prefix: what stands before a mention, not before a name; the linker puts it there as well.
        names: how many names of the KB an epoch takes for mentions.
        most_times: how often a mention comes in an epoch at most; else the square root of its count.
        positives, negatives, pool: right and wrong names beside a mention, the wrong ones drawn from the nearest
            ``pool``.
        held_out: synonyms kept back to measure accuracy by, where there is no development corpus (at most a twentieth).
        dictionary: names among which these are looked for, at most.
    """

    source: Literal["names", "corpus"] = "names"
    most_pairs: int = 50
    noise: float = 0.0
    copies: int = 0
    hard: float = 0.0
    prefix: str = ""
    names: int = 0
    most_times: int = 3
    positives: int = 2
    negatives: int = 10
    pool: int = 20
    held_out: int = 1000
    dictionary: int = 20_000


@dataclass(frozen=True, slots=True)
class ObjectiveRecipe:
    """The loss.

    Attributes:
        loss: "ms" (multi-similarity, with hard pairs mined), "infonce" or "nca" on names; "ms", "marginal" or "biosyn",
            marginal among candidates that share characters or are near, on a corpus.
        temperature: of infonce, marginal and biosyn.
        positive_scale, negative_scale, base, margin: of ms; see ``metric.multi_similarity``.
        scale: of nca.
    """

    loss: Literal["ms", "infonce", "nca", "marginal", "biosyn"] = "ms"
    temperature: float = 0.05
    positive_scale: float = 1.0
    negative_scale: float = 60.0
    base: float = 0.5
    margin: float = 0.2
    scale: float = 10.0


@dataclass(frozen=True, slots=True)
class FitRecipe:
    """How it is trained.

    Attributes:
        epochs: passes over the examples; ``steps``, where not 0, stands in their place.
        least_steps: of few examples epochs, and of a generator smaller batches, are made that come to so many steps;
            not where ``steps`` is set, or ``epochs`` is by an override.
        minutes: an end by the clock as well, where not 0; such a training cannot be repeated exactly.
        batch_size: pairs of names, or mentions.
        warmup: steps over which the rate rises; it then falls to zero in a line.
        weight_decay: AdamW; 0: Adam.
        clip: most that the gradient's length may be.
        bf16: bfloat16 arithmetic where there is a GPU.
        compiled: compile the model first, which takes half a minute.
        patience: evaluations in a row that are no better than the best before training ends; 0: it does not matter.
        keep: "best", the weights with the best accuracy of all evaluations, that before training included, or "last".
        evaluations: how often in an epoch accuracy is measured, at least every 2000 steps.
        evaluate_every, save_every, report_every: steps; 0: as ``evaluations`` says, or an epoch, at most 2000.
    """

    epochs: float = 1.0
    steps: int = 0
    least_steps: int = 0
    minutes: float = 0.0
    batch_size: int = 512
    lr: float = 2e-4
    warmup: int = 200
    weight_decay: float = 0.01
    clip: float = 1.0
    bf16: bool = True
    compiled: bool = False
    seed: int = 0
    patience: int = 0
    keep: Literal["best", "last"] = "best"
    evaluations: int = 1
    evaluate_every: int = 0
    save_every: int = 0
    report_every: int = 50


@dataclass(frozen=True, slots=True)
class DistilRecipe:
    """A teacher, whose vectors the encoder is drawn to.

    Attributes:
        teacher: the folder of a saved encoder; "": none.
        weight: of the metric loss beside the distance to the teacher.
    """

    teacher: str = ""
    weight: float = 0.5


@dataclass(frozen=True, slots=True)
class Recipe:
    """All tables of a recipe."""

    encoder: EncoderRecipe = field(default_factory=EncoderRecipe)
    data: DataRecipe = field(default_factory=DataRecipe)
    objective: ObjectiveRecipe = field(default_factory=ObjectiveRecipe)
    fit: FitRecipe = field(default_factory=FitRecipe)
    distil: DistilRecipe = field(default_factory=DistilRecipe)
    generation: GenerationRecipe = field(default_factory=GenerationRecipe)
    preference: PreferenceRecipe = field(default_factory=PreferenceRecipe)

    def __post_init__(self) -> None:
        _check(self)

    def as_json(self) -> dict[str, Any]:
        """Tables of plain values."""
        return asdict(self)


TABLES: dict[str, type[Any]] = get_type_hints(Recipe)


def load(name: str | Path, overrides: Mapping[str, object] | None = None) -> Recipe:
    """The recipe of a name or in a file, with some of its keys set otherwise.

    Args:
        name: one of ``RECIPES``, or a TOML file.
        overrides: values by ``table.key``; texts are read as the key's type.

    Raises:
        RecipeError: no such recipe, no TOML, an unknown key, a value that does not fit.
    """
    path = FOLDER / f"{name}.toml" if str(name) in RECIPES else Path(name)
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        near = _near(str(name), RECIPES)
        raise RecipeError(
            f"no recipe {str(name)!r} ({error.strerror}): name a TOML file or one of {', '.join(RECIPES)}{near}"
        ) from error
    except ValueError as error:
        raise RecipeError(f"{path} is no TOML ({error})") from error
    return recipe_of(tables, overrides or {}, str(name))


def recipe_of(tables: Mapping[str, Any], overrides: Mapping[str, object] | None = None, where: str = "") -> Recipe:
    """A recipe of tables as TOML gives them; ``where`` they stand, for errors.

    Raises:
        RecipeError: an unknown key, a value that does not fit.
    """
    values: dict[str, dict[str, object]] = {}
    given = dict(overrides or {})
    if "fit.epochs" in given:
        given.setdefault("fit.least_steps", 0)
    for key, value in [*_flat(tables), *given.items()]:
        table, name, declared = _field(key, where)
        values.setdefault(table, {})[name] = _fitting(key, value, declared)
    return Recipe(**{name: TABLES[name](**own) for name, own in values.items()})


def parsed(texts: Sequence[str]) -> dict[str, str]:
    """``TABLE.KEY=VALUE`` texts by their keys; of a key given twice the last counts.

    Raises:
        RecipeError: a text without ``=``.
    """
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise RecipeError(f"expected TABLE.KEY=VALUE, as in fit.batch_size=64, not {text!r}")
        found[key.strip()] = value
    return found


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """What two recipes (``Recipe.as_json``) differ in, as ``table.key: value, then other value``."""
    left, right = dict(_flat(one)), dict(_flat(other))
    return [
        f"{key}: {left.get(key)!r}, now {right.get(key)!r}"
        for key in {**left, **right}
        if left.get(key) != right.get(key)
    ]


def _flat(tables: Mapping[str, Any]) -> Iterable[tuple[str, object]]:
    """``table.key`` and value of all keys; what is no table as it stands."""
    for table, own in tables.items():
        if isinstance(own, Mapping):
            yield from ((f"{table}.{key}", value) for key, value in own.items())
        else:
            yield table, own


def _field(key: str, where: str) -> tuple[str, str, Any]:
    """Table, name and type of a key."""
    known = {f"{table}.{f.name}": f for table, own in TABLES.items() for f in fields(own)}
    if key not in known:
        of = f"{where}: " if where else ""
        raise RecipeError(f"{of}no recipe has a key {key!r}{_near(key, list(known))}")
    table, _, name = key.partition(".")
    declared = get_type_hints(TABLES[table])[name]
    return table, name, bool if declared == bool | None else declared


def _near(word: str, known: Sequence[str]) -> str:
    """A question for the known word that is spelt most alike; nothing where none is near."""
    found = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"; did you mean {found[0]!r}?" if found else ""


def _fitting(key: str, value: object, declared: Any) -> object:  # noqa: ANN401
    """A value as the type that a field declares."""
    choices = get_args(declared)
    if choices:
        if value not in choices:
            raise RecipeError(f"{key} is one of {', '.join(choices)}, not {value!r}")
        return value
    if isinstance(value, str) and declared is not str:
        value = _read(value, declared)
    if declared is float and type(value) is int:
        value = float(value)
    if type(value) is not declared or (isinstance(value, float) and not math.isfinite(value)):
        raise RecipeError(f"{key} must be {_SAID[declared]}, not {value!r}")
    return value


_SAID: dict[type, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def _read(text: str, declared: type) -> object:
    """A text of the command line as a value; the text itself where it is none."""
    word = text.strip()
    if declared is bool:
        return True if word.lower() in _YES else False if word.lower() in _NO else text
    try:
        return declared(word)
    except ValueError:
        return text


_POOLINGS = {"bert": ("cls", "mean"), "rescnn": ("max", "attention"), "generator": get_args(Pooling)}
_LOSSES = {"names": ("ms", "infonce", "nca"), "corpus": ("ms", "marginal", "biosyn")}
_LEAST: dict[str, float] = {
    "encoder.length": 3, "encoder.width": 1, "encoder.blocks": 1, "encoder.filters": 1, "encoder.hidden": 1,
    "data.most_pairs": 1, "data.copies": 0, "data.names": 0, "data.most_times": 1, "data.positives": 1,
    "data.negatives": 1, "data.pool": 1, "data.held_out": 0, "data.dictionary": 1, "data.noise": 0, "data.hard": 0,
    "objective.margin": 0, "distil.weight": 0, "fit.steps": 0, "fit.minutes": 0, "fit.batch_size": 1, "fit.warmup": 0,
    "fit.weight_decay": 0, "fit.seed": 0, "fit.evaluate_every": 0, "fit.save_every": 0, "fit.report_every": 1,
    "fit.evaluations": 1,
    "generation.window": 16, "generation.others": 1, "generation.bare": 0, "generation.around": 1, "generation.top": 1,
    "generation.smoothing": 0, "generation.beams": 1, "preference.beta": 0, "preference.margin": 0,
    "preference.weight": 0, "preference.likelihood": 0, "preference.others": 1, "preference.top": 2,
    "preference.beams": 1, "fit.patience": 0, "fit.least_steps": 0,
}  # fmt: skip
_ABOVE_ZERO = ("objective.temperature", "objective.positive_scale", "objective.negative_scale", "objective.scale",
               "fit.epochs", "fit.lr", "fit.clip")  # fmt: skip


def _check(recipe: Recipe) -> None:
    """Whether values are possible, alone and together.

    Raises:
        RecipeError: one is not.
    """
    values: dict[str, Any] = dict(_flat(recipe.as_json()))
    for key, least in _LEAST.items():
        if not values[key] >= least:
            raise RecipeError(f"{key} must be at least {least}, not {values[key]}")
    for key in _ABOVE_ZERO:
        if not values[key] > 0:
            raise RecipeError(f"{key} must be above 0, not {values[key]}")
    for key in ("data.noise", "data.hard", "generation.bare", "generation.smoothing"):
        if values[key] > 1:
            raise RecipeError(f"{key} is a share, from 0 to 1, not {values[key]}")
    _check_together(values)


def _check_together(values: Mapping[str, Any]) -> None:
    for key, of, table in (("encoder.pooling", "encoder.kind", _POOLINGS), ("objective.loss", "data.source", _LOSSES)):
        if values[key] not in (possible := table[values[of]]):
            raise RecipeError(f"{key} is {' or '.join(possible)} where {of} is {values[of]}, not {values[key]!r}")
    if values["data.noise"] and not values["data.copies"]:
        raise RecipeError("data.noise needs noisy copies of the names: set data.copies to 1 or more")
    if values["objective.loss"] == "biosyn" and values["data.names"]:
        raise RecipeError("names are no mentions where objective.loss is biosyn: set data.names to 0")
    if not all(word.isdigit() for word in values["generation.layers"].split()):
        raise RecipeError(f"generation.layers are numbers, as in '1 3 5', not {values['generation.layers']!r}")
    if values["generation.target"] in ("encoder", "sentence") and not values["generation.similarity"]:
        raise RecipeError(
            f"generation.target={values['generation.target']} needs an encoder: name one as generation.similarity"
        )
    if values["preference.loss"] != "none" and (
        values["encoder.kind"] != "generator" or values["generation.names"] != "all"
    ):
        raise RecipeError("preference.loss is for generators that write all names: set it to none")
    if values["distil.teacher"] and values["encoder.kind"] == "generator":
        raise RecipeError("a teacher is for encoders: leave distil.teacher empty where encoder.kind is generator")
    if values["distil.teacher"] and values["data.source"] == "corpus":
        raise RecipeError("a teacher is for trainings on names: leave distil.teacher empty where data.source is corpus")
