"""``experiments/embedding*.py`` and ``export_figures.py``: what is linked, kept, compared and said of an encoder."""

import json
from pathlib import Path

import numpy as np
import pytest

from nomina.encoders.onnx import OnnxEncoder
from nomina.types import Document, Mention

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "data" / "tiny-encoder"
NAMES = {"C:1": ("Heart attack", "MI"), "C:2": "Seizure", "C:3": "Short stature"}


def gold(*mentions):
    """A document of (text, id)."""
    made, start = [], 0
    for text, id in mentions:
        made.append(Mention(((start, start + len(text)),), text, None, ((id,),)))
        start += len(text) + 1
    return Document("d", " ".join(text for text, _ in mentions), tuple(made))


@pytest.fixture
def run(script, make_kb, monkeypatch, tmp_path):
    """Runs ``embedding.py`` on a made task, results and cache under ``tmp_path``."""
    embedding, common, tasks = script("embedding"), script("common"), script("eval_tasks")
    kb = make_kb(NAMES)
    test = gold(("heart attack", "C:1"), ("seizures", "C:3"), ("mi", "C:1"), ("SEIZURE", "C:2"))
    train = gold(("mi", "C:1"))
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(common, "RESULTS", tmp_path)
    monkeypatch.setattr(embedding, "RESULTS", tmp_path)
    monkeypatch.setattr(embedding, "Workshop", lambda shared, work: lambda name: kb)
    made = [tasks.Task("ncbi", "clean-kb", "made", lambda shop: [test], lambda shop: [train])]
    made += [
        tasks.Task("askapatient", "as-published", "made", lambda s: [test], lambda s: [train], fold=i) for i in (0, 1)
    ]
    monkeypatch.setattr(embedding, "TASKS", tuple(made))

    def call(row, *others):
        line = [str(FOLDER), "--name", "tiny", "--title", "Tiny one", "--rows", row, *others]
        monkeypatch.setattr("sys.argv", [str(ROOT / "experiments" / "embedding.py"), *line])
        embedding.main()
        return json.loads((tmp_path / f"embedding_tiny_{row.replace(':', '_')}.json").read_text(encoding="utf-8"))

    return call


def test_a_row_says_what_it_takes_to_measure_again(run, capsys):
    result = run("ncbi:clean-kb", "--against", f"other one={FOLDER}")
    system, other = result["metrics"]["systems"]
    assert (system["name"], system["primary"]["value"], other["name"]) == ("Tiny one", 0.75, "other one")
    assert {s["name"]: s["count"] for s in system["strata"]}["seen concept, new mention"] == 1
    (pair,) = result["metrics"]["comparisons"]
    assert (pair["a"], pair["b"], pair["difference"]) == ("Tiny one", "other one", 0.0)
    assert result["encoder"]["fingerprint"] == OnnxEncoder(FOLDER).fingerprint
    assert (result["encoder"]["dim"], result["encoder"]["tiers"]) == (24, False)
    assert result["command"].startswith("python experiments/embedding.py ")
    assert "--title 'Tiny one'" in result["command"]
    assert set(result["libraries"]) == {"numpy", "onnxruntime", "tokenizers"}
    capsys.readouterr()
    again = run("ncbi:clean-kb")
    assert capsys.readouterr().out == "embedding_tiny_ncbi_clean-kb: there already\n"
    assert again == result


def test_tiers_are_compared_with_the_encoder_alone(run):
    result = run("ncbi:clean-kb", "--tiers", "--alone", "no tiers")
    assert [system["name"] for system in result["metrics"]["systems"]] == ["Tiny one", "no tiers"]
    (pair,) = result["metrics"]["comparisons"]
    assert (pair["a"], pair["b"], pair["only_a"], pair["only_b"]) == ("Tiny one", "no tiers", 0, 0)
    assert result["encoder"]["tiers"] is True


def test_of_folds_the_means(run):
    result = run("askapatient:as-published")
    assert result["metrics"]["folds"] == 2
    (system,) = result["metrics"]["systems"]
    assert (system["primary"]["value"], system["deviation"]) == (0.75, 0.0)


def test_behind_the_dictionary(run):
    result = run("ncbi:clean-kb", "--tiers")
    assert result["encoder"]["tiers"] is True
    assert result["metrics"]["systems"][0]["primary"]["value"] == 0.75


