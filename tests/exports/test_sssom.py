"""SSSOM/TSV. The expected text was read by sssom-py 0.4.21 and found valid by its schema, prefixes and CURIEs."""

import csv
import io
from collections import Counter
from datetime import UTC, datetime

import pytest
from export_cases import candidate, prediction

from nomina._version import __version__
from nomina.errors import UsageError
from nomina.exports.sssom import KINDS, write
from nomina.linkers.base import Rule
from nomina.types import Name

HEAD = f"""\
#curie_map:
#  HP: "http://purl.obolibrary.org/obo/HP_"
#  obo: "http://purl.obolibrary.org/obo/"
#mapping_set_id: "https://example.org/set"
#license: "https://creativecommons.org/licenses/by/4.0/"
#mapping_tool: "nomina"
#mapping_tool_version: "{__version__}"
#mapping_date: 2026-01-31
#object_source: "obo:hp"
"""
COLUMNS = (
    "subject_id subject_label subject_type predicate_id object_id object_label mapping_justification confidence"
    " similarity_score similarity_measure comment"
)
ROWS = """\
|Seizure|rdfs literal|skos:exactMatch|HP:0001250|Seizure|semapv:LexicalMatching|0.949000|||rule: exact; name: Seizure
|many fits|rdfs literal|skos:broadMatch|HP:0001250|Seizure|semapv:LexicalMatching|0.950000|||rule: inflection;\
 name: fits
|shakes|rdfs literal|skos:closeMatch|HP:0001250|Seizure|semapv:SemanticSimilarityThresholdMatching|0.700000|0.810000\
|cosine of embeddings|rule: embedding; name: Seizure
|short|rdfs literal|skos:relatedMatch|HP:0001250|Seizure|semapv:LexicalMatching|1.000000|||rule: exact; name: Seizure;\
 ambiguous
|short|rdfs literal|skos:relatedMatch|HP:0004322|Short stature|semapv:LexicalMatching|1.000000|||rule: exact; name:\
 Short stature; ambiguous
|nothing|rdfs literal|skos:exactMatch|sssom:NoTermFound||semapv:CompositeMatching||||
"""
OPTIONS = {
    "date": "2026-01-31",
    "mapping_set_id": "https://example.org/set",
    "license": "https://creativecommons.org/licenses/by/4.0/",
}


@pytest.fixture(scope="module")
def kb(make_kb):
    return make_kb({"HP:0001250": ("Seizure", Name("fits", scope="narrow")), "HP:0004322": "Short stature"})


@pytest.fixture
def predictions(kb):
    row = {name: kb.row(name.casefold()) for name in ("Seizure", "fits", "Short stature")}
    seizure = candidate("HP:0001250", row=row["Seizure"])
    return [
        prediction("Seizure", seizure, candidate("HP:0004322", score=0.2, rank=2, rule="tfidf"), probability=0.949),
        prediction("many\n fits", candidate("HP:0001250", name="fits", score=0.95, rule="inflection", row=row["fits"])),
        prediction(
            "shakes", candidate("HP:0001250", score=0.81, rule="embedding", row=row["Seizure"]), probability=0.7
        ),
        prediction(
            "short", seizure, candidate("HP:0004322", "Short stature", row=row["Short stature"]), ambiguous=True
        ),
        prediction("nothing", candidate("HP:0001250", score=0.1, rule="embedding"), abstained=True),
        prediction("Seizure", seizure, probability=0.949, document="other", negated=True),
        prediction(" ", abstained=True),
    ]


def written(predictions, kb, **options):
    stream = io.StringIO()
    write(predictions, stream, kb, **options)
    return stream.getvalue()


def table(text):
    return list(csv.DictReader((line for line in text.splitlines() if not line.startswith("#")), delimiter="\t"))


def test_a_mapping_set(predictions, kb):
    dropped = Counter()
    expected = HEAD + COLUMNS.replace(" ", "\t") + "\n" + ROWS.replace("|", "\t")
    assert written(predictions, kb, dropped=dropped, **OPTIONS) == expected
    assert +dropped == {"negated": 1, "empty mentions": 1}


def test_what_is_not_named(predictions, kb):
    text = written(predictions, kb)
    assert '#license: "https://w3id.org/sssom/license/unspecified"\n' in text
    assert f"#mapping_date: {datetime.now(UTC).date()}\n" in text
    id = next(line for line in text.splitlines() if line.startswith("#mapping_set_id"))
    assert id.startswith('#mapping_set_id: "urn:uuid:')
    assert id in written(predictions, kb)
    assert id not in written(predictions[1:], kb)


def test_terms_with_ids_of_their_own(predictions, kb):
    terms = [prediction("Seizure", candidate("HP:0001250"), document=id) for id in ("A 1", "A2")]
    text = written(terms, kb, subjects="https://example.org/terms/")
    assert '#  term: "https://example.org/terms/"\n' in text
    assert [(row["subject_id"], row["subject_type"]) for row in table(text)] == [("term:A%201", ""), ("term:A2", "")]


def test_a_kb_of_several_or_unknown_terminologies(make_kb):
    mixed = make_kb({"D003110": "a", "T:1": "b"})
    linked = [prediction("x", candidate("D003110"), candidate("T:1"), ambiguous=True)]
    text = written(linked, mixed)
    assert '#object_source: "kb:made"\n' in text
    assert '#  T: "urn:x-nomina:made:T:"\n' in text
    assert '#  kb: "urn:x-nomina:made:kb:"\n' in text
    assert '#  mesh: "http://id.nlm.nih.gov/mesh/"\n' in text
    assert [row["object_id"] for row in table(text)] == ["mesh:D003110", "T:1"]
    own = written(linked, mixed, namespace="https://example.org/ids/")
    assert '#  T: "https://example.org/ids/T:"\n' in own
    assert '#object_source: "bioregistry:mesh"\n' in written([], make_kb({"D003110": "a"}))


def test_every_rule_has_a_predicate_and_a_justification():
    assert set(KINDS) == {rule.label for rule in Rule}


def test_quotes_and_odd_characters_stay_in_their_cells(kb):
    odd = ['"x" y', "a\tb", "\ud800"]
    rows = table(written([prediction(text, candidate("HP:0001250")) for text in odd], kb))
    assert [row["subject_label"] for row in rows] == ['"x" y', "a b", "?"]


@pytest.mark.parametrize(
    "options", [{"date": "31.1.2026"}, {"license": "CC BY"}, {"subjects": "x"}, {"namespace": "a b:c"}]
)
def test_options_that_cannot_be(kb, options):
    with pytest.raises(UsageError, match=f"the option {next(iter(options))} is a"):
        written([], kb, **options)
