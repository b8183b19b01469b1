"""A shallow decoder starts as a copy of the encoder's layers, is trained with it, and is saved with it."""

from __future__ import annotations

import json
import logging

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
transformers = pytest.importorskip("transformers", reason="needs the extra train")
pytestmark = pytest.mark.extras

from generator_cases import VOCABULARY, inputs, more_tokens, save_base, saved, spoilt  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

from nomina.errors import ArtifactError, UsageError  # noqa: E402
from nomina.generation import begin, load, pack  # noqa: E402
from nomina.generation.shallow import ShallowGenerator  # noqa: E402


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return save_base(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def mpnet(tmp_path_factory):
    torch.manual_seed(2)
    config = transformers.MPNetConfig(
        vocab_size=VOCABULARY, hidden_size=24, num_hidden_layers=3, num_attention_heads=3, intermediate_size=32,
        max_position_embeddings=66,
    )  # fmt: skip
    return saved(transformers.MPNetModel(config), tmp_path_factory.mktemp("mpnet"))


def logits(generator, n=3, **options):
    given = inputs(n, generator.pad_id)
    with torch.no_grad():
        return generator.forward(given.ids, given.mask, given.prefixes, **options)


def test_layers_are_copied_and_attention_to_the_source_starts_as_that_to_oneself(base):
    generator = begin(base, layers=(1, 0))
    weights, decoder = load_file(base / "model.safetensors"), generator.module.decoder
    for number, layer in zip((1, 0), decoder.layers, strict=True):
        prefix = f"encoder.layer.{number}."
        for attention, norm in (
            (layer.self_attn, layer.self_attn_layer_norm),
            (layer.encoder_attn, layer.encoder_attn_layer_norm),
        ):
            for part, name in (
                (attention.q_proj, "attention.self.query"),
                (attention.k_proj, "attention.self.key"),
                (attention.v_proj, "attention.self.value"),
                (attention.out_proj, "attention.output.dense"),
                (norm, "attention.output.LayerNorm"),
            ):
                assert torch.equal(part.weight, weights[f"{prefix}{name}.weight"])
                assert torch.equal(part.bias, weights[f"{prefix}{name}.bias"])
        for part, name in (
            (layer.fc1, "intermediate.dense"),
            (layer.fc2, "output.dense"),
            (layer.final_layer_norm, "output.LayerNorm"),
        ):
            assert torch.equal(part.weight, weights[f"{prefix}{name}.weight"])
            assert torch.equal(part.bias, weights[f"{prefix}{name}.bias"])


def test_the_first_hidden_states_are_those_of_the_encoder(base):
    """Token, position and type are added up and normed as the encoder does."""
    generator = begin(base, layers=(0,))
    encoder, decoder = generator.module.encoder, generator.module.decoder
    ids = torch.arange(4, 30)[None]
    with torch.no_grad():
        expected = encoder.embeddings(input_ids=ids)
        places = decoder.embed_positions.weight[torch.arange(26) + decoder.embed_positions.offset]
        found = decoder.layernorm_embedding(decoder.embed_tokens(ids) + places)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_mpnet_starts_a_decoder_too(mpnet):
    generator = begin(mpnet, layers=(2,))
    weights, layer = load_file(mpnet / "model.safetensors"), generator.module.decoder.layers[0]
    attention = "encoder.layer.2.attention."
    assert torch.equal(layer.self_attn.k_proj.weight, weights[f"{attention}attn.k.weight"])
    assert torch.equal(layer.encoder_attn.out_proj.weight, weights[f"{attention}attn.o.weight"])
    assert torch.equal(layer.encoder_attn_layer_norm.weight, weights[f"{attention}LayerNorm.weight"])
    places = generator.module.decoder.embed_positions
    assert torch.equal(places.weight[places.offset :], weights["embeddings.position_embeddings.weight"][2:])
    assert generator.longest == 64
    assert logits(generator).shape == (3, 6, VOCABULARY)


def test_one_table_of_tokens_serves_encoder_decoder_and_output(base):
    module = begin(base, layers=(0, 1)).module
    table = module.encoder.embeddings.word_embeddings.weight
    assert module.decoder.embed_tokens.weight is table
    assert module.table is table
    assert [name for name, p in module.named_parameters() if p is table] == [
        "encoder.embeddings.word_embeddings.weight"
    ]


def test_what_is_written_follows_the_tokenizer(base):
    generator = begin(base, layers=(0, 1))
    assert (generator.pad_id, generator.bos_id, generator.eos_id, generator.start) == (0, 2, 3, (2,))
    assert (generator.markers, generator.prompt) == (("Start", "End"), "{mention} is")
    assert (generator.vocabulary, generator.longest) == (VOCABULARY, 512)
    assert len(generator.tokenizer.encode("heart " * 600).ids) == 602


def test_logits_can_be_asked_for_where_they_are_needed(base):
    generator = begin(base, layers=(0, 1))
    where = torch.zeros(3, 6, dtype=torch.bool)
    where[0, 4] = where[2, 1] = True
    every = logits(generator)
    torch.testing.assert_close(logits(generator, where=where), torch.stack([every[0, 4], every[2, 1]]))


def test_several_answers_to_a_source_share_its_reading(base):
    generator, given = begin(base, layers=(0, 1)), inputs(3, 0)
    answers = torch.stack([given.prefixes, given.prefixes.flip(0)], 1)
    with torch.no_grad():
        found = generator.forward(given.ids, given.mask, answers.flatten(0, 1))
        apart = [generator.forward(given.ids, given.mask, answers[:, i]) for i in range(2)]
    torch.testing.assert_close(found, torch.stack(apart, 1).flatten(0, 1), rtol=1e-5, atol=1e-5)


def test_a_few_steps_lower_the_loss_and_reach_every_parameter(base):
    generator = begin(base, layers=(0, 1))
    given = inputs(4, 0)
    optimizer = torch.optim.SGD(generator.module.parameters(), lr=0.01)
    losses = []
    for _ in range(3):
        found = generator.forward(given.ids, given.mask, given.ids[:, :-1])
        loss = torch.nn.functional.cross_entropy(found.flatten(0, 1), given.ids[:, 1:].flatten())
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        losses.append(loss.item())
        optimizer.step()
    assert losses[0] > losses[1] > losses[2]
    assert [name for name, p in generator.module.named_parameters() if p.grad is None] == []


@pytest.mark.parametrize("half", [False, True])
def test_a_saved_one_is_the_same_again(half, base, tmp_path):
    generator = begin(base, layers=(1,))
    with torch.no_grad():
        generator.module.bias.normal_()
    generator.save(tmp_path / "a", half=half)
    again = load(tmp_path / "a")
    assert isinstance(again, ShallowGenerator)
    assert again.writing == generator.writing
    assert again.tokenizer.to_str() == generator.tokenizer.to_str()
    assert again.module.table is again.module.encoder.embeddings.word_embeddings.weight
    assert next(again.module.parameters()).dtype == torch.float32
    if half:
        assert (logits(again) - logits(generator)).abs().max() < 0.02 * logits(generator).std()
        assert {tensor.dtype for tensor in load_file(tmp_path / "a" / "model.safetensors").values()} == {torch.float16}
    else:
        assert torch.equal(logits(again), logits(generator))
    again.save(tmp_path / "b", half=half)
    for name in ("model.safetensors", "generator.json", "tokenizer.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_packed_one_is_nearly_the_same_and_packs_to_the_same_again(base, tmp_path):
    generator = begin(base, layers=(1,))
    with torch.no_grad():
        generator.module.bias.normal_()
    generator.save(tmp_path / "whole")
    pack(tmp_path / "whole", tmp_path / "packed")
    again = load(tmp_path / "packed")
    assert again.writing == generator.writing
    assert next(again.module.parameters()).dtype == torch.float32
    assert again.module.table is again.module.encoder.embeddings.word_embeddings.weight
    assert (logits(again) - logits(generator)).abs().max() < 0.1 * logits(generator).std()
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("whole", "packed")]
    assert sizes[1] < 0.4 * sizes[0]
    pack(tmp_path / "packed", tmp_path / "twice")
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in ("packed", "twice"))
    assert all(torch.equal(tensor, second[name]) for name, tensor in first.items() if tensor.dtype == torch.int8)


