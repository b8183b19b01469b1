"""What users of such tools report of working with them: empty input, batches, workers, options, types, ids, starts."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from linker_cases import needs_shipped

import nomina
from nomina.cli.main import main
from nomina.errors import KnowledgeBaseError
from nomina.kb.build import BuildOptions, build
from nomina.types import Document, Entity, Name

LINKERS = ("cascade", "dictionary", "tfidf")
pytestmark = needs_shipped


@pytest.fixture(scope="module", params=LINKERS)
def hpo(request):
    """A linker over the full HPO."""
    return nomina.load(request.param)


def first(linker: nomina.Pipeline, mention: str) -> str | None:
    """The concept that a mention by itself is linked to."""
    (prediction,) = linker.link_mentions([mention])
    return None if prediction.abstained else prediction.candidates[0].entity_id


def test_nothing_to_link_is_no_error(hpo):
    for text in ("", "\n\n", "Nothing of the kind."):
        assert hpo.link_text(text) == []
    assert hpo.link_mentions([]) == list(hpo.link([])) == []
    assert [(p.abstained, p.candidates) for p in hpo.link_mentions(["", " "])] == [(True, ()), (True, ())]


def test_scores_do_not_depend_on_the_batch(hpo):
    names = list(hpo.kb.surfaces())[::100][:380]
    batch = [
        *names,
        *(name[: 1 + i % 20] for i, name in enumerate(names[:100])),
        *(" and ".join(names[i::19]) for i in range(20)),
    ]
    assert len(batch) == 500
    together = hpo.link_mentions(batch)
    for number in range(0, 500, 7):
        (alone,) = hpo.link_mentions([batch[number]])
        expected = [(c.entity_id, pytest.approx(c.score, abs=1e-6)) for c in together[number].candidates]
        assert [(c.entity_id, c.score) for c in alone.candidates] == expected
        assert alone.abstained == together[number].abstained


WORKERS = """
import json, multiprocessing, os, sys
import nomina
from nomina.types import Document

def work(handle):
    pipeline = nomina.load()  # held, so that its table stays mapped until the maps are read
    documents = list(pipeline.detector.mentions([Document("1", "Short stature, seizures.")]))
    found = [[p.mention.text, p.candidates[0].entity_id, p.candidates[0].score] for p in handle.link(documents)]
    maps = open("/proc/self/maps").read() if os.path.exists("/proc/self/maps") else ""
    return os.getpid(), type(handle.kb).__name__, found, [word for word in (".table", ".postings") if word in maps]

if __name__ == "__main__":
    handles = [nomina.load(name).linker for name in ("dictionary", "tfidf")]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(json.dumps([os.getpid(), pool.map(work, handles, chunksize=1)]))
