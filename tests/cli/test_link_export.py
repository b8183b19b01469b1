"""`nomina link --format` with the formats of other tools."""

import json
from pathlib import Path

import pytest
from link_cases import write

from nomina.corpora import read_corpus


@pytest.fixture(scope="module")
def hpo(make_kb):
    return make_kb({"HP:0001250": ("Seizure", "fit"), "HP:0001251": "Ataxia"}).path


def test_a_term_list_becomes_a_mapping_set(nomina):
    write(terms_tsv="mention\nataxias\nheart disease\nfever\nataxias\n")
    arguments = ("--mentions", "terms.tsv", "--format", "sssom", "-o", "t.tsv", "--option", "date=2026-01-31")
    assert nomina(*arguments, "--option", "license=https://example.org/l") == (0, "", "")
    lines = Path("t.tsv").read_text(encoding="utf-8").splitlines()
    assert '#license: "https://example.org/l"' in lines
    assert "#mapping_date: 2026-01-31" in lines
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    assert [(row[1], row[4]) for row in rows[1:]] == [
        ("ataxias", "T:5"),
        ("heart disease", "T:2"),
        ("fever", "sssom:NoTermFound"),
    ]


def test_fhir_on_standard_output(nomina):
    write(m_txt="ataxia\nfever\n")
    code, out, err = nomina("--mentions", "m.txt", "--format", "fhir")
    assert (code, err) == (0, "nomina: not kept by fhir: 1 abstained\n")
    (line,) = map(json.loads, out.splitlines())
    concept = next(p["valueCodeableConcept"] for p in line["parameter"] if p["name"] == "concept")
    assert concept["coding"][0]["code"] == "T:5"


def test_phenopackets(nomina, hpo):
    write(a_txt="No fits. Ataxia. Her mother has ataxia.", b_txt="ataxia")
    arguments = ("a.txt", "b.txt", "--format", "phenopacket", "--kb", hpo)
    code, out, err = nomina(*arguments, "--option", "created-by=me")
    assert (code, err) == (0, "nomina: not kept by phenopacket: 1 family\n")
    first, second = map(json.loads, out.splitlines())
    assert first["phenotypicFeatures"] == [
        {"type": {"id": "HP:0001250", "label": "Seizure"}, "excluded": True},
        {"type": {"id": "HP:0001251", "label": "Ataxia"}},
    ]
    assert (second["id"], second["metaData"]["createdBy"]) == ("b.txt", "me")


@pytest.mark.parametrize(("format", "place"), [("brat", "out"), ("pubtator", "o.pubtator"), ("bioc_json", "o.json")])
def test_a_corpus_with_what_was_found(nomina, format, place):
    write(a_txt="No ataxia, a fit.", b_txt="Nothing.")
    arguments = ("a.txt", "b.txt", "--format", format, "-o", place)
    code, out, err = nomina(*arguments, "--option", "parts=+", "--option", "alternatives=|")
    assert (code, out) == (0, "")
    assert err.startswith(f"nomina: not kept by {format}: 1 negated")
    first, second = read_corpus(place, format, options={"parts": "+", "alternatives": "|"})
    assert (first.id, second.id, second.mentions) == ("a", "b", ())
    assert [(m.text, m.spans) for m in first.mentions] == [("ataxia", ((3, 9),)), ("fit", ((13, 16),))]
    assert [m.gold for m in first.mentions] == [(("T:5",),), (("T:3", "T:4"),)]


def test_a_brat_pair_a_document(nomina):
    write(a_txt="Ataxia. Fit.")
    Path("out").mkdir()
    code, out, err = nomina("a.txt", "--format", "brat", "-o", "out")
    assert (code, out, err) == (0, "", "nomina: not kept by brat: 1 ambiguous\n")
    assert Path("out/a.txt").read_text(encoding="utf-8") == "Ataxia. Fit."
    assert Path("out/a.ann").read_text(encoding="utf-8") == (
        "T1\tMention 0 6\tAtaxia\nN1\tReference T1 T:5\t\nT2\tMention 8 11\tFit\n"
    )


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--format", "brat"), "the format brat is written to a folder: name one with -o"),
        (("--format", "pubtator"), "the format pubtator is written to a file: name one with -o"),
        (("--format", "tsv", "--option", "license=x"), "the format tsv has no option license"),
        (("--format", "sssom", "--option", "licence=x"), "the format sssom has no option licence; there are: license,"),
        (("--format", "sssom", "--option", "date"), "expected KEY=VALUE"),
        (
            ("--format", "phenopacket"),
            "a phenopacket's features are HPO terms, but the KB made has 'T:1': use --kb hpo",
        ),
        (("--format", "brat", "-o", "full"), "cannot write full: it is there already"),
        (("--format", "fhir", "-o", "full"), "cannot write full: it is a folder"),
    ],
)
def test_what_cannot_be_is_one_line(nomina, arguments, why):
    write(a_txt="ataxia")
    Path("full").mkdir()
    Path("full/x").touch()
    code, out, err = nomina("a.txt", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert why in err
    assert sorted(path.name for path in Path().iterdir()) == ["a.txt", "full"]
