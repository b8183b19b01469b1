"""Tiny random generators and their inputs; the importing test skips where there is no torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import torch
from encoder_cases import save_bert, tokenizer
from safetensors.torch import load_file, save_file

VOCABULARY = 40

_SIZES = {"vocab_size": VOCABULARY, "d_model": 24, "encoder_layers": 2, "decoder_layers": 2, "init_std": 0.3}
_BART = {
    "encoder_attention_heads": 3,
    "decoder_attention_heads": 3,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "max_position_embeddings": 64,
}
_T5 = {"vocab_size": VOCABULARY, "d_model": 24, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 3}


def save_bart(folder: Path, **options: Any) -> Path:
    """A BART of two layers of 24 numbers whose biases, output layer's included, are no zeros."""
    import transformers

    torch.manual_seed(0)
    model = transformers.BartForConditionalGeneration(transformers.BartConfig(**_SIZES, **_BART, **options))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(0, 0.3)
        model.final_logits_bias.normal_()
    return saved(model, folder)


def save_t5(folder: Path) -> Path:
    """A T5 of two layers, which has no table of positions and whose pad token starts the decoder."""
    import transformers

    torch.manual_seed(0)
    config = transformers.T5Config(**_T5, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
    return saved(transformers.T5ForConditionalGeneration(config), folder)


def save_base(folder: Path) -> Path:
    """An encoder of two layers for a shallow decoder to start from, no two numbers in it the same."""
    import transformers

    save_bert(folder, VOCABULARY, 32)
    model = transformers.BertModel.from_pretrained(folder)
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return saved(model, folder)


def saved(model: Any, folder: Path) -> Path:
    """A model of Hugging Face in a folder, with the tokenizer of ``encoder_cases``."""
    model.save_pretrained(folder)
    tokenizer().save(str(folder / "tokenizer.json"))
    return folder


class Inputs(NamedTuple):
    """Sources (n, s) padded on the right, prefixes (n, p) padded on the left, and their masks."""

    ids: torch.Tensor
    mask: torch.Tensor
    prefixes: torch.Tensor
    prefix_mask: torch.Tensor

    def row(self, i: int) -> Inputs:
        """One mention without any padding."""
        source, prefix = self.mask[i], self.prefix_mask[i]
        return Inputs(*(part[i : i + 1, of] for part, of in zip(self, (source, source, prefix, prefix), strict=True)))


def more_tokens(folder: Path) -> None:
    """The tokenizer of a saved generator knows a token that the model does not."""
    described = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    described["model"]["vocab"]["fatigue"] = VOCABULARY
    (folder / "tokenizer.json").write_text(json.dumps(described), encoding="utf-8")


def spoilt(folder: Path, name: str, place: Any, value: float) -> None:
    """A saved generator with other numbers at a place of a weight."""
    weights = load_file(folder / "model.safetensors")
    weights[name][place] = value
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def inputs(n: int, pad: int, longest: int = 9, prefix: int = 6) -> Inputs:
    """Random sources and prefixes of mixed lengths, the first ones of the full length."""
    random = torch.Generator().manual_seed(n)
    long = torch.randint(1, longest + 1, (n, 1), generator=random)
    short = torch.randint(1, prefix + 1, (n, 1), generator=random)
    long[0], short[0] = longest, prefix
    mask = torch.arange(longest) < long
    prefix_mask = torch.arange(prefix) >= prefix - short
    ids = torch.randint(4, VOCABULARY, (n, longest), generator=random).masked_fill(~mask, pad)
    prefixes = torch.randint(4, VOCABULARY, (n, prefix), generator=random).masked_fill(~prefix_mask, pad)
    return Inputs(ids, mask, prefixes, prefix_mask)