def test_a_row_that_is_no_task_is_one_line(run):
    with pytest.raises(SystemExit, match="there is no row ncbi:clean-raw"):
        run("ncbi:clean-raw")


def test_vectors_are_kept(script):
    kept = script("embedding").Remembering(OnnxEncoder(FOLDER))
    asked, inner = [], kept.encoder
    inner.encode, encode = lambda texts, size: asked.extend(texts) or encode(texts, size), inner.encode
    texts = ["seizure", "heart attack", "seizure"]
    assert np.array_equal(kept.encode(texts), encode(texts))
    assert kept.encode([]).shape == (0, 24)
    kept.encode(["heart attack", "short stature"])
    assert asked == ["seizure", "heart attack", "short stature"]
    assert kept.fingerprint == inner.fingerprint


def test_every_row_that_is_planned_is_a_task(script, tmp_path):
    rows, tasks = script("embedding_rows"), script("eval_tasks")
    there = {f"{task.corpus}:{task.protocol}" for task in tasks.TASKS}
    assert {row for plan in rows.PLANS for row in plan.rows} <= there
    plan = next(plan for plan in rows.PLANS if plan.name == "mini")
    assert "--against" not in rows.command(plan, tmp_path)
    (tmp_path / "raw").mkdir()
    command = rows.command(plan, tmp_path)
    assert command[:3] == ["experiments/embedding.py", "checkpoints/sapbert-mini", "--name"]
    assert command[-2:] == ["--against", f"{rows.RAW}={tmp_path / 'raw'}"]


def unit(*rows):
    vectors = np.array(rows, np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_cosines_and_nearest_names_by_hand(script, make_kb):
    figures, kb = script("export_figures"), make_kb(NAMES)  # rows: Heart attack, MI, Seizure, Short stature
    torch = unit([1, 0], [1, 0.1], [0, 1], [0, 1])
    other = unit([1, 0.3], [1, 0.1], [0.02, 1], [0, 1])
    found = figures.cosines(torch, other)
    each = [1 / np.hypot(1, 0.3), 1, 1 / np.hypot(1, 0.02), 1]
    assert found["least"] == pytest.approx(each[0], abs=1e-6)
    assert found["mean"] == pytest.approx(np.mean(each), abs=1e-6)
    assert found["under_0.9999"] == 0.5
    # Row 0 and row 1 are nearest to the first mention: one concept. Rows 2 and 3 to the second: tied for torch.
    mentions = unit([1, 0], [0, 1], [1, 0.1])
    assert figures.nearest(kb, (mentions, torch), (mentions, other)) == {
        "same_top1": pytest.approx(1 / 3),
        "or_tied": pytest.approx(2 / 3),
        "same_concept": pytest.approx(2 / 3),
        "largest_gap": pytest.approx(1 - 1 / np.hypot(1, 0.1), abs=1e-6),
    }


@pytest.mark.extras
def test_a_packed_network_is_completed(script, tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    import tarfile

    from encoder_cases import save_bert
    from safetensors.torch import load_file, save_file

    from nomina import encoders
    from nomina.encoders.bert import BertEncoder
    from nomina.encoders.rescnn import ResCnnEncoder

    raw = BertEncoder(save_bert(tmp_path / "bert", 16, 32), "mean", 25)
    torch.manual_seed(1)
    tuned = ResCnnEncoder(raw.word_embeddings, raw.tokenizer, "attention", 25)
    tuned.save(tmp_path / "tuned")
    weights = load_file(tmp_path / "tuned" / "model.safetensors")
    save_file({k: v for k, v in weights.items() if k != "embeddings.weight"}, tmp_path / "tuned" / "model.safetensors")
    with tarfile.open(tmp_path / "whole.tar", "w") as tar:
        tar.add(tmp_path / "tuned", "tune/best")
    whole = (tmp_path / "whole.tar").read_bytes()
    for i, part in enumerate((whole[:1000], whole[1000:])):
        (tmp_path / f"tune.tar.00{i}").write_bytes(part)
    models = script("embedding_models")
    models.unpack(tmp_path, tmp_path / "unpacked")
    models.completed(tmp_path / "unpacked" / "tune" / "best", raw, "? ").save(tmp_path / "again")
    again = encoders.load_trainable(tmp_path / "again")
    assert again.query_prefix == "? "
    texts = ["heart attack", "seizure"]
    assert np.allclose(again.encode(texts), tuned.encode(texts), atol=1e-6)
