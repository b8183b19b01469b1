"""``experiments/figures.py`` and ``draw_figures.py``: numbers by hand, and pictures that are those of the results."""

from xml.etree import ElementTree

import numpy as np
import pytest

from nomina.encoders.base import Encoder


class Angles(Encoder):
    """A text is the angle of its vector, in degrees."""

    dim = 2

    def encode(self, texts, batch_size=0):
        angles = np.deg2rad([float(text) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


@pytest.fixture
def figures(script):
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    return script("figures")


def test_the_pictures_are_those_of_the_results(script):
    drawing, common = script("draw_figures"), script("common")
    pictures = drawing.pictures(common.RESULTS / "figures.json")
    for name, picture in pictures.items():
        assert (drawing.TARGET / name).read_text(encoding="utf-8") == picture + "\n"
        assert len(picture) < 200_000
        assert ElementTree.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"


def test_a_number_stands_at_a_name_of_its_concept(script):
    drawing = script("draw_figures")
    # The medians are (500, 500), where no name is; the nearest one is (500, 400).
    drawn = drawing._cloud([[0, 500], [500, 400], [1000, 1000]], 2, 0, 0)
    x, y = 6 + (drawing.CELL - 12) * 0.5 + 3, 6 + (drawing.MAP - 12) * 0.4 - 3
    assert drawn.count("<circle") == 3
    assert f'x="{x:g}" y="{round(y, 2):g}"' in drawn
    assert ">3</text>" in drawn


def test_the_nearest_other_name(figures):
    sampled = [("a", ["0", "10"]), ("b", ["14", "90"])]
    # 0 -> 10 own, 10 -> 14 other, 14 -> 10 other, 90 -> 14 own.
    assert figures.nearest_is_own(Angles(), sampled) == 50.0


def test_all_pairs_and_mined_ones(figures):
    batch = [(0, "0", "60"), (1, "90", "90")]
    found = figures.similarities(Angles(), [batch])
    assert found["pairs"]["all_positive"] == 4
    assert found["pairs"]["all_negative"] == 8
    assert found["mean"]["all_positive"] == pytest.approx((0.5 + 1) / 2, abs=1e-4)
    assert found["mean"]["all_negative"] == pytest.approx(np.cos(np.deg2rad(30)) / 2, abs=1e-4)
    # Distances: 0-60 1, 60-90 0.518, 0-90 1.414, 90-90 0. Only 60 has a negative (90) within its positive + 0.2.
    assert (found["pairs"]["mined_positive"], found["pairs"]["mined_negative"]) == (1, 2)
    assert found["mean"]["mined_negative"] == pytest.approx(np.cos(np.deg2rad(30)), abs=1e-4)
    assert found["overlap"]["mined"] == 0
    shares = found["shares"]["all_positive"]
    assert (len(shares), shares[32], shares[-1]) == (figures.BINS, 0.5, 0.5)  # 0.5 opens bin 32


def test_shares_by_bin(figures):
    shares = figures.histogram(np.array([-0.9, 0.999, 1.1, 0.2], np.float32))
    assert (shares[0], shares[-1], shares[20], shares.sum()) == (0.25, 0.5, 0.25, 1.0)


def test_the_same_concepts_whatever_the_day(figures, make_kb):
    kb = make_kb({f"C{i}": tuple(f"name {i} {j}" for j in range(i)) for i in range(1, 8)})
    drawn = figures.concepts(kb, 3, 4, 4)
    assert drawn == figures.concepts(kb, 3, 4, 4)
    assert [len(names) for _, names in drawn] == [4, 4, 4]
    assert all(len({name.split()[1] for name in names}) == 1 for _, names in drawn)
    assert len(figures.concepts(kb, 30, 4, 4)) == 4


def test_places_fill_the_plane(figures):
    shown = [(f"c{i}", [str(36 * i + j / 10) for j in range(10)]) for i in range(10)]
    found = np.array(figures.places(Angles(), shown))
    assert found.shape == (10, 10, 2)
    assert (found.min(), found.max()) == (0, 1000)
