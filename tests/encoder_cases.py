"""A tiny random BERT and its tokenizer, for tests of encoders; the importing test skips where there is no torch."""

from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = "heart attack short stature seizure of the and 5 fu breast cancer".split()


def tokenizer() -> Tokenizer:
    """Whole words, lower-cased, between [CLS] and [SEP]."""
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return made


def save_bert(folder: Path, vocabulary: int, intermediate: int) -> Path:
    """Two layers of 24 numbers, the same weights for the same sizes."""
    import torch
    import transformers

    config = transformers.BertConfig(
        vocab_size=vocabulary,
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=intermediate,
    )
    torch.manual_seed(0)
    transformers.BertModel(config).save_pretrained(folder)
    tokenizer().save(str(folder / "tokenizer.json"))
    return folder
