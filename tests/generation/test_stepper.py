"""Decoding step by step is teacher forcing, and what transformers does, whatever the padding, the beams, the order."""

from __future__ import annotations

import types

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")
pytestmark = pytest.mark.extras

from generator_cases import VOCABULARY, inputs, save_bart, save_base, save_t5  # noqa: E402

from nomina.errors import UsageError  # noqa: E402
from nomina.generation import begin  # noqa: E402
from nomina.generation.plain import PlainDecoding  # noqa: E402
from nomina.generation.stepper import BartDecoding, few_queries  # noqa: E402

KINDS = ["bart", "scaled", "shallow", "t5"]
BEAMS, MOST = 3, 12


@pytest.fixture(scope="module")
def generators(tmp_path_factory):
    folders = {kind: tmp_path_factory.mktemp(kind) for kind in KINDS}
    save_bart(folders["bart"])
    save_bart(folders["scaled"], scale_embedding=True)
    save_t5(folders["t5"])
    save_base(folders["shallow"])
    return {kind: begin(folder, layers=(0, 1)) for kind, folder in folders.items()}


@pytest.fixture(params=KINDS)
def generator(request, generators):
    return generators[request.param]


def close(found, expected):
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def forced(generator, given, rows):
    """Teacher forcing of one mention, without padding: the logits (beams, V) behind each of its rows."""
    ids, mask = (part.expand(len(rows), -1) for part in given[:2])
    with torch.no_grad():
        return generator.forward(ids, mask, torch.tensor(rows))[:, -1]


def started(generator, given, beams=BEAMS, most=MOST):
    with torch.inference_mode():
        memory = generator.encode(given.ids, given.mask)
    return generator.decoding(memory, given.prefixes, given.prefix_mask, beams, most)


def walk(decoding, seed, n, steps=MOST):
    """Steps with random parents and tokens, (parents, tokens, logits) each."""
    random = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        parents = torch.randint(0, BEAMS, (n, BEAMS), generator=random)
        tokens = torch.randint(4, VOCABULARY, (n, BEAMS), generator=random)
        decoding.reorder(parents)
        yield parents, tokens, decoding.step(tokens)


def test_the_decoder_is_the_one_for_its_layout(generators):
    kinds = {kind: type(started(generator, inputs(2, 0))) for kind, generator in generators.items()}
    assert kinds == {"bart": BartDecoding, "scaled": BartDecoding, "shallow": BartDecoding, "t5": PlainDecoding}


@pytest.mark.parametrize("few", [False, True], ids=["cpu", "as on a GPU"])
def test_every_step_is_teacher_forcing_of_what_the_beam_has_written(few, generator, monkeypatch):
    if few:
        monkeypatch.setattr("nomina.generation.stepper.scaled_dot_product_attention", few_queries)
    n = 5
    given = inputs(n, generator.pad_id)
    decoding = started(generator, given)
    alone = [given.row(i) for i in range(n)]
    written = [[row.prefixes[0].tolist()] * BEAMS for row in alone]
    close(decoding.logits, torch.cat([forced(generator, alone[i], written[i][:1]) for i in range(n)]))
    for parents, tokens, logits in walk(decoding, 0, n):
        written = [[written[i][parents[i, j]] + [int(tokens[i, j])] for j in range(BEAMS)] for i in range(n)]
        close(logits, torch.stack([forced(generator, alone[i], written[i]) for i in range(n)]))
    assert logits.std() > 0.05


def test_without_reordering_beams_stay_where_they_are(generator):
    given = inputs(2, generator.pad_id)
    decoding, tokens = started(generator, given), torch.tensor([[5, 6, 7], [8, 9, 10]])
    decoding.step(tokens)
    logits = decoding.step(tokens.flip(0))
    rows = [[*given.row(1).prefixes[0].tolist(), token, other] for token, other in ((8, 5), (9, 6), (10, 7))]
    close(logits[1], forced(generator, given.row(1), rows))


