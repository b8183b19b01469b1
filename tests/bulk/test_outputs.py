"""Writers of bulk runs: what was linked, the same bytes for the same; what a format cannot hold is left out."""

import gzip
import importlib
import io
import json

import pytest
from corpora_cases import CANCER, NOTHING

from nomina.bulk.outputs import OUTPUTS, PACKINGS, Batch
from nomina.corpora import read_corpus
from nomina.output import read_predictions, write_jsonl
from nomina.types import Candidate, Document, Mention, Prediction


def prediction(document, mention, *ids, abstained=False):
    candidates = tuple(Candidate(id, "Name", "name", 0.5, rank, "tfidf", 3) for rank, id in enumerate(ids, start=1))
    return Prediction(document.id, mention, candidates, abstained=abstained, probability=0.25)


def batches():
    first, second, third = CANCER.mentions
    found = [prediction(CANCER, first, "T:1", "T:2"), prediction(CANCER, second), prediction(CANCER, third, "T:3")]
    yield Batch([CANCER, NOTHING], [found, []])
    yield Batch([Document("x", "Ataxia")], [[]])


def write(format, path, pack="none", given=None):
    failed = []
    module = importlib.import_module(OUTPUTS[format].module)
    module.check(pack)
    module.write(
        batches() if given is None else given, path, pack, lambda document, why: failed.append((document.id, why))
    )
    return failed


def expected():
    stream = io.StringIO()
    write_jsonl([one for batch in batches() for own in batch.predictions for one in own], stream)
    return stream.getvalue()


@pytest.mark.parametrize("pack", PACKINGS)
def test_json_lines_packed_or_not(tmp_path, pack):
    if pack == "zst":
        zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "out"
    assert write("jsonl", path, pack) == []
    raw = path.read_bytes()
    if pack == "gz":
        raw = gzip.decompress(raw)
    elif pack == "zst":
        raw = zstandard.ZstdDecompressor().decompressobj().decompress(raw)
    assert raw.decode() == expected()
    if pack != "zst":
        assert len(list(read_predictions(path))) == 3
    write("jsonl", tmp_path / "again", pack)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


@pytest.mark.extras
def test_parquet(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert write("parquet", tmp_path / "out") == []
    rows = parquet.read_table(tmp_path / "out").to_pylist()
    lines = [json.loads(line) for line in expected().splitlines()]
    assert rows == lines
    write("parquet", tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "out").read_bytes()
    write("parquet", tmp_path / "empty", given=[Batch([CANCER], [[]])])
    assert parquet.read_table(tmp_path / "empty").num_rows == 0


@pytest.mark.parametrize("format", ["pubtator", "bioc_xml", "bioc_json"])
def test_corpora_hold_all_documents_and_what_was_found(tmp_path, format):
    assert write(format, tmp_path / "out") == []
    found = list(read_corpus(tmp_path / "out", format))
    assert [document.id for document in found] == ["100", "101", "x"]
    assert [(mention.text, mention.gold) for mention in found[0].mentions] == [
        ("Breast and ovarian cancer", (("T:1",),)), ("ataxia", ()), ("fits", (("T:3",),)),
    ]  # fmt: skip
    assert [document.text for document in found] == [CANCER.text, NOTHING.text, "Ataxia"]
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]


@pytest.mark.parametrize("format", ["pubtator", "bioc_xml"])
def test_what_a_corpus_cannot_hold_is_left_out(tmp_path, format):
    bad, good = Document("a", "Ataxia"), Document("b", "Ataxia")
    mention = Mention(((0, 6),), "Ataxia")
    given = [Batch([bad, good], [[prediction(bad, mention, "T|1")], [prediction(good, mention, "T:1")]])]
    ((id, why),) = write(format, tmp_path / "out", given=given)
    assert id == "a"
    assert why.startswith("document 'a': the ids (('T|1',),) cannot stand in one field")
    assert [document.id for document in read_corpus(tmp_path / "out", format)] == ["b"]


def test_documents_of_one_id_keep_their_own(tmp_path):
    twice = [Document("a", "Ataxia"), Document("a", "A fit")]
    own = [prediction(twice[1], Mention(((2, 5),), "fit"), "T:3")]
    assert write("bioc_json", tmp_path / "out", given=[Batch(twice, [[], own])]) == []
    found = json.loads((tmp_path / "out").read_text("utf-8"))["documents"]
    assert [len(document["passages"][0]["annotations"]) for document in found] == [0, 1]
