"""Accuracy on the way: the concepts of the nearest names."""

import pytest

torch = pytest.importorskip("torch")

from nomina.training.dev import Dev  # noqa: E402
from nomina.training.mentions import Item  # noqa: E402

PLACES = {"a": (1.0, 0.0), "b": (0.8, 0.6), "c": (0.0, 1.0), "d": (-1.0, 0.0), "? m": (0.9, 0.1), "m": (-0.9, 0.1)}


class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.tensor(list(PLACES.values())))

    def forward(self, ids, mask):
        return torch.nn.functional.normalize(self.table[ids[:, 0]], dim=-1)


class Encoder:
    length, pad_id, device, query_prefix = 1, 0, torch.device("cpu"), ""

    def __init__(self):
        self.module = Module()

    def tokenise(self, texts):
        return [[list(PLACES).index(text)] for text in texts]


def asked(*parts, texts=("m",)):
    return Item(texts, tuple(frozenset(part) for part in parts))


def accuracy(encoder, *items):
    return Dev(encoder, ["a", "b", "c", "d"], [(0, 7), (1,), (2,), (3,)], items).accuracy()


def test_the_nearest_names_concepts_are_the_answer():
    encoder = Encoder()
    assert accuracy(encoder, asked({3})) == {"acc@1": 100.0, "acc@5": 100.0}
    assert accuracy(encoder, asked({3}), asked({2}), asked({9})) == {"acc@1": 33.33, "acc@5": 66.67}
    encoder.query_prefix = "? "
    assert accuracy(encoder, asked({0}), asked({7}), asked({3})) == {"acc@1": 66.67, "acc@5": 100.0}


def test_every_part_is_needed_and_any_text_may_bring_it():
    encoder = Encoder()
    assert accuracy(encoder, asked({3}, {0}, texts=("m", "a")))["acc@1"] == 100.0
    assert accuracy(encoder, asked({3}, {1}, texts=("m", "a")))["acc@1"] == 0.0
    assert accuracy(encoder, asked({3}, set(), texts=("m", "a")))["acc@5"] == 0.0