def test_a_batch_of_64_is_64_batches_of_one(generator):
    n = 64
    given = inputs(n, generator.pad_id)
    decoding = started(generator, given)
    steps = [(decoding.logits[:, None].expand(-1, BEAMS, -1).clone(), None, None)]
    steps += [(logits, parents, tokens) for parents, tokens, logits in walk(decoding, 1, n, 3)]
    for i in range(n):
        one = started(generator, given.row(i))
        close(one.logits[0], steps[0][0][i, 0])
        for logits, parents, tokens in steps[1:]:
            one.reorder(parents[i : i + 1])
            close(one.step(tokens[i : i + 1])[0], logits[i])


def test_more_padding_changes_nothing(generator):
    given = inputs(4, generator.pad_id)
    more = torch.nn.functional.pad
    wide = given._replace(
        ids=more(given.ids, (0, 40), value=generator.pad_id),
        mask=more(given.mask, (0, 40)),
        prefixes=more(given.prefixes, (30, 0), value=generator.pad_id),
        prefix_mask=more(given.prefix_mask, (30, 0)),
    )
    narrow, padded = started(generator, given), started(generator, wide)
    close(padded.logits, narrow.logits)
    for (*_, expected), (*_, found) in zip(walk(narrow, 2, 4), walk(padded, 2, 4), strict=True):
        close(found, expected)


def test_what_stands_in_the_padding_does_not_matter(generator):
    given = inputs(4, generator.pad_id)
    other = given._replace(
        ids=given.ids.masked_fill(~given.mask, 7), prefixes=given.prefixes.masked_fill(~given.prefix_mask, 9)
    )
    close(started(generator, other).logits, started(generator, given).logits)


@pytest.mark.parametrize("kind", ["bart", "scaled", "shallow"])
def test_fast_and_plain_decoding_agree(kind, generators):
    generator = generators[kind]
    given = inputs(3, generator.pad_id)

    def decode(hidden, mask, written):
        decoder = generator.module.decoder
        with torch.no_grad():
            out = decoder(input_ids=written, encoder_hidden_states=hidden, encoder_attention_mask=mask.long())
            return torch.nn.functional.linear(out.last_hidden_state, generator.module.table, generator.module.bias)

    with torch.no_grad():
        memory = generator.encode(given.ids, given.mask)
    plain = PlainDecoding(decode, memory, given.prefixes, given.prefix_mask, BEAMS, MOST, generator.pad_id)
    fast = started(generator, given)
    close(fast.logits, plain.logits)
    for (*_, expected), (*_, found) in zip(walk(plain, 3, 3), walk(fast, 3, 3), strict=True):
        close(found, expected)


@pytest.mark.parametrize("kind", ["bart", "scaled"])
def test_greedy_is_what_transformers_generates(kind, generators):
    generator = generators[kind]
    given = inputs(6, generator.pad_id)
    start = torch.tensor([generator.start]).expand(6, -1)
    expected = generator.module.model.generate(
        given.ids, attention_mask=given.mask.long(), decoder_input_ids=start, max_new_tokens=8, min_new_tokens=8,
        num_beams=1, do_sample=False, output_logits=True, return_dict_in_generate=True,
    )  # fmt: skip
    decoding = started(generator, given._replace(prefixes=start, prefix_mask=torch.ones_like(start).bool()), beams=1)
    logits = decoding.logits[:, None]
    for t, token in enumerate(expected.sequences[:, 2:].T):
        close(logits[:, 0], expected.logits[t])
        logits = decoding.step(token[:, None])


def searched(decoding, steps):
    """Beam search without a trie or an end: summed log-probabilities and tokens of all beams, best first."""
    scores, last = decoding.logits.log_softmax(-1).topk(BEAMS)
    kept = last[:, :, None]
    for _ in range(steps - 1):
        sums = scores[:, :, None] + decoding.step(last).log_softmax(-1)
        scores, places = sums.flatten(1).topk(BEAMS)
        parents, last = places // VOCABULARY, places % VOCABULARY
        decoding.reorder(parents)
        kept = torch.cat([kept.gather(1, parents[:, :, None].expand_as(kept)), last[:, :, None]], 2)
    return scores, kept


