"""``angel_analysis.py`` and its parts: pairs, gradients and errors of preference training, on a tiny generator."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")
pytestmark = pytest.mark.extras

from angel_cases import write_corpus  # noqa: E402
from generator_cases import save_base  # noqa: E402

from nomina import generation  # noqa: E402
from nomina.generation.prompt import Parts  # noqa: E402
from nomina.linkers.generative import evaluating  # noqa: E402
from nomina.training.preference.objective import PreferenceOptions, PreferenceTraining  # noqa: E402
from nomina.training.preference.pairs import PairOptions, Pairs, Ranked, select  # noqa: E402

MENTIONS = {
    "train": {"heart attack": "1", "stature": "2", "seizure attack": "3", "cancer": "4", "of the breast": "4"},
    "dev": {"attack": "1", "stature": "2", "the heart": "1", "5 fu": "9"},
    "test": {"fu": "3"},
}


@pytest.fixture
def data(tmp_path):
    told = ((split, "", text, "", id) for split, of in MENTIONS.items() for text, id in of.items())
    return write_corpus(tmp_path / "data", told)


@pytest.fixture
def model(tmp_path):
    save_base(tmp_path / "base")
    generation.begin(tmp_path / "base", (0, 1)).save(tmp_path / "tiny")
    return tmp_path / "tiny"


def ranking(script, right, scores=None):
    """Mentions whose names are rows 10, 11, ... each."""
    right = np.array(right, bool)
    rows = np.tile(np.arange(10, 10 + right.shape[1]), (len(right), 1))
    return script("angel_ranking").Ranking(rows, right, np.zeros(rows.shape) if scores is None else np.array(scores))


def test_a_whole_analysis(script, data, model, tmp_path, monkeypatch):
    monkeypatch.setattr(script("common"), "RESULTS", tmp_path / "results")
    analysis = script("angel_analysis")
    line = ["angel_analysis.py", "--data", data, "--models", model.parent, "--of", "aap-0=tiny", "--train", "aap-0"]
    monkeypatch.setattr("sys.argv", [str(part) for part in line])
    monkeypatch.setattr(analysis, "BATCH", 2)
    threads = torch.get_num_threads()
    analysis.main()
    torch.set_num_threads(threads)
    result = json.loads((tmp_path / "results" / "angel_analysis.json").read_text(encoding="utf-8"))
    found = result["metrics"]["aap-0"]
    for name, mentions in MENTIONS.items():
        if name in found["pairs"]:
            facts = found["pairs"][name]
            assert facts["mentions"] == len(mentions) == facts["first"] + facts["below"] + facts["none"]
    assert found["pairs"]["dev"]["none"] >= 1  # the dictionary lacks its concept
    assert found["pairs"]["dev"]["seen"] == 1
    for name in analysis.LEARNT:
        run = found["training"][name]
        assert run["steps"] == run["log"][-1]["step"] >= 2
        assert run["dev"]["all"]["mentions"] == 4
        assert run["log"][-1]["mentions"] == run["dev"]["all"]
        for sides in (run["mass"], found["training"]["before"]["mass"]):
            for among in (among for side in sides.values() for among in side.values()):
                assert sum(among.values()) == pytest.approx(1)
                assert min(among.values()) >= -1e-3
        assert run["mass"]["dev"]["names"]["rest"] == pytest.approx(0, abs=1e-3)  # there are no more than ten names
        assert run["mass"]["dev"]["text"]["rest"] > 0.1
    again = {**result, "metrics": {"bc5cdr": found}}  # what was recorded under another name stands beside it
    (tmp_path / "results" / "angel_analysis_bc5cdr.json").write_text(json.dumps(again), encoding="utf-8")
    lines = list(script("angel_analysis_tables").section(tmp_path / "results"))
    of = {
        name: sum(line.startswith(f"| {name} |") for line in lines) for name in ("AskAPatient, fold 0", "BC5CDR joint")
    }
    assert of["AskAPatient, fold 0"] == of["BC5CDR joint"] >= 2
    flips = found["training"]["paper"]["dev"]
    told = (flips["all"]["fixed"], flips["cases"]["fixed"]["texts"])
    assert any(line.startswith("| BC5CDR joint | paper | fixed | {} | {} |".format(*told)) for line in lines)


def test_a_pair_is_of_the_kind_that_its_first_name_makes_it(script):
    found = ranking(script, [[1, 0, 1], [0, 1, 0], [1, 1, 1], [0, 0, 0]], [[-1, -2, -4.5]] * 4)
    pairs = select(Ranked(found.rows, found.right), PairOptions())
    module = script("angel_ranking")
    assert [module.KINDS[kind] for kind in module.kinds_of(found, pairs)] == ["preserve", "lower", "repair"]
    assert module.standing(found).tolist() == [0, 1, 0, -1]
    assert module.scores_of(found, pairs).tolist() == [[-1, -2], [-4.5, -2], [-2, -1]]


def test_probability_goes_to_names_that_were_not_there(script):
    module = script("angel_ranking")
    before = ranking(script, [[1, 0]], np.log([[0.5, 0.25]]))
    after = module.Ranking(np.array([[12, 10, -1]]), np.array([[False, True, False]]), np.log([[0.5, 0.125, 1e-9]]))
    assert module.mass(before, before) == {"right": 0.5, "wrong": 0.25, "other": 0, "rest": 0.25}
    assert module.mass(before, after) == {"right": 0.125, "wrong": 0, "other": 0.5, "rest": 0.375}


def test_mentions_fixed_and_broken_by_what_is_known_of_them(script):
    errors, item = script("angel_errors"), script("generative_eval").Item
    train = [item(Parts("", "Known", ""), frozenset("a"))]
    asked = [item(Parts("", text, ""), frozenset(id)) for text, id in (("known", "a"), ("new", "a"), ("new", "b"))]
    pairs = Pairs(*(np.array(part) for part in ([0, 0], [10, 10], [11, 13])))
    before = ranking(script, [[1, 0], [0, 1], [0, 0]])
    after = ranking(script, [[0, 1], [1, 0], [0, 0]])._replace(rows=np.array([[11, 10], [12, 10], [10, 11]]))
    told = errors.told_of(asked, before, train, pairs)
    assert [one["training"] for one in told] == [
        "concept seen, mention seen", "concept seen, mention new", "concept new, mention new"
    ]  # fmt: skip
    assert [one["right name"] for one in told] == ["first", "among the five", "not among the five"]
    assert {one["first name"] for one in told} == {"chosen in pairs"}
    found = errors.changed(before, after, told)
    assert found["all"] == {"mentions": 3, "right": 1, "fixed": 1, "broken": 1, "lost": 0, "found": 0}
    assert found["kinds"]["training"]["concept seen, mention seen"]["broken"] == 1
    assert errors.counts(before, after) == found["all"]
    names = {10: "ten", 11: "eleven", 12: "twelve", 13: "thirteen"}
    assert errors.cases(asked, before, after, names) == {
        "fixed": {"texts": 1, "most": [{"mention": "new", "was": "ten", "is": "twelve", "count": 1}]},
        "broken": {"texts": 1, "most": [{"mention": "known", "was": "ten", "is": "eleven", "count": 1}]},
    }
    assert errors.winners(before, after, pairs) == {"fixed": {"in no pair": 1}, "broken": {"rejected in pairs": 1}}


def test_the_step_is_made_of_the_mean_gradients_of_both_names(script, data, model):
    analysis, gradients = script("angel_analysis"), script("angel_gradients")
    case = analysis.case_of(data, "aap-0", model)
    of = analysis.set_of(case, case.bench.splits["train"])
    reference = analysis.reference_of(case.generator, of.examples)
    mean = gradients.mean_gradients(case.generator, of.examples)
    tokens = float((of.examples.pieces.lengths(of.examples.chosen) + 1).mean())
    side = gradients.Side({"all": 1.0}, {"all": mean})
    found = gradients.compared(side, side, 0.1, 1.0, tokens)
    for name, weight in (("dpo", 0.0), ("both", 1.0)):
        options = PreferenceOptions("dpo", (("beta", 0.1),), weight, of.examples.count)
        objective = PreferenceTraining(case.generator, of.examples, options, reference)
        with evaluating(case.generator):
            loss = objective.loss(next(objective.batches(0)))
            each = torch.autograd.grad(loss, list(case.generator.module.parameters()), materialize_grads=True)
        assert found["norm"][name] == pytest.approx(torch.cat([p.flatten() for p in each]).norm().item(), rel=1e-3)
        if name == "dpo":
            down = -torch.cat([part.flatten() for part in each])
            effect = found["effects"]["dpo"]["train all"]
            assert effect["chosen"] == pytest.approx((down @ mean[0] / down.norm()).item(), rel=1e-3, abs=1e-4)
            assert effect["rejected"] == pytest.approx((down @ mean[1] / down.norm()).item(), rel=1e-3, abs=1e-4)
    assert found["share"] == {"all": 1.0}


def test_shares_of_kinds_add_up(script):
    gradients = script("angel_gradients")
    torch.manual_seed(0)
    train = gradients.Side({"preserve": 0.75, "repair": 0.25}, {k: torch.randn(2, 50) for k in ("preserve", "repair")})
    found = gradients.compared(train, gradients.Side({}, {"repair": torch.randn(2, 50)}), 0.1, 1.0, 5.0)
    assert sum(found["share"].values()) == pytest.approx(1, abs=1e-3)
    assert list(found["effects"]["both"]) == ["train preserve", "train repair", "dev repair"]
    up = found["effects"]["dpo"]["train preserve"]
    assert up["chosen"] > up["rejected"]
