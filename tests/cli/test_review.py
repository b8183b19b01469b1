"""`nomina review`: what is next, who agrees; and a project converted like any other corpus."""

import json

import pytest
from review_cases import Made, added, decided, marked, rejected, save

from nomina.cli.main import main
from nomina.corpora import read_corpus
from nomina.review.project import Project
from nomina.review.records import Added


@pytest.fixture
def run(capsys):
    def run(*arguments):
        code = main(["review", *map(str, arguments)])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def teams(tmp_path):
    """Two projects of one document: they agree on one concept of two, on one rejected mention, and not on an added."""
    first, second = (Made(tmp_path / f"{name}.sqlite") for name in ("first", "second"))
    both = (decided("0-1", "A:1"), rejected("4-5"))
    first.decide("anna", {"one": (*both, decided("2-3", "A:1", "A:2"), added("8-9", "A:9"))})
    second.decide("ben", {"one": (*both, decided("2-3", "-1"), decided("6-7", "A:1"))})
    return first.path, second.path


def test_next(run, tmp_path) -> None:
    with Project(tmp_path / "p") as project:
        for id, probability in (("sure", 0.75), ("unsure", 0.5), ("third", 0.625)):
            project.add(Added(id, "abcd", (marked(0, 1, probability), marked(2, 3, probability))), "anna", save())
        project.change(2, 0, [decided("0-1", "A:1")], "anna", save())
    head = "document_id\tuncertainty\tundecided\tmentions\n"
    lines = ["unsure\t0.5000\t1\t2\n", "third\t0.3750\t2\t2\n", "sure\t0.2500\t2\t2\n"]
    assert run("next", tmp_path / "p") == (0, head + "".join(lines), "")
    assert run("next", tmp_path / "p", "-n", 1) == (0, head + lines[0], "")
    assert run("next", tmp_path / "p", "--annotator", "ben")[1].splitlines()[1] == "unsure\t0.5000\t2\t2"


def test_agreement_as_text_json_and_a_list(run, teams, tmp_path) -> None:
    code, out, err = run("agreement", *teams)
    figures = {line[:36].strip(): line[36:].strip() for line in out.splitlines()}
    assert (code, err) == (0, "")
    assert figures["F1 of spans"] == "0.8000"  # both 2, 8-9 only of the first; 6-7 is not decided by the first
    assert figures["as a share"] == "0.5000"
    assert figures["mentions undecided by one, left out"] == "1"
    assert figures["Cohen's kappa, mention or not"] == "1.0000"
    assert json.loads(run("agreement", *teams, "--json")[1])["concept_kappa"] == pytest.approx((0.5 - 0.25) / 0.75)
    assert run("agreement", *teams, "--tsv", tmp_path / "out.tsv")[1] == out
    expected = (
        "document_id\tspans\tmention\tfirst\tsecond\tfirst_name\tsecond_name\n"
        "one\t2-3\tc\tA:1|A:2\t-1\t\t\n"
        "one\t8-9\ti\tA:9\tno mention\t\t\n"
    )
    assert (tmp_path / "out.tsv").read_text(encoding="utf-8") == expected
    assert run("agreement", *teams, "--tsv", "-") == (0, expected, "")


def test_annotators_are_named_of_one_project_or_of_two(run, teams) -> None:
    whole = run("agreement", *teams, "--json")[1]
    assert run("agreement", *teams, "--between", "anna", "ben", "--json")[1] == whole
    assert run("agreement", teams[0], "--between", "anna", "anna", "--json")[0] == 0
    assert run("agreement", teams[0]) == (
        2,
        "",
        "nomina: name two projects, or two annotators of one with --between\n",
    )
    code, _, err = run("agreement", teams[0], "--between", "anna", "ben")
    assert (code, "'ben' has decided nothing in" in err) == (2, True)


def test_what_is_no_project_is_said(run, tmp_path) -> None:
    (tmp_path / "text").write_text("a text " * 100, encoding="utf-8")
    for file, why in (("text", "cannot be used"), ("no", "no project at")):
        code, out, err = run("next", tmp_path / file)
        assert (code, out, err.count("\n"), why in err) == (2, "", 1, True)


@pytest.mark.parametrize("format", ["pubtator", "jsonl", "bioc_xml"])
def test_a_project_is_converted_and_read_back_equal(teams, tmp_path, format, capsys) -> None:
    output = tmp_path / "out"
    assert main(["corpus", "convert", str(teams[0]), "--to", format, "-o", str(output)]) == 0
    assert "not read: 1 rejected mentions, 1 undecided mentions" in capsys.readouterr().err
    (found,), (expected,) = read_corpus(output, format), read_corpus(teams[0])
    assert (found.id, found.text, found.mentions) == (expected.id, expected.text, expected.mentions)


ABSTRACT = "She had ataxia and no seizure."


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "one.txt").write_text(ABSTRACT, encoding="utf-8")
    (tmp_path / "two.txt").write_text("Nothing of note.", encoding="utf-8")
    return tmp_path / "one.txt", tmp_path / "two.txt"


