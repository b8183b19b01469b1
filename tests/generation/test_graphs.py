"""Buffers of a decoding used again, and steps that a CUDA graph could hold; the graphs themselves need a GPU."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")
pytestmark = pytest.mark.extras

from generator_cases import Inputs, inputs, save_bart  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from nomina.generation import graphs, load  # noqa: E402
from nomina.generation.generator import Memory  # noqa: E402
from nomina.generation.stepper import BartDecoding  # noqa: E402


@pytest.fixture(scope="module")
def generator(tmp_path_factory):
    return load(save_bart(tmp_path_factory.mktemp("bart")))


def of(generator, given):
    with torch.no_grad():
        return generator.encode(given.ids, given.mask), given.prefixes, given.prefix_mask


def written(decoding, tokens, steps=12):
    """Logits behind the prefix and behind each step, in which beams are turned round."""
    found = [decoding.logits.clone()]
    for t in range(steps):
        decoding.reorder(torch.tensor([[2, 0, 1]], device=tokens.device).expand(len(tokens), -1))
        found.append(decoding.step(tokens + t).clone())
    return found


class Replayed:
    """What a graph does, without one: the same step into the same buffers."""

    def __init__(self, decoding, end):
        self.decoding, self.end = decoding, end

    def replay(self):
        self.decoding._step(self.decoding.tokens, self.end, self.decoding.out)


@pytest.fixture
def captured(monkeypatch):
    """The numbers of keys for which a graph was made."""
    ends = []
    monkeypatch.setattr(graphs.GraphedDecoding, "_captured", lambda self, end: ends.append(end) or Replayed(self, end))
    return ends


def test_graphed_steps_are_the_others_and_their_buffers_serve_again(generator, captured):
    tokens = torch.tensor([[5, 6, 7], [8, 9, 10], [11, 12, 13], [14, 15, 16]])
    layout = generator.module
    first, second = (
        of(generator, inputs(4, 1)),
        of(generator, inputs(4, 1, longest=9)._replace(ids=torch.full((4, 9), 5))),
    )
    graphed = graphs.GraphedDecoding(layout, *first, 3, 12)
    for given in (first, second):
        if given is second:
            graphed.again(*given)
        expected = written(BartDecoding(layout, *given, 3, 12), tokens)
        torch.testing.assert_close(written(graphed, tokens), expected, rtol=1e-5, atol=1e-5)
    assert captured == [32, 64]  # 6 + 3 t keys, in steps of 32; not again for the second batch
    assert (expected[0] - BartDecoding(layout, *first, 3, 12).logits).abs().max() > 0.01


def test_the_output_layer_is_as_trained_by_then(generator, captured):
    given, layout = of(generator, inputs(2, 1)), generator.module
    graphed = graphs.GraphedDecoding(layout, *given, 3, 12)
    before = graphed.logits.clone()
    bias = layout.bias.clone()
    layout.bias.add_(1.0)
    graphed.again(*given)
    layout.bias.copy_(bias)
    torch.testing.assert_close(graphed.logits, before + 1.0)


def test_the_layers_are_as_trained_by_then(generator, captured):
    given, layout = of(generator, inputs(2, 1)), generator.module
    graphed = graphs.GraphedDecoding(layout, *given, 3, 12)
    weight = layout.decoder.layers[0].self_attn.v_proj.weight
    before, old = graphed.logits.clone(), weight.detach().clone()
    with torch.no_grad():
        weight.mul_(2)
    graphed.again(*given)
    expected = BartDecoding(layout, *given, 3, 12).logits
    with torch.no_grad():
        weight.copy_(old)
    torch.testing.assert_close(graphed.logits, expected)
    assert (graphed.logits - before).abs().max() > 0.01


def test_without_a_gpu_there_are_no_graphs(generator):
    generator.graphs = True
    decoding = generator.decoding(*of(generator, inputs(2, 1)), 3, 12)
    generator.graphs = False
    assert type(decoding) is BartDecoding


def test_no_step_looks_at_data_or_has_a_shape_of_its_own(generator):
    """Fake tensors have shapes and no data: a look at the data raises."""
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        memory = Memory(torch.zeros(4, 9, 24), torch.ones(4, 9).bool())
        decoding = BartDecoding(generator.module, memory, torch.ones(4, 6).long(), torch.ones(4, 6).bool(), 3, 12)
        decoding.reorder(torch.zeros(4, 3).long())
        assert decoding.step(torch.ones(4, 3).long()).shape == (4, 3, generator.vocabulary)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_graphs_of_a_gpu(tmp_path):
    generator = load(save_bart(tmp_path))
    generator.module.cuda()
    tokens = torch.tensor([[5, 6, 7], [8, 9, 10]]).cuda()
    given = of(generator, Inputs(*(part.cuda() for part in inputs(2, 1))))
    for _ in range(2):
        generator.graphs = False
        expected = written(generator.decoding(*given, 3, 12), tokens)
        generator.graphs = True
        torch.testing.assert_close(written(generator.decoding(*given, 3, 12), tokens), expected, rtol=1e-4, atol=1e-4)
