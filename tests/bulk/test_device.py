"""An encoder with torch is put where ``--device`` says; `cpu:0` stands for a GPU here."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from encoder_cases import save_bert, tokenizer

from nomina.bulk.dedup import RememberingLinker
from nomina.bulk.engine import make_new, pipeline
from nomina.bulk.options import Options
from nomina.encoders.bert import BertEncoder
from nomina.errors import UsageError
from nomina.types import Document, Mention

pytestmark = pytest.mark.extras


@pytest.fixture
def options(kb, tmp_path):
    base = save_bert(tmp_path / "base", tokenizer().get_vocab_size(), 32)
    BertEncoder(base, "mean").save(tmp_path / "encoder")
    return Options(linker=str(tmp_path / "encoder"), kb=str(kb.path))


def test_it_links_as_without(options):
    words = "heart seizure", "the heart", "Ataxia"
    documents = [Document(word, word, (Mention(((0, len(word)),), word),)) for word in words]
    plain, placed = pipeline(options), pipeline(options, "cpu:0")
    for one in (plain, placed):
        make_new(one, 1)
    assert isinstance(placed.linker, RememberingLinker)
    assert placed.linker.linker.embedding.encoder.device.type == "cpu"
    found = list(placed.link(documents))
    assert found == list(plain.link(documents))
    assert [one.candidates[0].rule for one in found] == ["embedding", "embedding", "exact"]


def test_a_device_that_is_not_there_is_said(options):
    with pytest.raises(
        UsageError, match=r"cannot use --device cuda:77 \(.*\): name one that is there, or leave it out"
    ):
        pipeline(options, "cuda:77")