"""


def test_two_spawned_workers_with_pickled_handles(tmp_path):
    script = tmp_path / "workers.py"
    script.write_text(WORKERS, encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    parent, results = json.loads(done.stdout)
    for pid, kb, mentions, _ in results:
        assert pid != parent
        assert kb == "KnowledgeBase"
        assert mentions == [["Short stature", "HP:0004322", 1.0], ["seizures", "HP:0001250", 1.0]]
    if sys.platform == "linux":
        assert [mapped for *_, mapped in results] == [[".table"], [".table", ".postings"]]


def test_handles_are_small_and_give_the_same(hpo):
    for handle in (hpo.kb, hpo.linker):
        assert len(pickle.dumps(handle)) < 1000
    again = pickle.loads(pickle.dumps(hpo.linker))
    (document,) = nomina.load().detector.mentions([Document("1", "short stature, fits")])
    assert list(again.link([document])) == list(hpo.linker.link([document]))


def test_what_load_gives_can_be_sent_to_a_worker(hpo):
    assert first(pickle.loads(pickle.dumps(hpo)), "seizures") == "HP:0001250"


def test_a_misspelt_option_is_refused_by_name(capsys):
    with pytest.raises(TypeError, match="treshold"):
        nomina.load(treshold=0.5)
    assert main(["link", "--treshold", "0.5", "a.txt"]) == 2
    assert capsys.readouterr().err.startswith("nomina: No such option '--treshold'")


def test_types_that_the_kb_does_not_have_are_refused():
    with pytest.raises(KnowledgeBaseError, match=r"^the KB has no type 'disease'; it has: human_phenotype$"):
        nomina.load(types=["disease"])


def test_the_type_filter_acts_before_the_best_are_chosen(make_kb):
    kb = make_kb({**{f"X:{i}": f"fever {i}" for i in range(50)}, "Y:1": "fever of sea folk"}, types={"Y:1": ["rare"]})
    for linker in LINKERS:
        pipeline = nomina.load(linker, kb, k=1, threshold=0.0, types=["rare"])
        assert first(pipeline, "fever of sea folks") == "Y:1"
    assert first(nomina.load("tfidf", kb, k=1, threshold=0.0, types=["rare"]), "fever 7") == "Y:1"


def test_a_concept_without_a_preferred_name_shows_its_first_synonym(tmp_path):
    source = tmp_path / "a.obo"
    source.write_text(
        'format-version: 1.2\n\n[Term]\nid: X:1\nsynonym: "heart attack" EXACT []\nsynonym: "MI" EXACT []\n',
        encoding="utf-8",
    )
    assert main(["kb", "build", str(source), "-o", str(tmp_path / "a.kb")]) == 0
    (prediction,) = nomina.load(kb=tmp_path / "a.kb").link_mentions(["MI"])
    assert (prediction.candidates[0].preferred, prediction.candidates[0].name) == ("heart attack", "MI")


OBSOLETE = """\
format-version: 1.2

[Term]
id: GO:0035194
name: regulatory ncRNA-mediated gene silencing
alt_id: CHEBI:52998

[Term]
id: GO:0016246
name: obsolete RNA interference
is_obsolete: true
replaced_by: GO:0035194

[Term]
id: DOID:10919
name: obsolete disease
is_obsolete: true

[Term]
id: CL:0000003
name: obsolete native cell
is_obsolete: true
consider: CL:0000000
"""


def test_retired_ids_are_reported_with_what_replaces_them(tmp_path, capsys):
    source, path = tmp_path / "a.obo", tmp_path / "a.kb"
    source.write_text(OBSOLETE, encoding="utf-8")
    assert main(["kb", "build", str(source), "-o", str(path)]) == 0
    capsys.readouterr()
    for id, said in {
        "CHEBI:52998": "CHEBI:52998 is retired: use GO:0035194  regulatory ncRNA-mediated gene silencing\n",
        "GO:0016246": "GO:0016246 is retired: use GO:0035194  regulatory ncRNA-mediated gene silencing\n",
        "DOID:10919": "DOID:10919 is retired, with no replacement\n",
        "CL:0000003": "CL:0000003 is retired, with no replacement\n",
    }.items():
        assert main(["kb", "show", str(path), id]) == 0
        assert capsys.readouterr().out == said
    with pytest.raises(KnowledgeBaseError, match=r"^'HP:0001275' is retired: use 'HP:0001250'$"):
        nomina.load(under=["HP:0001275"])


def test_a_handle_of_another_build_is_refused_with_what_was_expected_and_found(tmp_path):
    path = tmp_path / "a.kb"
    options = BuildOptions("a")
    for linker in LINKERS:
        old = build(path, [Entity("X:1", (Name("fever"),))], options)
        handle = pickle.dumps(nomina.load(linker, old).linker)
        new = build(path, [Entity("X:1", (Name("cold"),))], options)
        with pytest.raises(KnowledgeBaseError, match=f"expected {old.fingerprint}, found {new.fingerprint}"):
            pickle.loads(handle)


def test_a_second_start_makes_nothing_anew(nomina_home: Path):
    def link() -> dict[str, tuple[int, int]]:
        for linker in LINKERS:
            command = [sys.executable, "-m", "nomina", "link", "--linker", linker]
            assert b"HP:0001250" in subprocess.run(command, input=b"seizures", capture_output=True).stdout
        kept = [p for p in nomina_home.rglob("*") if p.suffix in (".kb", ".table", ".postings")]
        return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in kept}

    before = link()
    assert {Path(name).suffix for name in before} == {".kb", ".table", ".postings"}
    assert link() == before
