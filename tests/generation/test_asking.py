"""How a user chooses what a generator is asked: beams, the text around a mention, another linker's candidates."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import nomina
from nomina.cli.main import main
from nomina.errors import UsageError
from nomina.linkers.tfidf import TfidfLinker
from nomina.types import Document, Mention, Query

torch = pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")
pytestmark = pytest.mark.extras

from encoder_cases import save_bert  # noqa: E402
from generator_cases import save_bart  # noqa: E402

from nomina.encoders.bert import BertEncoder  # noqa: E402
from nomina.generation import DESCRIPTION, load  # noqa: E402
from nomina.linkers.embedding import EmbeddingLinker  # noqa: E402
from nomina.linkers.generative import GenerativeLinker  # noqa: E402

NAMES = {"C:1": ("heart attack", "heart"), "C:2": ("breast cancer", "cancer"), "C:3": ("short", "seizure", "5 fu")}
TEXT = "A heart attack in May, and breast cancer."
SPANS = ((2, 14), (27, 40))


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="module")
def kb(make_kb):
    return make_kb(NAMES)


@pytest.fixture(scope="module")
def generator(tmp_path_factory) -> Path:
    return save_bart(tmp_path_factory.mktemp("bart"))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> Path:
    base = tmp_path_factory.mktemp("base")
    save_bert(base, 40, 32)
    encoders = tmp_path_factory.mktemp("encoder")
    BertEncoder(base).save(encoders)
    return encoders


def linked(generator: Path, kb, capsys, tmp_path: Path, *options: str) -> list[list[tuple[str, float]]]:
    """Names and scores of the mentions of a text, by ``nomina link``."""
    documents = tmp_path / "documents.jsonl"
    document = {"id": "d", "text": TEXT, "mentions": [{"spans": [span]} for span in SPANS]}
    documents.write_text(json.dumps(document) + "\n", encoding="utf-8")
    arguments = ["link", str(documents), "--kb", str(kb.path), "--linker", str(generator), "--level", "name"]
    assert main([*arguments, "-k", "9", "--format", "jsonl", *options]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [[(found["name"], found["score"]) for found in line["candidates"]] for line in lines]


def test_more_beams_find_more_names(generator: Path, kb, capsys, tmp_path: Path) -> None:
    usual = linked(generator, kb, capsys, tmp_path)
    assert [len(found) for found in usual] == [5, 5]
    assert [len(found) for found in linked(generator, kb, capsys, tmp_path, "--beams", "9")] == [7, 7]
    assert [len(found) for found in linked(generator, kb, capsys, tmp_path, "--beams", "2")] == [2, 2]


def test_mentions_alone_are_read_without_their_text(generator: Path, kb, capsys, tmp_path: Path) -> None:
    alone = linked(generator, kb, capsys, tmp_path, "--alone")
    pipeline = nomina.load(generator, kb, k=9, level="name", alone=True)
    bare = [[c.name for c in p.candidates] for p in pipeline.link_mentions(["heart attack", "breast cancer"])]
    assert [[name for name, _ in found] for found in alone] == bare
    assert alone != linked(generator, kb, capsys, tmp_path)


@pytest.mark.parametrize("options", [{}, {"alone": True}, {"beams": 3}, {"candidates": "tfidf"}], ids=str)
def test_one_that_was_trained_on_mentions_alone_reads_no_text(generator: Path, kb, tmp_path: Path, options) -> None:
    made = load(generator)
    made.save(tmp_path / "bare")
    description = tmp_path / "bare" / DESCRIPTION
    described = json.loads(description.read_text(encoding="utf-8"))
    description.write_text(json.dumps(described | {"context": False}), encoding="utf-8")
    linker = nomina.load(tmp_path / "bare", kb, **options).linker
    assert isinstance(linker, GenerativeLinker)
    assert linker.prompt.context is False


def test_only_the_candidates_of_another_linker_are_scored(generator: Path, kb, capsys, tmp_path: Path) -> None:
    found = linked(generator, kb, capsys, tmp_path, "--candidates", "tfidf")
    queries = [Query(Document("d", TEXT), Mention((span,), TEXT[slice(*span)])) for span in SPANS]
    rows = TfidfLinker(kb).rank(queries, 9).rows.tolist()
    assert [{name for name, _ in each} for each in found] == [
        {kb.surface(row) for row in own if row >= 0} for own in rows
    ]
    assert all(0 < len(each) < 7 for each in found)
    every = [dict(each) for each in linked(generator, kb, capsys, tmp_path, "--beams", "9")]
    for each, scores in zip(found, every, strict=True):
        assert dict(each) == pytest.approx({name: scores[name] for name, _ in each}, abs=1e-5)


def test_an_encoder_offers_candidates(generator: Path, encoder: Path, kb, capsys, tmp_path: Path) -> None:
    linker = nomina.load(generator, kb, candidates=encoder).linker
    assert isinstance(linker.candidates, EmbeddingLinker)
    found = linked(generator, kb, capsys, tmp_path, "--candidates", str(encoder))
    assert [len(each) for each in found] == [7, 7]


@pytest.mark.parametrize("options", [("--beams", "3"), ("--alone",), ("--candidates", "tfidf")], ids=lambda o: o[0])
def test_other_linkers_are_not_asked_so(encoder: Path, kb, capsys, tmp_path: Path, options) -> None:
    mentions = tmp_path / "mentions.txt"
    mentions.write_text("heart\n", encoding="utf-8")
    for linker in ("dictionary", str(encoder)):
        assert main(["link", "--mentions", str(mentions), "--kb", str(kb.path), "--linker", linker, *options]) == 2
        assert "are for a generator" in capsys.readouterr().err


def test_what_does_not_go_together_is_one_line(generator: Path, kb, tmp_path: Path) -> None:
    shutil.copytree(generator, tmp_path / "other")
    wrong = {
        "leave beams or candidates out": {"beams": 3, "candidates": "tfidf"},
        "whole number from 1": {"beams": 0},
        "no linker 'tfid'": {"candidates": "tfid"},
        "no such folder": {"candidates": tmp_path / "none"},
        "other offers no candidates": {"candidates": tmp_path / "other"},
    }
    for said, options in wrong.items():
        with pytest.raises(UsageError, match=said):
            nomina.load(generator, kb, **options)
    with pytest.raises(nomina.NominaError, match="no encoder"):
        nomina.load(generator, kb, candidates="")
