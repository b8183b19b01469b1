"""The scaled product of integer matrices by onnxruntime: numpy has none that is fast.

Where a processor has no instructions for it (AVX2 alone, say), onnxruntime adds two products of uint8 and int8 in 16
bits, which may not hold them: it saturates, and sums are wrong. There the columns are given as uint8, 128 more, whose
products are added in 32 bits. Which of the two is right is tried once a session, with the largest numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_FLOAT, _UINT8, _INT8 = 1, 2, 3  # TensorProto.DataType
_INT = 2  # AttributeProto.AttributeType
_IR_VERSION, _OPSET = 8, 13
_MIDDLE = 128
"""What stands for 0 in columns of uint8."""
_TRIED = 64
"""Side of the matrices that are tried: more than any kernel takes at once."""


class IntegerProduct:
    """scale * ((rows - zero) @ columns) of uint8 (m, d) and int8 (d, n), scale float32 (m, 1): float32 (m, n).

    Scaling is a part of it because it is most of the work where numpy does it, in one thread.

    Args:
        zero: what stands for 0 in the rows.
        threads: how many to use; 0: one a core.
        signed: whether columns are multiplied as int8; by default where that is exact.
    """

    def __init__(self, zero: int, threads: int = 0, signed: bool | None = None) -> None:
        self._session: Any = _session(zero, threads, signed=signed is not False)
        self.signed = signed is not False
        if signed is None and not self._is_exact(zero):
            self._session, self.signed = _session(zero, threads, signed=False), False

    def __call__(
        self, rows: NDArray[np.uint8], columns: NDArray[np.int8], scale: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """The scaled product."""
        right = columns if self.signed else (columns ^ np.int8(-_MIDDLE)).view(np.uint8)
        product: NDArray[np.float32] = self._session.run(None, {"rows": rows, "columns": right, "scale": scale})[0]
        return product

    def _is_exact(self, zero: int) -> bool:
        """Whether the largest products add up to what they are."""
        rows, columns = np.full((_TRIED, _TRIED), 255, np.uint8), np.full((_TRIED, _TRIED), 127, np.int8)
        products = self(rows, columns, np.ones((_TRIED, 1), np.float32))
        return bool((products == _TRIED * (255 - zero) * 127).all())


def _session(zero: int, threads: int, *, signed: bool) -> Any:  # noqa: ANN401
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    # Threads that wait for the next product at full speed take the cores from what is done between two of them.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return InferenceSession(_model(zero, signed=signed), options, providers=["CPUExecutionProvider"])


def _model(zero: int, *, signed: bool = True) -> bytes:
    """A model of three operators, in ONNX's protocol buffers (numbers of fields: onnx.proto3)."""
    kinds = {"rows": _UINT8, "columns": _INT8 if signed else _UINT8, "scale": _FLOAT}
    to_float = _field(1, "to") + _field(3, _FLOAT) + _field(20, _INT)
    graph = _node("MatMulInteger", ["rows", "columns", "zero", "middle"], "sums")
    graph += _node("Cast", ["sums"], "floats", _field(5, to_float))
    graph += _node("Mul", ["floats", "scale"], "product")
    graph += _field(2, "product") + _number("zero", _UINT8, zero)
    graph += _number("middle", kinds["columns"], 0 if signed else _MIDDLE)
    for name, kind in kinds.items():
        graph += _field(11, _value(name, kind))
    graph += _field(12, _value("product", _FLOAT))
    return _field(1, _IR_VERSION) + _field(7, graph) + _field(8, _field(2, _OPSET))


def _node(operator: str, inputs: list[str], output: str, attributes: bytes = b"") -> bytes:
    names = b"".join(_field(1, name) for name in inputs)
    return _field(1, names + _field(2, output) + _field(4, operator) + attributes)


def _number(name: str, kind: int, value: int) -> bytes:
    """A constant of 8 bits."""
    return _field(5, _field(2, kind) + _field(8, name) + _field(9, bytes([value])))


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
