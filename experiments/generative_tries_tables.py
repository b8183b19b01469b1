"""What the errors of generators ask for, tried: out of ``generative_tries.json``, for ``RESULTS.md``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tables import CORPORA, pair, table, trainings

HEAD = """## GenBioEL: what its errors ask for, tried

Development sets at 1 and 5 (NCBI with the dictionary without mentions, AskAPatient's fold 0), one seed, mentions alone;
"as it is" as in "GenBioEL: prompt, targets, names". A third of the batches of fine-tuning are of what is trained
beside: names of HPO's concepts that have a lay name, as pre-training text; in their stead those of all diseases and
findings; SapBERT's metric loss over pairs of the dictionary's synonyms, on the encoder. BC5CDR as it is has half of its
batches of the dictionary's names; the metric loss stands in their place. Noise on mentions is part of the way chosen
for AskAPatient, and harms NCBI ("Generation"); beams and the embedding linker together are the cascade.
"""
DECODERS = """
More layers: two pre-trainings of {minutes:g} minutes, side by side on one GPU (batches of {batch}), in which the
decoder begins as every second layer of the encoder or as all of them. Zero-shot, then fine-tuned as above.
"""
SAID = """
No gain is shown: what is above "as it is" is so by less than half a point of one seed, and five seeds of NCBI lie 0.5
apart. Other names of diseases do as well as lay names. Of BC5CDR the metric loss has half a point less, of which part
may be the dictionary's names that it stands in place of; the names were not tried there, nor the loss on AskAPatient,
whose concepts have one name each. Six layers are slower: in the same minutes they have made two thirds of the steps,
and are ahead on AskAPatient alone, by half a point of one seed. A larger encoder (MPNet) was not tried.
"""
BESIDE = {
    "pre": "as it is",
    "lay": "beside: HPO's concepts with lay names",
    "names-beside": "beside: all diseases and findings",
    "metric": "beside: the metric loss",
}
LAYERS = {"three": "3 layers", "six": "6 layers"}
TASKS = {"ncbi": "ncbi", "bc5cdr": "bc5cdr", "askapatient": "aap-0"}


def section(results: Path) -> Iterator[str]:
    """Both tables; nothing where the trainings were not recorded."""
    tries = trainings(results, "generative_tries")
    if not tries:
        return
    own = {f"pre-{task}": one for task in TASKS.values() if (one := _unchanged(results, task))}
    yield HEAD
    corpora = [CORPORA[corpus] for corpus in TASKS]
    rows = ([what, *(_dev(tries | own, f"{name}-{task}") for task in TASKS.values())] for name, what in BESIDE.items())
    yield from table(["fine-tuning", *corpora], rows)
    if LAYERS.keys() <= tries.keys():
        yield from _layers(tries, corpora)
    yield SAID


def _layers(tries: dict[str, Any], corpora: list[str]) -> Iterator[str]:
    first = tries["three"]
    yield DECODERS.format(minutes=first["minutes"], batch=first["batch"])
    head = [
        "decoder",
        "steps",
        *(f"{name}, zero-shot" for name in corpora),
        *(f"{name}, fine-tuned" for name in corpora),
    ]
    yield from table(head, _decoders(tries))


def _unchanged(results: Path, task: str) -> dict[str, Any] | None:
    name = task if task.startswith("aap") else f"{task}-0"
    return trainings(results, "generative_runs").get(f"pre-{name}")


def _decoders(tries: dict[str, Any]) -> Iterator[list[str]]:
    for name, what in LAYERS.items():
        tuned = [f"{name}-{task}" for task in TASKS.values()]
        yield [what, f"{tries[name]['steps']:,}", *(_dev(tries, one, "before") for one in tuned),
               *(_dev(tries, one) for one in tuned)]  # fmt: skip


def _dev(tries: dict[str, Any], name: str, at: str = "best") -> str:
    return pair(tries[name]["runs"][0][at], "clean ") if name in tries else ""
