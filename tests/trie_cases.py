"""Tiny tokenizers of the two families that a trie is for, and all paths of a trie."""

from __future__ import annotations

import numpy as np
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from nomina.generation.trie import Trie, Within

WORDS = "heart liver attack failure cell disease ##s of lung a b [ ] sep".split()


def word_piece() -> Tokenizer:
    """As of BERT: lower-cases, knows few words, has an unknown token."""
    vocabulary = {token: i for i, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    tokenizer.enable_padding(pad_id=0, pad_token="[PAD]", length=8)
    tokenizer.enable_truncation(3)
    return tokenizer


def byte_level() -> Tokenizer:
    """As of BART: keeps case, knows every byte; its last token is BART's highest number."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = ["<s>", "<pad>", "</s>", "<unk>", *letters]
    vocabulary = {token: i for i, token in enumerate(tokens)} | {"Ġheart": 50_264}
    merges, left = [], "Ġ"
    for letter in "heart":
        merges.append((left, letter))
        left += letter
        vocabulary.setdefault(left, len(vocabulary))
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>"])
    return tokenizer


def walked(trie: Trie, within: Within | None = None, root: int | None = None) -> dict[tuple[int, ...], list[int]]:
    """All paths from a node to the leaves, by following every child; the rows of each leaf."""
    found: dict[tuple[int, ...], list[int]] = {}
    front: list[tuple[tuple[int, ...], int]] = [((), trie.root if root is None else root)]
    while front:
        nodes = np.array([node for _, node in front])
        tokens, targets, offsets = trie.children(nodes, within)
        rows, places = trie.rows_of(nodes, within)
        following = []
        for i, (path, _) in enumerate(front):
            of = slice(offsets[i], offsets[i + 1])
            assert tokens[of].tolist() == sorted(set(tokens[of].tolist()))
            if owned := rows[places[i] : places[i + 1]].tolist():
                assert path not in found
                found[path] = owned
            following += [((*path, t), n) for t, n in zip(tokens[of].tolist(), targets[of].tolist(), strict=True)]
        front = following
    return found