def test_what_cannot_be_packed_is_said(base, tmp_path):
    begin(base, layers=(1,)).save(tmp_path)
    with pytest.raises(UsageError, match="name another folder"):
        pack(tmp_path, tmp_path / "." / "")
    with pytest.raises(ArtifactError, match="no such folder"):
        pack(tmp_path / "none", tmp_path / "packed")
    (tmp_path / "file").write_text("", encoding="utf-8")
    for place in ("file", "file/packed"):
        with pytest.raises(UsageError, match=rf"^cannot write to .*{place} \(.+\): name another folder$"):
            pack(tmp_path, tmp_path / place)
    assert (tmp_path / "file").read_bytes() == b""


def test_begin_goes_on_with_a_saved_one(base, tmp_path):
    generator = begin(base, layers=(1,))
    generator.save(tmp_path)
    assert torch.equal(logits(begin(tmp_path, layers=(0, 1))), logits(generator))


@pytest.mark.parametrize("layers", [(0, 2), (-1,), ()])
def test_layers_that_are_not_there_are_said(layers, base):
    with pytest.raises(UsageError, match=r"^the encoder has layers 0 to 1, not all of \(.*\): choose others$"):
        begin(base, layers=layers)


def test_an_encoder_of_another_type_is_said(tmp_path):
    config = transformers.DistilBertConfig(vocab_size=VOCABULARY, dim=24, n_layers=1, n_heads=3, hidden_dim=32)
    saved(transformers.DistilBertModel(config), tmp_path)
    with pytest.raises(ArtifactError) as caught:
        begin(tmp_path, layers=(0,))
    assert str(caught.value) == (
        f"{tmp_path} is neither of BERT's nor of MPNet's type, so no decoder can start from it: name another encoder"
    )


