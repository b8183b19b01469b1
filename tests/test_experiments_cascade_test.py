"""``experiments/cascade_test.py``, ``cascade_errors.py`` and ``cascade_test_tables.py``: cascades on test sets."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from cascade_cases import ENCODER, NAMES, PARTS, document, documents

from nomina.output import read_predictions
from nomina.types import Document, Mention

ROOT = Path(__file__).resolve().parents[1]
TEST = [
    document(
        "t1", ("heart failure", "heart failure", "lung tumour", "retina x"), ("A:heart", "B:heart", "B:lung", "C:0")
    ),
    document("t2", ("cancer of the skin", "heart failure"), ("B:skin", "A:heart")),
]


@pytest.fixture
def cells(script, make_kb, monkeypatch, tmp_path):
    """Runs ``cascade_test.py`` and ``cascade_errors.py`` on made tasks, results and cache under ``tmp_path``."""
    tested, mistakes, common, tasks = map(script, ("cascade_test", "cascade_errors", "common", "eval_tasks"))
    kbs = {"made": make_kb(NAMES), "before": make_kb({id: names[:1] for id, names in NAMES.items()})}
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path / "home"))
    for module in (tested, mistakes):
        monkeypatch.setattr(module, "Workshop", lambda shared, work: kbs.__getitem__)
    monkeypatch.setattr(common, "RESULTS", tmp_path)
    monkeypatch.setattr(mistakes, "RESULTS", tmp_path)
    monkeypatch.setattr(mistakes, "KINDS", tmp_path / "kinds.tsv")
    monkeypatch.setattr(tested, "parts_of", lambda arguments: PARTS)
    dev, test = documents, lambda: TEST
    reads = [lambda shop: test(), lambda shop: documents()[:4], lambda shop: dev()]
    made = [tasks.Task("ncbi", protocol, "made", *reads) for protocol in ("clean-kb", "clean-raw")]
    made += [
        tasks.Task("ncbi", "as-published", "made", *reads, "before"),
        tasks.Task("bc5cdr-d", "clean-kb", "made", *reads[:2]),
    ]
    monkeypatch.setattr(tested, "TASKS", tuple(made))

    def call(name, *line):
        monkeypatch.setattr("sys.argv", [str(ROOT / "experiments" / f"{name}.py"), *map(str, line)])
        {"cascade_test": tested, "cascade_errors": mistakes}[name].main()

    call.results, call.folder = (lambda name: json.loads((tmp_path / f"{name}.json").read_text("utf-8"))), tmp_path
    return call


def test_a_cell_has_the_cascade_beside_each_part_and_every_single_answer(cells):
    cells("cascade_test", "ncbi", "--protocols", "clean-kb", "--encoder", ENCODER, "--keep", cells.folder / "kept")
    result = cells.results("cascade_test_ncbi_clean-kb")
    metrics, parts = result["metrics"], ["dictionary", "tfidf", "embedding"]
    assert [system["name"] for system in metrics["systems"]] == ["cascade", *parts]
    assert [pair["b"] for pair in metrics["comparisons"]] == parts
    assert metrics["right"]["dictionary"] == "101011"  # in the order of the corpus, the one that the KB lacks too
    assert metrics["systems"][1]["metrics"]["any"]["1"] == pytest.approx(4 / 6)
    assert metrics["dev"]["mentions"] == 64
    assert [part["fingerprint"] != "" for part in result["parts"]] == [False, False, True]
    assert not any("model" in part for part in result["parts"])
    answers = list(read_predictions(cells.folder / "kept" / "ncbi_clean-kb" / "dictionary.jsonl"))
    assert len(answers) == 6


def test_as_published_fits_on_a_dictionary_without_the_development_mentions(cells):
    cells("cascade_test", "ncbi", "--protocols", "as-published", "--encoder", ENCODER)
    metrics = cells.results("cascade_test_ncbi_as-published")["metrics"]
    assert metrics["dev"]["parts"][0]["right_if_last"] < 0.5  # half of the names are not there yet
    assert metrics["kb"]["names"] == 32
    assert metrics["right"]["cascade"][4] == "1"  # a name that only the test's dictionary has


def test_a_smoke_test_reads_no_test_set_and_records_nothing(cells, script, monkeypatch):
    def refuse(shop):
        raise AssertionError("the test set was read")

    tested = script("cascade_test")
    monkeypatch.setattr(tested, "TASKS", tuple(replace(task, test=refuse) for task in tested.TASKS))
    cells("cascade_test", "ncbi", "--protocols", "clean-kb", "--encoder", ENCODER, "--smoke", 8)
    assert not list(cells.folder.glob("*.json"))


def test_a_protocol_without_development_mentions_is_one_line(cells):
    with pytest.raises(SystemExit, match="ncbi is not judged under as-published-generative"):
        cells("cascade_test", "ncbi", "--protocols", "as-published-generative")
    with pytest.raises(SystemExit, match="bc5cdr-d is not judged under clean-kb"):
        cells("cascade_test", "bc5cdr-d", "--protocols", "clean-kb")


def test_mentions_of_one_text_are_asked_side_by_side(script):
    found = script("cascade_test").by_text(TEST)
    assert [d.mentions[0].text for d in found][1:4] == ["heart failure"] * 3
    assert [(d.id, d.mentions[0].start) for d in found[1:4]] == [("t1", 0), ("t1", 15), ("t2", 20)]


def test_errors_are_drawn_with_what_each_part_says(cells, script, monkeypatch):
    mistakes, kept = script("cascade_errors"), cells.folder / "kept"
    cells("cascade_test", "ncbi", "--protocols", "clean-kb", "clean-raw", "--encoder", ENCODER, "--keep", kept)
    monkeypatch.setattr(mistakes, "SAMPLE", 5)
    cells("cascade_errors", "link", "--cascades", kept, "--name", "some", "--read", cells.folder / "read.tsv")
    result = cells.results("cascade_errors_some")
    shown = result["errors"]
    assert [case["corpus"] for case in shown] == ["ncbi_clean-kb"] * 5 + ["ncbi_clean-raw"] * 5
    assert len({(case["corpus"], case["mention"], *case["gold"]) for case in shown}) == 10
    unknown = [case for case in shown if case["gold"] == ["C:0"]]
    assert unknown
    assert all((case["place"], case["gold_names"]) == (None, []) for case in unknown)
    assert all(set(case["parts"]) == {"dictionary", "tfidf", "embedding"} for case in shown)
    assert not any("around" in case for case in shown)
    lines = (cells.folder / "read.tsv").read_text("utf-8").splitlines()
    assert len(lines) == 11
    assert all("[]" in line.split("\t")[-1] for line in lines[1:])
    counts = result["metrics"]["ncbi_clean-kb"]
    assert (counts["mentions"], counts["fitted_on"]) == (64, 64)
    (made,) = result["trained"]["commands"]
    assert made.startswith("python experiments/cascade_test.py ncbi --protocols clean-kb clean-raw")
    kinds = ["\t".join((case["corpus"], case["mention"], " ".join(case["gold"]), "a kind")) for case in shown]
    (cells.folder / "kinds.tsv").write_text("\n".join(("a head", *kinds)) + "\n", "utf-8")
    cells("cascade_errors", "sort")
    assert {case["kind"] for case in cells.results("cascade_errors_some")["errors"]} == {"a kind"}


def test_a_composite_has_an_answer_for_each_part(script, make_kb):
    mistakes, tasks = script("cascade_errors"), script("eval_tasks")
    kb = make_kb(NAMES)
    gold = (("A:heart",), ("B:skin",))
    both = tuple(Mention(((0, 27),), text, gold=gold) for text in ("heart failure", "lung tumour"))
    part = script("cascade_test").FittedCascadeLinker
    (task,) = [tasks.Task("ncbi", "clean-kb", "made", lambda s: [], lambda s: [])]
    linker, _, _ = script("cascade").fitted(kb, PARTS, script("cascade").dev_of(documents(), kb))
    assert isinstance(linker, part)
    cell = mistakes.Cell(task, kb, linker, mistakes.protocol_of("clean-kb"))
    asked = [Document("d", "heart failure|lung tumour, and", both)]
    (case,), counts = mistakes.wrong(cell, asked, documents())
    assert (case["mention"], case["gold"], counts["right"]) == ("heart failure|lung tumour", ["A:heart", "B:skin"], 0)
    assert [names[0] for names in case["answers"]] == ["heart failure", "lung tumour"]
    (shown,) = mistakes.described(cell, asked, [case])
    assert shown["parts"]["dictionary"] == {"right": False, "name": "heart failure | lung tumour"}


def result(script, corpus, protocol, first, part, **more):
    """A result whose cascade and one part have so much at 1."""
    systems = [
        {
            "name": name,
            "primary": {"value": value},
            "metrics": {rule: {"1": value, "5": 0.99} for rule in ("any", "strict")},
        }
        for name, value in (("cascade", first), ("dictionary", 0.1), ("generative", part))
    ]
    pairs = [{"b": name, "difference": first - own, "interval": [0.001, 0.02], "p_mcnemar": 0.0004}
             for name, own in (("dictionary", 0.1), ("generative", part))]  # fmt: skip
    metrics = {
        "systems": systems,
        "comparisons": pairs,
        "corpus": {"mentions": 960},
        "dev": {"accuracy": 0.905, "ece": 0.0312},
    }
    return {"name": f"cascade_test_{corpus}_{protocol}", "corpus": corpus, "protocol": protocol, "metrics": metrics,
            "command": "python x --encoder MODELS/a"} | more  # fmt: skip


def test_rows_stand_beside_targets_and_papers(script, tmp_path):
    tables = script("cascade_test_tables")
    for corpus, protocol in (("ncbi", "clean-raw"), ("aap-0", "as-published"), ("bc5cdr-c", "as-published")):
        made = result(script, corpus, protocol, 0.92, 0.9)
        (tmp_path / f"{made['name']}.json").write_text(json.dumps(made), encoding="utf-8")
    papers = {"as-published": [{"system": "a", "bc5cdr-c-ctd": [96.9]}, {"system": "b", "askapatient": [89.0, 96.2]}]}
    lines = [line for line in tables.section(tmp_path, papers) if line.startswith(("| ", "**"))]
    head = "| " + " | ".join(tables.COLUMNS) + " |"
    assert lines == [
        "**as-published**\n",
        head,
        "| BC5CDR-c, MeSH dictionary | 960 | 97.5 (missed) | 96.9 | tuned | **92.0 / 99.0** |"
        " 92.0 / 99.0 | 10.0 / 99.0 |  |  | 90.0 / 99.0 | +2.0 [+0.1, +2.0] of generator, p < 0.001 | 90.5 | 0.031 |",
        "| AskAPatient, fold 0 | 960 | 91.5 (met) | 89.0 | tuned | **92.0 / 99.0** | 92.0 / 99.0 |"
        " 10.0 / 99.0 |  |  | 90.0 / 99.0 | +2.0 [+0.1, +2.0] of generator, p < 0.001 | 90.5 | 0.031 |",
        "**clean-raw**\n",
        head,
        "| NCBI | 960 |  |  | tuned | **92.0 / 99.0** | 92.0 / 99.0 |"
        " 10.0 / 99.0 |  |  | 90.0 / 99.0 | +2.0 [+0.1, +2.0] of generator, p < 0.001 | 90.5 | 0.031 |",
    ]  # fmt: skip


def test_errors_by_kind_and_remedy(script, tmp_path):
    def case(corpus, mention, kind, remedy, right, place):
        parts = {"dictionary": {"right": right, "name": "x"}}
        return {"corpus": corpus, "mention": mention, "kind": kind, "remedy": remedy, "parts": parts, "place": place,
                "seen": right, "answers": [["y [z]"]], "gold_names": ["g"]}  # fmt: skip

    def cell(fitted_on):
        return {"fitted_on": fitted_on, "mentions": 1500, "right": 1400, "distinct_errors": 60}

    ncbi = [
        case("ncbi_clean-raw", "Mention (x)", "kind a", "the text", True, 2),
        case("ncbi_clean-kb", "mention x", "kind a", "none", False, 4),
    ]
    cdr = [case("bc5cdr-d_clean-kb", "m", "other", "none", False, None)]
    for name, sample, cases, metrics in (
        ("cascade_errors", 2, ncbi, {"ncbi_clean-kb": cell(1200), "ncbi_clean-raw": cell(900)}),
        ("cascade_errors_bc5cdr", 1, cdr, {"bc5cdr-d_clean-kb": cell(4000)}),
    ):
        made = {"name": name, "sample": sample, "errors": cases, "metrics": metrics}
        (tmp_path / f"{name}.json").write_text(json.dumps(made), encoding="utf-8")
    tables = script("cascade_test_tables")
    lines = "\n".join(tables.section(tmp_path, {})).splitlines()
    told = " ".join(lines)
    assert "3 errors of development mentions, of either protocol 2 of NCBI, 1 of BC5CDR-d, drawn" in told
    assert "They have 2 texts, capitals and punctuation aside, of which 1 stand under both" in told
    assert [line for line in lines if line.startswith("| ")] == [
        "| " + " | ".join(tables.READ) + " |",
        "| NCBI, clean-kb | 1,200 | 1,500 | 1,400 | 60 | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 0 |",
        "| BC5CDR-d, clean-kb | 4,000 | 1,500 | 1,400 | 60 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |",
        "| NCBI, clean-raw | 900 | 1,500 | 1,400 | 60 | 1 | 1 | 1 | 1 | 0 | 0 | 0 | 1 |",
        "| kind | NCBI, clean-kb | BC5CDR-d, clean-kb | NCBI, clean-raw | for example |",
        "| kind a | 1 | 0 | 1 | mention x: y [z], not g |",
        "| other | 0 | 1 | 0 | m: y [z], not g |",
        "| remedy | NCBI, clean-kb | BC5CDR-d, clean-kb | NCBI, clean-raw | for example |",
        "| none | 1 | 1 | 0 | m: y [z], not g |",
        "| the text | 0 | 0 | 1 | Mention (x): y [z], not g |",
    ]
    assert list(script("cascade_tables").section(tmp_path)) == []