@pytest.mark.parametrize("kind", ["bart", "scaled", "t5"])
def test_beams_are_those_that_transformers_finds(kind, generators):
    generator, n = generators[kind], 6
    given = inputs(n, generator.pad_id)
    start = torch.tensor([generator.start]).expand(n, -1)
    expected = generator.module.model.generate(
        given.ids, attention_mask=given.mask.long(), decoder_input_ids=start, max_new_tokens=8, eos_token_id=None,
        forced_eos_token_id=None, num_beams=BEAMS, num_return_sequences=BEAMS, length_penalty=0.0, do_sample=False,
        output_scores=True, return_dict_in_generate=True,
    )  # fmt: skip
    scores, tokens = searched(
        started(generator, given._replace(prefixes=start, prefix_mask=torch.ones_like(start).bool())), 8
    )
    close(scores, expected.sequences_scores.view(n, BEAMS))
    assert torch.equal(tokens, expected.sequences[:, start.shape[1] :].view(n, BEAMS, 8))


def test_few_queries_attend_as_many_do():
    drawn = torch.Generator().manual_seed(3)
    queries, keys, values = (torch.randn(4, 2, size, 8, generator=drawn) for size in (5, 32, 32))
    mask = torch.zeros(4, 1, 5, 32).masked_fill_(torch.rand(4, 1, 5, 32, generator=drawn) < 0.6, float("-inf"))
    mask[..., 0] = 0
    expected = torch.nn.functional.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
    assert torch.allclose(few_queries(queries, keys, values, mask), expected, atol=1e-6)
    one = mask[:, :, :1]
    expected = torch.nn.functional.scaled_dot_product_attention(queries, keys, values, attn_mask=one)
    assert torch.allclose(few_queries(queries, keys, values, one), expected, atol=1e-6)


def test_weights_are_those_of_the_time_at_which_a_decoding_begins(generators):
    generator, given = generators["shallow"], inputs(2, 0)
    attention = generator.module.decoder.layers[0].self_attn
    old = attention.k_proj.weight.detach().clone()
    before = started(generator, given).logits
    with torch.no_grad():
        attention.k_proj.weight.mul_(-1)
    changed = started(generator, given)
    close(changed.logits[:1], forced(generator, given.row(0), [given.row(0).prefixes[0].tolist()]))
    with torch.no_grad():
        attention.k_proj.weight.copy_(old)
    assert (changed.logits - before).abs().max() > 0.001
    close(started(generator, given).logits, before)


def test_few_queries_are_attended_in_one_launch_and_many_by_products_on_a_gpu(generators, monkeypatch):
    asked = []
    decoding = started(generators["bart"], inputs(2, 1))
    for name in ("few_queries", "scaled_dot_product_attention"):
        monkeypatch.setattr(f"nomina.generation.stepper.{name}", lambda q, *_, name=name: asked.append(name) or q)

    class OnGpu(torch.Tensor):
        is_cuda = True

    kept, layer = torch.zeros(2, 1, 1, 1, 8), torch.nn.Identity()
    for n in (204, 205):
        decoding._attend(types.SimpleNamespace(out_proj=layer), torch.zeros(n, 3, 5, 8).as_subclass(OnGpu), kept, None)
    assert asked == ["scaled_dot_product_attention", "few_queries"]


def test_a_source_without_a_token_is_no_nan_and_leaves_the_others_alone(generator):
    given = inputs(3, generator.pad_id)
    mask = given.mask.clone()
    mask[1] = False
    found, expected = started(generator, given._replace(mask=mask)), started(generator, given)
    assert found.step(torch.full((3, BEAMS), 5)).isfinite().all()
    close(found.logits[[0, 2]], expected.logits[[0, 2]])


