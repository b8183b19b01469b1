"""What a round keeps: the same again, made anew only where it is of something else or damaged."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from nomina.errors import ArtifactError  # noqa: E402
from nomina.training.preference.kept import fingerprint, kept  # noqa: E402
from nomina.training.preference.pairs import PairOptions  # noqa: E402


class Maker:
    def __init__(self):
        self.times = 0

    def __call__(self):
        self.times += 1
        return [np.arange(5) + self.times, np.ones((2, 3), np.float32)]


def test_what_was_made_is_taken_up_again(tmp_path):
    make, path = Maker(), tmp_path / "deeper" / "pairs"
    first = [np.array(part) for part in kept(path, "one", make)]
    again = kept(path, "one", make)
    assert make.times == 1
    assert [part.dtype for part in again] == [np.int64, np.float32]
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert [file.name for file in path.parent.iterdir()] == ["pairs"]


def test_of_something_else_or_damaged_it_is_made_anew(tmp_path):
    make, path = Maker(), tmp_path / "pairs"
    kept(path, "one", make)
    assert kept(path, "two", make)[0][0] == 2
    path.write_bytes(path.read_bytes()[:-9])
    assert kept(path, "two", make)[0][0] == 3
    path.write_bytes(b"no such thing")
    assert kept(path, "two", make)[0][0] == 4


def test_a_killed_maker_leaves_nothing(tmp_path):
    def killed():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kept(tmp_path / "pairs", "one", killed)
    assert not (tmp_path / "pairs").exists()


def test_a_folder_that_is_a_file_is_one_line(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ArtifactError, match="cannot write"):
        kept(tmp_path / "file" / "pairs", "one", Maker())


def test_a_fingerprint_changes_with_weights_and_parts():
    def linear(change=0.0):
        torch.manual_seed(0)
        made = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
        made[0].weight.data[1, 2] += change
        return made

    parts = ["kb", PairOptions(), np.array([1, 2])]
    same = fingerprint(linear(), parts)
    assert same == fingerprint(linear(), parts)
    others = [
        fingerprint(linear(1e-6), parts),
        fingerprint(linear().bfloat16(), parts),
        fingerprint(linear(), ["kb", PairOptions(top=10), np.array([1, 2])]),
        fingerprint(linear(), ["kb", PairOptions(), np.array([2, 1])]),
    ]
    assert len({same, *others}) == 5
