"""``generative_beside.py``: what is trained beside a fine-tuning; its tables; what is looked up as lay names."""

import json
import lzma
from argparse import Namespace

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from generator_cases import save_base

from nomina import generation
from nomina.generation.prompt import Prompt
from nomina.training.loop import FitOptions, fit
from nomina.training.seq2seq import Seq2SeqOptions

FILES = {
    "aap.txt.xz": [("C1", "heart attack"), ("C1", "attack of the heart"), ("C2", "seizure"), ("C2", "a seizure")],
    "names.tsv.xz": [("X1", "breast cancer"), ("X1", "cancer of the breast"), ("X2", "water"), ("X2", "of water")],
    "concepts.tsv.xz": [("X1", "d", ""), ("X2", "o", "")],
    "lay.tsv.xz": [("HP:1", "short stature"), ("HP:1", "short")],
}


@pytest.fixture
def data(tmp_path):
    for name, rows in FILES.items():
        text = "".join("\t".join(row) + "\n" for row in rows)
        (tmp_path / name).write_bytes(lzma.compress(text.encode()))
    return tmp_path


@pytest.fixture
def generator(tmp_path):
    return generation.begin(save_base(tmp_path / "base"), (0, 1))


def made(script, data, generator, what):
    dictionary = script("generative_eval").Dictionary.read(data, "aap-0")
    arguments = Namespace(data=data, mix_of=what, no_context=True)
    prompt = Prompt.of(generator, context=False)
    return script("generative_beside").beside(
        arguments, generator, dictionary, prompt, Seq2SeqOptions(2, 0.0, 0), lambda told: None
    )


@pytest.mark.parametrize(("what", "count"), [("dictionary", 4), ("names", 2), ("lay", 2)])
def test_names_beside_are_those_that_are_asked_for(script, data, generator, what, count):
    objective = made(script, data, generator, what)
    assert objective.module is generator.module
    assert objective.examples.count == count


def test_the_metric_loss_draws_synonyms_together_in_the_encoder(script, data, generator, monkeypatch):
    monkeypatch.setattr(script("generative_beside"), "PAIRS", 1)
    objective = made(script, data, generator, "metric")

    def apart() -> float:
        with torch.no_grad():
            generator.module.eval()
            vectors, labels, _ = objective._encoded(next(objective.batches(0)))
        same = labels[:, None] == labels[None, :]
        cosines = vectors @ vectors.T
        return float(cosines[~same].mean() - cosines[same].mean())

    before, decoder = apart(), generator.module.decoder.layers[0].fc1.weight.detach().clone()
    fit(objective, FitOptions(30, lr=1e-3, warmup=0, weight_decay=0.0))
    assert apart() < before - 0.1
    assert torch.equal(generator.module.decoder.layers[0].fc1.weight, decoder)


def test_long_names_are_cut_behind_which_their_end_stands(script, generator):
    tokenise = script("generative_beside").tokenised(generator).tokenise
    (long,), (short,) = tokenise(["heart " * 99]), tokenise(["heart"])
    assert len(long) == script("generative_beside").LENGTH
    assert (long[0], long[-1]) == (short[0], short[-1])


def test_the_tables_have_the_unchanged_one_beside_and_leave_out_what_was_not_tried(script, tmp_path):
    tables = script("generative_tries_tables")
    assert list(tables.section(tmp_path)) == []

    def run(before, best):
        return {
            "runs": [{at: {"clean acc@1": x, "clean acc@5": x + 5} for at, x in (("before", before), ("best", best))}]
        }

    decoder = {"minutes": 4.0, "batch": 768, "steps": 2000}
    tries = {"three": decoder, "six": {**decoder, "steps": 1500}, "lay-ncbi": run(80, 89), "six-aap-0": run(56, 88)}
    for name, metrics in (("generative_tries", tries), ("generative_runs", {"pre-ncbi-0": run(80, 88)})):
        (tmp_path / f"{name}.json").write_text(json.dumps({"metrics": metrics}), encoding="utf-8")
    lines = "\n".join(tables.section(tmp_path)).splitlines()
    assert "| as it is | 88.0 / 93.0 |  |  |" in lines
    assert "| beside: HPO's concepts with lay names | 89.0 / 94.0 |  |  |" in lines
    assert "| 6 layers | 1,500 |  |  | 56.0 / 61.0 |  |  | 88.0 / 93.0 |" in lines


def test_concepts_with_a_lay_name_are_marked(script, tmp_path, monkeypatch):
    names = script("open_names")
    (tmp_path / "data").mkdir()
    terms = [
        '[Term]\nid: HP:0000001\nname: Dyspnea\nsynonym: "Trouble breathing" EXACT layperson []\n',
        '[Term]\nid: HP:0000002\nname: Seizure\nsynonym: "Fit" EXACT []\n',
    ]
    head = 'format-version: 1.2\nsynonymtypedef: layperson "layperson term"\n\n'
    (tmp_path / "data" / "hp.obo").write_text(head + "\n".join(terms), encoding="utf-8")
    monkeypatch.setattr(names, "find_spec", lambda name: Namespace(submodule_search_locations=[str(tmp_path)]))
    assert [(one.id, one.lay) for one in names.phenotypes()] == [("HP:0000001", True), ("HP:0000002", False)]
