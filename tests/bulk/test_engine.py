"""The pipeline of a shard does not depend on the shards before it."""

import io

import pytest
from linker_cases import ENCODER

import nomina
from nomina.bulk.dedup import RememberingLinker
from nomina.bulk.engine import check_device, make_new, pipeline
from nomina.bulk.options import Options, linker_fingerprint
from nomina.errors import ArtifactError, UsageError
from nomina.linkers.cascade import CascadeLinker
from nomina.linkers.dictionary import DictionaryLinker
from nomina.output import write_jsonl
from nomina.types import Document, Mention


def documents(*words):
    return [Document(str(i), word, (Mention(((0, len(word)),), word),)) for i, word in enumerate(words)]


FIRST = documents("hart diseas", "fitt", "seizurs of heart", "ataxxia", "disease of the heart and more of it")
SECOND = documents("fitt", "seizur", "disea of the heart", "hart diseas")


def written(linker, given):
    stream = io.StringIO()
    write_jsonl(linker.link(given), stream)
    return stream.getvalue()


def test_a_shard_is_linked_as_if_it_were_the_first(kb):
    options = Options(linker=str(ENCODER), kb=str(kb.path))
    alone = pipeline(options)
    make_new(alone, 1)
    expected = written(alone, SECOND)
    assert expected.count('"rule": "embedding"') >= 4
    after = pipeline(options)
    make_new(after, 1)
    written(after, FIRST)
    remembering = after.linker
    assert isinstance(remembering, RememberingLinker)
    assert isinstance(remembering.linker, CascadeLinker)
    embedding = remembering.linker.embedding
    assert len(embedding._vectors) == 5
    make_new(after, 3)
    assert embedding._vectors == {}
    assert embedding.encoder.threads == embedding.index.threads == 3
    assert not remembering._answers
    assert written(after, SECOND) == expected


def test_what_is_linked_is_what_load_links(kb):
    options = Options(linker=str(ENCODER), kb=str(kb.path), k=2, under=("T:1",), threshold=0.5, context=False)
    loaded = nomina.load(ENCODER, kb.path, k=2, under=("T:1",), threshold=0.5, context=False)
    assert written(pipeline(options), FIRST + SECOND) == written(loaded, FIRST + SECOND)
    plain = pipeline(Options(linker="dictionary", kb=str(kb.path)))
    assert type(plain.linker) is DictionaryLinker
    make_new(plain, 1)


def test_a_gpu_is_for_encoders_that_can_use_one(tmp_path):
    for linker in ("cascade", str(ENCODER), "no/such"):
        check_device(Options(linker=linker), "cpu")
        with pytest.raises(UsageError, match="does not take --device cuda: name the folder of an encoder that"):
            check_device(Options(linker=linker), "cuda")
    check_device(Options(linker=str(tmp_path)), "cuda:1")
    with pytest.raises(UsageError, match="leave --spans out on a GPU"):
        check_device(Options(linker=str(tmp_path), spans=True), "cuda:1")


def test_options_are_kept_as_they_are_and_unknown_ones_refused():
    options = Options(under=("HP:1", "HP:2"), threshold=0.25, spans=False, text_column="é")
    assert Options.from_json(options.to_json()) == options
    with pytest.raises(UsageError, match="the option colour of the run is of another version of nomina"):
        Options.from_json('{"k": 3, "colour": "red"}')


def test_a_model_is_known_by_its_content(tmp_path):
    assert linker_fingerprint("dictionary") == linker_fingerprint("tfidf") == ""
    copy = tmp_path / "model"
    copy.mkdir()
    for file in ENCODER.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    before = linker_fingerprint(str(copy))
    assert before == linker_fingerprint(str(ENCODER))
    (copy / "manifest.json").write_bytes(b"{}")
    assert linker_fingerprint(str(copy)) != before
    with pytest.raises(ArtifactError, match="no such folder"):
        linker_fingerprint(str(tmp_path / "no"))
