"""An encoder as an ONNX model that runs without torch, compared with torch before it is kept.

Weights can be stored as int8 rows with float32 scales, and as float16 where int8 costs too much; see ``compress``.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from nomina.artifact import writing
from nomina.encoders.base import TOKENIZER, TrainableEncoder, import_torch
from nomina.encoders.compress import Model, Storage, import_onnx, large_weights, stored
from nomina.encoders.onnx import BATCH, KIND, MODEL, OPTIONS, session
from nomina.errors import ArtifactError, UsageError

if TYPE_CHECKING:
    from torch import nn

Weights = Literal["float32", "float16", "int8"]

FLOORS: dict[Weights, float] = {"float32": 1 - 1e-5, "float16": 0.9999, "int8": 0.9999}
"""The least cosine, over the sample, of an exported encoder's vectors with torch's."""

OPSET = 20

_EXAMPLES = ("heart attack", "short stature of a heart")
_INPUTS, _OUTPUT = ("ids", "mask"), "vectors"


def export(
    encoder: TrainableEncoder,
    folder: str | Path,
    sample: Sequence[str],
    *,
    weights: Weights = "int8",
    floor: float | None = None,
) -> dict[str, float]:
    """Write an encoder to a model folder for ``OnnxEncoder``.

    Args:
        encoder: a ``BertEncoder`` or ``ResCnnEncoder``.
        folder: where to; a model that is there is replaced.
        sample: texts, some hundred, on which the exported encoder is compared with torch's.
        weights: how they are stored. "int8" keeps as float16 those that would bring the cosine under the floor, the
            most harmful for their size first.
        floor: the least cosine of a text of the sample; ``FLOORS`` where None.

    Returns:
        ``least`` and ``mean`` cosine over the sample, ``bytes`` of the model's file, ``int8``: share of the weights'
        numbers stored so.

    Raises:
        ArtifactError: the exported encoder is further from torch's than the floor.
        MissingExtra: torch, onnx or onnxscript is not installed.
        UsageError: no such storage, no sample, or a folder that is something else.
    """
    if weights not in FLOORS:
        raise UsageError(f"weights {weights!r} is not one of {', '.join(FLOORS)}")
    if not sample:
        raise UsageError("an exported encoder is compared with torch's on some texts: the sample has none")
    least = FLOORS[weights] if floor is None else floor
    model = to_onnx(encoder)
    texts = _Sample(encoder, sample)
    how = _storage(model, weights, texts, least)
    data = stored(model, how).SerializeToString()
    cosines = texts.cosines(data)
    if cosines.min() < least:
        raise ArtifactError(
            f"the exported encoder's vectors are too far from torch's (cosine {cosines.min():.6f}, at least {least}"
            ' is wanted): store the weights as "float16" or "float32", or lower the floor'
        )
    options = {name: getattr(encoder, name) for name in OPTIONS}
    with writing(folder, KIND, options) as target:
        (target / MODEL).write_bytes(data)
        encoder.tokenizer.save(str(target / TOKENIZER))
    sizes = large_weights(model)
    small = sum(sizes[name] for name, storage in how.items() if storage == "int8")
    return {
        "least": float(cosines.min()),
        "mean": float(cosines.mean()),
        "bytes": len(data),
        "int8": small / max(1, sum(sizes.values())),
    }


def to_onnx(encoder: TrainableEncoder) -> Model:
    """The encoder's module as a float32 model: ids int64 and mask bool (n, length) to vectors (n, dim).

    Raises:
        MissingExtra: torch, onnx or onnxscript is not installed.
    """
    torch = import_torch()
    import_onnx()
    device, training = encoder.device, encoder.module.training
    sides = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    try:
        with _quiet(), torch.no_grad():
            program = torch.onnx.export(
                _laid_out(encoder.module.cpu().eval()),
                encoder.padded(encoder.tokenise(_EXAMPLES)),
                dynamo=True,
                input_names=_INPUTS,
                output_names=(_OUTPUT,),
                dynamic_shapes=(sides, sides),
                opset_version=OPSET,
                external_data=False,
                verbose=False,
            )
    finally:
        encoder.module.to(device).train(training)
    return _plain(program.model_proto)


def _laid_out(module: nn.Module) -> nn.Module:
    """The module, or another of the same function that a CPU runs faster."""
    from nomina.encoders.rescnn import ResCnn
    from nomina.encoders.unrolled import UnrolledResCnn

    return UnrolledResCnn(module) if isinstance(module, ResCnn) else module


def _plain(model: Model) -> Model:
    """The model without the exporter's notes, which name this machine's files and are as large as a small model."""
    graph = model.graph
    del model.metadata_props[:], model.functions[:], graph.metadata_props[:], graph.value_info[:]
    for part in (*graph.node, *graph.initializer, *graph.input, *graph.output):
        del part.metadata_props[:]
        part.doc_string = ""
    return model


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what the exporter says of itself, of packages that it could use too and of its own old ways, to itself."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)


class _Sample:
    """Texts in batches of like length, and their vectors by torch."""

    def __init__(self, encoder: TrainableEncoder, texts: Sequence[str]) -> None:
        torch = import_torch()
        rows = sorted(encoder.tokenise(texts), key=len)
        padded = [encoder.padded(rows[start : start + BATCH]) for start in range(0, len(rows), BATCH)]
        training = encoder.module.training
        encoder.module.eval()
        with torch.inference_mode():
            self.expected = [encoder.module(*batch).float().cpu().numpy().astype(np.float64) for batch in padded]
        encoder.module.train(training)
        self.batches = [{"ids": ids.cpu().numpy(), "mask": mask.cpu().numpy()} for ids, mask in padded]

    def cosines(self, data: bytes) -> NDArray[np.float64]:
        """The cosine of each text's vector by a model with that by torch."""
        runner: Any = session(data)
        found = [runner.run(None, batch)[0].astype(np.float64) for batch in self.batches]
        pairs = zip(found, self.expected, strict=True)
        return np.concatenate([_cosines(one, other) for one, other in pairs])


def _cosines(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    cosines: NDArray[np.float64] = np.einsum("ij,ij->i", one, other) / lengths
    return cosines


def _storage(model: Model, weights: Weights, texts: _Sample, floor: float) -> dict[str, Storage]:
    """How to store each large weight."""
    if weights == "float32":
        return {}
    sizes = large_weights(model)
    if weights == "float16":
        return dict.fromkeys(sizes, "float16")
    small: dict[str, Storage] = dict.fromkeys(sizes, "int8")

    def halves(count: int) -> dict[str, Storage]:
        return {**small, **dict.fromkeys(ordered[:count], "float16")}

    def holds(count: int) -> bool:
        return bool(texts.cosines(stored(model, halves(count)).SerializeToString()).min() >= floor)

    ordered: list[str] = []
    if holds(0):
        return small
    harm = {name: _harm(model, name, texts) / size for name, size in sizes.items()}
    ordered = sorted(harm, key=harm.__getitem__, reverse=True)
    low, high = 0, len(ordered)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return halves(high)


def _harm(model: Model, name: str, texts: _Sample) -> float:
    """How far the vectors turn where this weight alone is stored as int8."""
    return float(1 - texts.cosines(stored(model, {name: "int8"}).SerializeToString()).mean())
