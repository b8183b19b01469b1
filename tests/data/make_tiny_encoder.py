"""``python tests/data/make_tiny_encoder.py`` makes ``tests/data/tiny-encoder``: an untrained ResCNN over letters.

It needs torch, onnx and onnxscript; the tests that use it do not. What is no word of a to z is unknown to it.
"""

from __future__ import annotations

from pathlib import Path
from string import ascii_lowercase

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from nomina.encoders.export import export
from nomina.encoders.rescnn import ResCnnEncoder

FOLDER = Path(__file__).parent / "tiny-encoder"


def main() -> None:
    """Write the folder."""
    pieces = ["[PAD]", "[UNK]", *ascii_lowercase, *(f"##{letter}" for letter in ascii_lowercase)]
    tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    torch.manual_seed(0)
    embeddings = torch.randn(len(pieces), 12)
    encoder = ResCnnEncoder(embeddings, tokenizer, "attention", length=40, width=24, blocks=2, filters=8, hidden=8)
    export(encoder, FOLDER, ["heart disease", "stenosis of the retina", ""], weights="float32")


if __name__ == "__main__":
    main()
