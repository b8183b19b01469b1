"""Whether what a run has written is whole and of the inputs that are there; how it is made again where it is not."""

import json

from bulk_cases import make_inputs, mentions, result

from nomina.errors import NominaError


def test_damaged_output_is_found_and_made_again(bulk, tmp_path):
    inputs = make_inputs(tmp_path / "in", 3, 4)
    assert bulk("run", inputs, "--out", "run")[0] == 0
    before = result(tmp_path / "run")
    assert bulk("verify", "run") == (0, "all 3 finished shards are as they were written\n", "")
    (tmp_path / "run/output/00000-s000.jsonl").unlink()
    with open(tmp_path / "run/output/00002-s002.jsonl", "a", encoding="utf-8") as stream:
        stream.write("\n")
    (tmp_path / "run/output/mine").write_text("", encoding="utf-8")
    code, out, err = bulk("verify", "run")
    assert (code, out) == (
        2,
        "run/output/00000-s000.jsonl: cannot be read (No such file or directory)\n"
        "run/output/00002-s002.jsonl: is not what was written\n"
        "run/output/mine: is of no finished shard\n",
    )
    assert err.startswith("nomina: 2 shards are damaged: make them again with nomina bulk verify --redo run")
    assert bulk("verify", "run", "--redo")[0] == 2
    assert bulk("status", "run")[1] == "stopped: 1 of 3 shards, 4 documents, 11 mentions, 0 errors\n"
    (tmp_path / "run/output/mine").unlink()
    assert bulk("resume", "run")[0] == 0
    assert result(tmp_path / "run") == before
    assert json.loads(bulk("status", "run", "--json")[1]) == {
        "state": "finished", "shards": 3, "done": 3, "not_read_to_the_end": 0, "documents": 12,
        "mentions": mentions(3, 4), "errors": 0,
    }  # fmt: skip


def test_a_finished_input_that_changes_is_noticed_and_linked_anew(bulk, tmp_path):
    inputs = make_inputs(tmp_path / "in", 3, 3)
    (inputs / "t.bioc.xml").write_text("<collection>", encoding="utf-8")
    assert bulk("run", inputs, "--out", "run")[0] == 0
    changed = inputs / "s001.jsonl"
    changed.write_text('{"id": "x", "text": "Ataxia."}\n', encoding="utf-8")
    (tmp_path / "run/output/00000-s000.jsonl").unlink()
    said = (
        f"nomina: {changed} has changed since it was linked: have it linked anew with nomina bulk verify --redo run,"
        " then resume, or begin a new run in another folder\n"
    )
    for command in (["resume", "run"], ["resume", "run", "--retry"], ["run", inputs, "--out", "run"]):
        assert bulk(*command) == (2, "", said)
    code, out, err = bulk("verify", "run")
    missing = "run/output/00000-s000.jsonl: cannot be read (No such file or directory)\n"
    assert (code, out) == (2, f"{missing}{changed}: has changed since it was linked\n")
    advice = "make them again with nomina bulk verify --redo run, then resume"
    assert err == f"nomina: 1 shards are damaged, 1 inputs have changed: {advice}\n"
    assert bulk("verify", "run", "--redo")[0] == 2
    assert bulk("status", "run")[1].startswith("stopped: 2 of 4 shards")
    assert bulk("resume", "run")[0] == 0
    assert bulk("verify", "run")[0] == 0
    assert bulk("run", inputs, "--out", "new")[0] == 0
    assert result(tmp_path / "run") == result(tmp_path / "new")
    (inputs / "t.bioc.xml").write_text("<collection></collection>", encoding="utf-8")
    code, _, err = bulk("resume", "run")
    assert (code, "have it linked anew with nomina bulk resume --retry run, or" in err) == (2, True)
    assert bulk("resume", "run", "--retry")[0] == 0
    changed.unlink()
    assert bulk("resume", "run")[0] == 0
    assert bulk("verify", "run")[0] == 0


def test_what_cannot_be_made_again_is_named_and_the_others_are(bulk, tmp_path):
    inputs = make_inputs(tmp_path / "in", 3, 3)
    (inputs / "t.bioc.xml").write_text("<collection>", encoding="utf-8")
    (inputs / "u.bioc.xml").write_text("<collection>", encoding="utf-8")
    assert bulk("run", inputs, "--out", "run")[0] == 0
    before = result(tmp_path / "run")
    kept = (inputs / "s001.jsonl").rename(tmp_path / "kept")
    (inputs / "t.bioc.xml").rename(tmp_path / "t")
    for number in range(3):
        (tmp_path / f"run/output/0000{number}-s00{number}.jsonl").unlink()
    code, out, err = bulk("verify", "run", "--redo")
    assert (code, out.count("No such file or directory"), out.count("\n")) == (2, 3, 4)
    said = "s001.jsonl: is gone, so that 00001-s001.jsonl cannot be made again: put it back first\n"
    assert out.endswith(f"{inputs}/{said}")
    advice = "make them again with nomina bulk resume run"
    left = "1 cannot be made again, as their inputs are gone"
    assert err == f"nomina: 3 shards are damaged: {advice}; {left}\n"
    assert bulk("status", "run")[1].startswith("stopped: 3 of 5 shards")
    code, _, err = bulk("resume", "run", "--retry")
    assert (code, "2 files not read to their end" in err) == (0, True)
    assert sorted(before.keys() - result(tmp_path / "run")) == ["output/00001-s001.jsonl"]
    kept.rename(inputs / "s001.jsonl")
    assert bulk("verify", "run", "--redo")[0] == 2
    assert bulk("resume", "run")[0] == 0
    assert result(tmp_path / "run") == before


def test_output_is_verified_where_inputs_cannot_be_reached(bulk, tmp_path, monkeypatch):
    def unreachable(place):
        raise NominaError(f"cannot reach {place}")

    assert bulk("run", make_inputs(tmp_path / "in", 1, 1), "--out", "run")[0] == 0
    monkeypatch.setattr("nomina.bulk.manifest.size_and_change", unreachable)
    code, out, err = bulk("verify", "run")
    assert (code, out) == (0, "all 1 finished shards are as they were written\n")
    assert err == f"nomina: whether inputs have changed is not known: cannot reach {tmp_path / 'in/s000.jsonl'}\n"