def damage_nothing(folder):
    (folder / "model.safetensors").write_bytes(b"")


def damage_weights(folder):
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])


def remove_weights(folder):
    (folder / "model.safetensors").unlink()


def remove_tokenizer(folder):
    (folder / "tokenizer.json").unlink()


def other_layers(folder):
    described = json.loads((folder / "generator.json").read_text(encoding="utf-8"))
    described["options"]["layers"] = 2
    (folder / "generator.json").write_text(json.dumps(described), encoding="utf-8")


def no_layers(folder):
    described = json.loads((folder / "generator.json").read_text(encoding="utf-8"))
    (folder / "generator.json").write_text(json.dumps({**described, "options": {}}), encoding="utf-8")


def one_marker(folder):
    described = json.loads((folder / "generator.json").read_text(encoding="utf-8"))
    (folder / "generator.json").write_text(json.dumps({**described, "markers": ["["]}), encoding="utf-8")


def other_kind(folder):
    described = json.loads((folder / "generator.json").read_text(encoding="utf-8"))
    (folder / "generator.json").write_text(json.dumps({**described, "kind": "gpt"}), encoding="utf-8")


def no_such_token(folder):
    described = json.loads((folder / "generator.json").read_text(encoding="utf-8"))
    (folder / "generator.json").write_text(json.dumps({**described, "start": [999_999]}), encoding="utf-8")


def no_json(folder):
    (folder / "generator.json").write_text("[]", encoding="utf-8")


def no_number(folder):
    spoilt(folder, "decoder.layernorm_embedding.weight", 0, torch.nan)


def endless_number(folder):
    spoilt(folder, "encoder.embeddings.word_embeddings.weight", (2, 3), torch.inf)


def lost_scale(folder):
    load(folder).save(folder, packed=True)
    weights = load_file(folder / "model.safetensors")
    del weights["decoder.layers.0.fc1.weight.scale"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def no_config(folder):
    (folder / "config.json").write_text("{", encoding="utf-8")


@pytest.mark.parametrize(
    "damage",
    [
        damage_nothing, damage_weights, remove_weights, remove_tokenizer, other_layers, no_layers, one_marker,
        other_kind, no_such_token, no_json, no_config, more_tokens, no_number, endless_number, lost_scale,
    ],
)  # fmt: skip
def test_a_damaged_folder_is_one_line(damage, base, tmp_path, capfd, caplog):
    begin(base, layers=(1,)).save(tmp_path)
    damage(tmp_path)
    with pytest.raises(ArtifactError) as caught:
        load(tmp_path)
    assert "\n" not in str(caught.value)
    assert ": " in str(caught.value)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


def test_nothing_is_said_while_one_is_made_saved_and_loaded(base, tmp_path, capfd, caplog):
    level, bars = logging.getLogger("transformers").level, transformers.utils.logging.is_progress_bar_enabled()
    begin(base, layers=(0, 1)).save(tmp_path)
    load(tmp_path)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    assert logging.getLogger("transformers").level == level
    assert transformers.utils.logging.is_progress_bar_enabled() == bars
