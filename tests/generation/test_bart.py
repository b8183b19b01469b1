"""Encoder-decoders of Hugging Face as they lie in a folder."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
transformers = pytest.importorskip("transformers", reason="needs the extra train")
pytestmark = pytest.mark.extras

from encoder_cases import save_bert  # noqa: E402
from generator_cases import VOCABULARY, inputs, more_tokens, save_bart, save_t5, spoilt  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

from nomina.errors import ArtifactError  # noqa: E402
from nomina.generation import GENERATORS, begin, generator_class, is_generator, load  # noqa: E402
from nomina.generation.bart import BartGenerator  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_bart(tmp_path_factory.mktemp("bart"))


@pytest.fixture(scope="module")
def t5(tmp_path_factory):
    return save_t5(tmp_path_factory.mktemp("t5"))


def theirs(folder, given):
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    with torch.no_grad():
        return model(given.ids, attention_mask=given.mask.long(), decoder_input_ids=given.prefixes).logits


def ours(generator, given, **options):
    with torch.no_grad():
        return generator.forward(given.ids, given.mask, given.prefixes, **options)


@pytest.mark.parametrize("name", ["folder", "t5"])
def test_teacher_forcing_is_that_of_transformers(name, request):
    path, given = request.getfixturevalue(name), inputs(4, 1)
    generator, expected = load(path), theirs(path, given)
    torch.testing.assert_close(ours(generator, given), expected, rtol=1e-5, atol=1e-5)
    where = torch.zeros(4, 6, dtype=torch.bool)
    where[3, 5] = where[1, 0] = True
    torch.testing.assert_close(
        ours(generator, given, where=where), torch.stack([expected[1, 0], expected[3, 5]]), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("name", ["folder", "t5"])
def test_several_answers_to_a_source_share_its_reading(name, request):
    generator, given = load(request.getfixturevalue(name)), inputs(3, 1)
    answers = torch.stack([given.prefixes, given.prefixes.flip(0)], 1)
    found = ours(generator, given._replace(prefixes=answers.flatten(0, 1)))
    apart = [ours(generator, given._replace(prefixes=answers[:, i])) for i in range(2)]
    torch.testing.assert_close(found, torch.stack(apart, 1).flatten(0, 1), rtol=1e-5, atol=1e-5)


def test_special_tokens_are_those_of_the_configuration(folder, t5):
    bart, other = load(folder), load(t5)
    assert (bart.pad_id, bart.bos_id, bart.eos_id, bart.start) == (1, 0, 2, (2, 0))
    assert (other.pad_id, other.bos_id, other.eos_id, other.start) == (0, None, 1, (0,))
    assert (bart.vocabulary, bart.longest, other.vocabulary, other.longest) == (VOCABULARY, 64, VOCABULARY, 1024)
    assert (bart.markers, bart.prompt) == (("Start", "End"), "{mention} is")


@pytest.mark.parametrize("name", ["folder", "t5"])
@pytest.mark.parametrize("half", [False, True])
def test_a_saved_one_is_the_same_again_also_for_transformers(name, half, request, tmp_path):
    generator, given = load(request.getfixturevalue(name)), inputs(4, 1)
    generator.save(tmp_path, half=half)
    again, expected = load(tmp_path), ours(generator, given)
    assert isinstance(again, BartGenerator)
    assert again.writing == generator.writing
    assert next(again.module.parameters()).dtype == torch.float32
    near = (0, 0.02 * float(expected.std())) if half else (0, 1e-6)
    torch.testing.assert_close(ours(again, given), expected, rtol=near[0], atol=near[1])
    if not half:
        torch.testing.assert_close(theirs(tmp_path, given), expected, rtol=1e-5, atol=1e-5)
    names = load_file(tmp_path / "model.safetensors")
    assert sum(len(tensor) == VOCABULARY and tensor.dim() == 2 for tensor in names.values()) == 1


def test_another_prompt_is_kept(folder, tmp_path):
    from dataclasses import replace

    generator = load(folder)
    generator.writing = replace(generator.writing, markers=("[ST]", "[ET]"), prompt="", context=False, window=200)
    generator.save(tmp_path)
    assert load(tmp_path).writing == generator.writing
    described = json.loads((tmp_path / "generator.json").read_text(encoding="utf-8"))
    assert described == {
        "version": 1, "kind": "bart", "options": {}, "pad_id": 1, "bos_id": 0, "eos_id": 2, "start": [2, 0],
        "markers": ["[ST]", "[ET]"], "prompt": "", "context": False, "window": 200,
    }  # fmt: skip


def test_training_goes_through_the_whole_model(folder):
    generator, given = load(folder), inputs(4, 1)
    losses = []
    optimizer = torch.optim.SGD(generator.module.parameters(), lr=0.01)
    for _ in range(2):
        found = generator.forward(given.ids, given.mask, given.ids[:, :-1])
        loss = torch.nn.functional.cross_entropy(found.flatten(0, 1), given.ids[:, 1:].flatten())
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        losses.append(loss.item())
        optimizer.step()
    assert losses[1] < losses[0]
    assert [name for name, p in generator.module.named_parameters() if p.grad is None] == []


def test_a_tokenizer_of_the_older_files_is_read(folder, tmp_path):
    save_bart(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    words = ["<s>", "<pad>", "</s>", "<unk>", "h", "e", "a", "r", "t", "he"]
    (tmp_path / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(words)}), encoding="utf-8")
    (tmp_path / "merges.txt").write_text("#version: 0.2\nh e\n", encoding="utf-8")
    assert load(tmp_path).tokenizer.encode("heart").ids == [0, 9, 6, 7, 8, 2]


def test_what_holds_no_generator_is_said(tmp_path):
    with pytest.raises(ArtifactError, match=r"^no such folder: .*nowhere; name the folder of a generator$"):
        load(tmp_path / "nowhere")
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ArtifactError, match=r"^.*file is a file: name the folder of a generator$"):
        load(tmp_path / "file")
    for base, why in (("file", "is a file: name the folder of an encoder"), ("nowhere", "no such folder")):
        with pytest.raises(ArtifactError, match=why):
            begin(tmp_path / base)
    save_bert(tmp_path, VOCABULARY, 32)
    assert not is_generator(tmp_path)
    with pytest.raises(ArtifactError, match=r"holds no generator \(neither generator.json nor an encoder-decoder"):
        load(tmp_path)


def lost_weight(folder):
    weights = load_file(folder / "model.safetensors")
    del weights["model.decoder.layers.1.fc1.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def other_shape(folder):
    weights = load_file(folder / "model.safetensors")
    weights["model.decoder.layers.1.fc1.weight"] = torch.zeros(3, 24)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def half_a_file(folder):
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])


def no_weights(folder):
    (folder / "model.safetensors").unlink()


def no_tokenizer(folder):
    (folder / "tokenizer.json").unlink()


def other_tokenizer(folder):
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")


def no_number(folder):
    spoilt(folder, "model.decoder.layers.1.fc1.weight", 0, torch.nan)


def no_number_behind(folder):
    spoilt(folder, "final_logits_bias", (0, 1), torch.nan)


def no_such_token(folder):
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["eos_token_id"] = VOCABULARY
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def no_start(folder):
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["decoder_start_token_id"] = None
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


@pytest.mark.parametrize(
    "damage",
    [
        lost_weight, other_shape, half_a_file, no_weights, no_tokenizer, other_tokenizer, no_start, more_tokens,
        no_number, no_number_behind, no_such_token,
    ],
)  # fmt: skip
def test_a_damaged_folder_is_one_line(damage, tmp_path, capfd, caplog):
    save_bart(tmp_path)
    damage(tmp_path)
    capfd.readouterr()
    with pytest.raises(ArtifactError) as caught:
        load(tmp_path)
    assert str(caught.value).startswith(str(tmp_path))
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


def test_every_kind_has_its_class():
    assert [generator_class(kind).kind for kind in GENERATORS] == list(GENERATORS)
    with pytest.raises(ArtifactError, match=r"^no generator is called 'gpt': the kinds are bart, shallow$"):
        generator_class("gpt")