def test_add_links_texts_and_can_be_repeated(run, texts, tmp_path, kb) -> None:
    project = tmp_path / "team.sqlite"
    arguments = ("add", project, *texts, "--kb", kb.path, "--linker", "dictionary")
    code, out, err = run(*arguments)
    assert (code, out) == (0, "")
    assert err.endswith("nomina: 2 documents; 2 mentions\n")
    with Project(project, writes=False) as opened:
        rows = list(opened.connection.execute("SELECT id, text, kb <> '' FROM documents ORDER BY number"))
        assert rows == [("one.txt", ABSTRACT, 1), ("two.txt", "Nothing of note.", 1)]
        assert opened.connection.execute("SELECT count(*) FROM decisions").fetchone() == (0,)
    assert run("next", project)[1].splitlines()[1].startswith("one.txt\t")
    assert run(*arguments)[2].endswith("nomina: 2 documents, 2 of them were there; 0 mentions\n")
    texts[0].write_text("She had a tremor.", encoding="utf-8")
    code, _, err = run(*arguments)
    assert code != 0
    assert err.splitlines()[-1].endswith("another document has the id 'one.txt': give this one another")


def test_add_takes_gold_as_an_annotators_decisions(run, tmp_path, kb) -> None:
    corpus, project = tmp_path / "gold.pubtator", tmp_path / "team.sqlite"
    corpus.write_text("7|t|Ataxia.\n7|a|None.\n7\t0\t6\tAtaxia\tsign\tT:5\n\n", encoding="utf-8")
    assert run("add", project, corpus, "--kb", kb.path, "--annotator", "anna")[0] == 0
    (document,) = read_corpus(project, "project", options={"annotator": "anna"})
    assert [mention.gold for mention in document.mentions] == [(("T:5",),)]
    assert run("add", project, corpus, "--annotator", "an,na")[0] == 2


def test_add_counts_gold_that_the_kb_does_not_have(run, tmp_path, kb) -> None:
    corpus, project = tmp_path / "gold.pubtator", tmp_path / "team.sqlite"
    lines = "".join(f"7\t0\t6\tAtaxia\tsign\t{id}\n" for id in ("T:5", "U:1", "t:5", "-1", "U:2", "U:3", "U:4", "U:1"))
    corpus.write_text(f"7|t|Ataxia.\n7|a|None.\n{lines}\n", encoding="utf-8")
    code, _, err = run("add", project, corpus, "--kb", kb.path, "--linker", "dictionary")
    name = kb.manifest.name
    told = f"nomina: 4 decided ids are not in the KB {name}, and kept as they are: U:1, U:2, U:3, ...\n"
    assert (code, err.endswith(told)) == (0, True), err


ATAXIA = {"text": "Ataxia", "infons": {"identifier": "T:5"}, "locations": [{"offset": 0, "length": 6}]}
BIOC = [
    {"id": "7", "passages": [{"offset": 0, "text": "Ataxia. A fit.", "annotations": [ATAXIA]}]},
    {"id": "8", "passages": [{"offset": 0, "text": "Cardiac disease.", "annotations": []}]},
]
BARE = {
    "pubtator": "7|t|Ataxia.\n7|a|A fit.\n7\t0\t6\tAtaxia\tsign\tT:5\n\n8|t|Cardiac disease.\n8|a|\n\n",
    "bioc_json": json.dumps({"documents": BIOC}),
}


def mentions(project) -> list[tuple[str, str, str]]:
    """The id of its document, place and first concept of every mention, in order."""
    query = (
        "SELECT id, key, json_extract(finding, '$.candidates[0].entity_id')"
        " FROM documents LEFT JOIN mentions ON document = number ORDER BY number, key"
    )
    with Project(project, writes=False) as opened:
        return list(opened.connection.execute(query))


@pytest.mark.parametrize("format", BARE)
def test_add_looks_for_mentions_in_documents_of_a_corpus_that_have_none(run, tmp_path, kb, format) -> None:
    corpus, project = tmp_path / "corpus", tmp_path / "team.sqlite"
    corpus.write_text(BARE[format], encoding="utf-8")
    code, _, err = run("add", project, corpus, "--corpus", format, "--kb", kb.path, "--linker", "dictionary")
    assert (code, err.splitlines()[-1]) == (0, "nomina: 2 documents; 2 mentions")
    assert mentions(project) == [("7", "0-6", "T:5"), ("8", "0-15", "T:2")]
    with Project(project, writes=False) as opened:
        assert opened.connection.execute("SELECT document, key FROM decisions").fetchall() == [(1, "0-6")]


def test_an_export_with_an_undecided_document_is_added_whole(run, tmp_path, kb) -> None:
    corpus, project, again = tmp_path / "corpus.pubtator", tmp_path / "team.sqlite", tmp_path / "again.sqlite"
    corpus.write_text(BARE["pubtator"], encoding="utf-8")
    linked = ("--kb", kb.path, "--linker", "dictionary")
    assert run("add", project, corpus, *linked)[0] == 0
    exported = tmp_path / "exported.pubtator"
    assert main(["corpus", "convert", str(project), "--to", "pubtator", "-o", str(exported)]) == 0
    assert [len(document.mentions) for document in read_corpus(exported)] == [1, 0]
    assert run("add", again, exported, *linked)[0] == 0
    assert mentions(again) == mentions(project) == [("7", "0-6", "T:5"), ("8", "0-15", "T:2")]
