"""Out of a recipe, a KB and a corpus: the encoder, the objective over it, and what its accuracy is measured on."""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from nomina import encoders
from nomina.encoders import DESCRIPTION
from nomina.encoders.base import TrainableEncoder
from nomina.encoders.bert import BertEncoder
from nomina.encoders.rescnn import ResCnnEncoder
from nomina.errors import RecipeError
from nomina.files import atomic
from nomina.kb.store import KnowledgeBase
from nomina.linkers.embedding import fingerprint
from nomina.training.align import AlignOptions, DistilledAlignment, SelfAlignment, principal
from nomina.training.biosyn import BioSynTuning, sparse_scores
from nomina.training.corpus import CorpusOptions, CorpusTuning
from nomina.training.dev import Dev
from nomina.training.examples import Pairs, TokenTable
from nomina.training.gather import share
from nomina.training.mentions import Item, distinct
from nomina.training.metric import MetricLoss, info_nce, multi_similarity, nca
from nomina.training.names import Concepts, check_synonyms, noisy_copies, some_rows, split
from nomina.training.recipe import ObjectiveRecipe, Recipe

Say = Callable[[str], None]
AnyObjective: TypeAlias = SelfAlignment | CorpusTuning

_SAMPLE = 8
"""Every so manieth of the teacher's vectors goes into the principal directions."""

_CHUNK = 1 << 16
"""Texts whose vectors are in memory as float32."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a recipe is trained with.

    Attributes:
        kb: whose names are learnt.
        concepts: of the KB.
        train: items of the corpus to train on, where there is one.
        dev: items of the development corpus, where there is one.
        cache: the folder for a teacher's vectors.
    """

    kb: KnowledgeBase
    concepts: Concepts
    train: Sequence[Item] | None
    dev: Sequence[Item] | None
    cache: Path


def encoder_of(recipe: Recipe, device: torch.device) -> TrainableEncoder:
    """The encoder to start from, on its device; a base that is a saved encoder keeps its layout.

    Raises:
        ArtifactError: the base cannot be loaded.
        RecipeError: the base is a saved encoder of another kind, or there is none.
    """
    wanted = recipe.encoder
    if not wanted.base:
        raise RecipeError("no encoder to start from: name a folder or a model with --base, or as encoder.base")
    torch.manual_seed(recipe.fit.seed)
    encoder: TrainableEncoder
    saved = encoders.load_trainable(wanted.base) if (Path(wanted.base) / DESCRIPTION).is_file() else None
    if wanted.kind == "rescnn":
        encoder = saved if isinstance(saved, ResCnnEncoder) else _new_rescnn(recipe, saved)
    elif isinstance(saved, ResCnnEncoder):
        raise RecipeError(f"{wanted.base} is a ResCNN, the recipe trains a model of kind bert: take a rescnn recipe")
    else:
        encoder = BertEncoder(wanted.base, "cls" if wanted.pooling == "cls" else "mean", wanted.length)
    encoder.query_prefix = recipe.data.prefix
    encoder.module.to(device)
    return encoder


def _new_rescnn(recipe: Recipe, saved: TrainableEncoder | None) -> ResCnnEncoder:
    wanted = recipe.encoder
    start = saved if isinstance(saved, BertEncoder) else BertEncoder(wanted.base)
    return ResCnnEncoder(
        start.word_embeddings,
        start.tokenizer,
        "max" if wanted.pooling == "max" else "attention",
        wanted.length,
        tune_embeddings=wanted.tune_embeddings,
        width=wanted.width,
        blocks=wanted.blocks,
        filters=wanted.filters,
        hidden=wanted.hidden,
    )


