"""The abstracts of the NCBI disease corpus in every format that is read: what is found does not hang on it."""

import csv
import gzip
import importlib
import json
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from nomina.bulk.inputs import INPUTS
from nomina.bulk.outputs import OUTPUTS
from nomina.corpora import read_corpus, write_corpus

CORPUS = Path(__file__).parents[3] / "shared/benchmarks/ncbi-disease/raw/NCBItestset_corpus.txt"
ENDINGS = {"pubtator": "PubTator.txt", "bioc_xml": "bioc.xml", "bioc_json": "bioc.json", "jsonl": "jsonl"}
DOCUMENTS = 40

pytestmark = [
    pytest.mark.slow,
    pytest.mark.extras,
    pytest.mark.skipif(not CORPUS.exists(), reason="needs ../shared/benchmarks/ncbi-disease"),
]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A file of each format by its name; every second one packed."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), importlib.import_module("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("real")
    documents = list(read_corpus(CORPUS))[:DOCUMENTS]
    made = {format: folder / f"in.{ending}" for format, ending in ENDINGS.items()}
    for format, path in made.items():
        write_corpus(documents, path, format)
    rows = [(document.id, document.text) for document in documents]
    for format, delimiter in (("csv", ","), ("tsv", "\t")):
        made[format] = folder / f"in.{format}"
        with open(made[format], "w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
            writer.writerows([("id", "text"), *((id, text.replace("\n", " ")) for id, text in rows)])
    made["parquet"] = folder / "in.parquet"
    columns = dict(zip(("id", "text"), map(list, zip(*rows, strict=True)), strict=True))
    parquet.write_table(pyarrow.table(columns), made["parquet"])
    made["pubmed_xml"] = folder / "pubmed25n0001.xml"
    made["pubmed_xml"].write_text(f"<PubmedArticleSet>{''.join(map(article, documents))}</PubmedArticleSet>", "utf-8")
    for format in list(made)[::2]:
        if format != "parquet":
            packed = made[format].with_name(f"{made[format].name}.gz")
            packed.write_bytes(gzip.compress(made[format].read_bytes()))
            made[format] = packed
    return made


def article(document) -> str:
    title, _, abstract = document.text.partition("\n")
    return (
        f"<PubmedArticle><MedlineCitation><PMID Version='1'>{document.id}</PMID><Article><ArticleTitle>{escape(title)}"
        f"</ArticleTitle><Abstract><AbstractText>{escape(abstract)}</AbstractText></Abstract></Article>"
        "</MedlineCitation></PubmedArticle>"
    )


def answers(records) -> list[tuple[str, str, str, str]]:
    """Document, text, first concept and rule of each mention."""
    return [
        (one["document_id"], one["mention"]["text"], *(one["candidates"][0][key] for key in ("entity_id", "rule")))
        for one in records
    ]


def test_every_format_that_is_read_gives_the_same(inputs, bulk, tmp_path):
    assert set(inputs) == set(INPUTS)
    found = {}
    for format, path in inputs.items():
        code, _, err = bulk("run", path, "--out", format, "--detect", "--kb", "hpo")
        assert (code, f" {DOCUMENTS} documents" in err, ", 0 errors" in err) == (0, True, True), (format, err)
        (output,) = (tmp_path / format / "output").iterdir()
        found[format] = answers(map(json.loads, output.read_text("utf-8").splitlines()))
    assert len(found["jsonl"]) > 2 * DOCUMENTS
    assert {format: own for format, own in found.items() if own != found["jsonl"]} == {}


def test_every_format_that_is_written_holds_the_same(inputs, bulk, tmp_path):
    parquet = importlib.import_module("pyarrow.parquet")
    packings = [("jsonl", "none"), ("jsonl", "gz"), ("jsonl", "zst"), *((name, "none") for name in list(OUTPUTS)[1:])]
    files = {}
    for format, pack in packings:
        out = f"{format}-{pack}"
        code, _, err = bulk("run", inputs["jsonl"], "--out", out, "--format", format, "--pack", pack, "--kb", "hpo")
        assert code == 0, err
        (files[out],) = (tmp_path / out / "output").iterdir()
    plain = files["jsonl-none"].read_bytes()
    zstandard = importlib.import_module("zstandard")
    assert gzip.decompress(files["jsonl-gz"].read_bytes()) == plain
    with open(files["jsonl-zst"], "rb") as stream:
        assert zstandard.ZstdDecompressor().stream_reader(stream).read() == plain
    records = [json.loads(line) for line in plain.splitlines()]
    assert parquet.read_table(files["parquet-none"]).to_pylist() == [
        {**one, "candidates": [{**candidate, "row": candidate.get("row")} for candidate in one["candidates"]]}
        for one in records
    ]
    expected = {(one["document_id"], tuple(map(tuple, one["mention"]["spans"]))) for one in records}
    for format in list(OUTPUTS)[2:]:
        documents = list(read_corpus(files[f"{format}-none"]))
        assert len(documents) == DOCUMENTS
        assert {(document.id, mention.spans) for document in documents for mention in document.mentions} == expected
