"""``benchmarks/encoders_gpu.py``: a run that is cut off keeps what it has measured; the committed figures."""

import importlib
import json
import lzma
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.extras
ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("encoders_gpu")


def test_a_run_that_is_cut_off_keeps_its_figures(script, monkeypatch, tmp_path):
    for name, line in (("names", "C:1\tHeart attack\n"), ("mentions", "ncbi\ttest\tMI\tC:1\n")):
        with lzma.open(tmp_path / name, "wt", encoding="utf-8") as stream:
            stream.write(line)
    seconds = iter([4.0, 2.0, 14.0])
    encoder = SimpleNamespace(module=SimpleNamespace(to=lambda device: None))
    monkeypatch.setattr(script.torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(script, "encoders", lambda minilm: dict.fromkeys(("ResCNN", "BERT-base"), encoder))
    monkeypatch.setattr(script, "linking", lambda *given: next(seconds))
    places = [str(tmp_path / name) for name in ("minilm", "names", "mentions")]
    monkeypatch.setattr("sys.argv", ["x", *places, "--output", str(tmp_path / "out.json"), "--sample", "7"])
    with pytest.raises(StopIteration):
        script.main()
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert found["seconds"] == {"cpu, padded": {"ResCNN": 4.0, "BERT-base": 14.0}, "cpu, bucketed": {"ResCNN": 2.0}}
    assert found["ratios"] == {"cpu, padded": 3.5}
    assert (found["names"], found["mentions"], found["sampled"]) == (1, 1, 7)


def test_the_committed_ratios_are_those_of_the_seconds(script):
    path = ROOT / "benchmarks" / "results" / "encoders_gpu.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found["ratios"] == script.ratios(found["seconds"])
