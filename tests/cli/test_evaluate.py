"""``nomina evaluate``: what is written and shown, and every mistake in one line."""

import gzip
import io
import json
import os
from pathlib import Path

import pytest
from evaluation_cases import document, mention, predicted

from nomina.cli.main import main
from nomina.evaluation.report import Report
from nomina.output import write_jsonl

FITS, ATAXIA = mention(0, "Fits", "MESH:D1"), mention(9, "ataxia", "D3")
TEXT = "Fits and ataxia."


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, make_kb):
    monkeypatch.chdir(tmp_path)
    kb = make_kb({"D1": ["Seizure", "Fits"], "D2": "Cancer", "D3": "Ataxia"})
    Path("my.kb").symlink_to(kb.path)
    write("gold.jsonl", [document("1", FITS, ATAXIA, text=TEXT)])
    save("made.jsonl", predicted("1", FITS, "D1", "D2"), predicted("1", ATAXIA, "D2", "D3"))
    return tmp_path


def write(path, documents):
    records = [
        {"id": d.id, "text": d.text, "mentions": [{"spans": m.spans, "gold": m.gold} for m in d.mentions]}
        for d in documents
    ]
    Path(path).write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def save(path, *predictions):
    with open(path, "w", encoding="utf-8") as stream:
        write_jsonl(predictions, stream)


def run(*arguments):
    return main(["evaluate", *arguments])


