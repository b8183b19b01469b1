"""Turn ``checkpoints/sapbert-mini`` back into an encoder that can be trained: the int8 weights as numbers again.

    python experiments/unpacked.py OUT

What begins from self-aligned weights can so be repeated with what the repository holds. Needs onnx (the extra train).
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import numpy as np
import onnx
from common import ROOT
from numpy.typing import NDArray
from safetensors.numpy import save_file
from transformers import BertConfig

from nomina.encoders.base import DESCRIPTION, TOKENIZER, WEIGHTS
from nomina.encoders.onnx import MODEL

CHECKPOINT = ROOT / "checkpoints" / "sapbert-mini"
HEADS = 12
"""Of attention, in MiniLM: the one size that no weight's shape tells."""


def main() -> None:
    """Write the folder."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("out", type=Path)
    write(options.parse_args().out)


def write(folder: Path) -> None:
    """Write a folder that ``BertEncoder`` opens."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = unpacked(onnx.load(CHECKPOINT / MODEL))
    save_file({name: values.astype(np.float16) for name, values in weights.items()}, folder / WEIGHTS)
    vocabulary, hidden = weights["embeddings.word_embeddings.weight"].shape
    inner = [values for name, values in weights.items() if name.endswith("intermediate.dense.weight")]
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=hidden,
        num_hidden_layers=len(inner),
        num_attention_heads=HEADS,
        intermediate_size=len(inner[0]),
    )
    (folder / "config.json").write_text(config.to_json_string(), encoding="utf-8")
    length = json.loads((CHECKPOINT / "manifest.json").read_text(encoding="utf-8"))["options"]["length"]
    described = {"kind": "bert", "pooling": "mean", "length": length}
    (folder / DESCRIPTION).write_text(json.dumps(described), encoding="utf-8")
    shutil.copyfile(CHECKPOINT / TOKENIZER, folder / TOKENIZER)


def unpacked(model: onnx.ModelProto) -> dict[str, NDArray[np.float32]]:
    """All weights by the names that Hugging Face gives them; a matrix is named by the bias that is added after it."""
    stored = {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}
    floats = {name: values for name, values in stored.items() if name.startswith("bert.") and values.dtype == "f4"}
    found = {name.removeprefix("bert."): values for name, values in floats.items() if not name.endswith(".scale")}
    users = {name: node for node in model.graph.node for name in node.input}
    for name in [name.removesuffix(".int8") for name in stored if name.endswith(".int8")]:
        values = stored[f"{name}.int8"].astype(np.float32) * stored[f"{name}.scale"]
        if name.startswith("bert."):
            found[name.removeprefix("bert.")] = values
            continue
        added = users[users[name].output[0]]
        (bias,) = (each for each in added.input if each.startswith("bert."))
        found[bias.removeprefix("bert.").removesuffix("bias") + "weight"] = np.ascontiguousarray(values.T)
    return found


if __name__ == "__main__":
    main()
