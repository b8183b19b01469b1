"""Weights as int8 rows: each row of a matrix is whole numbers up to 127 and a scale, a quarter of float32.

The file is one of safetensors still. ``NAME`` is int8 (rows, columns) and ``NAME.scale`` float32 (rows,); tensors that
are no matrices are float16.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from nomina.errors import ArtifactError

SCALE = ".scale"
_MOST = 127


def packed(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights, floating matrices as int8 rows; a value is off by half a scale at most, and what is 0 stays 0."""
    found = {}
    for name, tensor in weights.items():
        kept = tensor.detach().cpu()
        if kept.is_floating_point() and kept.dim() == 2:
            scale = kept.float().abs().amax(dim=1).clamp(min=torch.finfo(torch.float32).tiny) / _MOST
            found[name] = (kept.float() / scale[:, None]).round().clamp(-_MOST, _MOST).to(torch.int8)
            found[name + SCALE] = scale
        else:
            found[name] = (kept.half() if kept.is_floating_point() else kept).contiguous()
    return found


def unpacked(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of ``packed``, float32; others as they are.

    Raises:
        ArtifactError: a scale that does not belong to its matrix, or a matrix of int8 rows without one.
    """
    found = {name: tensor for name, tensor in weights.items() if not name.endswith(SCALE)}
    for name, scale in ((name, tensor) for name, tensor in weights.items() if name.endswith(SCALE)):
        rows = found.get(name.removesuffix(SCALE))
        if rows is None or rows.dtype != torch.int8 or rows.dim() != 2 or scale.shape != rows.shape[:1]:
            raise ArtifactError(f"the tensor {name} is the scale of nothing: save the weights again")
        found[name.removesuffix(SCALE)] = rows.float() * scale.float()[:, None]
    for name, tensor in found.items():
        if tensor.dtype == torch.int8:
            raise ArtifactError(f"the tensor {name} has lost the scale of its rows: save the weights again")
    return found