def refused(capsys, *arguments):
    """What is said of a mistake: one line, nothing else, exit code 2."""
    assert run(*arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err.removeprefix("nomina: ").rstrip("\n")


def test_in_a_pipe_the_report_is_json(capsys):
    assert run("made.jsonl", "--gold", "gold.jsonl", "--kb", "my.kb") == 0
    said = capsys.readouterr()
    report = Report.from_json(said.out)
    assert said.err == ""
    assert [system.name for system in report.systems] == ["made", "exact match", "TF-IDF"]
    assert report.protocol == "clean-raw"
    assert report.systems[0].metrics.strict == {"1": 0.5}
    assert report.corpus.path == "gold.jsonl"
    assert report.corpus.coverage.by_rule == {"prefix removed": 1, "itself": 1}
    assert report.made.command.startswith("nomina ")


def test_it_is_written_to_files_in_three_forms(capsys):
    wanted = ["-o", "r.json", "--html", "r.html", "--markdown", "r.md"]
    assert run("made.jsonl", "--gold", "gold.jsonl", "--kb", "my.kb", "--protocol", "clean-kb", *wanted) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "nomina: wrote r.json\nnomina: wrote r.html\nnomina: wrote r.md\n"
    assert Report.from_json(Path("r.json").read_text(encoding="utf-8")).protocol == "clean-kb"
    assert Path("r.md").read_text(encoding="utf-8").startswith("# made on gold.jsonl, clean-kb\n")
    assert "<title>made on gold.jsonl, clean-kb</title>" in Path("r.html").read_text(encoding="utf-8")


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_a_terminal_shows_tables(monkeypatch):
    import pty

    reader, writer = pty.openpty()
    with open(writer, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr("sys.stdout", terminal)
        assert run("made.jsonl", "--gold", "gold.jsonl", "--no-baselines") == 0
        terminal.flush()
        shown = os.read(reader, 65536).decode("utf-8")
    os.close(reader)
    assert shown.startswith("# made on gold.jsonl, clean-raw")
    assert "acc@1 strict" in shown


def test_other_systems_and_training_data(capsys):
    save("better.jsonl", predicted("1", FITS, "D1"), predicted("1", ATAXIA, "D3"))
    Path("better.jsonl.gz").write_bytes(gzip.compress(Path("better.jsonl").read_bytes()))
    write("train.jsonl", [document("7", mention(0, "ataxia", "D3"), text="ataxia")])
    others = ["--against", "better.jsonl.gz", "--against", "twin=made.jsonl", "--train", "train.jsonl"]
    assert run("made.jsonl", "--gold", "gold.jsonl", "--name", "mine", *others) == 0
    report = Report.from_json(capsys.readouterr().out)
    assert [system.name for system in report.systems] == ["mine", "better", "twin", "train look-up"]
    assert [(pair.b, pair.only_a, pair.only_b) for pair in report.comparisons] == [
        ("better", 0, 1),
        ("twin", 0, 0),
        ("train look-up", 1, 1),
    ]
    assert (report.train.path, report.train.mentions) == ("train.jsonl", 1)


def test_predictions_from_raw_text(capsys):
    save("raw.jsonl", predicted("1", FITS, "D1"), predicted("1", mention(5, "and"), "D2"))
    assert run("raw.jsonl", "--gold", "gold.jsonl", "--end-to-end") == 0
    score = Report.from_json(capsys.readouterr().out).systems[0].end_to_end.mention
    assert (score.precision, score.recall) == (0.5, 0.5)
    assert "1 of 2 mentions are not in the gold file" in refused(capsys, "raw.jsonl", "--gold", "gold.jsonl")


def test_predictions_may_come_through_a_pipe(capsys, monkeypatch):
    piped = io.TextIOWrapper(io.BufferedReader(io.BytesIO(Path("made.jsonl").read_bytes())))
    monkeypatch.setattr("sys.stdin", piped)
    assert run("-", "--gold", "gold.jsonl") == 0
    assert Report.from_json(capsys.readouterr().out).systems[0].name == "stdin"


def test_warnings_go_to_stderr(capsys):
    save("half.jsonl", predicted("1", FITS, "D1"))
    assert run("half.jsonl", "--gold", "gold.jsonl", "-o", "r.json") == 0
    assert "nomina: half has no prediction for 1 of 2 mentions: they count as wrong\n" in capsys.readouterr().err


def test_ids_of_another_form_are_warned_of(capsys, make_kb):
    kb = make_kb({"HP:0000001": "Fits"})
    assert run("made.jsonl", "--gold", "gold.jsonl", "--kb", str(kb.path), "--no-baselines", "-o", "r.json") == 0
    assert "nomina: only 0.0% of the gold ids are in the KB made" in capsys.readouterr().err


def test_predictions_of_another_corpus_are_refused(capsys):
    save("other.jsonl", predicted("9", FITS, "D1"))
    assert refused(capsys, "other.jsonl", "--gold", "gold.jsonl").startswith(
        "other is for another corpus: 1 of 1 mentions are not in the gold file, the first is document '9', mention 0-4"
    )


def test_a_cut_off_line_is_refused_with_its_place(capsys):
    lines = Path("made.jsonl").read_text(encoding="utf-8")
    Path("cut.jsonl").write_text(lines[:-30], encoding="utf-8")
    assert refused(capsys, "cut.jsonl", "--gold", "gold.jsonl").startswith("cut.jsonl:2: not JSON (EOF while parsing")


def test_cut_off_gzip_is_refused(capsys):
    Path("cut.jsonl.gz").write_bytes(gzip.compress(Path("made.jsonl").read_bytes())[:-20])
    assert refused(capsys, "cut.jsonl.gz", "--gold", "gold.jsonl").startswith("cut.jsonl.gz: ")


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("gold.jsonl", None, "gold.jsonl:1: unknown field "),
        ("made.tsv", "document_id\tstart\n1\t0\n", "made.tsv:1: not JSON "),
        ("made.pdf", "%PDF-1.7\n", "made.pdf: is a PDF file"),
        ("list.json", "[1, 2]\n", "list.json:1: "),
        ("blank.jsonl", "\n\n", "blank holds no prediction for this corpus"),
        ("empty.jsonl", "", "empty.jsonl is empty"),
    ],
)
def test_files_that_hold_no_predictions_are_refused(capsys, name, content, why):
    if content is not None:
        Path(name).write_text(content, encoding="utf-8")
    assert refused(capsys, name, "--gold", "gold.jsonl").startswith(why)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "bad.jsonl is empty"),
        ("some text\n", "bad.jsonl: is like no corpus that nomina reads"),
        ('{"id": "1", "text": "Fits"}\n', "bad.jsonl has no mention: nothing to judge predictions by"),
        (
            '{"id": "1", "text": "Fits", "mentions": [{"spans": [[0, 4]]}]}\n',
            "bad.jsonl has no mention with an id: nothing to judge predictions by",
        ),
        ('{"id": "1", "text": "Fits", "ment', "bad.jsonl:1: "),
    ],
)
def test_gold_that_nothing_can_be_judged_by_is_refused(capsys, content, why):
    Path("bad.jsonl").write_text(content, encoding="utf-8")
    assert refused(capsys, "made.jsonl", "--gold", "bad.jsonl").startswith(why)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["none.jsonl"], "there is no file none.jsonl"),
        (["made.jsonl", "--train", "none.jsonl"], "there is no file none.jsonl"),
        (["made.jsonl", "--against", "x=none.jsonl"], "there is no file none.jsonl"),
        (["made.jsonl", "--protocol", "clean"], "no protocol 'clean'; there are: as-published,"),
        (["made.jsonl", "--against", "made.jsonl"], "two systems are named 'made'"),
        (["made.jsonl", "--against", "a=made.jsonl", "--against", "a=made.jsonl"], "two systems are named 'a'"),
        (["made.jsonl", "-o", "made.jsonl"], "made.jsonl is read and cannot be written too"),
        (["made.jsonl", "-o", "r", "--html", "r"], "r is to be written twice"),
        (["made.jsonl", "-o", "none/r.json"], "cannot write none/r.json: there is no folder none"),
        (["made.jsonl", "-o", "."], "cannot write .: it is a folder"),
        (["made.jsonl", "--kb", "none.kb"], "no KB"),
        (["made.jsonl", "--format", "x"], "no corpus format 'x'"),
        (["made.jsonl", "--protocol", "as-published-generative"], "the protocol as-published-generative drops"),
    ],
)
def test_arguments_that_cannot_be_met_are_refused(capsys, arguments, why):
    assert refused(capsys, *arguments, "--gold", "gold.jsonl").startswith(why)


def test_gold_is_asked_for(capsys):
    assert refused(capsys, "made.jsonl") == "Missing option '--gold' (see nomina evaluate --help)"


def test_a_report_that_cannot_be_made_leaves_the_old_one(capsys):
    Path("r.json").write_text("old", encoding="utf-8")
    save("other.jsonl", predicted("9", FITS, "D1"))
    assert run("other.jsonl", "--gold", "gold.jsonl", "-o", "r.json") == 2
    capsys.readouterr()
    assert Path("r.json").read_text(encoding="utf-8") == "old"
