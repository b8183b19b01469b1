"""``experiments/cascade_remedies.py`` and its tables: remedies of what cascades get wrong, on made mentions."""

import json
from dataclasses import replace

import numpy as np
import pytest
from cascade_cases import NAMES, PARTS, document, documents

from nomina.lexicon import Lexicon
from nomina.types import Candidate, Document, Mention, Prediction


@pytest.fixture
def fitted(script, make_kb):
    remedies, kb = script("cascade_remedies"), make_kb(NAMES)
    dev = remedies.dev_of([*documents(), both()], kb)
    return remedies, remedies.fitted(kb, PARTS, dev), kb, dev


def both() -> Document:
    """A mention that needs two concepts, and one that is a single concept though it looks the same."""
    text = "heart and lung tumour; skin and retina tumour"
    one, two = Mention(((0, 21),), text[:21], gold=(("B:heart",), ("B:lung",))), text[23:]
    return Document("both", text, (one, Mention(((23, 45),), two, gold=(("A:tongue",),))))


@pytest.mark.parametrize(
    ("text", "detected", "nothing_left", "by_form"),
    [
        ("heart and lung tumour", ["heart tumour", "lung tumour"], True, ["heart tumour", "lung tumour"]),
        ("big heart or lung tumour", ["heart tumour", "lung tumour"], False, ["big heart tumour", "lung tumour"]),
        ("heart/ear tumour", [], False, ["heart tumour", "ear tumour"]),
        ("bone, ear and/or nose tumour", [], False, ["bone tumour", "ear tumour", "nose tumour"]),
        ("cancer of the lung and ear", [], False, ["cancer of the lung", "cancer of the ear"]),
        ("heart failure and lung tumour", [], False, ["heart failure", "lung tumour"]),
        ("heart and ear", [], False, []),
        ("heart tumour", [], False, []),
    ],
)
def test_the_parts_of_a_mention(script, make_kb, text, detected, nothing_left, by_form):
    remedies, lexicon = script("cascade_remedies"), Lexicon.open(make_kb(NAMES))
    assert remedies.as_detected(lexicon, text) == detected
    assert remedies.nothing_left(lexicon, text) == (detected if nothing_left else [])
    assert remedies.by_form(lexicon, text) == by_form


def test_parts_stand_before_the_whole_and_all_needed_ones_are_first(fitted, monkeypatch):
    remedies, base, kb, dev = fitted
    chances = {"heart tumour": 0.9, "lung tumour": 0.6, "skin tumour": 0.9, "retina tumour": 0.4}

    def linked(base, dev, asked):
        """A whole is a failing tongue, with one half."""
        for i, text in asked:
            names = [text] if text in chances else ["tongue failure", "heart tumour"]
            ids = [f"{'A' if name.endswith('failure') else 'B'}:{name.split()[0]}" for name in names]
            pairs = enumerate(zip(ids, names, strict=True), start=1)
            found = [Candidate(id, name, name, 1.0, rank, "", 0) for rank, (id, name) in pairs]
            mention = replace(dev.queries[i].mention, text=text)
            yield Prediction("", mention, tuple(found), False, False, chances.get(text, 0.5))

    monkeypatch.setattr(remedies, "linked", lambda *given: list(linked(*given)))
    found = remedies.apart(base, kb, dev)
    assert found["several"] == {"mentions": 1, "any": 0, "strict": 0, "five": 0}
    for name in remedies.READINGS:
        read = found["readings"][name]
        assert read["several"]["after"] == {"mentions": 1, "any": 1, "strict": 1, "five": 1}
        assert read["one"]["before"] == {"mentions": 1, "any": 1, "strict": 1, "five": 1}
        assert read["one"]["after"] == {"mentions": 1, "any": 0, "strict": 0, "five": 1}
        assert (read["strict"]["gained"], read["strict"]["lost"]) == (1, 1)
        surer = found["readings"][f"{name}, surer"]  # than of the whole: not of the retina
        assert surer["several"] == read["several"]
        assert surer["one"]["after"]["mentions"] == 0
        assert (surer["any"]["gained"], surer["any"]["lost"]) == (1, 0)


def test_a_part_is_read_by_weights_of_other_documents(fitted):
    remedies, base, _, dev = fitted
    asked = [(i, query.mention.text) for i, query in enumerate(dev.queries)]
    answers = remedies.linked(base, dev, asked)
    assert [answer.mention.text for answer in answers] == [text for _, text in asked]
    assert answers[0].candidates[0].entity_id == "A:heart"
    each = [[remedies._without(fold, *stage) for stage in base.stages] for fold in range(2)]
    assert each[0] != each[1]


def test_merged_candidates_have_ranks_of_their_own(fitted):
    remedies, base, _, dev = fitted
    first, second, whole = remedies.linked(base, dev, [(0, "heart tumour"), (0, "lung tumour"), (0, "skin tumour")])
    found = remedies.merged([first, second], whole)
    assert [c.entity_id for c in found.candidates[:3]] == ["B:heart", "B:lung", "B:skin"]
    assert [c.rank for c in found.candidates[:3]] == [1, 2, 3]
    assert remedies.merged([replace(first, candidates=())], whole) == whole


def test_votes_say_nothing_new_where_no_feature_is_added(fitted):
    remedies, base, _, _ = fitted
    again = remedies.voted(base, lambda pools, owners: np.zeros((len(pools.rows), 0)))
    assert again.tolist() == base.judged.right.tolist()
    pools, *_, owners = base.stages[-1]
    counts = remedies.agreement(pools, owners)[:, 0]
    of_first = counts[pools.mention == 0]
    assert of_first.max() == 3  # its name is the first of every part
    assert counts.min() == 0
    assert remedies.places(pools, owners).shape == (len(pools.rows), 3)


