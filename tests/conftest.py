"""Shared fixtures: a cache folder of the run's own, and tiny knowledge bases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import count
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings

from nomina.kb.build import BuildOptions, build
from nomina.kb.store import KnowledgeBase
from nomina.types import Entity, Name

Names = str | Name | Sequence[str | Name]
MakeKb = Callable[..., KnowledgeBase]

settings.register_profile("nomina", derandomize=True, deadline=None)
settings.load_profile("nomina")


EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Imports a script of ``experiments`` by its name."""
    monkeypatch.syspath_prepend(EXPERIMENTS)
    return import_module


@pytest.fixture(scope="session", autouse=True)
def nomina_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of everything that nomina makes for itself in this run; the user's own is neither read nor written."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("home")
        patch.setenv("NOMINA_HOME", str(folder))
        yield folder


@pytest.fixture(scope="session")
def make_kb(tmp_path_factory: pytest.TempPathFactory) -> MakeKb:
    """Build a KB of ``{id: name or names}``; ``parents`` and ``types`` by id."""
    folder, numbers = tmp_path_factory.mktemp("kbs"), count()

    def make(
        concepts: Mapping[str, Names],
        parents: Mapping[str, Sequence[str]] | None = None,
        types: Mapping[str, Sequence[str]] | None = None,
    ) -> KnowledgeBase:
        entities = [
            Entity(
                id, _names(names), parents=tuple((parents or {}).get(id, ())), types=tuple((types or {}).get(id, ()))
            )
            for id, names in concepts.items()
        ]
        return build(folder / f"{next(numbers)}.kb", entities, BuildOptions("made"))

    return make


def _names(names: Names) -> tuple[Name, ...]:
    listed = (names,) if isinstance(names, str | Name) else names
    return tuple(Name(name) if isinstance(name, str) else name for name in listed)
