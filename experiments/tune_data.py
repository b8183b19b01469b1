"""Gather what ``fine_tune.py`` trains on and is measured by: mentions of corpora by split, and dictionaries.

Writes to the folder ``--out``, beside what ``open_names.py`` writes there:

    mentions.tsv.xz    corpus, split (train, dev, test), mention, ids: NCBI disease, BC5CDR diseases and chemicals as
                       BioSyn prepared them, folds of AskAPatient
    aap.txt.xz         ids, name: the labels of AskAPatient's concepts
    chemicals.txt.xz   ids, name: MeSH's chemicals
    published.txt.xz   corpus, split (dev, test), ids, name: what the as-published dictionaries of these splits have
                       beyond, or in place of, the rows of the dictionary without mentions

NCBI disease and BC5CDR diseases share ``dictionary.txt.xz``: MEDIC without a mention of any corpus. The as-published
dictionary of the development set holds the training mentions, that of the test set those of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from common import benchmark, parser
from eval_kbs import Workshop, chemicals
from open_names import dictionary, write

BIOSYN = {"ncbi": ("ncbi-disease", "biosyn"), "bc5cdr-d": ("bc5cdr", "biosyn-disease")}
SPLITS = ("train", "dev", "test")

Row = tuple[str, str]


def main() -> None:
    """Write the files."""
    options = parser(__doc__)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--work", type=Path, help="the folder of eval_kbs.py's KBs; without it no chemicals")
    options.add_argument("--folds", type=int, default=1, help="of AskAPatient")
    arguments = options.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    shop = Workshop(arguments.shared, arguments.work) if arguments.work else None
    write(arguments.out / "mentions.tsv.xz", mentions(arguments.shared, arguments.folds, shop))
    labels = sorted(
        {(row[0], row[1]) for fold in range(10) for split in SPLITS for row in aap(arguments.shared, fold, split)}
    )
    write(arguments.out / "aap.txt.xz", labels)
    more = list(published(arguments.shared))
    if shop:
        kb = shop("mesh-chemicals")
        names = [("|".join(kb.owners(row)), kb.names[row]) for row in range(len(kb.names))]
        write(arguments.out / "chemicals.txt.xz", names)
        more += with_mentions(shop, names)
    write(arguments.out / "published.txt.xz", more)


def mentions(shared: Path, folds: int, shop: Workshop | None) -> Iterator[tuple[str, str, str, str]]:
    """Corpus, split, mention, ids."""
    for corpus, parts in BIOSYN.items():
        for split in SPLITS:
            for path in sorted(benchmark(shared, *parts, f"processed_{split}").glob("*.concept")):
                for line in path.read_text(encoding="utf-8").splitlines():
                    _, _, _, mention, ids = line.split("||")
                    yield corpus, split, mention, ids
    for split in SPLITS if shop else ():
        yield from (("bc5cdr-c", split, mention, ids) for ids, mention in chemical_mentions(shop, split))
    for fold in range(folds):
        for split in SPLITS:
            for identifier, _, phrase in aap(shared, fold, split):
                yield f"aap-{fold}", split, phrase, identifier


def chemical_mentions(shop: Workshop, split: str) -> Iterator[Row]:
    """Ids, brought up to date, and text of BC5CDR's chemical mentions."""
    kb = shop("mesh-chemicals")
    for document in chemicals(shop, split):
        ids = [kb.resolve(id) or id for mention in document.mentions for part in mention.gold for id in part]
        yield "|".join(ids) or "-1", document.text


def published(shared: Path) -> Iterator[tuple[str, str, str, str]]:
    """Corpus, split, ids, name of the rows in which a dictionary with mentions differs from the one without."""
    known = set(dictionary(shared))
    for corpus, parts in BIOSYN.items():
        for split in ("dev", "test"):
            lines = benchmark(shared, *parts, f"{split}_dictionary.txt").read_text(encoding="utf-8").splitlines()
            rows = [line.rpartition("||")[::2] for line in lines]
            yield from ((corpus, split, ids, name) for ids, name in rows if (ids, name) not in known)


def with_mentions(shop: Workshop, names: Iterable[Row]) -> Iterator[tuple[str, str, str, str]]:
    """The same for MeSH's chemicals, the mentions of the splits before as names of their concepts."""
    of_name = {name.lower(): (ids, name) for ids, name in names}
    known = set(shop("mesh-chemicals"))
    for split, before in (("dev", ("train",)), ("test", ("train", "dev"))):
        more: dict[str, list[str]] = {}
        for ids, mention in (row for earlier in before for row in chemical_mentions(shop, earlier)):
            if "|" not in mention:
                old = of_name.get(mention.lower(), ("", ""))[0].split("|")
                found = more.setdefault(mention.lower(), [id for id in old if id])
                found.extend(id for id in ids.split("|") if id in known and id not in found)
        for text, several in more.items():
            ids, name = of_name.get(text, ("", text))
            if several and "|".join(several) != ids:
                yield "bc5cdr-c", split, "|".join(several), name


def aap(shared: Path, fold: int, split: str) -> Iterator[tuple[str, str, str]]:
    """Id, label and phrase of each row of a fold; a few bytes are Latin-1."""
    name = "validation" if split == "dev" else split
    path = benchmark(shared, "askapatient", f"AskAPatient.fold-{fold}.{name}.txt")
    for line in path.read_text(encoding="latin-1").splitlines():
        identifier, label, phrase = line.split("\t")
        yield identifier, " ".join(label.split()), " ".join(phrase.split())


if __name__ == "__main__":
    main()
