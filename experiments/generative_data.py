"""Gather what ``generative.py`` trains on and is measured by, beside what ``open_names.py`` and ``tune_data.py`` write.

Writes to the folder ``--out``:

    contexts.tsv.xz  corpus, split (train, dev, test), left, mention, right, ids: NCBI disease and BC5CDR (diseases and
                     chemicals together) as their raw texts have them, and folds of AskAPatient, which has no context.
                     In lower case, abbreviations written out, overlapping mentions and those that the KB lacks left out
                     (GenBioEL, appendix A). Parts of a composite are joined by "+", ids of a part by "|"
    mesh.txt.xz      ids, name: MeSH with the names of open terminologies, a shared name left to one concept (E.1)

NCBI disease is linked to ``dictionary.txt.xz`` (without the corpora's mentions), AskAPatient to ``aap.txt.xz``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from common import parser
from eval_kbs import Workshop
from open_names import write

from nomina.corpora import read_corpus
from nomina.evaluation.ids import is_nil
from nomina.evaluation.protocols import prepare, protocol_of
from nomina.generation.prompt import parts_of
from nomina.kb.store import KnowledgeBase
from nomina.training.names import Concepts
from nomina.types import Document, Query

NCBI = {"train": "NCBItrainset_corpus.txt", "dev": "NCBIdevelopset_corpus.txt", "test": "NCBItestset_corpus.txt"}
CDR = {"train": "Training", "dev": "Development", "test": "Test"}
AAP = {"train": "train", "dev": "validation", "test": "test"}

Row = tuple[str, str, str, str, str, str]


def main() -> None:
    """Write the files and print how many mentions there are, and why others are not."""
    options = parser(__doc__)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--work", type=Path, required=True, help="the folder of eval_kbs.py's KBs")
    options.add_argument("--folds", type=int, default=1, help="of AskAPatient")
    arguments = options.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    shop = Workshop(arguments.shared, arguments.work)
    write(arguments.out / "contexts.tsv.xz", contexts(shop, arguments.folds))
    concepts = Concepts.of(shop("mesh-expanded"))
    named = zip(concepts.owners(), concepts.texts, strict=True)
    write(arguments.out / "mesh.txt.xz", (("|".join(concepts.ids[i] for i in own), _line(name)) for own, name in named))


def contexts(shop: Workshop, folds: int) -> Iterator[Row]:
    """The rows of all corpora."""
    for split, file in NCBI.items():
        documents = read_corpus(shop.file("ncbi-disease", "raw", file), "pubtator")
        yield from _rows("ncbi", split, list(documents), shop("ncbi-clean"))
    for split, name in CDR.items():
        documents = read_corpus(shop.file("bc5cdr", "raw", f"CDR_{name}Set.PubTator.txt"), "pubtator")
        yield from _rows("bc5cdr", split, list(documents), shop("mesh-expanded"))
    for fold in range(folds):
        for split, name in AAP.items():
            file = shop.file("askapatient", f"AskAPatient.fold-{fold}.{name}.txt")
            yield from _rows(f"aap-{fold}", split, list(read_corpus(file, "askapatient")), shop("askapatient"))


def _rows(corpus: str, split: str, documents: list[Document], kb: KnowledgeBase) -> Iterator[Row]:
    """The mentions that the protocol keeps, each place once; texts as they were before it lowered them."""
    raw = {document.id: document for document in documents}
    kept, dropped = prepare(documents, protocol_of("as-published-generative"), kb)
    count = 0
    for document in kept:
        seen = set()
        for mention in document.mentions:
            if (mention.spans, mention.gold) in seen:
                continue
            seen.add((mention.spans, mention.gold))
            original = next(one for one in raw[document.id].mentions if one.spans == mention.spans)
            ids = "+".join("|".join(_known(kb, id) for id in part if not is_nil(id)) for part in mention.gold)
            yield corpus, split, *parts_of(Query(raw[document.id], original)), ids
            count += 1
    print(corpus, split, count, dict(dropped))


def _line(text: str) -> str:
    return " ".join(text.split())


def _known(kb: KnowledgeBase, id: str) -> str:
    return (kb.resolve(id) or id).removeprefix("OMIM:").removeprefix("MESH:")


if __name__ == "__main__":
    main()
