"""What `-` means where it cannot be standard output."""

import pytest

from nomina.cli.main import main

COMMANDS = (
    "encode names.txt -o",
    "evaluate predictions.jsonl --gold gold.jsonl -o",
    "evaluate predictions.jsonl --gold gold.jsonl --html",
    "evaluate predictions.jsonl --gold gold.jsonl --markdown",
    "train sapbert --kb my.kb -o",
    "kb build terms.tsv -o",
    "kb get hpo -o",
    "kb add my.kb terms.tsv -o",
    "kb retire my.kb A:1 -o",
    "kb merge my.kb my.kb -o",
    "kb expand my.kb my.kb -o",
    "kb subset my.kb -o",
    "bulk run notes/ --out",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_file_of_that_name_is_written(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([*command.split(), "-"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "- is no place to write to: name a file or folder (see nomina " in err
    assert list(tmp_path.iterdir()) == []
