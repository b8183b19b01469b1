"""Files that are not what they should be, and a disk that is full: one line each, and the rest of the run is done."""

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from bulk_cases import NOMINA, POSIX, make_inputs, result

GOOD = '{"id": "good", "text": "Ataxia and a fit."}\n'
LARGE = 50_000_000
# Root may read all files, unless it gives that up for good: two of its rights, in which programs that it starts share.
WITHOUT_RIGHTS = """
import ctypes, os, sys
for right in (1, 2):
    ctypes.CDLL(None).prctl(24, right, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def listed(run: Path) -> list[tuple[str, int | None, str]]:
    """File, offset and reason of each error."""
    lines = (run / "errors.jsonl").read_text("utf-8").splitlines()
    return [(Path(one["file"]).name, one["offset"], one["reason"]) for one in map(json.loads, lines)]


def found(run: Path) -> dict[str, list[str]]:
    """The documents of which something was found, in order, by file."""
    outputs = sorted((run / "output").iterdir())
    return {
        file.name: list(dict.fromkeys(json.loads(line)["document_id"] for line in file.read_text("utf-8").splitlines()))
        for file in outputs
    }


def test_each_kind_of_a_damaged_file_costs_itself_alone(bulk, tmp_path):
    inputs = make_inputs(tmp_path / "in", 2, 3)
    packed = gzip.compress("".join(f'{{"id": "{i}", "text": "Ataxia {i * i}."}}\n' for i in range(9000)).encode())
    (inputs / "a_cut.jsonl.gz").write_bytes(packed[:-20_000])
    (inputs / "b_no.jsonl.gz").write_bytes(b"\x1f\x8bno gzip")
    (inputs / "c_bad.bioc.xml").write_text("<collection><document><id>1</id><passage></document>", encoding="utf-8")
    (inputs / "d_pubmed25n0001.xml").write_text("<PubmedArticleSet><PubmedArticle>", encoding="utf-8")
    (inputs / "e_bad.bioc.json").write_text('{"documents": [{"id": "1"', encoding="utf-8")
    (inputs / "f_latin.jsonl").write_bytes('{"id": "1", "text": "Ménière"}\n'.encode("latin-1") + GOOD.encode())
    (inputs / "g_utf16.jsonl").write_bytes(GOOD.encode("utf-16"))
    (inputs / "h_empty.jsonl").write_bytes(b"")
    (inputs / "i_empty.csv").write_bytes(b"")
    (inputs / "j_empty.pubtator").write_bytes(b"")
    (inputs / "k_empty.bioc.xml").write_bytes(b"")
    (inputs / "l_quote.csv").write_text('id,text\n1,"Ataxia.\n2,A fit.\n', encoding="utf-8")
    (inputs / "m_zeros.jsonl").write_bytes(bytes(1000))
    code, _, err = bulk("run", inputs, "--out", "run", "--workers", 2)
    assert code == 0
    assert err.splitlines()[-2].startswith("nomina: 15 of 15 shards, ")
    errors = listed(tmp_path / "run")
    bad = ("a_cut", "b_no", "c_bad", "d_pub", "e_bad", "f_lat", "g_utf16", "k_empty", "l_quote", "m_zeros")
    assert sorted({name.partition(".")[0] for name, _, _ in errors}) == sorted(
        name.partition(".")[0] for name in (file.name for file in inputs.iterdir()) if name.startswith(bad)
    )
    assert all(reason and "\n" not in reason for _, _, reason in errors)
    linked = found(tmp_path / "run")
    assert 0 < len(linked["00000-a_cut.jsonl"]) < 9000
    assert linked["00005-f_latin.jsonl"] == ["good"]
    assert linked["00013-s000.jsonl"] == ["0-0", "0-1", "0-2"]
    assert len(linked) == 15
    assert bulk("verify", "run")[0] == 0


def test_what_is_not_utf8_is_an_error_or_read_as_it_says_and_never_loses_a_letter(bulk, tmp_path):
    inputs = tmp_path / "in"
    inputs.mkdir()
    text = "Ménière and ataxia."
    xml = '<?xml version="1.0"{}?>\n<collection>\n<document><id>1</id><passage><offset>0</offset><text>A fit.</text>'
    xml += f"</passage></document>\n<document><id>2</id><passage><offset>0</offset><text>{text}</text></passage>"
    xml += "</document></collection>"
    article = "<PubmedArticle><MedlineCitation><PMID>{}</PMID><Article><ArticleTitle>{}</ArticleTitle></Article>"
    article += "</MedlineCitation></PubmedArticle>\n"
    pubmed = f"<PubmedArticleSet>\n{article.format(1, text)}{article.format(3, 'A fit.')}"
    pubmed = f'<?xml version="1.0" encoding="utf-16"?>{pubmed}<DeleteCitation><PMID>3</PMID></DeleteCitation>'
    bioc = f'{{"documents": [{{"id": "1", "infons": {{}}, "passages": [{{"offset": 0, "text": "{text}"}}]}}]}}'
    files = {
        "a.pubtator": f"1|t|{text}\n\n2|t|A fit.\n".encode("latin-1"),
        "b.bioc.xml": xml.format("").encode("latin-1"),
        "c.bioc.xml": xml.format(' encoding="ISO-8859-1"').encode("latin-1"),
        "d.bioc.xml": xml.format(' encoding="UTF-16"').encode("utf-16"),
        "e.bioc.xml": xml.format(' encoding="klingon"').encode("latin-1"),
        "f.bioc.json": bioc.encode("latin-1"),
        "g.pubtator": f"1|t|{text}\n".encode("utf-16"),
        "h.jsonl": GOOD.encode("utf-16"),
        "i.xml": f"{pubmed}</PubmedArticleSet>".encode("utf-16"),
    }
    for name, data in files.items():
        (inputs / name).write_bytes(data)
    code, _, err = bulk("run", inputs, "--out", "run")
    assert (code, "5 files not read to their end" in err) == (0, True), err
    byte, unread = "byte 0xe9 in column {} is not UTF-8: save the file as UTF-8", "; the rest is not read"
    utf16 = f"is UTF-16: save it as UTF-8, for example with `iconv -f UTF-16 -t UTF-8`{unread}"
    assert listed(tmp_path / "run") == [
        ("a.pubtator", 1, byte.format(6)),
        ("b.bioc.xml", 4, byte.format(55) + unread),
        ("e.bioc.xml", 1, f"is in an encoding that is not known, klingon: save it as UTF-8{unread}"),
        ("f.bioc.json", 1, byte.format(79) + unread),
        ("g.pubtator", None, utf16),
        ("h.jsonl", None, utf16),
    ]  # fmt: skip
    spans = {}
    for file in sorted((tmp_path / "run/output").iterdir()):
        lines = map(json.loads, file.read_text("utf-8").splitlines())
        spans[file.name[6:7]] = [(line["document_id"], line["mention"]["spans"][0][0]) for line in lines]
    assert spans == {
        "a": [("2", 2)], "b": [("1", 2)], "c": [("1", 2), ("2", 12)], "d": [("1", 2), ("2", 12)], "e": [], "f": [],
        "g": [], "h": [], "i": [("1", 12)],
    }  # fmt: skip
    (deleted,) = (tmp_path / "run/deletions.jsonl").read_text("utf-8").splitlines()
    assert json.loads(deleted)["document"] == "3"


@pytest.mark.slow
def test_a_document_of_50_mb_is_an_error_and_is_not_held(bulk, tmp_path):
    inputs, words = tmp_path / "in", "ataxia and more "
    inputs.mkdir()
    text = words * (LARGE // len(words))
    (inputs / "a.jsonl").write_text(f'{{"id": "large", "text": "{text}"}}\n{GOOD}', encoding="utf-8")
    (inputs / "b.csv").write_text(f"id,text\nlarge,{text}\ngood,Ataxia.\n", encoding="utf-8")
    (inputs / "c.pubtator").write_text(f"1|t|Ataxia.\n1|a|{text}\n\n2|t|Ataxia.\n2|a|A fit.\n\n", encoding="utf-8")
    article = "<PubmedArticle><MedlineCitation><PMID>{}</PMID><Article><ArticleTitle>Ataxia.</ArticleTitle><Abstract>"
    article += "<AbstractText>{}</AbstractText></Abstract></Article></MedlineCitation></PubmedArticle>"
    both = article.format(1, text) + article.format(2, "A fit.")
    (inputs / "d.xml").write_text(f"<PubmedArticleSet>{both}</PubmedArticleSet>", encoding="utf-8")
    code, _, err = bulk("run", inputs, "--out", "run")
    assert (code, err.splitlines()[-2][:25]) == (0, "nomina: 4 of 4 shards, 4 "), err
    reasons = {name: reason for name, _, reason in listed(tmp_path / "run")}
    assert sorted(reasons) == ["a.jsonl", "b.csv", "c.pubtator", "d.xml"]
    assert reasons["a.jsonl"] == "is larger than 16 MB, the most for one text"
    assert reasons["b.csv"] == "line 2 is larger than 16 MB, the most for one text"
    assert list(found(tmp_path / "run").values()) == [["good"], ["good"], ["2"], ["2"]]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="gives up rights as Linux has them")
def test_a_file_that_may_not_be_read_is_an_error_and_the_rest_goes_on(kb, bulk, tmp_path):
    inputs = make_inputs(tmp_path / "in", 2, 2)
    (inputs / "s000.jsonl").chmod(0)
    command = [*NOMINA, "bulk", "run", inputs, "--out", "run", "--kb", kb.path, "--linker", "dictionary"]
    given = [sys.executable, "-c", WITHOUT_RIGHTS, *map(str, command), "--workers", "1"]
    done = subprocess.run(given, capture_output=True, encoding="utf-8", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert listed(tmp_path / "run") == [
        ("s000.jsonl", None, "cannot be read (Permission denied); the rest is not read")
    ]
    assert bulk("status", "run")[1].startswith("finished: 2 of 2 shards, 2 documents")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="gives up rights as Linux has them")
@pytest.mark.parametrize("has_lock", [True, False])
def test_a_run_that_may_only_be_read_can_be_looked_at_and_verified(bulk, tmp_path, has_lock):
    assert bulk("run", make_inputs(tmp_path / "in", 2, 2), "--out", "run")[0] == 0
    run = tmp_path / "run"
    if not has_lock:
        (run / "run.lock").unlink()
    before = sorted(run.rglob("*"))

    def call(*given):
        command = [sys.executable, "-c", WITHOUT_RIGHTS, *NOMINA, "bulk", *given]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=tmp_path)
        return done.returncode, done.stdout, done.stderr

    for path in (run, *run.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        code, out, err = call("status", "run")
        assert (code, out[:34], err) == (0, "finished: 2 of 2 shards, 4 documen", "")
        assert call("verify", "run") == (0, "all 2 finished shards are as they were written\n", "")
        assert call("verify", "run", "--redo")[::2] == (2, "nomina: run/run.lock: Permission denied\n")
        assert sorted(run.rglob("*")) == before
    finally:
        run.chmod(0o755)
        for path in run.rglob("*"):
            path.chmod(0o755)


@POSIX
def test_a_link_that_leads_nowhere_is_an_error_and_the_rest_goes_on(bulk, tmp_path):
    inputs = make_inputs(tmp_path / "in", 1, 2)
    for name in ("a.jsonl", "b.xml", "note.txt"):
        (inputs / name).symlink_to(tmp_path / f"nowhere-{name}")
    for given in (inputs, inputs / "*.*"):
        code, _, err = bulk("run", given, "--out", "run", "--max-errors", 2)
        assert (code, err.splitlines()[0]) == (0, "nomina: left out 1 files that are named like no format")
        assert "3 of 3 shards, 2 documents" in err
    why = "cannot be read (No such file or directory); the rest is not read"
    assert listed(tmp_path / "run") == [("a.jsonl", None, why), ("b.xml", None, why)]
    (tmp_path / "nowhere-a.jsonl").write_text(GOOD, encoding="utf-8")
    assert bulk("resume", "run", "--retry")[0] == 0
    assert [name for name, _, _ in listed(tmp_path / "run")] == ["b.xml"]
    assert found(tmp_path / "run")["00000-a.jsonl"] == ["good"]


@pytest.fixture
def disk(tmp_path):
    """A small file system, and what gives it another size."""
    place = tmp_path / "disk"
    place.mkdir()

    def mount(*options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["mount", *options, place], capture_output=True, encoding="utf-8")

    if shutil.which("mount") is None or mount("-t", "tmpfs", "-o", "size=256k", "tmpfs").returncode != 0:
        pytest.skip("this user may not mount a file system")
    yield place, lambda size: mount("-o", f"remount,size={size}")
    subprocess.run(["umount", place], check=True)


@POSIX
def test_a_full_disk_stops_the_run_which_goes_on_when_there_is_room(kb, bulk, tmp_path, disk):
    inputs, (place, resize) = make_inputs(tmp_path / "in", 6, 100), disk
    assert bulk("run", inputs, "--out", "whole")[0] == 0
    sizes = [len(data) for data in result(tmp_path / "whole").values()]
    assert max(sizes) < 200_000 < sum(sizes)
    code, _, err = bulk("run", inputs, "--out", place / "run")
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("nomina: cannot write the output of ")
    assert err.endswith("(No space left on device): make room, and resume\n")
    assert not (place / "run/work").exists()
    before = result(place / "run")
    assert 0 < len(before) < 6
    for name, data in before.items():
        assert (tmp_path / "whole" / name).read_bytes() == data
    assert bulk("resume", place / "run")[0] == 2
    assert resize("8m").returncode == 0
    assert bulk("resume", place / "run")[0] == 0
    assert result(place / "run") == result(tmp_path / "whole")


@POSIX
def test_a_disk_without_room_for_the_manifest_is_said(bulk, tmp_path, disk):
    inputs, (place, resize) = make_inputs(tmp_path / "in", 1, 2), disk
    (place / "other").write_bytes(b"x" * 200_000)
    (place / "more").write_bytes(b"x" * 52_000)
    code, _, err = bulk("run", inputs, "--out", place / "run")
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith(f"nomina: cannot write to {place / 'run'} (")
    assert "full" in err or "No space left" in err
    assert bulk("status", place / "run")[0] == 2
    assert resize("8m").returncode == 0
    assert bulk("run", inputs, "--out", place / "run")[0] == 0
