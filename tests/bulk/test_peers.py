"""The benchmark of others that look up names: they get the names that nomina has, and their mentions are counted."""

import importlib
from pathlib import Path

import pytest

from nomina.types import Document

pytestmark = [pytest.mark.extras, pytest.mark.slow]
DOCUMENTS = [Document("1", "She has ataxia and short stature."), Document("2", "No word."), Document("3", "Ataxia.")]


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[2] / "benchmarks")
    return importlib.import_module("bulk_peers")


@pytest.mark.filterwarnings("ignore")  # those of others
@pytest.mark.parametrize("peer", ["nomina, dictionary", "FastHPOCR", "gilda.annotate", "spaCy PhraseMatcher"])
def test_mentions_of_a_peer_are_counted(script, tmp_path, peer):
    packages, make = script.PEERS[peer]
    if missing := [name for name in packages if importlib.util.find_spec(name) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    assert make(tmp_path)(DOCUMENTS) == 3


def test_all_names_of_hpo_are_given(script):
    found = dict((name, id) for id, name in script.names())
    assert (found["Ataxia"], found["Short stature"]) == ("HP:0001251", "HP:0004322")
    assert len(found) > 30_000
