"""Weights of an ONNX model stored in fewer bits; the graph turns them into float32 before it computes."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nomina.errors import MissingExtra

Model: TypeAlias = Any
Graph: TypeAlias = Any
Node: TypeAlias = Any
"""``onnx.ModelProto`` and its parts; onnx is an optional dependency, and its types are not known without it."""

Storage = Literal["float16", "int8"]

_FLOAT = 1  # TensorProto.FLOAT
_LARGE = 1 << 12
"""Numbers of a weight that is worth storing in another way."""


def import_onnx() -> Any:  # noqa: ANN401
    """The module ``onnx``.

    Raises:
        MissingExtra: it, or what torch's exporter needs beside it, is not installed.
    """
    try:
        import_module("onnxscript")
        return import_module("onnx")
    except ImportError as error:
        raise MissingExtra("train", "an export to ONNX") from error


def large_weights(model: Model) -> dict[str, int]:
    """The float32 matrices and kernels of a model, with how many numbers they have."""
    counts = {
        weight.name: int(np.prod(weight.dims))
        for weight in model.graph.initializer
        if weight.data_type == _FLOAT and len(weight.dims) > 1
    }
    return {name: count for name, count in counts.items() if count >= _LARGE}


def stored(model: Model, how: Mapping[str, Storage]) -> Model:
    """The model with some weights stored in another way.

    int8: a row of an embedding table, an output of a matrix product and of a convolution each have a float32 scale,
    the largest of its numbers / 127. The rows of a table that is looked up in are scaled after the look-up; all else
    becomes float32 once, when onnxruntime folds constants while it loads the model.
    """
    onnx = import_onnx()
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    graph = changed.graph
    for name, storage in how.items():
        (weight,) = (weight for weight in graph.initializer if weight.name == name)
        users = [node for node in graph.node if name in node.input]
        values = onnx.numpy_helper.to_array(weight)
        graph.initializer.remove(weight)
        if storage == "float16":
            _add(graph, f"{name}.half", values.astype(np.float16))
            _insert(graph, 0, _node("Cast", [f"{name}.half"], name, to=_FLOAT))
        elif len(users) == 1 and _looks_up(users[0], name):
            _looked_up(graph, users[0], values)
        else:
            small, scale = quantised(values, _axis(users[0], name, values.ndim))
            _add(graph, f"{name}.int8", small)
            _add(graph, f"{name}.scale", scale)
            _insert(graph, 0, _node("Mul", [f"{name}.float", f"{name}.scale"], name))
            _insert(graph, 0, _node("Cast", [f"{name}.int8"], f"{name}.float", to=_FLOAT))
    return changed


def quantised(values: NDArray[np.float32], axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Whole numbers and their scale for each place along an axis, of the same number of axes."""
    others = tuple(i for i in range(values.ndim) if i != axis)
    scale = (np.abs(values).max(axis=others, keepdims=True) / 127).astype(np.float32)
    scale[scale == 0] = 1
    return np.rint(values / scale).astype(np.int8), scale


def _looks_up(node: Node, name: str) -> bool:
    along = [attribute.i for attribute in node.attribute if attribute.name == "axis"]
    return node.op_type == "Gather" and node.input[0] == name and not any(along)


def _looked_up(graph: Graph, node: Node, values: NDArray[np.float32]) -> None:
    """Replace the look-up of rows by one of int8 rows, one of their scales, and the product."""
    name, ids, found = node.input[0], node.input[1], node.output[0]
    small, scale = quantised(values, 0)
    _add(graph, f"{name}.int8", small)
    _add(graph, f"{name}.scale", scale)
    place = list(graph.node).index(node)
    graph.node.remove(node)
    _insert(graph, place, _node("Mul", [f"{found}.float", f"{found}.scale"], found))
    _insert(graph, place, _node("Cast", [f"{found}.int8"], f"{found}.float", to=_FLOAT))
    _insert(graph, place, _node("Gather", [f"{name}.scale", ids], f"{found}.scale"))
    _insert(graph, place, _node("Gather", [f"{name}.int8", ids], f"{found}.int8"))


def _axis(node: Node, name: str, axes: int) -> int:
    """Along which axis the numbers of one output lie apart."""
    return axes - 1 if node.op_type == "MatMul" and node.input[1] == name else 0


def _add(graph: Graph, name: str, values: NDArray[Any]) -> None:
    graph.initializer.append(import_onnx().numpy_helper.from_array(values, name))


def _insert(graph: Graph, place: int, node: Node) -> None:
    graph.node.insert(place, node)


def _node(operator: str, inputs: list[str], output: str, **attributes: int) -> Any:  # noqa: ANN401
    return import_onnx().helper.make_node(operator, inputs, [output], **attributes)
