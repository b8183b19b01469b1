"""Make the models that nomina comes with out of what ``distil.py`` brought back.

    python experiments/ship.py default --variant OUT/attention --base MINILM
    python experiments/ship.py sapbert-mini --variant OUT/bert-light
    python experiments/ship.py record OUT/distil.json OTHER/distil.json --trained-at COMMIT --trained-by COMMAND ...
    python experiments/ship.py aligned MODEL/log.json --name align_mpnet --trained-at COMMIT --trained-by COMMAND

``default`` writes the embedded encoder (``src/nomina/data/encoder``; ``calibrate.py`` and ``span_model.py`` come next),
``sapbert-mini`` the folder ``checkpoints/sapbert-mini``, ``record`` the file ``results/distil.json``, or that of
``--name``, ``aligned`` a file of what ``sapbert_align.py`` logged. An export is compared with torch on every hundredth
name of HPO.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from common import ROOT, record
from safetensors.torch import load_file

from nomina import encoders
from nomina.encoders.base import DESCRIPTION, WEIGHTS, TrainableEncoder
from nomina.encoders.bert import BertEncoder
from nomina.encoders.export import export
from nomina.encoders.rescnn import ResCnnEncoder
from nomina.kb.sources import default_kb

EMBEDDED = ROOT / "src" / "nomina" / "data" / "encoder"
CHECKPOINT = ROOT / "checkpoints" / "sapbert-mini"
ROWS_ONLY = 0.998
"""Every weight as int8: halves for the most harmful ones would bring the file over 24 MB."""


def main() -> None:
    """Export one model, or record the figures of all."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    stages = options.add_subparsers(dest="stage", required=True)
    for name in ("default", "sapbert-mini"):
        stage = stages.add_parser(name)
        stage.add_argument("--variant", type=Path, required=True, help="its folder, unpacked from distil.tar")
        stage.add_argument("--base", type=Path, help="of default: the encoder whose embeddings it has")
    stage = stages.add_parser("record")
    stage.add_argument("distilled", type=Path, nargs="+")
    stage.add_argument("--trained-at", required=True, help="the commit that distil.py ran at")
    stage.add_argument("--trained-by", required=True, nargs="+", help="the commands that ran there")
    stage.add_argument("--name", default="distil", help="of the result (default: %(default)s)")
    stage = stages.add_parser("aligned")
    stage.add_argument("log", type=Path)
    stage.add_argument("--name", required=True, help="of the result")
    stage.add_argument("--trained-at", required=True, help="the commit that sapbert_align.py ran at")
    stage.add_argument("--trained-by", required=True, help="the command that ran there")
    arguments = options.parse_args()
    if arguments.stage == "record":
        write_record(arguments)
        return
    if arguments.stage == "aligned":
        write_aligned(arguments)
        return
    sample = list(default_kb().surfaces())[::100]
    if arguments.stage == "default":
        print(export(embedded(arguments.variant, arguments.base), EMBEDDED, sample))
    else:
        print(export(encoders.load(arguments.variant), CHECKPOINT, sample, floor=ROWS_ONLY))


def embedded(variant: Path, base: Path) -> TrainableEncoder:
    """The student with the frozen embeddings of its base, which do not travel with its weights."""
    options = json.loads((variant / DESCRIPTION).read_text(encoding="utf-8"))
    options.pop("kind")
    source = BertEncoder(base, "mean", options["length"])
    encoder = ResCnnEncoder(source.word_embeddings.cpu().float(), source.tokenizer, **options)
    frozen = encoder.module.embeddings.weight
    weights = {name: tensor.float() for name, tensor in load_file(variant / WEIGHTS).items()}
    encoder.module.load_state_dict({"embeddings.weight": frozen, **weights})
    return encoder


def write_record(arguments: argparse.Namespace) -> None:
    """Development figures of the teacher and of every variant, without the logs of single steps."""
    runs = {}
    for path in arguments.distilled:
        for name, run in json.loads(path.read_text(encoding="utf-8")).items():
            log = [entry for entry in run.pop("log", []) if "dev" in entry]
            runs[name] = {**run, "log": log} if log else run
    teacher = runs.pop("teacher")
    versions = next(run["versions"] for run in runs.values())
    trained = {**versions, "commit": arguments.trained_at, "command": arguments.trained_by}
    path = record(arguments.name, {"teacher": teacher, "variants": runs}, seed=0, trained=trained)
    print(f"written: {path.name}; best: {max(runs, key=lambda name: runs[name]['best']['dev'])}")


def write_aligned(arguments: argparse.Namespace) -> None:
    """Development figures of an encoder before self-alignment and at its steps."""
    found = json.loads(arguments.log.read_text(encoding="utf-8"))
    log = [{key: value for key, value in entry.items() if key != "seconds"} for entry in found["log"] if "dev" in entry]
    trained = {**found["versions"], "commit": arguments.trained_at, "command": arguments.trained_by}
    metrics = {"untrained": found["before"], "best": found["best"], "steps": found["steps"], "log": log}
    record(arguments.name, metrics, seed=found["options"]["seed"], trained=trained)


if __name__ == "__main__":
    main()