def test_the_output_layer_is_float32_where_the_module_is_not(generators, tmp_path):
    save_base(tmp_path)
    given = inputs(4, 0)
    half = begin(tmp_path, layers=(0, 1))
    half.module.to(torch.bfloat16)
    found = started(half, given)
    logits = found.step(torch.full((4, BEAMS), 5))
    assert (found.logits.dtype, logits.dtype, found.written.dtype) == (torch.float32, torch.float32, torch.bfloat16)
    # Rounded to bfloat16 they would be: numbers of 8 bits.
    assert (logits != logits.bfloat16().float()).float().mean() > 0.9
    expected = started(generators["shallow"], given).logits
    assert (found.logits - expected).abs().max() < 0.1 * expected.std()


def test_decoding_leaves_no_gradients_and_serves_in_and_out_of_inference_mode(generator):
    given = inputs(2, generator.pad_id)
    decoding, tokens = started(generator, given), torch.full((2, BEAMS), 5)
    with torch.inference_mode():
        decoding.reorder(torch.zeros_like(tokens))
        decoding.step(tokens)
    assert not decoding.step(tokens).requires_grad
    decoding.logits.fill_(0)


def test_autocast_does_not_reach_a_decoding(generator):
    given = inputs(2, generator.pad_id)
    plain = started(generator, given)
    with torch.no_grad():
        memory = generator.encode(given.ids, given.mask)
    with torch.autocast("cpu", torch.bfloat16):
        close(generator.decoding(memory, given.prefixes, given.prefix_mask, BEAMS, MOST).logits, plain.logits)


def test_one_step_too_many_is_said(generator):
    decoding, tokens = started(generator, inputs(1, 0), most=1), torch.full((1, BEAMS), 5)
    decoding.step(tokens)
    with pytest.raises(UsageError, match=r"^a name is longer than the 1 steps that were asked for: ask for more$"):
        decoding.step(tokens)


def test_a_name_without_room_is_said(generators):
    generator = generators["bart"]
    started(generator, inputs(1, 1), most=58)
    expected = r"^a prefix of 6 tokens and 59 more do not fit the decoder's 64 positions: shorten them$"
    with pytest.raises(UsageError, match=expected):
        started(generator, inputs(1, 1), most=59)


def test_the_last_position_can_be_written(generators):
    generator = generators["bart"]
    given = inputs(1, 1)
    decoding, tokens = started(generator, given, most=58), torch.tensor([[5, 6, 7]])
    for _ in range(58):
        logits = decoding.step(tokens)
    close(logits[0], forced(generator, given, [given.prefixes[0].tolist() + [token] * 58 for token in (5, 6, 7)]))


def test_a_long_prefix_has_room(generators):
    generator = generators["shallow"]
    given = inputs(2, 0, prefix=140)
    decoding, tokens = started(generator, given), torch.tensor([[5, 6, 7]] * 2)
    decoding.step(tokens)
    logits = decoding.step(tokens)
    for i in range(2):
        alone = given.row(i)
        rows = [alone.prefixes[0].tolist() + [token] * 2 for token in (5, 6, 7)]
        close(logits[i], forced(generator, alone, rows))


def test_mentions_that_are_kept_go_on_as_they_would_have(generator):
    given, kept = inputs(4, 1), torch.tensor([2, 0])
    whole, fewer = started(generator, given), started(generator, given)
    random = torch.Generator().manual_seed(5)
    for step in range(MOST):
        parents = torch.randint(0, BEAMS, (4, BEAMS), generator=random)
        tokens = torch.randint(4, VOCABULARY, (4, BEAMS), generator=random)
        if step == 4:
            fewer.keep(kept)
        chosen = kept if step >= 4 else torch.arange(4)
        whole.reorder(parents)
        fewer.reorder(parents[chosen])
        close(fewer.step(tokens[chosen]), whole.step(tokens)[chosen])
