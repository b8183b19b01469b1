"""``benchmarks/decoding.py``: beam search finds what ``generate`` of transformers finds; a run keeps its figures."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
ROOT = Path(__file__).resolve().parents[1]
WORDS = ("short", "tall", "stature", "small", "finger", "toe", "heart", "attack", "failure", "of", "the")


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("decoding")


def names() -> list[str]:
    pairs = [f"{a} {b}" for a in WORDS for b in WORDS if a != b]
    return [*WORDS, *pairs, *(f"{pair} {WORDS[i % 7]}" for i, pair in enumerate(pairs))]


@pytest.mark.parametrize("beams", [2, 3, 5])
def test_the_same_names_and_sums_as_generate(script, beams: int) -> None:
    torch.manual_seed(0)
    generator = script.made("random-bart-tiny", names())
    with torch.no_grad():  # else all sums are nearly alike
        for parameter in generator.module.parameters():
            parameter *= 4
    prompt = script.Prompt.of(generator, context=False)
    mentions = ["short toe", "the heart of stature", "toes", "heart failure small", "attack", "tall tall finger"]
    prompted = script.most_alike(prompt.of_parts([prompt.parts(script.alone(text)) for text in mentions]), 9)
    trie = script.trie_of(generator, names())
    device = script.DeviceTrie(trie, "cpu", generator.vocabulary)
    search = script.Search(beams, device.depth, narrow=True)
    ours = script.names_found(generator, device, prompted, search, 4)
    reference = script.Reference(generator, trie, script.nested_of(trie), search)
    assert all(len(found) == beams for found in ours)
    assert len({found[0][0] for found in ours}) > 1
    for size in (1, 4):
        theirs = reference(prompted, size)
        assert [script.is_same(a, b) for a, b in zip(ours, theirs, strict=True)] == [True] * len(mentions)


def test_names_that_differ_are_not_the_same(script) -> None:
    found = [(4, -1.0), (7, -2.0), (9, -2.00001)]
    assert script.is_same(found, [(4, -1.0), (9, -2.0), (7, -2.00001)])
    assert not script.is_same(found, [(7, -1.0), (4, -2.0), (9, -2.00001)])
    assert not script.is_same(found, [(4, -1.001), (7, -2.0), (9, -2.00001)])
    assert not script.is_same(found, found[:2])
    assert script.is_same(found, [(4, -1.0), (7, -2.0), (3, -2.00001)])


def test_a_run_writes_its_figures(script, monkeypatch, tmp_path, capsys) -> None:
    (tmp_path / "names.txt").write_text("".join(f"C:1\t{name}\n" for name in names()), encoding="utf-8")
    monkeypatch.setattr(script, "encoder_of", lambda generator: generator._model.get_encoder())
    given = ["random-bart-tiny", tmp_path / "names.txt", "--output", tmp_path / "out.json", "--device", "cpu"]
    given += ["--batches", "4", "--asked", "5", "--reference", "2", "--repeat", "1", "--commit", "abc"]
    monkeypatch.setattr("sys.argv", ["x", *map(str, given)])
    script.main()
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert (found["commit"], found["mentions"], found["command"]["beams"]) == ("abc", 5, "5")
    assert list(found["mentions_a_second"]) == ["float32, batch 4", "float32, pooled, batch 4"]
    assert list(found["mentions_a_second_first_name"]) == ["float32, pooled, batch 4"]
    assert found["equal"] == {"float32, batch 1 of generate": 1.0, "float32, batch 64 of generate": 1.0}
    assert all(figure > 0 for figure in found["reference_mentions_a_second"].values())
    assert not list(tmp_path.glob("*.tmp"))
    assert str(found["equal"]["float32, batch 1 of generate"]) in capsys.readouterr().out


def test_one_search_over_all_batches_finds_the_same(script) -> None:
    torch.manual_seed(0)
    generator = script.made("random-bart-tiny", names())
    prompt = script.Prompt.of(generator, context=False)
    prompted = prompt.of_parts([prompt.parts(script.alone(text)) for text in names()[:9]])
    trie = script.DeviceTrie(script.trie_of(generator, names()), "cpu", generator.vocabulary)
    given = (generator, trie, prompted, script.Search(3), 4)
    plain, pooled = script.run_of(*given)(), script.pooled_run_of(*given)()
    assert len(plain) == len(pooled) == 3
    for (nodes, scores), (same, alike) in zip(plain, pooled, strict=True):
        assert torch.equal(nodes, same)
        torch.testing.assert_close(scores, alike)


def test_the_page_tells_how_fast_the_first_name_is_found(script, monkeypatch, tmp_path) -> None:
    page = importlib.import_module("decoding_page")
    for name in page.FILES:
        one = json.loads((page.RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        one.pop("mentions_a_second_first_name", None)
        (tmp_path / f"{name}.json").write_text(json.dumps(one), encoding="utf-8")
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    before = list(page.lines())
    one["mentions_a_second_first_name"] = {"tf32, batch 64": 10.0, "tf32, batch 8": 7.0, "bf16, batch 64": 2345.6}
    (tmp_path / f"{name}.json").write_text(json.dumps(one), encoding="utf-8")
    told = "; mentions a second until the first name alone is certain: 10 (tf32), 2,346 (bf16)."
    assert list(page.lines())[-1] == before[-1][:-1] + told
