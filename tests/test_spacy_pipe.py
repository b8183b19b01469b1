"""The spaCy pipe, over a made KB and a blank model."""

import gc
import os
import pickle
import tomllib
import weakref
from importlib import import_module
from pathlib import Path

import pytest

from nomina.errors import UsageError

pytestmark = pytest.mark.extras
spacy = pytest.importorskip("spacy")
pipes = pytest.importorskip("nomina.spacy_pipe")

TEXT = "No fits. Ataxia and red eyes."


@pytest.fixture(scope="module")
def kb(make_kb):
    return make_kb(
        {"T:1": ("Seizure", "fit"), "T:2": "Ataxia", "T:3": "Red eye", "T:4": "Eye"}, parents={"T:3": ["T:4"]}
    )


@pytest.fixture
def make(kb):
    """A blank model with the pipe, and ahead of it one that marks words as entities."""

    def made(*words, **config):
        nlp = spacy.blank("en")
        if words:
            ruler = nlp.add_pipe("entity_ruler")
            ruler.add_patterns([{"label": "SIGN", "pattern": word} for word in words])
        nlp.add_pipe("nomina", config={"kb": str(kb.path), "linker": "dictionary", **config})
        return nlp

    return made


def linked(doc):
    return [(ent.text, ent.label_, ent.kb_id_) for ent in doc.ents]


FOUND = [("fits", "CONCEPT", "T:1"), ("Ataxia", "CONCEPT", "T:2"), ("red eyes", "CONCEPT", "T:3")]


def test_mentions_are_found(make):
    doc = make()(TEXT)
    assert linked(doc) == FOUND
    said = doc.ents[0]._.nomina
    assert (said["negated"], said["abstained"], said["experiencer"]) == (True, False, "patient")
    assert [(c["entity_id"], c["preferred"], c["name"], c["rank"]) for c in said["candidates"]] == [
        ("T:1", "Seizure", "fit", 1)
    ]
    assert [(span.text, span.kb_id_) for span in doc.spans["nomina"]] == [(text, id) for text, _, id in FOUND]
    assert linked(make(label="X")("Ataxia")) == [("Ataxia", "X", "T:2")]


def test_entities_are_linked(make):
    doc = make("Ataxia", "No")(TEXT)
    assert linked(doc) == [("No", "SIGN", ""), ("Ataxia", "SIGN", "T:2")]
    assert doc.ents[0]._.nomina["abstained"]
    assert "nomina" not in doc.spans


def test_an_id_that_is_there_stays_where_the_linker_abstains(make):
    nlp = make(mentions="ents")
    doc = nlp.make_doc("Ataxia xyz")
    doc.ents = [doc.char_span(0, 6, "A", kb_id="OLD:1"), doc.char_span(7, 10, "B", kb_id="OLD:2")]
    assert linked(nlp.get_pipe("nomina")(doc)) == [("Ataxia", "A", "T:2"), ("xyz", "B", "OLD:2")]


@pytest.mark.parametrize(
    ("mentions", "words", "expected"),
    [
        ("ents", (), []),
        ("ents", ("Ataxia",), [("Ataxia", "SIGN", "T:2")]),
        ("find", ("No",), FOUND),
        ("auto", ("never",), FOUND),
    ],
)
def test_what_is_linked(make, mentions, words, expected):
    assert linked(make(*words, mentions=mentions)(TEXT)) == expected


def test_spans_that_overlap_are_in_the_group(make):
    doc = make(overlaps="all")("red eyes")
    assert linked(doc) == [("red eyes", "CONCEPT", "T:3")]
    spans = [(span.text, span.kb_id_, span._.nomina["candidates"][0]["entity_id"]) for span in doc.spans["nomina"]]
    assert spans == [("red eyes", "T:3", "T:3"), ("eyes", "T:4", "T:4")]


@pytest.mark.parametrize("processes", [1, 2])
def test_many_texts_in_order(make, processes):
    texts = ["Ataxia.", "Nothing.", "", "fits"] * 5
    docs = list(make().pipe(texts, n_process=processes, batch_size=3))
    assert [doc.text for doc in docs] == texts
    assert [[ent.kb_id_ for ent in doc.ents] for doc in docs] == [["T:2"], [], [], ["T:1"]] * 5
    assert docs[0].ents[0]._.nomina["candidates"][0]["name"] == "Ataxia"


def test_an_encoder_in_use_does_not_hang_in_other_processes(make):
    nlp = make("gait", "red", linker=str(Path(__file__).parent / "data" / "tiny-encoder"))
    texts = ["gait red"] * 4
    alone = [[ent._.nomina["candidates"] for ent in doc.ents] for doc in nlp.pipe(texts)]
    assert {found[0]["rule"] for found in alone[0]} == {"embedding"}
    others = [[ent._.nomina["candidates"] for ent in doc.ents] for doc in nlp.pipe(texts, n_process=2, batch_size=1)]
    assert others == alone


def test_a_forked_child_keeps_the_model_of_its_parent(make, monkeypatch):
    pipe = make().get_pipe("nomina")
    own = weakref.ref(pipe.pipeline)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    other = pipe.pipeline
    gc.collect()
    assert own() is not None
    assert own() is not other


def test_it_goes_to_disk_and_back(make, tmp_path):
    nlp = make(label="X", k=2)
    nlp.to_disk(tmp_path / "model")
    again = spacy.load(tmp_path / "model")
    assert again.get_pipe("nomina").config == nlp.get_pipe("nomina").config
    assert linked(again("Ataxia")) == [("Ataxia", "X", "T:2")]


def test_it_goes_to_bytes_and_back(make):
    pipe, other = make(label="X").get_pipe("nomina"), make().get_pipe("nomina")
    assert other.from_bytes(pipe.to_bytes()).config == pipe.config
    assert pickle.loads(pickle.dumps(pipe)).config == pipe.config
    assert len(pickle.dumps(pipe)) < 2000


def test_unknown_keys_are_refused_by_name(make):
    with pytest.raises(ValueError, match=r"nomina -> tresh\s+unexpected argument: 'tresh'"):
        make(tresh=1)
    with pytest.raises(UsageError, match="the pipe nomina has no option 'tresh'; there are: kb, linker"):
        pipes.NominaPipe(config={"tresh": 1})


@pytest.mark.parametrize(
    ("config", "why"),
    [({"mentions": "all"}, "mentions must be one of auto, ents, find"), ({"label": ""}, "label must")],
)
def test_values_that_cannot_be(make, config, why):
    with pytest.raises(UsageError, match=why):
        make(**config)


def test_the_entry_point_leads_to_the_factory():
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, name = project["entry-points"]["spacy_factories"]["nomina"].split(":")
    assert getattr(import_module(module), name) is pipes.make_pipe