def prepare(recipe: Recipe, encoder: TrainableEncoder, task: Task, say: Say) -> tuple[AnyObjective, Dev | None]:
    """The objective, and what accuracy is measured on; None where there is nothing to measure on.

    Raises:
        RecipeError: there is nothing to learn from or to measure on, or the recipe needs a corpus.
    """
    if task.dev is not None:
        _check_dev(task.dev, task.kb.manifest.name, say)
    if recipe.data.source == "names":
        return _names(recipe, encoder, task, say)
    return _corpus(recipe, encoder, task, say)


def _names(recipe: Recipe, encoder: TrainableEncoder, task: Task, say: Say) -> tuple[AnyObjective, Dev | None]:
    data, seed = recipe.data, recipe.fit.seed
    own = task.concepts.unshared()
    check_synonyms(own, task.kb.manifest.name)
    train, held = split(own, 0 if task.dev is not None else data.held_out, seed)
    pairs = Pairs.of([rows.tolist() for rows in train.rows()], data.most_pairs, seed)
    texts = [*task.concepts.texts, *noisy_copies(task.concepts.texts, data.copies, seed)]
    table = TokenTable.of(encoder, texts)
    say(f"{len(train.row):,} names, {len(pairs):,} pairs")
    options = AlignOptions(_batch_size(recipe.fit.batch_size, len(pairs), say), data.noise, data.hard, seed)
    count, loss, first = len(task.concepts.texts), _loss(recipe.objective), train.firsts()
    objective: SelfAlignment
    if recipe.distil.teacher:
        targets = _targets(recipe.distil.teacher, encoder, texts, task.cache, say)
        weight = recipe.distil.weight
        objective = DistilledAlignment(
            encoder, table, pairs, count, options, targets, weight, loss=loss, first=first
        )  # fmt: skip
    else:
        objective = SelfAlignment(encoder, table, pairs, count, options, loss, first=first)
    if task.dev is not None:
        return objective, Dev(encoder, task.concepts.texts, task.concepts.owners(), task.dev)
    if not len(held.row):
        return objective, None
    names = train.chosen(np.isin(train.row, some_rows(train, held.concept, data.dictionary, seed)))
    asked = [
        Item((task.concepts.texts[row],), (frozenset({concept}),))
        for concept, row in zip(held.concept.tolist(), held.row.tolist(), strict=True)
    ]
    say(f"accuracy: {len(asked):,} synonyms held out, looked for among {len(names.row):,} names")
    owners = [(concept,) for concept in names.concept.tolist()]
    return objective, Dev(encoder, [task.concepts.texts[row] for row in names.row.tolist()], owners, asked)


def _batch_size(wanted: int, pairs: int, say: Say) -> int:
    """The batch size that is wanted; where there are fewer pairs, what they fill."""
    if wanted <= pairs:
        return wanted
    if not pairs:
        raise RecipeError("all synonyms are held out to measure accuracy by: set data.held_out to 0, or name a --dev")
    processes = share()[1]
    if pairs < processes:
        raise RecipeError(f"{processes} processes cannot share {pairs} pairs: start fewer")
    size = pairs // processes * processes
    say(
        f"fit.batch_size is {size:,} in place of {wanted:,}, as there are {pairs:,} pairs; an epoch is one step: set"
        " fit.steps for more"
    )
    return size


def _loss(wanted: ObjectiveRecipe) -> MetricLoss:
    losses: dict[str, MetricLoss] = {
        "ms": functools.partial(
            multi_similarity,
            positive_scale=wanted.positive_scale,
            negative_scale=wanted.negative_scale,
            base=wanted.base,
            margin=wanted.margin,
        ),
        "infonce": functools.partial(info_nce, temperature=wanted.temperature),
        "nca": functools.partial(nca, scale=wanted.scale),
    }
    return losses[wanted.loss]


