"""`nomina link` over a made KB: what comes out."""

import os
import subprocess
from pathlib import Path

import pytest
from link_cases import NOMINA, POSIX, ataxias, linked, write

from nomina.output import read_predictions

# What comes out

TABLE = """\
mention        offsets  id   name              matched name   rule        score  prob.  remarks
heart disease  3-16     T:2  Heart disease     Heart disease  normalised  1.000         negated
fits           33-37    T:3  Seizure           fit            inflection  0.950         ambiguous, family
                        T:4  Physical fitness  fit            inflection  0.950
"""


def test_a_table(nomina):
    write(a_txt="No heart disease. Her mother has fits.", b_txt="ataxia")
    assert nomina("a.txt", "--format", "table") == (0, TABLE, "")
    code, out, _ = nomina("a.txt", "b.txt", "--format", "table")
    assert code == 0
    assert out.startswith(f"a.txt\n{TABLE}\nb.txt\nmention  offsets  id ")


def test_a_table_of_mentions(nomina):
    write(m_tsv="ataxias\n\nfever")
    assert nomina("--mentions", "m.tsv", "--format", "table")[1] == (
        "line  mention  id   name    matched name  rule        score  prob.  remarks\n"
        "1     ataxias  T:5  Ataxia  Ataxia        inflection  0.950\n"
        "2                                                                   abstained\n"
        "3     fever                                                         abstained\n"
    )


def test_a_table_shows_the_best_and_with_k_more(nomina):
    write(a_txt="heart disease")
    assert len(nomina("a.txt", "--linker", "tfidf", "--format", "table")[1].splitlines()) == 2
    assert len(nomina("a.txt", "--linker", "tfidf", "--format", "table", "-k", "2")[1].splitlines()) == 3


def test_names_in_place_of_concepts(nomina):
    write(m_txt="heart disease")

    def offered(*options):
        lines = nomina("--mentions", "m.txt", "--linker", "tfidf", "--format", "tsv", *options)[1].splitlines()
        return [(rank, id, name) for _, _, _, _, _, rank, id, _, name, *_ in (line.split("\t") for line in lines[1:])]

    assert offered("-k", "2") == [("1", "T:2", "Heart disease"), ("2", "T:1", "Disease")]
    assert offered("-k", "3", "--level", "name") == [
        ("1", "T:2", "Heart disease"),
        ("2", "T:1", "Disease"),
        ("3", "T:2", "cardiac disease"),
    ]
    assert nomina("--mentions", "m.txt", "--level", "row")[0] == 2


def test_tsv(nomina):
    write(a_txt="fit")
    lines = [line.split("\t") for line in nomina("a.txt", "--format", "tsv")[1].splitlines()]
    assert lines[0][:7] == ["document_id", "start", "end", "spans", "mention", "rank", "entity_id"]
    assert [line[:7] for line in lines[1:]] == [
        ["a.txt", "0", "3", "0-3", "fit", "1", "T:3"],
        ["a.txt", "0", "3", "0-3", "fit", "1", "T:4"],
    ]


def test_a_file_is_written_whole_and_read_back(nomina):
    write(a_txt="No fits. Ataxia, γ.", p_jsonl="old")
    code, out, err = nomina("a.txt", "-o", "p.jsonl")
    assert (code, out, err) == (0, "", "")
    assert Path("p.jsonl").read_text(encoding="utf-8") == nomina("a.txt")[1] == nomina("a.txt", "-o", "-")[1]
    assert [(p.mention.text, p.negated) for p in read_predictions("p.jsonl")] == [("fits", True), ("Ataxia", False)]
    assert sorted(os.listdir()) == ["a.txt", "p.jsonl"]


def test_the_name_of_the_file_tells_the_format(nomina):
    write(a_txt="ataxia")
    assert nomina("a.txt", "-o", "p.tsv")[0] == nomina("a.txt", "-o", "t.txt", "--format", "table")[0] == 0
    assert Path("p.tsv").read_text(encoding="utf-8").startswith("document_id\tstart\t")
    assert Path("t.txt").read_text(encoding="utf-8").startswith("mention  offsets  id ")


def test_a_failure_leaves_the_old_output(nomina):
    write(p_jsonl="old", d_jsonl=ataxias(4000) + "oops\n")
    code, out, err = nomina("d.jsonl", "-o", "p.jsonl")
    assert (code, out) == (2, "")
    assert err.startswith("nomina: d.jsonl:4001: not JSON (")
    assert Path("p.jsonl").read_text(encoding="utf-8") == "old"
    assert sorted(os.listdir()) == ["d.jsonl", "p.jsonl"]


@POSIX
def test_a_link_is_followed_and_a_device_is_not_replaced(nomina):
    write(a_txt="ataxia", real_jsonl="old")
    Path("p.jsonl").symlink_to("real.jsonl")
    os.mkfifo("pipe")
    assert nomina("a.txt", "-o", "p.jsonl")[0] == 0
    assert Path("p.jsonl").is_symlink()
    assert linked(Path("real.jsonl").read_text(encoding="utf-8")) == [("a.txt", "ataxia", [[0, 6]], "T:5")]
    with subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        assert nomina("a.txt", "-o", "pipe")[0] == 0
        assert linked(reader.communicate(timeout=30)[0]) == [("a.txt", "ataxia", [[0, 6]], "T:5")]
    assert Path("pipe").is_fifo()


@POSIX
@pytest.mark.parametrize("output", ["-", "/dev/stdout", "/dev/fd/1", "/dev/stderr", "/dev/fd/7", "/dev/fd/2"])
def test_what_is_open_already_is_written_on(kb, tmp_path, output):
    target = tmp_path / "p.jsonl"
    target.write_text("before\n", encoding="utf-8")
    command = " ".join([*NOMINA, "link", "-", "--kb", str(kb.path), "--linker", "dictionary", "-o", output])
    number = {"/dev/stderr": 2, "/dev/fd/2": 2, "/dev/fd/7": 7}.get(output, 1)
    script = f'{{ echo a >&{number}; {command}; echo z >&{number}; }} {number}>>"{target}"'
    done = subprocess.run(["bash", "-c", script], input="ataxia", capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    first, second, line, last = target.read_text(encoding="utf-8").splitlines()
    assert (first, second, last) == ("before", "a", "z")
    assert linked(line) == [("stdin", "ataxia", [[0, 6]], "T:5")]


@POSIX
def test_the_permissions_of_the_old_output_stay(nomina):
    write(a_txt="ataxia", p_jsonl="old")
    Path("p.jsonl").chmod(0o600)
    assert nomina("a.txt", "-o", "p.jsonl")[0] == 0
    assert Path("p.jsonl").stat().st_mode & 0o777 == 0o600
