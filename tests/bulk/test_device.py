"""An encoder with torch is put where ``--device`` says; `cpu:0` stands for a GPU here."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from encoder_cases import save_bert, tokenizer
from torch import cuda

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


@pytest.mark.skipif(cuda.is_available(), reason="this machine has a GPU")
@pytest.mark.parametrize(("device", "named"), [("cuda", "cuda"), ("cuda:0,1", "cuda:")])
def test_a_machine_without_a_gpu_says_so_in_one_line_and_the_run_goes_on_without(
    options, bulk, tmp_path, device, named
):
    (tmp_path / "in.jsonl").write_text('{"id": "1", "text": "Ataxia."}\n', encoding="utf-8")
    (tmp_path / "more.jsonl").write_text('{"id": "2", "text": "A fit."}\n', encoding="utf-8")
    given = ["in.jsonl", "more.jsonl", "--out", "run", "--kb", options.kb, "--linker", options.linker]
    code, out, err = bulk("run", *given, "--device", device, "--workers", 2)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"nomina: cannot use --device {named}")
    assert err.endswith("): name one that is there, or leave it out\n")
    assert bulk("resume", "run")[0] == 0
    assert bulk("status", "run")[1].startswith("finished: 2 of 2")


@pytest.mark.parametrize("device", ["cuda:", "cuda:0,", "cuda:a", "cuda:-1", "gpu", "cpu:0", "cuda:0;1", ""])
def test_what_is_no_device_is_said(bulk, tmp_path, device):
    (tmp_path / "in.jsonl").write_text("", encoding="utf-8")
    said = f"nomina: no device {device!r}: it is cpu, cuda, or some GPUs as in cuda:0,1\n"
    assert bulk("run", "in.jsonl", "--out", "run", "--device", device) == (2, "", said)
    assert not (tmp_path / "run").exists()
