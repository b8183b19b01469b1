"""The subset ST21pv of the UMLS: 21 semantic types with all under them, 18 preferred vocabularies.

Mohan and Li, MedMentions (AKBC 2019), section 2.2 and the read-me of its st21pv folder.
"""

from __future__ import annotations

NAME = "st21pv"

_TYPES = {
    "T005": "",  # Virus
    "T007": "",  # Bacterium
    "T017": "T018 T190 T019 T020 T021 T023 T024 T025 T026 T028",  # Anatomical Structure
    "T022": "",  # Body System
    "T031": "",  # Body Substance
    "T033": "T034 T184",  # Finding
    "T037": "",  # Injury or Poisoning
    "T038": "T039 T040 T041 T042 T043 T044 T045 T046 T047 T048 T049 T050 T191",  # Biologic Function
    "T058": "T059 T060 T061",  # Health Care Activity
    "T062": "T063",  # Research Activity
    "T074": "T203",  # Medical Device
    "T082": "T029 T030 T083 T085 T086 T087 T088",  # Spatial Concept
    "T091": "",  # Biomedical Occupation or Discipline
    "T092": "T093 T094 T095",  # Organization
    "T097": "",  # Professional or Occupational Group
    "T098": "",  # Population Group
    "T103": "T104 T109 T110 T111 T114 T115 T116 T118 T119 T120 T121 T122 T123 T124 T125 T126 T127 T129 T130 T131 T192"
    " T195 T196 T197",  # Chemical
    "T168": "",  # Food
    "T170": "T089 T185",  # Intellectual Product
    "T201": "",  # Clinical Attribute
    "T204": "T002 T003 T004 T008 T009 T010 T011 T012 T013 T014 T015 T016",  # Eukaryote
}
TYPES: tuple[str, ...] = tuple(_TYPES)
"""The 21 semantic types as they are published."""

WITH_ALL_UNDER: frozenset[str] = frozenset(_TYPES).union(*(under.split() for under in _TYPES.values()))
"""The 21 and their descendants in the Semantic Network, also such as older releases had: what the subset holds.

T047, where most diseases are, is one only because it lies under T038.
"""

SOURCES = frozenset(
    "CPT FMA GO HGNC HPO ICD10 ICD10CM ICD9CM MDR MSH MTH NCBI NCI NDDF NDFRT OMIM RXNORM SNOMEDCT_US".split()
)
"""The 18 vocabularies, by their abbreviations in MRCONSO."""
