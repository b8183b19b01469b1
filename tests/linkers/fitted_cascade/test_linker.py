"""A cascade out of development mentions: what it answers, which parts are asked, what it is as a folder."""

import json
import multiprocessing
import pickle
from dataclasses import replace

import numpy as np
import pytest
from cascade_cases import ENCODER, NAMES, PARTS, document, documents

import nomina
from nomina.artifact import MANIFEST
from nomina.errors import ArtifactError, UsageError
from nomina.linkers.base import NO_ROW
from nomina.linkers.cascade import CascadeLinker
from nomina.linkers.fitted_cascade import folder, is_cascade
from nomina.linkers.fitted_cascade.linker import FittedCascadeLinker
from nomina.linkers.fitted_cascade.parts import PartOptions, opened
from nomina.linkers.fitted_cascade.pools import Pools
from nomina.linkers.fitted_cascade.weights import Stage
from nomina.training.cascade.fit import dev_of, fitted
from nomina.types import Document, Mention, Query

TEXTS = ("heart failure", "lung", "skn tumour", "retina mass", "ear", "0-9")


@pytest.fixture(scope="module")
def kb(make_kb):
    return make_kb(NAMES, types={id: (id[0],) for id in NAMES})


@pytest.fixture(scope="module")
def linker(kb):
    return fitted(kb, PARTS, dev_of(documents(), kb), sure=0.6)[0]


@pytest.fixture(scope="module")
def saved(linker, tmp_path_factory):
    path = tmp_path_factory.mktemp("cascade") / "all"
    folder.save(linker, path, {"mentions": 64})
    return path


def queries(*texts):
    made = document("q", texts, ("",) * len(texts))
    return [Query(made, mention) for mention in made.mentions]


def same(one, other):
    return all(np.array_equal(left, right) for left, right in zip(one, other, strict=True))


def test_each_name_once_by_score_then_by_row(linker, kb):
    ranking = linker.rank(queries(*TEXTS), 20)
    for rows, scores in zip(ranking.rows.tolist(), ranking.scores.tolist(), strict=True):
        pairs = [(-score, row) for row, score in zip(rows, scores, strict=True) if row != NO_ROW]
        assert pairs == sorted(pairs)
        assert len({row for _, row in pairs}) == len(pairs)
        assert all(0 < -score <= 1 for score, _ in pairs)
    assert kb.surface(int(ranking.rows[0, 0])) == "heart failure"
    assert (ranking.rows[-1] == NO_ROW).all()
    assert np.isneginf(ranking.scores[-1]).all()
    assert same(linker.rank(queries(*TEXTS), 3), [part[:, :3] for part in ranking])
    assert linker.rank([], 3).rows.shape == (0, 3)


def test_a_mention_alone_is_answered_as_among_others(linker):
    together = linker.rank(queries(*TEXTS), 5)
    for i, text in enumerate(TEXTS):
        alone = linker.rank(queries(text), 5)
        assert alone.rows[0].tolist() == together.rows[i].tolist()
        assert alone.scores[0] == pytest.approx(together.scores[i], abs=1e-6)


def test_what_is_sure_is_not_given_to_the_parts_behind(linker, monkeypatch):
    asked = {part.options.part: [] for part in linker.parts}
    for part in linker.parts:

        def spied(queries, pools, shares, within, part=part, real=part.extend):
            asked[part.options.part] += [query.mention.text for query in queries]
            return real(queries, pools, shares, within)

        monkeypatch.setattr(part, "extend", spied)
    found = linker.answers(queries(*TEXTS, " "))
    assert asked["dictionary"] == list(TEXTS)
    for name, depth in (("tfidf", 2), ("embedding", 3)):
        assert asked[name] == [
            text for text, own in zip((*TEXTS, " "), found.asked.tolist(), strict=True) if own >= depth
        ]
    assert "heart failure" not in asked["embedding"]
    assert "retina mass" in asked["embedding"]
    over = found.asked < 3
    assert (found.probability[over & (found.asked > 0)] >= linker.sure).all()
    assert found.asked[-1] == 0


def test_with_a_sureness_of_one_all_parts_are_asked(linker, kb):
    every = FittedCascadeLinker(kb, PARTS, linker.stages, sure=1.0)
    assert every.answers(queries(*TEXTS)).asked.tolist() == [3] * len(TEXTS)


def test_an_abbreviation_is_written_out_for_tfidf(kb):
    text = "heart failure (HF) and HF"
    query = Query(Document("d", text, ()), Mention(((23, 25),), "HF"))
    part = opened(kb, PARTS[1])
    found = part.extend([query], Pools.empty(1), None, None)
    assert kb.surface(int(found.rows[found.values[:, 0] == 1.0][0])) == "heart failure"
    assert not len(part.extend(queries("HF"), Pools.empty(1), None, None).rows)


def test_predictions_have_a_probability_and_abstain_under_it(linker):
    made = document("d", TEXTS, ("",) * len(TEXTS))
    usual, floor = list(linker.link([made])), list(linker.link([made], threshold=0.0))
    chances = linker.answers(queries(*TEXTS)).probability
    for prediction, other, chance in zip(usual, floor, chances.tolist(), strict=True):
        assert prediction.probability == (chance if prediction.candidates else None)
        assert prediction.abstained == (not prediction.candidates or chance < linker.abstain)
        assert other.abstained == (not other.candidates)
        assert other.candidates == prediction.candidates
    assert not usual[0].abstained
    assert usual[-1].abstained
    assert usual[0].candidates[0].rule == "exact"
    assert all(prediction.abstained for prediction in linker.link([made], threshold=1.0) if prediction.candidates[1:])


