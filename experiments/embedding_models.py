"""The encoders of ``embedding_rows.py`` and ``export_figures.py`` that are not in the repository, in one folder.

    python experiments/embedding_models.py MODELS --minilm FOLDER [--tuned OUT] [--distilled OUT/attention]

Writes ``MODELS/raw``, the downloaded model with mean pooling, and for each ResCNN that ``fine_tune.py`` packed into
``OUT`` (``tune.json`` and ``tune.tar.00N``) ``MODELS/tuned-<corpus>``: its frozen embeddings, left out of the archive,
are those of the downloaded model; what it was trained to see before mentions goes with it. ``MODELS/rescnn`` is a
ResCNN of ``distil.py``, completed likewise.
"""

from __future__ import annotations

import argparse
import io
import json
import tarfile
import tempfile
from pathlib import Path

from nomina.encoders import DESCRIPTION
from nomina.encoders.base import WEIGHTS, read_weights
from nomina.encoders.bert import BertEncoder
from nomina.encoders.rescnn import ResCnnEncoder

LENGTH = 25


def main() -> None:
    """Unpack, complete, save."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("models", type=Path, help="folder that they are written to")
    options.add_argument("--minilm", type=Path, required=True, help="folder of the downloaded model")
    options.add_argument("--tuned", type=Path, help="folder that fine_tune.py wrote")
    options.add_argument("--distilled", type=Path, help="folder of a ResCNN that distil.py wrote")
    arguments = options.parse_args()
    raw = BertEncoder(arguments.minilm, "mean", LENGTH)
    raw.save(arguments.models / "raw", half=True)
    if arguments.distilled:
        completed(arguments.distilled, raw, "").save(arguments.models / "rescnn")
    if arguments.tuned:
        save_tuned(arguments.tuned, raw, arguments.models)


def save_tuned(packed: Path, raw: BertEncoder, models: Path) -> None:
    """Those that ``fine_tune.py`` packed."""
    found = json.loads((packed / "tune.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        unpack(packed, Path(folder))
        for name in found["chosen"]:
            run = found["figures"][name]["run"]
            completed(Path(folder, "tune", name), raw, run["prefix"]).save(models / f"tuned-{run['task']}")
            print(f"tuned-{run['task']}: {name}", flush=True)


def unpack(packed: Path, folder: Path) -> None:
    """Unpack the archive, which lies there in parts."""
    whole = b"".join(part.read_bytes() for part in sorted(packed.glob("tune.tar.*")))
    with tarfile.open(fileobj=io.BytesIO(whole)) as tar:
        tar.extractall(folder, filter="data")


def completed(folder: Path, raw: BertEncoder, prefix: str) -> ResCnnEncoder:
    """A ResCNN with the embeddings that it was trained over."""
    options = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    encoder = ResCnnEncoder(raw.word_embeddings, raw.tokenizer, options["pooling"], options["length"])
    encoder.module.load_state_dict({**encoder.module.state_dict(), **read_weights(folder / WEIGHTS)})
    encoder.query_prefix = prefix
    return encoder


if __name__ == "__main__":
    main()
