"""Weights as int8 rows."""

import pytest

torch = pytest.importorskip("torch")
from safetensors.torch import save_file  # noqa: E402

from nomina.encoders.base import read_weights  # noqa: E402
from nomina.encoders.packing import packed, unpacked  # noqa: E402
from nomina.errors import ArtifactError  # noqa: E402

WEIGHTS = {
    "matrix": torch.randn(5, 64, generator=torch.Generator().manual_seed(0)) * torch.logspace(-6, 3, 5)[:, None],
    "nothing": torch.zeros(2, 3),
    "vector": torch.linspace(-1, 1, 7),
    "numbers": torch.arange(4),
}


def test_a_value_is_off_by_half_a_scale_at_most_whatever_the_size_of_its_row(tmp_path):
    save_file(packed(WEIGHTS), tmp_path / "weights")
    found = read_weights(tmp_path / "weights")
    assert set(found) == set(WEIGHTS)
    scale = WEIGHTS["matrix"].abs().amax(1, keepdim=True) / 127
    assert ((found["matrix"] - WEIGHTS["matrix"]).abs() <= 0.5001 * scale).all()
    assert torch.equal(found["nothing"], WEIGHTS["nothing"])
    assert torch.equal(found["vector"], WEIGHTS["vector"].half().float())
    assert torch.equal(found["numbers"], WEIGHTS["numbers"])
    assert {tensor.dtype for name, tensor in found.items() if name != "numbers"} == {torch.float32}


def test_matrices_are_a_byte_a_value():
    found = packed(WEIGHTS)
    assert found["matrix"].dtype == found["nothing"].dtype == torch.int8
    assert found["matrix.scale"].shape == (5,)
    assert found["vector"].dtype == torch.float16


@pytest.mark.parametrize(
    "wrong",
    [
        {"a.scale": torch.ones(2)},
        {"a": torch.ones(2, 3), "a.scale": torch.ones(2)},
        {"a": torch.ones(2, 3, dtype=torch.int8), "a.scale": torch.ones(3)},
        {"a": torch.ones(2, dtype=torch.int8), "a.scale": torch.ones(2)},
    ],
)
def test_a_scale_that_does_not_fit_is_refused(wrong):
    with pytest.raises(ArtifactError, match=r"a\.scale is the scale of nothing"):
        unpacked(wrong)


def test_rows_whose_scale_is_lost_are_refused():
    found = packed(WEIGHTS)
    del found["matrix.scale"]
    with pytest.raises(
        ArtifactError, match=r"^the tensor matrix has lost the scale of its rows: save the weights again$"
    ):
        unpacked(found)