def test_filters_and_names(linker, kb):
    made = document("d", ("heart failure", "lung mass"), ("", ""))
    within = kb.subset(types=["B"])
    for prediction in linker.link([made], k=3, within=within):
        assert {candidate.entity_id[0] for candidate in prediction.candidates} == {"B"}
    (first, _) = linker.link([made], k=2, level="name")
    assert [candidate.rank for candidate in first.candidates] == [1, 2]
    assert first.candidates[0].name == "heart failure"


def test_a_saved_cascade_answers_the_same(linker, saved, kb):
    assert is_cascade(saved)
    again = nomina.load(saved, kb).linker
    assert isinstance(again, FittedCascadeLinker)
    assert (again.sure, again.abstain, again.stages) == (linker.sure, linker.abstain, linker.stages)
    assert same(again.rank(queries(*TEXTS), 9), linker.rank(queries(*TEXTS), 9))
    manifest = json.loads((saved / MANIFEST).read_text(encoding="utf-8"))
    assert [part["part"] for part in manifest["options"]["parts"]] == ["dictionary", "tfidf", "embedding"]
    assert manifest["options"]["parts"][2]["fingerprint"]
    assert json.loads((saved / folder.CALIBRATION).read_text(encoding="utf-8"))["dev"] == {"mentions": 64}


def test_it_goes_to_another_process_as_its_folder(saved, kb):
    linker = folder.load(kb, saved)
    assert len(pickle.dumps(linker)) < 1000
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (answer,) = pool.starmap(linker.rank, [(queries(*TEXTS), 5)])
    assert same(answer, linker.rank(queries(*TEXTS), 5))
    with pytest.raises(ArtifactError, match="another cascade than before"):
        FittedCascadeLinker.from_state(kb, {"folder": str(saved), "fingerprint": "x"})


def test_one_in_memory_cannot_be_told(kb, linker):
    made = FittedCascadeLinker(kb, PARTS, linker.stages)
    with pytest.raises(UsageError, match="save it first"):
        made.state()


def test_dictionary_and_embedding_without_weights_are_the_default(kb, tmp_path):
    folder.describe([PARTS[0], PARTS[2]], tmp_path / "default")
    made = nomina.load(tmp_path / "default", kb)
    assert isinstance(made.linker, CascadeLinker)
    plain = nomina.load(ENCODER, kb)
    assert made.link_mentions(TEXTS) == plain.link_mentions(TEXTS)
    with pytest.raises(UsageError, match=r"name development mentions \(--dev\)"):
        folder.describe(PARTS, tmp_path / "other")


def test_parts_that_cannot_be_a_cascade(kb):
    stage = [Stage((1.0,), (0.0,) * 4)]
    with pytest.raises(UsageError, match="in this order, each once"):
        FittedCascadeLinker(kb, [PARTS[1], PARTS[0]], stage * 2)
    with pytest.raises(UsageError, match="in this order, each once"):
        FittedCascadeLinker(kb, [], [])
    with pytest.raises(UsageError, match="needs weights of each of its parts"):
        FittedCascadeLinker(kb, PARTS[:2], stage)
    with pytest.raises(UsageError, match="let it search, with beams"):
        FittedCascadeLinker(kb, [PartOptions("generative", "writer")], stage)
    with pytest.raises(UsageError, match="no part is called 'bm25'"):
        PartOptions("bm25")
    with pytest.raises(UsageError, match="needs the folder of a generator"):
        PartOptions("generative")
    with pytest.raises(UsageError, match="many must be at least 1"):
        PartOptions("tfidf", many=0)


def test_another_model_than_the_one_it_was_fitted_with_is_refused(kb, linker):
    parts = [*PARTS[:2], replace(PARTS[2], fingerprint="of another")]
    with pytest.raises(ArtifactError, match="is not the model that the cascade was fitted with"):
        FittedCascadeLinker(kb, parts, linker.stages, sure=1.0).rank(queries("lung"), 1)
    with pytest.raises(ArtifactError, match="no such folder"):
        FittedCascadeLinker(kb, [*PARTS[:2], replace(PARTS[2], model="nowhere")], linker.stages)


@pytest.mark.parametrize(
    "damage",
    [
        lambda found: found.update(stages=[]),
        lambda found: found["stages"][0].update(rank=["x"]),
        lambda found: found.pop("abstain"),
        lambda found: found.update(version=2),
        lambda found: found["stages"].pop(),
        lambda found: found.update(abstain=1.5),
        lambda found: found.update(abstain=-0.5),
    ],
)
def test_a_damaged_folder_is_refused(kb, linker, tmp_path, damage):
    folder.save(linker, tmp_path / "all")
    learnt = json.loads((tmp_path / "all" / folder.CALIBRATION).read_text(encoding="utf-8"))
    damage(learnt)
    folder._write([part.options for part in linker.parts], linker.sure, learnt, tmp_path / "all")
    with pytest.raises((ArtifactError, UsageError), match="fit"):
        folder.load(kb, tmp_path / "all")


@pytest.mark.parametrize("sure", [0.0, -1.0, 7.0])
def test_a_folder_whose_sureness_is_no_probability_is_refused(kb, linker, tmp_path, sure):
    folder.save(FittedCascadeLinker(kb, PARTS, linker.stages, sure=sure), tmp_path / "all")
    with pytest.raises(ArtifactError, match=r"sure and abstain are probabilities.*fit it again"):
        folder.load(kb, tmp_path / "all")


def test_what_is_no_cascade(tmp_path):
    assert not is_cascade(tmp_path)
    assert not is_cascade(ENCODER)
    (tmp_path / MANIFEST).write_text("[]", encoding="utf-8")
    assert not is_cascade(tmp_path)
