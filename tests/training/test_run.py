"""A whole training: which weights are kept, and what is said of them and of what they are measured on."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("safetensors")

from encoder_cases import WORDS, save_bert  # noqa: E402
from training_cases import NAMES  # noqa: E402

from nomina.errors import ArtifactError, RecipeError  # noqa: E402
from nomina.training.dev import Dev  # noqa: E402
from nomina.training.mentions import Item  # noqa: E402
from nomina.training.names import Concepts  # noqa: E402
from nomina.training.prepare import Task  # noqa: E402
from nomina.training.recipe import recipe_of  # noqa: E402
from nomina.training.run import Judge, train  # noqa: E402

HEART, SEIZURE, NOTHING = (
    Item((text,), (frozenset(gold),)) for text, gold in (("heart", {0}), ("fit", {2}), ("x", ()))
)
NEVER = "no weights were better than those before training"
AS_IT_WAS = "the model is as it was before training"


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("base"), len(WORDS) + 4, 32)


@pytest.fixture
def trained(base, make_kb, tmp_path, monkeypatch):
    """Train 8 steps, measuring before them and behind each second one: the outcome, the weights measured, lines."""

    def run(figures, keep="best", dev=(HEART,), patience=0):
        measured, said, left = [], [], iter(figures)

        def accuracy(self):
            measured.append(self.module.bert.embeddings.word_embeddings.weight.detach().clone())
            return {"acc@1": next(left)}

        monkeypatch.setattr(Dev, "accuracy", accuracy)
        fit = {
            "batch_size": 6,
            "steps": 8,
            "evaluate_every": 2,
            "lr": 0.01,
            "warmup": 0,
            "keep": keep,
            "patience": patience,
        }
        recipe = recipe_of({"encoder": {"base": str(base)}, "fit": fit})
        kb = make_kb(NAMES)
        task = Task(kb, Concepts.of(kb), None, list(dev), tmp_path)
        found = train(recipe, task, torch.device("cpu"), say=said.append)
        kept = found.encoder.word_embeddings
        (place,) = [i for i, weights in enumerate(measured) if torch.equal(weights, kept)]
        return found, place, said

    return run


@pytest.mark.parametrize(
    ("figures", "kept"),
    [
        ([10.0, 20.0, 30.0, 30.0, 25.0], 2),
        ([10.0, 5.0, 11.0, 11.0, 11.0], 2),
        ([0.0, 0.0, 0.0, 0.0, 12.5], 4),
    ],
)
def test_the_best_weights_are_kept_of_equals_the_first(trained, figures, kept):
    found, place, said = trained(figures)
    assert (place, found.best) == (kept, {"step": 2 * kept, "acc@1": figures[kept]})
    assert found.before == {"step": 0, "acc@1": figures[0]}
    assert not [line for line in said if NEVER in line]


@pytest.mark.parametrize(
    ("figures", "line"),
    [
        (
            [0.0, 0.0, 0.0, 0.0, 0.0],
            f"{NEVER}: acc@1 0.0 there, then at most 0.0 (step 2); {AS_IT_WAS}: fit.keep=last takes the last ones",
        ),
        (
            [40.0, 20.0, 30.0, 25.0, 30.0],
            f"{NEVER}: acc@1 40.0 there, then at most 30.0 (step 4); {AS_IT_WAS}: try a lower fit.lr",
        ),
    ],
)
def test_where_nothing_was_better_the_weights_of_the_start_are_kept(trained, figures, line):
    found, place, said = trained(figures)
    assert (place, said[-1]) == (0, line)
    assert found.best == found.before == {"step": 0, "acc@1": figures[0]}


def test_the_last_weights_are_kept_where_they_are_wanted(trained):
    found, place, said = trained([40.0, 20.0, 50.0, 25.0, 30.0], keep="last")
    assert (place, found.best) == (4, {"step": 8, "acc@1": 30.0})
    assert said[-1] == (
        "the last weights are no better than those before training: acc@1 40.0 there, then 30.0 (step 8); fit.keep=best"
        " would not have kept them"
    )


def test_nothing_is_said_of_last_weights_that_are_better(trained):
    found, place, said = trained([40.0, 60.0, 30.0, 25.0, 50.0], keep="last")
    assert (place, found.best) == (4, {"step": 8, "acc@1": 50.0})
    assert not [line for line in said if "before training" in line]


def test_development_mentions_whose_gold_the_kb_lacks_are_counted(trained):
    _, _, said = trained([0.0, 1.0, 2.0, 3.0, 4.0], dev=[HEART, NOTHING, SEIZURE, NOTHING])
    assert "accuracy: the KB lacks gold of 2 of 4 development mentions, which count as wrong" in said


@pytest.mark.parametrize(
    ("dev", "why"),
    [
        (
            [NOTHING, NOTHING],
            "the KB made has the gold of no mention of the development corpus: is it the corpus's own?",
        ),
        ([], "the development corpus has no mention with gold"),
    ],
)
def test_a_development_corpus_of_another_kb_is_refused(trained, dev, why):
    with pytest.raises(RecipeError) as caught:
        trained([], dev=dev)
    assert str(caught.value) == why


@pytest.mark.parametrize(
    ("figures", "patience", "kept", "steps"),
    [
        ([10.0, 20.0, 15.0], 1, 1, 4),
        ([10.0, 20.0, 20.0, 15.0], 2, 1, 6),
        ([10.0, 5.0], 1, 0, 2),
        ([10.0, 5.0, 11.0, 12.0, 13.0], 2, 4, 8),
        ([10.0, 20.0, 15.0, 15.0, 15.0], 0, 1, 8),
    ],
)
def test_training_ends_after_so_many_evaluations_that_were_no_better(trained, figures, patience, kept, steps):
    found, place, _ = trained(figures, patience=patience)
    assert (place, found.result.steps, found.result.stopped) == (kept, steps, False)


@pytest.mark.parametrize("name", ["best.safetensors", "best.json"])
def test_the_best_weights_or_their_figures_cut_off_are_one_line(trained, name, tmp_path):
    encoder = trained([10.0, 20.0, 30.0, 30.0, 25.0])[0].encoder
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    judge = Judge(encoder, None, None, tmp_path)
    with pytest.raises(ArtifactError, match=rf"{name} is damaged \(.+\): begin anew with --no-resume$"):
        judge.take_best() if name.endswith("tensors") else judge.read("best")
