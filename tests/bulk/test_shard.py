"""One shard: what fails and what does not, and that nothing is left behind."""

import json
from dataclasses import replace

import pytest

from nomina.bulk.engine import pipeline
from nomina.bulk.manifest import Shard
from nomina.bulk.options import Options
from nomina.bulk.places import size_and_change
from nomina.bulk.shard import TooManyErrors, run_shard
from nomina.bulk.store import LocalStore
from nomina.errors import KnowledgeBaseError, UsageError
from nomina.pipeline import Pipeline


@pytest.fixture
def options(kb):
    return Options(linker="dictionary", kb=str(kb.path))


@pytest.fixture
def linker(options):
    return pipeline(options)


class Failing:
    """A pipeline that some words are too much for."""

    def __init__(self, inner: Pipeline, loads: int = 1) -> None:
        self.inner, self.loads, self.sizes = inner, loads, []

    def link(self, documents):
        self.sizes.append(len(documents))
        for document in documents:
            if "boom" in document.text:
                raise RuntimeError("too much\nfor me")
            if "gone" in document.text:
                raise KnowledgeBaseError("the KB is gone")
        return self.inner.link(documents)


def shard_of(folder, records, name="in.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    for part in ("output", "errors"):
        (folder / part).mkdir(exist_ok=True)
    return Shard(0, str(path), "jsonl", *size_and_change(str(path)), "00000-in.jsonl")


def run(linker, shard, options, folder, **given):
    return run_shard(linker, shard, options, LocalStore(folder), lambda documents, errors: None, **given)


def errors(folder):
    path = folder / "errors/00000-in.jsonl.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def test_as_many_documents_are_linked_at_a_time_as_the_pipeline_reads(linker, options, tmp_path):
    shard = shard_of(tmp_path, [{"id": str(number), "text": "Ataxia."} for number in range(600)])
    for loads, sizes in ((1, [256, 256, 88]), (2, [512, 88])):
        reading = Failing(linker, loads)
        assert run(reading, shard, options, tmp_path).mentions == 600
        assert reading.sizes == sizes


def test_a_document_that_cannot_be_linked_is_an_error(linker, options, tmp_path):
    texts = ["Ataxia.", "boom", "A fit.", "", "boom"]
    shard = shard_of(tmp_path, [{"id": str(number), "text": text} for number, text in enumerate(texts)])
    done = run(Failing(linker), shard, options, tmp_path)
    assert (done.documents, done.mentions, done.errors, done.whole) == (3, 2, 2, True)
    assert [(error["offset"], error["document"], error["reason"]) for error in errors(tmp_path)] == [
        (2, "1", "RuntimeError: too much for me"), (5, "4", "RuntimeError: too much for me"),
    ]  # fmt: skip
    lines = (tmp_path / "output/00000-in.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["document_id"] for line in lines] == ["0", "2"]
    assert not list((tmp_path / "work").iterdir())
    clean = shard_of(tmp_path, [{"id": "1", "text": "Ataxia."}])
    assert run(linker, clean, options, tmp_path).errors_sha256 == ""
    assert errors(tmp_path) == []


def test_what_ends_a_run_is_no_error_of_a_document(linker, options, tmp_path):
    shard = shard_of(tmp_path, [{"id": "1", "text": "gone"}])
    with pytest.raises(KnowledgeBaseError, match="the KB is gone"):
        run(Failing(linker), shard, options, tmp_path)
    assert not [*(tmp_path / "output").iterdir(), *(tmp_path / "errors").iterdir(), *(tmp_path / "work").iterdir()]


def test_documents_of_one_id_keep_their_order(linker, options, tmp_path):
    records = [{"id": "a", "text": "Ataxia."}, {"id": "a", "text": "A fit."}, {"id": "b", "text": "Disease."}]
    done = run(linker, shard_of(tmp_path, records), options, tmp_path)
    assert (done.documents, done.mentions) == (3, 3)
    lines = (tmp_path / "output/00000-in.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["mention"]["text"] for line in lines] == ["Ataxia", "fit", "Disease"]


def test_too_many_errors_end_it_and_leave_nothing(linker, options, tmp_path):
    shard = shard_of(tmp_path, [{"id": "1"}] * 3)
    with pytest.raises(TooManyErrors, match=r"its last error: line 3: the field 'text' is missing"):
        run(linker, shard, options, tmp_path, most_errors=2)
    assert not [*(tmp_path / "output").iterdir(), *(tmp_path / "errors").iterdir(), *(tmp_path / "work").iterdir()]
    assert run(linker, shard, options, tmp_path, most_errors=3).errors == 3


def test_a_file_that_is_gone_is_an_error_of_the_whole_file(linker, options, tmp_path):
    shard = shard_of(tmp_path, [])
    (tmp_path / "in.jsonl").unlink()
    done = run(linker, shard, options, tmp_path)
    assert (done.documents, done.errors, done.whole) == (0, 1, False)
    (error,) = errors(tmp_path)
    assert (error["offset"], error["unit"]) == (None, "file")
    assert error["reason"] == "cannot be read (No such file or directory); the rest is not read"


def test_a_file_that_changes_while_it_is_read_is_refused(linker, options, tmp_path):
    shard = shard_of(tmp_path, [{"id": "1", "text": "Ataxia."}])
    with pytest.raises(UsageError, match="has changed since the run was begun"):
        run(linker, shard._replace(size=shard.size + 1), options, tmp_path)
    assert not list((tmp_path / "output").iterdir())


def test_a_disk_that_is_full_is_said_and_leaves_nothing(linker, options, tmp_path, monkeypatch):
    shard = shard_of(tmp_path, [{"id": "1", "text": "Ataxia."}])

    def full(*given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("nomina.bulk.outputs.jsonl.write_jsonl", full)
    with pytest.raises(UsageError, match=r"cannot write the output of .*No space left on device\): make room"):
        run(linker, shard, options, tmp_path)
    assert not [*(tmp_path / "output").iterdir(), *(tmp_path / "work").iterdir()]


def test_given_mentions_are_left_aside_where_they_are_to_be_found(linker, options, tmp_path):
    record = {"id": "1", "text": "Ataxia and a fit.", "mentions": [{"spans": [[0, 6]], "type": "sign"}]}
    shard = shard_of(tmp_path, [record])
    assert run(linker, shard, options, tmp_path).mentions == 1
    assert run(linker, shard, replace(options, detect=True), tmp_path).mentions == 2
