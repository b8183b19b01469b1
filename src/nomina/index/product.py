"""The scaled product of integer matrices by onnxruntime: numpy has none that is fast."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_FLOAT, _UINT8, _INT8 = 1, 2, 3  # TensorProto.DataType
_INT = 2  # AttributeProto.AttributeType
_IR_VERSION, _OPSET = 8, 13


class IntegerProduct:
    """scale * ((rows - zero) @ columns) of uint8 (m, d) and int8 (d, n), scale float32 (m, 1): float32 (m, n).

    Scaling is a part of it because it is most of the work where numpy does it, in one thread.

    Args:
        zero: what stands for 0 in the rows.
        threads: how many to use; 0: one a core.
    """

    def __init__(self, zero: int, threads: int = 0) -> None:
        from onnxruntime import InferenceSession, SessionOptions

        options = SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        # Threads that wait for the next product at full speed take the cores from what is done between two of them.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session: Any = InferenceSession(_model(zero), options, providers=["CPUExecutionProvider"])

    def __call__(
        self, rows: NDArray[np.uint8], columns: NDArray[np.int8], scale: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """The scaled product."""
        given = {"rows": rows, "columns": columns, "scale": scale}
        product: NDArray[np.float32] = self._session.run(None, given)[0]
        return product


def _model(zero: int) -> bytes:
    """A model of three operators, in ONNX's protocol buffers (numbers of fields: onnx.proto3)."""
    to_float = _field(1, "to") + _field(3, _FLOAT) + _field(20, _INT)
    graph = _node("MatMulInteger", ["rows", "columns", "zero"], "sums")
    graph += _node("Cast", ["sums"], "floats", _field(5, to_float))
    graph += _node("Mul", ["floats", "scale"], "product")
    graph += _field(2, "product") + _field(5, _field(2, _UINT8) + _field(8, "zero") + _field(9, bytes([zero])))
    for name, kind in (("rows", _UINT8), ("columns", _INT8), ("scale", _FLOAT)):
        graph += _field(11, _value(name, kind))
    graph += _field(12, _value("product", _FLOAT))
    return _field(1, _IR_VERSION) + _field(7, graph) + _field(8, _field(2, _OPSET))


def _node(operator: str, inputs: list[str], output: str, attributes: bytes = b"") -> bytes:
    names = b"".join(_field(1, name) for name in inputs)
    return _field(1, names + _field(2, output) + _field(4, operator) + attributes)


def _value(name: str, kind: int) -> bytes:
    """A matrix of any size."""
    side = _field(1, b"")
    matrix = _field(1, kind) + _field(2, side + side)
    return _field(1, name) + _field(2, _field(1, matrix))


def _field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    return bytes([*data, value])
