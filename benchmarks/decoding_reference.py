"""What ``decoding.py`` is held against: ``generate`` of transformers over nested dicts, as the authors decode."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import torch
import transformers
from transformers.modeling_outputs import BaseModelOutput

from nomina.generation.generator import Generator
from nomina.generation.prompt import Prompted
from nomina.generation.search import Search
from nomina.generation.trie import FlatTrie
from nomina.linkers.generative import batch_of

TIE, NEVER = 1e-4, -1e8

Best = list[list[tuple[int, float]]]
"""Of each mention, leaves and sums, best first."""


def most_alike(prompted: Sequence[Prompted], most: int) -> list[Prompted]:
    """Mentions by length of the prefix, those of the most frequent lengths, ordered so that batches have one length."""
    groups: dict[int, list[Prompted]] = {}
    for each in prompted:
        groups.setdefault(len(each.prefix), []).append(each)
    ordered = sorted(groups.values(), key=len, reverse=True)
    return [each for group in ordered for each in group][:most]


def is_same(ours: Sequence[tuple[int, float]], theirs: Sequence[tuple[int, float]]) -> bool:
    """Whether names and sums are the same, but for ties."""
    if len(ours) != len(theirs):
        return False
    known = dict(theirs)
    for (node, score), (_, other) in zip(ours, theirs, strict=True):
        tie = TIE * max(1.0, abs(score))
        if abs(score - other) > tie:
            return False
        # A name that the other one lacks may only be tied with the last one.
        if abs(known.get(node, theirs[-1][1]) - score) > tie:
            return False
    return True


def nested_of(trie: FlatTrie) -> dict[int, Any]:
    """The trie as dicts in dicts, as the authors' code and GENRE's have it."""
    tokens, lengths = trie.paths(np.unique(trie.arrays.rows).astype(np.int64))
    root: dict[int, Any] = {}
    listed, start = tokens.tolist(), 0
    for length in lengths.tolist():
        node = root
        for token in listed[start : start + length]:
            node = node.setdefault(token, {})
        start += length
    return root


class Reference:
    """``generate`` of transformers with ``prefix_allowed_tokens_fn``, the encoder run by the same module as ours."""

    def __init__(self, generator: Generator, trie: FlatTrie, nested: dict[int, Any], search: Search) -> None:
        self.generator, self.trie, self.nested, self.search = generator, trie, nested, search
        self.model = seq2seq_of(generator)

    @torch.inference_mode()
    def __call__(self, prompted: Sequence[Prompted], size: int) -> Best:
        """The names of mentions, at most ``size`` at a time, all of whose prefixes have one length."""
        found: Best = []
        for width, group in groupby(prompted, lambda each: len(each.prefix)):
            alike = list(group)
            for start in range(0, len(alike), size):
                found += self._batch(alike[start : start + size], width)
        return found

    def _batch(self, part: Sequence[Prompted], width: int) -> Best:
        batch = batch_of(self.generator, part)
        memory = self.generator.encode(batch.ids, batch.mask)
        beams, end = self.search.beams, self.generator.eos_id

        def allowed(_: int, written: torch.Tensor) -> list[int]:
            node = self.nested
            for token in written.tolist()[width:]:
                if token not in node:
                    return [end]
                node = node[token]
            return list(node) or [end]

        out = self.model.generate(
            encoder_outputs=BaseModelOutput(memory.hidden), attention_mask=batch.mask.long(),
            decoder_input_ids=batch.prefixes, num_beams=beams, num_return_sequences=beams, do_sample=False,
            length_penalty=0.0, early_stopping=False, max_new_tokens=self.search.most, min_length=0,
            prefix_allowed_tokens_fn=allowed, return_dict_in_generate=True, output_scores=True,
            forced_eos_token_id=None, forced_bos_token_id=None, no_repeat_ngram_size=0,
        )  # fmt: skip
        written, sums = out.sequences[:, width:].tolist(), out.sequences_scores.tolist()
        best: Best = [[] for _ in part]
        for i, (tokens, score) in enumerate(zip(written, sums, strict=True)):
            if score > NEVER and end in tokens:
                best[i // beams].append((self.trie.follow(tokens[: tokens.index(end) + 1]), score))
        return best


def seq2seq_of(generator: Generator) -> Any:  # noqa: ANN401
    """The decoder and output layer of a generator in a BART of transformers."""
    module: Any = generator.module
    config = transformers.BartConfig(**{**module.decoder.config.to_dict(), "encoder_layers": 1, "is_decoder": False})
    config.pad_token_id, config.eos_token_id = generator.pad_id, generator.eos_id
    config.decoder_start_token_id, config.is_encoder_decoder = generator.start[0], True
    with torch.device("meta"):
        model = transformers.BartForConditionalGeneration(config)
    model.model.encoder = torch.nn.Identity()
    model.model.shared, model.model.decoder = module.decoder.embed_tokens, module.decoder
    model.lm_head = torch.nn.Linear(1, 1, bias=False)
    model.lm_head.weight = torch.nn.Parameter(module.table, requires_grad=False)
    model.final_logits_bias = module.bias.detach().reshape(1, -1)
    model.get_encoder = lambda *_, **__: model.model.encoder
    return model.eval()
