"""The product of integer matrices by onnxruntime: numpy has none that is fast."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_INT8, _UINT8, _INT32 = 3, 2, 6  # TensorProto.DataType
_IR_VERSION, _OPSET = 8, 13


class IntegerProduct:
    """(rows - zero) @ columns of uint8 (m, d) and int8 (d, n): int32 (m, n).

    Args:
        zero: what stands for 0 in the rows.
        threads: how many to use; 0: one a core.
    """

    def __init__(self, zero: int, threads: int = 0) -> None:
        from onnxruntime import InferenceSession, SessionOptions

        options = SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        self._session: Any = InferenceSession(_model(zero), options, providers=["CPUExecutionProvider"])

    def __call__(self, rows: NDArray[np.uint8], columns: NDArray[np.int8]) -> NDArray[np.int32]:
        """The product."""
        product: NDArray[np.int32] = self._session.run(None, {"rows": rows, "columns": columns})[0]
        return product


def _model(zero: int) -> bytes:
    """A model of the one operator, in ONNX's protocol buffers (numbers of fields: onnx.proto3)."""
    node = _field(1, "rows") + _field(1, "columns") + _field(1, "zero") + _field(2, "product")
    node += _field(4, "MatMulInteger")
    constant = _field(2, _UINT8) + _field(8, "zero") + _field(9, bytes([zero]))
    graph = _field(1, node) + _field(2, "product") + _field(5, constant)
    graph += _field(11, _value("rows", _UINT8)) + _field(11, _value("columns", _INT8))
    graph += _field(12, _value("product", _INT32))
    opset = _field(2, _OPSET)
    return _field(1, _IR_VERSION) + _field(7, graph) + _field(8, opset)


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
