"""A generator as the last part of a cascade: it scores what the others offer, and finds names of its own."""

import json

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")
pytestmark = pytest.mark.extras

from cascade_cases import document  # noqa: E402
from encoder_cases import WORDS  # noqa: E402
from generator_cases import save_bart  # noqa: E402

import nomina  # noqa: E402
from nomina import generation  # noqa: E402
from nomina.cli.main import main  # noqa: E402
from nomina.corpora.jsonl import write  # noqa: E402
from nomina.errors import ArtifactError  # noqa: E402
from nomina.linkers.base import NO_ROW  # noqa: E402
from nomina.linkers.fitted_cascade.linker import FittedCascadeLinker  # noqa: E402
from nomina.linkers.fitted_cascade.parts import PartOptions, fitted_with, opened  # noqa: E402
from nomina.linkers.fitted_cascade.pools import Pools  # noqa: E402
from nomina.linkers.generative import GenerativeLinker  # noqa: E402
from nomina.types import Query  # noqa: E402

NAMES = {
    f"{a}:{b}": (f"{a} {b}", f"{b} of the {a}") for a in ("heart", "breast") for b in WORDS if b not in ("of", "the")
}
TEXTS = ("heart attack", "attack breast", "seizure and cancer")


@pytest.fixture(scope="module")
def kb(make_kb):
    return make_kb(NAMES)


@pytest.fixture(scope="module")
def writer(tmp_path_factory):
    return save_bart(tmp_path_factory.mktemp("bart"))


def queries(*texts):
    made = document("q", texts, ("",) * len(texts))
    return [Query(made, mention) for mention in made.mentions]


def test_it_scores_the_most_promising_names(kb, writer):
    asked = queries(*TEXTS)
    pools = opened(kb, PartOptions("tfidf", many=8)).extend(asked, Pools.empty(3), None, None)
    shares = pools.values[:, 0]
    part = opened(kb, PartOptions("generative", str(writer), many=4))
    scored = part.extend(asked, pools, shares, None)
    sums = GenerativeLinker(kb, writer).log_probabilities(asked, scored.table()[0])
    for i in range(3):
        own, before = scored.mention == i, pools.mention == i
        best = sorted(zip(-shares[before], pools.rows[before].tolist(), strict=True))[:4]
        assert sorted(row for _, row in best) == scored.rows[own].tolist()
        values = scored.values[own, 1]
        assert values == pytest.approx(sums[i][np.isfinite(sums[i])].clip(-30, 0), abs=1e-4)
        assert sorted(scored.features[own, 3].tolist(), reverse=True) == [
            1 / place for place in range(1, own.sum() + 1)
        ]


def test_it_finds_names_of_its_own_with_beams(kb, writer):
    asked = queries(*TEXTS)
    part = opened(kb, PartOptions("generative", str(writer), beams=3))
    found = part.extend(asked, Pools.empty(3), None, None)
    ranking = GenerativeLinker(kb, writer, beams=3).rank(asked, 3)
    for i in range(3):
        assert found.rows[found.mention == i].tolist() == sorted(ranking.rows[i][ranking.rows[i] != NO_ROW].tolist())


@pytest.mark.parametrize("file", ["generator.json", "tokenizer.json", "config.json", "model.safetensors"])
def test_a_generator_that_reads_or_writes_otherwise_is_another_one(kb, writer, tmp_path, file):
    copy = tmp_path / "writer"
    generation.load(writer).save(copy)
    fitted = fitted_with(opened(kb, PartOptions("generative", str(copy), beams=2)))
    assert opened(kb, fitted).linker
    (copy / "train.json").write_text("{}", encoding="utf-8")
    assert opened(kb, fitted).linker
    (copy / file).write_bytes((copy / file).read_bytes() + b" ")
    with pytest.raises(ArtifactError, match=r"is not the model that the cascade was fitted with: fit it again"):
        _ = opened(kb, fitted).linker


def test_a_cascade_with_a_generator_from_the_command_line(kb, writer, tmp_path, capsys):
    dev = tmp_path / "dev.jsonl"
    write([document(id, (names[0], names[1][1:], names[0][:-1]), (id,) * 3) for id, names in NAMES.items()], dev)
    options = ("--kb", kb.path, "--dev", dev, "--generator", writer, "--skip", "embedding", "--beams", 2, "--many", 6)
    assert main([str(part) for part in ("cascade", *options, "-o", tmp_path / "all")]) == 0
    assert "generative: " in capsys.readouterr().err
    parts = json.loads((tmp_path / "all" / "manifest.json").read_text(encoding="utf-8"))["options"]["parts"]
    assert [part["part"] for part in parts] == ["dictionary", "tfidf", "generative"]
    assert len(parts[2]["fingerprint"]) == 64
    loaded = nomina.load(tmp_path / "all", kb)
    assert isinstance(loaded.linker, FittedCascadeLinker)
    for prediction in loaded.link_mentions(TEXTS):
        assert prediction.candidates
        assert prediction.probability is not None
