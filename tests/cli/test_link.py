"""`nomina link` as users meet it: in process over a made KB, and as real processes over it and over HPO."""

import gzip
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nomina.cli.main import main
from nomina.output import read_predictions
from nomina.types import Name

ROOT = Path(__file__).resolve().parents[2]
NOMINA = [sys.executable, "-m", "nomina"]
POSIX = pytest.mark.skipif(os.name == "nt", reason="POSIX")


@pytest.fixture(scope="module")
def kb(make_kb):
    """A made KB: a homonym, a retired style of types, a small tree."""
    return make_kb(
        {
            "T:1": ("Disease",),
            "T:2": ("Heart disease", Name("cardiac disease")),
            "T:3": ("Seizure", "fit"),
            "T:4": ("Physical fitness", "fit"),
            "T:5": ("Ataxia",),
        },
        parents={"T:2": ["T:1"], "T:3": ["T:1"]},
        types={"T:4": ["wellness"], "T:5": ["sign"]},
    )


@pytest.fixture
def nomina(kb, tmp_path, monkeypatch, capsys):
    """Run `nomina link` with the made KB in a folder of its own: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object, stdin: str | bytes | None = None) -> tuple[int, str, str]:
        raw = stdin.encode() if isinstance(stdin, str) else stdin or b""
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(raw))))
        given = [] if "--kb" in arguments else ["--kb", str(kb.path)]
        code = main(["link", *map(str, arguments), *given])
        return code, *capsys.readouterr()

    return run


def write(**texts: str) -> None:
    """Files in the working folder: `a_txt` is a.txt."""
    for name, text in texts.items():
        Path(name.replace("_", ".")).write_text(text, encoding="utf-8", newline="\n")


def ataxias(number: int) -> str:
    """So many documents as JSON lines, of ids from 1."""
    return "".join(f'{{"id": "{i}", "text": "ataxia"}}\n' for i in range(1, number + 1))


def linked(jsonl: str) -> list[tuple[str, str, list[list[int]], str | None]]:
    """Document, mention, spans and first concept of each prediction."""
    records = map(json.loads, jsonl.splitlines())
    return [
        (
            r["document_id"],
            r["mention"]["text"],
            r["mention"]["spans"],
            r["candidates"][0]["entity_id"] if r["candidates"] else None,
        )
        for r in records
    ]


# What goes in


def test_a_text_file(nomina):
    write(a_txt="Löfgren’s patient: heart  disease,\r\nno ataxia; γ.")
    code, out, err = nomina("a.txt")
    assert (code, err) == (0, "")
    assert linked(out) == [
        ("a.txt", "heart  disease", [[19, 33]], "T:2"),
        ("a.txt", "ataxia", [[39, 45]], "T:5"),
    ]
    assert [json.loads(line)["negated"] for line in out.splitlines()] == [False, True]


def test_several_files_a_folder_and_standard_input(nomina):
    Path("notes/more").mkdir(parents=True)
    write(a_txt="ataxia")
    Path("notes/b.txt").write_text("nothing", encoding="utf-8")
    Path("notes/more/c.jsonl").write_text('{"id": "c", "text": "seizure"}\n', encoding="utf-8")
    Path("notes/more/c.pdf").write_bytes(b"%PDF")
    Path("notes/d.txt.gz").write_bytes(gzip.compress(b"cardiac disease"))
    code, out, err = nomina("a.txt", "notes", "-", stdin="seizures and ataxia")
    assert (code, err) == (0, "nomina: left out 1 files that are neither .txt nor .jsonl\n")
    assert linked(out) == [
        ("a.txt", "ataxia", [[0, 6]], "T:5"),
        ("d.txt.gz", "cardiac disease", [[0, 15]], "T:2"),
        ("c", "seizure", [[0, 7]], "T:3"),
        ("stdin", "seizures", [[0, 8]], "T:3"),
        ("stdin", "ataxia", [[13, 19]], "T:5"),
    ]


def test_standard_input_without_being_named(nomina):
    assert linked(nomina(stdin="ataxia")[1]) == [("stdin", "ataxia", [[0, 6]], "T:5")]


def test_documents_with_and_without_mentions(nomina):
    mentions = [{"spans": [[0, 3]], "text": "the"}, {"spans": [[4, 7]], "type": "sign"}]
    write(
        d_jsonl="".join(
            json.dumps(record) + "\n"
            for record in (
                {"id": "1", "text": "the fit with ataxia", "mentions": mentions},
                {"id": "2", "text": "the fit with ataxia"},
            )
        )
    )
    code, out, _ = nomina("d.jsonl")
    assert code == 0
    assert linked(out) == [
        ("1", "the", [[0, 3]], None),
        ("1", "fit", [[4, 7]], "T:3"),
        ("2", "fit", [[4, 7]], "T:3"),
        ("2", "ataxia", [[13, 19]], "T:5"),
    ]
    assert [json.loads(line)["mention"]["type"] for line in out.splitlines()] == [None, "sign", None, None]


def test_a_list_of_mentions_keeps_its_order_and_length(nomina):
    write(m_tsv="mention\tcount\nataxias\t5\n\ndisease of the heart\t1\nunheard of\t9\n")
    code, out, err = nomina("--mentions", "m.tsv")
    assert (code, err) == (0, "")
    assert linked(out) == [
        ("2", "ataxias", [[0, 7]], "T:5"),
        ("3", "", [[0, 1]], None),
        ("4", "disease of the heart", [[0, 20]], "T:2"),
        ("5", "unheard of", [[0, 10]], None),
    ]
    assert [json.loads(line)["abstained"] for line in out.splitlines()] == [False, True, False, True]
    assert linked(nomina("--mentions", "-", stdin="ataxia")[1]) == [("1", "ataxia", [[0, 6]], "T:5")]


@pytest.mark.parametrize("text", ["", "\n\n", "Nothing of the kind."])
def test_a_text_without_mentions_has_an_empty_result(nomina, text):
    assert nomina("-", stdin=text) == (0, "", "")
    assert nomina("-", "--format", "table", stdin=text) == (0, "", "nomina: found no name of the KB made\n")


def test_an_empty_file_is_said_and_does_no_harm_to_others(nomina):
    write(a_txt="ataxia", b_txt="")
    code, out, err = nomina("a.txt", "b.txt")
    assert (code, len(out.splitlines()), err) == (0, 1, "nomina: b.txt is empty\n")


# Options


def test_k_and_threshold(nomina):
    write(a_txt="heart disease")
    (line,) = nomina("a.txt", "--linker", "tfidf", "-k", "2")[1].splitlines()
    assert [c["entity_id"] for c in json.loads(line)["candidates"]] == ["T:2", "T:1"]
    assert not json.loads(line)["abstained"]
    write(m_tsv="ataxias")
    for threshold, abstained in (("0", False), ("0.949", False), ("0.951", True), ("1", True)):
        record = json.loads(nomina("--mentions", "m.tsv", "--threshold", threshold)[1])
        assert (record["candidates"][0]["score"], record["abstained"]) == (0.95, abstained)


def test_a_score_reaches_the_threshold_that_is_the_same(nomina):
    write(m_tsv="ataxias")
    record = json.loads(nomina("--mentions", "m.tsv", "--threshold", "0.95")[1])
    assert (record["candidates"][0]["score"], record["abstained"]) == (0.95, False)


def test_a_tie_is_given_whole_and_flagged(nomina):
    write(a_txt="fit")
    record = json.loads(nomina("a.txt", "-k", "1")[1])
    assert [(c["entity_id"], c["rank"]) for c in record["candidates"]] == [("T:3", 1), ("T:4", 1)]
    assert record["ambiguous"] is True


def test_under_and_types(nomina):
    write(a_txt="fit, ataxia, heart disease")
    assert [entity for *_, entity in linked(nomina("a.txt", "--under", "T:1")[1])] == ["T:3", "T:2"]
    assert [entity for *_, entity in linked(nomina("a.txt", "--under", "T:2", "--under", "T:5")[1])] == ["T:5", "T:2"]
    assert [entity for *_, entity in linked(nomina("a.txt", "--types", "wellness")[1])] == ["T:4"]
    assert [e for *_, e in linked(nomina("a.txt", "--types", "wellness", "--types", "sign")[1])] == ["T:4", "T:5"]


def test_overlaps_and_context(nomina):
    write(a_txt="No heart disease. Her mother has ataxia.")
    assert [m for _, m, *_ in linked(nomina("a.txt")[1])] == ["heart disease", "ataxia"]
    assert [m for _, m, *_ in linked(nomina("a.txt", "--overlaps", "all")[1])] == ["heart disease", "disease", "ataxia"]
    for arguments, expected in (
        (("a.txt",), [(True, "patient"), (False, "family")]),
        (("a.txt", "--no-context"), [(False, "patient"), (False, "patient")]),
    ):
        records = map(json.loads, nomina(*arguments)[1].splitlines())
        assert [(record["negated"], record["experiencer"]) for record in records] == expected


# What comes out

TABLE = """\
mention        offsets  id   name              matched name   rule        score  remarks
heart disease  3-16     T:2  Heart disease     Heart disease  normalised  1.000  negated
fits           33-37    T:3  Seizure           fit            inflection  0.950  ambiguous, family
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
        "line  mention  id   name    matched name  rule        score  remarks\n"
        "1     ataxias  T:5  Ataxia  Ataxia        inflection  0.950\n"
        "2                                                            abstained\n"
        "3     fever                                                  abstained\n"
    )


