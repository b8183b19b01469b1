"""Get every open terminology once for real, and record how much is in it: ``python experiments/kb_counts.py``.

Writes ``experiments/kb_counts.json``: for each name of the table where it came from, its release, licence and counts;
those of names that were not asked for stay as they are. What ``EXPECTED`` says must hold, or the script ends with 1.
It needs a package index (about 200 MB are fetched); KBs and downloads go to a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import asdict
from typing import Any

from common import ROOT, commit

from nomina.errors import NominaError
from nomina.kb.catalogue import catalogue
from nomina.kb.get import get
from nomina.kb.store import KnowledgeBase

RESULT = ROOT / "experiments" / "kb_counts.json"

EXPECTED: dict[str, dict[str, int]] = {
    # 30,764 descriptors and 323,304 supplementary records
    "mesh": {"concepts": 354_068, "names": 783_977, "rows": 756_180, "homonyms": 159},
    # Descriptors that lie under a category by any of their tree numbers, and records mapped to them
    "mesh-diseases": {"concepts": 5_182 + 6_557},
    "mesh-chemicals": {"concepts": 10_569 + 249_430},
    # 19,034 live terms and 450 obsolete ones make 19,484; 647 are no phenotypic abnormalities
    "hpo": {"concepts": 19_034 - 647, "filtered": 647},
    "mondo": {"concepts": 23_964},
    "mondo-2026": {"concepts": 27_990},
    "doid": {"concepts": 11_454},
    "go": {"concepts": 42_442},
    "efo": {"concepts": 16_226},
    "efo-2026": {"concepts": 13_452},
    "cl": {"concepts": 3_324},
    "uberon": {"concepts": 14_971},
    "chebi": {"concepts": 205_304},
    # Approved symbols; symbols and entries withdrawn
    "hgnc": {"concepts": 43_837, "retired": 3_381 + 1_795},
    # 22 chapters, 297 sections of which 39 are one code, 46,881 codes
    "icd10cm": {"concepts": 22 + 297 - 39 + 46_881},
    "unii": {"concepts": 161_712},
}
"""What the packages' files hold by a plain count of their records."""


def measured(kb: KnowledgeBase, seconds: float) -> dict[str, Any]:
    """What is recorded of a KB."""
    sources = [{key: value for key, value in asdict(s).items() if value is not None} for s in kb.manifest.sources]
    first = next(iter(kb))
    return {
        "sources": sources,
        "counts": asdict(kb.manifest.counts),
        "types": len(kb.types()),
        "first": {"id": first, "name": kb[first].name},
        "file_mb": round(kb.path.stat().st_size / 1e6, 1),
        "seconds": round(seconds, 1),
        "fingerprint": kb.fingerprint,
    }


def surprises(name: str, kb: KnowledgeBase) -> list[str]:
    """Counts that are not as expected."""
    counts = asdict(kb.manifest.counts)
    return [
        f"{name}: {counts[field]:,} {field} in place of {count:,}"
        for field, count in EXPECTED.get(name, {}).items()
        if counts[field] != count
    ]


def main() -> int:
    """Get, record, compare; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*", help="default: all")
    names = parser.parse_args().name or list(catalogue())
    found: dict[str, Any] = json.loads(RESULT.read_text(encoding="utf-8"))["kbs"] if RESULT.exists() else {}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as home:
        os.environ["NOMINA_HOME"] = home
        for name in names:
            start = time.perf_counter()
            try:
                kb = get(name)
            except NominaError as error:
                wrong.append(f"{name}: {error}")
                continue
            found[name] = measured(kb, time.perf_counter() - start)
            wrong += surprises(name, kb)
            print(name, json.dumps(found[name]["counts"]), flush=True)
            kb.path.unlink()
    report = {"commit": commit(), "kbs": {name: found[name] for name in catalogue() if name in found}}
    text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    temporary = RESULT.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(RESULT)
    print("\n".join(wrong), file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