def _corpus(recipe: Recipe, encoder: TrainableEncoder, task: Task, say: Say) -> tuple[AnyObjective, Dev | None]:
    if task.train is None:
        raise RecipeError("the recipe fine-tunes on a corpus: name one with --corpus")
    if share()[1] > 1:
        raise RecipeError("fine-tuning on a corpus runs in one process: start it without torchrun")
    data, wanted = recipe.data, recipe.objective
    own = task.concepts.unshared()
    known = distinct(task.train, own.concept)
    if not known.texts:
        raise RecipeError("no mention of the corpus has a concept of the KB: is it the corpus's own?")
    say(
        f"{len(known.texts):,} distinct mentions to train on; {known.left_out:,} left out (composite, or not in the KB)"
    )
    names = [task.concepts.texts[row] for row in own.row.tolist()]
    texts = [*names, *(data.prefix + text for text in known.texts)]
    if data.names:
        texts += [data.prefix + name for name in names]
    options = CorpusOptions(
        recipe.fit.batch_size,
        data.positives,
        data.negatives,
        data.pool,
        data.names,
        "marginal" if wanted.loss == "marginal" else "ms",
        wanted.temperature,
        recipe.fit.seed,
        wanted.positive_scale,
        wanted.negative_scale,
        wanted.base,
        wanted.margin,
    )
    times = np.minimum(np.round(np.sqrt(known.counts)).astype(np.int64), data.most_times)
    table = TokenTable.of(encoder, texts)
    objective: CorpusTuning
    if wanted.loss == "biosyn":
        sparse = sparse_scores(names, known.texts, encoder.device)
        objective = BioSynTuning(encoder, table, own.concept, known.gold, options, sparse, times)
    else:
        objective = CorpusTuning(encoder, table, own.concept, known.gold, options, times)
    if task.dev is None:
        return objective, None
    return objective, Dev(encoder, task.concepts.texts, task.concepts.owners(), task.dev)


def _check_dev(items: Sequence[Item], kb: str, say: Say) -> None:
    """Whether a KB has the gold of a development corpus; where it lacks some of it, that is said."""
    if not items:
        raise RecipeError("the development corpus has no mention with gold")
    lacking = sum(not all(item.gold) for item in items)
    if lacking == len(items):
        raise RecipeError(f"the KB {kb} has the gold of no mention of the development corpus: is it the corpus's own?")
    if lacking:
        say(f"accuracy: the KB lacks gold of {lacking:,} of {len(items):,} development mentions, which count as wrong")


def _targets(folder: str, student: TrainableEncoder, texts: Sequence[str], cache: Path, say: Say) -> Tensor:
    """The teacher's vectors of texts along their principal directions, (texts, the student's dim), float16; cached."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file, save

    teacher = encoders.load_trainable(folder)
    digest = hashlib.sha256(f"{fingerprint(teacher)} {student.dim} {len(texts)}".encode())
    for text in texts:
        digest.update(f"{text}\n".encode())
    path = cache / f"teacher-{digest.hexdigest()[:16]}.safetensors"
    with contextlib.suppress(FileNotFoundError, SafetensorError):  # a damaged file is written anew
        return load_file(path)["vectors"].to(student.device)
    if teacher.dim < student.dim:
        raise RecipeError(
            f"the teacher's vectors have {teacher.dim} numbers, the encoder's {student.dim}: make the encoder narrower"
        )
    say(f"vectors of {len(texts):,} texts by the teacher")
    teacher.module.to(student.device)
    table, rows = TokenTable.of(teacher, texts), np.arange(len(texts))
    chunks = (rows[start : start + _CHUNK] for start in range(0, len(rows), _CHUNK))
    targets = torch.cat([table.vectors(teacher.module, chunk, bf16=True).half() for chunk in chunks])
    if teacher.dim > student.dim:
        projection = principal(targets[::_SAMPLE].float(), student.dim)
        parts = torch.split(targets, _CHUNK)
        targets = torch.cat([torch.nn.functional.normalize(part.float() @ projection, dim=1).half() for part in parts])
    if share()[0] == 0:
        with atomic(path) as temporary:
            temporary.write_bytes(save({"vectors": targets.cpu().contiguous()}))
    return targets
