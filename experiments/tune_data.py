"""Gather what ``fine_tune.py`` trains on and is measured by: mentions of three corpora by split, and a dictionary.

Writes to the folder ``--out``, beside what ``open_names.py`` writes there:

    mentions.tsv.xz    corpus, split (train, dev, test), mention, ids: NCBI disease and BC5CDR diseases as BioSyn
                       prepared them, folds of AskAPatient
    aap.txt.xz         ids, name: the labels of AskAPatient's concepts

NCBI disease and BC5CDR diseases share ``dictionary.txt.xz``: MEDIC without a mention of any corpus.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from common import benchmark, parser
from open_names import write

BIOSYN = {"ncbi": ("ncbi-disease", "biosyn"), "bc5cdr-d": ("bc5cdr", "biosyn-disease")}
SPLITS = ("train", "dev", "test")


def main() -> None:
    """Write both files."""
    options = parser(__doc__)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--folds", type=int, default=1, help="of AskAPatient")
    arguments = options.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    write(arguments.out / "mentions.tsv.xz", mentions(arguments.shared, arguments.folds))
    labels = sorted(
        {(row[0], row[1]) for fold in range(10) for split in SPLITS for row in aap(arguments.shared, fold, split)}
    )
    write(arguments.out / "aap.txt.xz", labels)


def mentions(shared: Path, folds: int) -> Iterator[tuple[str, str, str, str]]:
    """Corpus, split, mention, ids."""
    for corpus, parts in BIOSYN.items():
        for split in SPLITS:
            for path in sorted(benchmark(shared, *parts, f"processed_{split}").glob("*.concept")):
                for line in path.read_text(encoding="utf-8").splitlines():
                    _, _, _, mention, ids = line.split("||")
                    yield corpus, split, mention, ids
    for fold in range(folds):
        for split in SPLITS:
            for identifier, _, phrase in aap(shared, fold, split):
                yield f"aap-{fold}", split, phrase, identifier


def aap(shared: Path, fold: int, split: str) -> Iterator[tuple[str, str, str]]:
    """Id, label and phrase of each row of a fold; a few bytes are Latin-1."""
    name = "validation" if split == "dev" else split
    path = benchmark(shared, "askapatient", f"AskAPatient.fold-{fold}.{name}.txt")
    for line in path.read_text(encoding="latin-1").splitlines():
        identifier, label, phrase = line.split("\t")
        yield identifier, " ".join(label.split()), " ".join(phrase.split())


if __name__ == "__main__":
    main()