def test_so_many_documents_are_drawn_in_their_order(script):
    few = script("cascade_remedies").drawn(documents(), 5)
    assert len(few) == 5
    order = [each.id for each in documents()]
    assert [order.index(each.id) for each in few] == sorted(order.index(each.id) for each in few)
    assert script("cascade_remedies").drawn(documents(), 0) == documents()


def test_training_mentions_become_names_of_their_concepts(script, make_kb, tmp_path, monkeypatch):
    kbs = script("eval_kbs")
    train = [document("t", ("sick heart", "ear x"), ("MESH:2", "C:0"))]
    monkeypatch.setattr(kbs, "read_corpus", lambda path: iter(train))
    shop = kbs.Workshop(tmp_path, tmp_path / "work")
    monkeypatch.setitem(kbs.KBS, "made", lambda shop, path: make_kb({"1|2": "heart failure", "3": "ear"}))
    monkeypatch.setattr(shop, "file", lambda *parts: tmp_path)
    kb = kbs._biosyn_with_mentions("made", "train.txt")(shop, tmp_path / "named.kb")
    assert {e.id: [name.text for name in e.names] for e in kb.entities()} == {
        "1|2": ["heart failure", "sick heart"], "3": ["ear"],
    }  # fmt: skip


def test_the_tables_say_what_each_remedy_changes(script, tmp_path):
    remedy = {"accuracy": 81.25, "difference": 1.25, "interval": [-0.5, 3.0], "gained": 7, "lost": 2,
              "mcnemar_p": 0.0004}  # fmt: skip
    right = {"mentions": 5, "any": 3, "strict": 2, "five": 4}
    moved = {"before": right | {"strict": 0}, "after": right}
    reading = {"several": moved, "one": moved, "strict": remedy, "any": remedy | {"mcnemar_p": 0.25}}
    same = dict.fromkeys(("strict", "any"), remedy | {"gained": 0, "lost": 0})
    figures = {
        "mentions": 1000, "documents": 20, "right": 800, "offered": 950, "wrong_though_first_of_a_part": 60,
        "names": remedy | {who: {"mentions": 500, "before": 400, "after": 410} for who in ("seen", "unseen")},
        "votes": dict.fromkeys(("places", "agreement", "both"), remedy),
        "apart": {"several": right | {"mentions": 9}, "readings": {"by form": reading, "none": reading | same}},
    }  # fmt: skip
    tables = script("cascade_remedies_tables")
    assert list(tables.section(tmp_path)) == []
    made = {"name": "cascade_remedies", "metrics": {"ncbi": figures}}
    (tmp_path / "cascade_remedies.json").write_text(json.dumps(made), encoding="utf-8")
    lines = "\n".join(tables.section(tmp_path)).splitlines()
    told = " ".join(lines)
    assert lines[0] == "### Remedies of these errors, tried"
    assert "(NCBI: 1,000 of 20 documents;" in told
    assert "950 of 1,000 mentions have a right name" in told
    assert "for 60 of 200 of the wrong ones" in told
    change = "+1.2 [-0.5, +3.0], 7 won, 2 lost, p < 0.001"
    assert [line for line in lines if line.startswith("| ")] == [
        "| remedy | NCBI |",
        "| none | 80.0 |",
        f"| training mentions as names | 81.2 ({change}) |",
        "| ... of mentions that are a training mention | 400 → 410 of 500 |",
        "| ... of mentions that are no training mention | 400 → 410 of 500 |",
        f"| votes: places | 81.2 ({change}) |",
        f"| votes: parts that agree | 81.2 ({change}) |",
        f"| votes: both | 81.2 ({change}) |",
        "| " + " | ".join(tables.COLUMNS) + " |",
        f"| NCBI | by form | 5 of 9 | 0 → 2 | 4 → 4 | 5 | 3 → 3 | {change} |"
        " +1.2 [-0.5, +3.0], 7 won, 2 lost, p = 0.250 |",
    ]
    assert list(script("cascade_tables").section(tmp_path)) == []


def test_the_tables_say_what_names_in_brackets_change(script, tmp_path):
    figures = {
        "mentions": 1000, "documents": 20, "right": 800, "read": {"mentions": 30, "before": 10, "after": 25},
        "accuracy": 81.5, "difference": 1.5, "interval": [0.5, 3.0], "gained": 16, "lost": 1, "mcnemar_p": 0.25,
        "train": {"mentions": 1200, "right": 1100},
    }  # fmt: skip
    made = {"name": "cascade_brackets", "metrics": {"bc5cdr-c": figures}}
    (tmp_path / "cascade_brackets.json").write_text(json.dumps(made), encoding="utf-8")
    tables = script("cascade_remedies_tables")
    lines = "\n".join(tables.section(tmp_path)).splitlines()
    assert [line for line in lines if line.startswith("| ")] == [
        "| " + " | ".join(tables.BRACKETS_COLUMNS) + " |",
        "| BC5CDR-c | 1,000 | 80.0 | 30 | 10 → 25 |"
        " 81.5 (+1.5 [+0.5, +3.0], 16 won, 1 lost, p = 0.250) | 1,200 | 1,100 |",
    ]
    assert list(script("cascade_tables").section(tmp_path)) == []