def test_a_table_shows_the_best_and_with_k_more(nomina):
    write(a_txt="heart disease")
    assert len(nomina("a.txt", "--linker", "tfidf", "--format", "table")[1].splitlines()) == 2
    assert len(nomina("a.txt", "--linker", "tfidf", "--format", "table", "-k", "2")[1].splitlines()) == 3


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
    command = " ".join([*NOMINA, "link", "-", "--kb", str(kb.path), "-o", output])
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


# Mistakes


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no.txt"], "no.txt: cannot be read (No such file or directory)"),
        (
            ["a.txt", "empty.txt", "binary.txt"],
            "binary.txt:1: is binary (it holds a zero byte): only text files, UTF-8",
        ),
        (["latin.txt"], "latin.txt:1: byte 0xf6 in column 2 is not UTF-8: save the file as UTF-8, for example with"),
        (["report.pdf"], "report.pdf: is a PDF file: extract its text first, for example with pdftotext"),
        (["empty.txt"], "empty.txt is empty"),
        (["--mentions", "columns.tsv"], "columns.tsv:1: has several columns, but line 1 names none of them 'mention'"),
        (["--mentions", "empty.txt"], "empty.txt is empty"),
        (["huge.txt"], "huge.txt: this text is larger than 16 MB, the most for one: split it, for example with `split"),
        (["cut.txt.gz"], "cut.txt.gz: the .gz file is cut off or damaged"),
        (["pictures"], "no .txt or .jsonl file in the folder pictures (1 others)"),
        (["unknown.jsonl"], "unknown.jsonl:1: unknown field 'txt'; a line has: id, text, mentions"),
        (["offsets.jsonl"], "offsets.jsonl:1: the span (0, 99) ends behind the text (6 characters)"),
        (["a.txt", "--mentions", "a.txt"], "give FILES or --mentions, not both (see nomina link --help)"),
        (["a.txt", "--linker", "sapbert"], "no linker 'sapbert'; there are: dictionary, tfidf"),
        (["a.txt", "--kb", "mine"], "no KB file 'mine', and no KB of that name; by name there "),
        (["a.txt", "--kb", "no.kb"], "no KB at "),
        (["a.txt", "--kb", "a.txt"], ""),
        (["a.txt", "--under", "T:99"], "'T:99' is not a concept of the KB made"),
        (["a.txt", "--types", "drug"], "the KB has no type 'drug'; it has: sign, wellness"),
        (["a.txt", "--overlaps", "some"], "Invalid value for '--overlaps': 'some' is not one of 'longest', 'all'"),
        (["a.txt", "--format", "xml"], "Invalid value for '--format': 'xml' is not one of 'table', 'jsonl', 'tsv'"),
        (["a.txt", "-k", "0"], "Invalid value for '-k': 0 is not in the range x>=1"),
        (["a.txt", "-k", "1001"], "k must be a whole number from 1 to 1,000, not 1001"),
        (["a.txt", "-k", "9" * 20], f"k must be a whole number from 1 to 1,000, not {'9' * 20}"),
        (["a.txt", "-k", "many"], "Invalid value for '-k': 'many' is not a valid integer"),
        (["a.txt", "--threshold", "1.1"], "Invalid value for '--threshold': 1.1 is not between 0 and 1"),
        (["a.txt", "--threshold", "-0.1"], "Invalid value for '--threshold': -0.1 is not between 0 and 1"),
        (["a.txt", "--threshold", "nan"], "Invalid value for '--threshold': nan is not between 0 and 1"),
        (["a.txt", "--treshold", "1"], "No such option '--treshold'"),
        (["a.txt", "-o", "pictures"], "cannot write pictures: it is a folder, name a file in it"),
        (["a.txt", "-o", "no/p.jsonl"], "cannot write no/p.jsonl: there is no folder no"),
        (["a.txt", "-o", "/dev/fd/99"], "cannot write /dev/fd/99: it is not open"),
        (["a.txt", "-o", "./a.txt"], "a.txt is read and cannot be the output too: name another file with -o"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_done(nomina, arguments, said):
    write(columns_tsv="id\tname\n1\tfits\n")
    write(a_txt="ataxia", empty_txt="", unknown_jsonl='{"id": "1", "txt": "a"}')
    write(offsets_jsonl='{"id": "1", "text": "ataxia", "mentions": [{"spans": [[0, 99]]}]}')
    Path("pictures").mkdir()
    for name, raw in {
        "pictures/a.png": b"\x89PNG",
        "binary.txt": b"a\0b",
        "latin.txt": "L\xf6fgren".encode("latin-1"),
        "report.pdf": b"%PDF-1.7",
        "cut.txt.gz": gzip.compress(b"ataxia")[:12],
    }.items():
        Path(name).write_bytes(raw)
    with open("huge.txt", "wb") as stream:
        stream.truncate(16_000_001)
    before = sorted(Path().rglob("*"))
    code, out, err = nomina(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert err.startswith(f"nomina: {said}")
    assert sorted(Path().rglob("*")) == before
    assert Path("a.txt").read_text(encoding="utf-8") == "ataxia"


def damage(kb, place: int | None) -> None:
    """A copy of the KB in the working folder, cut off or with some pages overwritten."""
    raw = bytearray(kb.path.read_bytes())
    if place is None:
        del raw[len(raw) // 2 :]
    else:
        raw[place : place + 8192] = b"\xff" * min(8192, len(raw) - place)
    Path("damaged.kb").write_bytes(raw)


@pytest.mark.parametrize("place", [None, 0, 100, 4096, 8192])
def test_a_damaged_kb_is_one_line(nomina, kb, place):
    damage(kb, place)
    write(a_txt="fit, ataxia")
    code, out, err = nomina("a.txt", "--kb", "damaged.kb")
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert "damaged.kb" in err


def test_a_closed_standard_output(kb, tmp_path, monkeypatch, capsys):
    (tmp_path / "a.txt").write_text("ataxia", encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        assert main(["link", str(tmp_path / "a.txt"), "--kb", str(kb.path)]) == 2
    assert capsys.readouterr().err == "nomina: standard output is closed: name a file with -o\n"


# Real processes


def run(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*NOMINA, "link", *map(str, arguments)], capture_output=True, encoding="utf-8", timeout=120, **options
    )


def test_the_shipped_note_as_a_process():
    done = run("examples/clinical-note.txt", cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    text = (ROOT / "examples/clinical-note.txt").read_text(encoding="utf-8")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    for record in records:
        spans = record["mention"]["spans"]
        assert " ".join(text[start:end] for start, end in spans) == record["mention"]["text"]
    first = {r["mention"]["text"]: (r["candidates"][0]["entity_id"], r["negated"], r["experiencer"]) for r in records}
    assert first["developmental delay"] == ("HP:0001263", False, "patient")
    assert first["developmental regression"] == ("HP:0002376", True, "patient")
    assert first["migraine"] == ("HP:0002076", False, "family")
    assert first["café-au-lait spots"] == ("HP:0000957", True, "patient")
    assert first["ASD"] == ("HP:0001631", False, "patient")


@POSIX
def test_a_system_whose_encoding_is_not_utf8(kb, tmp_path):
    note = tmp_path / "ñ.txt"
    note.write_text("Löfgren’s ataxia", encoding="utf-8")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "latin-1"}
    done = run(note, "--kb", kb.path, env={**os.environ, **plain})
    assert (done.returncode, done.stderr) == (0, "")
    assert linked(done.stdout) == [("ñ.txt", "ataxia", [[10, 16]], "T:5")]


def test_a_second_start_makes_nothing_anew(kb, tmp_path):
    home = tmp_path / "home"
    environment = {**os.environ, "NOMINA_HOME": str(home)}
    made = []
    for linker in ("dictionary", "tfidf") * 2:
        assert run("--kb", kb.path, "--linker", linker, input="ataxia", env=environment).returncode == 0
        files = [path for path in sorted(home.rglob("*")) if path.is_file() and path.suffix != ".lock"]
        made.append({path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in files})
    assert len(made[1]) == 2
    assert made[1] == made[2] == made[3]


def test_a_cache_folder_that_cannot_be_made(kb, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    environment = {**os.environ, "NOMINA_HOME": str(tmp_path / "file/home")}
    for arguments in (["--kb", kb.path], ["--kb", kb.path, "--linker", "tfidf"], ["--kb", "hpo"]):
        done = run(*arguments, input="ataxia", env=environment)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith(f"nomina: cannot write to the cache folder {tmp_path / 'file/home'}")
        assert done.stderr.endswith("(Not a directory): set NOMINA_HOME to a folder you can write to\n")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="whoever may do all may write everywhere")
def test_read_only_folders(kb, tmp_path):
    tmp_path.chmod(0o555)
    done = run("--kb", kb.path, input="ataxia", env={**os.environ, "NOMINA_HOME": str(tmp_path)})
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "set NOMINA_HOME to a folder you can write to" in done.stderr
    done = run("--kb", kb.path, "-o", tmp_path / "p.jsonl", input="ataxia")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "name another with -o" in done.stderr


@POSIX
def test_a_closed_pipe_is_quiet(kb, tmp_path):
    note = tmp_path / "a.jsonl"
    note.write_text(ataxias(20_000), encoding="utf-8")
    with subprocess.Popen(
        [*NOMINA, "link", note, "--kb", kb.path], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline().startswith(b'{"document_id": "1"')
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@POSIX
def test_ctrl_c_leaves_the_old_output(kb, tmp_path):
    output = tmp_path / "p.jsonl"
    output.write_text("old", encoding="utf-8")
    with subprocess.Popen(
        [*NOMINA, "link", "-", "--kb", kb.path, "-o", output], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdin.write(ataxias(1000).encode())
        process.stdin.flush()
        deadline = time.monotonic() + 60
        while len(list(tmp_path.iterdir())) == 1 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert (process.returncode, said) == (130, b"nomina: stopped\n")
    assert [path.name for path in tmp_path.iterdir()] == ["p.jsonl"]
    assert output.read_text(encoding="utf-8") == "old"


def test_results_come_while_documents_still_do(kb):
    with subprocess.Popen([*NOMINA, "link", "--kb", kb.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(ataxias(1000).encode())
        process.stdin.flush()
        assert linked(process.stdout.readline().decode()) == [("1", "ataxia", [[0, 6]], "T:5")]
        process.stdin.write(b'{"id": "last", "text": "a fit"}\n')
        process.stdin.close()
        lines = process.stdout.readlines()
    assert (process.returncode, len(lines)) == (0, 1000)
    assert linked(lines[-1].decode()) == [("last", "fit", [[2, 5]], "T:3")]


def on_a_terminal(*arguments: object, columns: int = 80) -> tuple[int, str]:
    """Exit code and what a terminal of that width shows of a process that is wholly connected to it."""
    master, slave = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    environment["COLUMNS"] = str(columns)
    with subprocess.Popen(
        [*NOMINA, "link", *map(str, arguments)], stdin=slave, stdout=slave, stderr=slave, env=environment
    ) as process:
        os.close(slave)
        shown = b""
        try:
            while chunk := os.read(master, 4096):
                shown += chunk
        except OSError:  # Linux: the other end is closed
            pass
    os.close(master)
    return process.returncode, shown.decode().replace("\r\n", "\n")


@POSIX
def test_a_terminal_gets_a_table_that_fits(kb, tmp_path):
    note = tmp_path / "a.txt"
    note.write_text("cardiac disease " * 3, encoding="utf-8")
    code, shown = on_a_terminal(note, "--kb", kb.path)
    assert code == 0
    assert len(shown.splitlines()) == 4
    assert re.match(r"mention +offsets  id   name +matched name +rule +score", shown)
    assert max(map(len, shown.splitlines())) <= 80
    code, narrow = on_a_terminal(note, "--kb", kb.path, columns=70)
    assert code == 0
    assert "cardiac…" in narrow or "cardiac …" in narrow


@POSIX
def test_nothing_to_read_on_a_terminal(kb):
    assert on_a_terminal("--kb", kb.path) == (
        2,
        "nomina: nothing to read: name files or a folder, or pipe a text in (see nomina link --help)\n",
    )


@POSIX
def test_progress_is_for_terminals_and_what_takes_a_while(kb, tmp_path, monkeypatch):
    from nomina.cli import link as module

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(module, "_SECONDS_BEFORE_PROGRESS", 0)
    note = tmp_path / "a.txt"
    note.write_text("ataxia", encoding="utf-8")
    arguments = ["link", str(note), "--kb", str(kb.path), "-o", str(tmp_path / "p.jsonl")]
    for stream, expected in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        assert main(arguments) == 0
        assert ("documents" in stream.getvalue()) is expected
