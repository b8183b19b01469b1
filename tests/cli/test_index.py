"""`nomina index build`: vectors of a KB made once, gone on with, found again."""

from pathlib import Path

import pytest

from nomina.cli.main import main
from nomina.encoders.onnx import OnnxEncoder
from nomina.index import building
from nomina.kb.store import KnowledgeBase
from nomina.kb.update import add
from nomina.linkers.embedding import EmbeddingLinker
from nomina.types import Entity, Name

ENCODER = Path(__file__).parents[1] / "data" / "tiny-encoder"


@pytest.fixture
def build(kb, tmp_path, monkeypatch, capsys):
    """Run `nomina index build` over the made KB with a cache folder of its own: exit code, stdout, stderr."""
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path / "home"))

    def run(*arguments: object) -> tuple[int, str, str]:
        given = [] if "--kb" in arguments else ["--kb", str(kb.path)]
        code = main(["index", "build", *given, "--encoder", str(ENCODER), *map(str, arguments)])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def encoded(monkeypatch):
    """The texts that are encoded."""
    texts: list[str] = []
    plain = OnnxEncoder.encode

    def noted(self, given, batch_size=64):
        texts.extend(given)
        return plain(self, given, batch_size)

    monkeypatch.setattr(OnnxEncoder, "encode", noted)
    return texts


def test_builds_once_where_a_linker_finds_it(build, kb, encoded):
    code, out, err = build()
    path = Path(err.strip().rpartition(" ")[2])
    assert (code, out) == (0, "")
    assert err.startswith("made: 7 names x 24, int8, 0.")
    assert path.is_file()
    assert encoded == list(kb.surfaces())
    EmbeddingLinker(kb, ENCODER)
    assert len(encoded) == len(kb.names), "the linker found it"
    assert build()[2].endswith(f"was there: {path}\n")
    path.write_bytes(b"damaged")
    assert "was there" not in build()[2]
    assert len(encoded) == 2 * len(kb.names)


def test_every_exact_kind_is_a_file_of_its_own(build):
    paths = {build("--kind", kind)[2].split()[-1] for kind in ("int8", "float16", "float32")}
    assert len(paths) == 3


def test_goes_on_where_it_was_stopped(build, encoded, monkeypatch):
    monkeypatch.setattr(building, "_PART", 2)
    plain = building.vectors_of

    def stopped(encoder, texts):
        if len(encoded) == 4:
            raise KeyboardInterrupt
        return plain(encoder, texts)

    with monkeypatch.context() as patch:
        patch.setattr(building, "vectors_of", stopped)
        code, _, err = build()
    assert code == 2
    assert err == "nomina: stopped; what is encoded is kept, and the same command goes on from there\n"
    assert len(encoded) == 4
    assert build()[0] == 0
    assert len(encoded) == 7, "each name once"


def test_a_later_version_encodes_its_new_names_only(build, kb, encoded, tmp_path):
    build()
    later = add(kb, tmp_path / "later.kb", [Entity("T:9", (Name("Vertigo"),))])
    assert isinstance(later.kb, KnowledgeBase)
    del encoded[:]
    code, _, err = build("--kb", tmp_path / "later.kb")
    assert code == 0
    assert "8 names" in err
    assert encoded == ["Vertigo"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--kind", "int4"), "no index 'int4'; there are: float32, float16, int8, faiss-flat"),
        (("--kb", "nowhere.kb"), "no KB at "),
        (("--encoder", "nowhere"), "no such folder: nowhere; name the folder of an encoder"),
        (("--encoder", "."), ". holds no encoder (neither manifest.json nor encoder.json): name a folder that"),
    ],
)
def test_mistakes_are_one_line(build, monkeypatch, tmp_path, arguments, why):
    monkeypatch.chdir(tmp_path)
    code, out, err = build(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"nomina: {why}")
    assert err.count("\n") == 1


def test_help_shows_how(capsys):
    assert main(["index", "build", "--help"]) == 0
    assert "nomina index build --kb mesh --encoder model/" in capsys.readouterr().out
