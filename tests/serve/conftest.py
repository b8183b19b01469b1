"""A made KB, and a service over it for the tests that change nothing."""

from __future__ import annotations

import pytest

from nomina.kb.build import BuildOptions, build
from nomina.kb.store import KnowledgeBase
from nomina.types import Entity, Name

ENTITIES = [
    Entity("A:1", (Name("Abnormality"),), "What is not as it is in most."),
    Entity(
        "A:2", (Name("Seizure"), Name("Fit", "related")), None, ("symptom",), ("A:1",), ("UMLS:C0036572",), ("A:20",)
    ),
    Entity("A:3", (Name("Short stature"),), None, ("sign",), ("A:1", "X:9")),
    Entity("A:4", (Name("Ataxia"),)),
    Entity("A:5", (Name("Fitness"), Name("Fit"))),
    Entity("A:8", (Name("Febrile seizure"),), None, ("symptom",), ("A:2",)),
    Entity("../etc/passwd", (Name("<script>alert(1)</script>"),)),
]


@pytest.fixture(scope="session")
def kb(tmp_path_factory) -> KnowledgeBase:
    return build(tmp_path_factory.mktemp("served") / "made.kb", ENTITIES, BuildOptions("made"))


@pytest.fixture(scope="session")
def served(kb):
    from serve_cases import Served

    with Served(kb.path, "--max-body", 100_000, "--max-documents", 20, "--max-characters", 50_000) as service:
        yield service


@pytest.fixture
def project(kb, tmp_path):
    """A service with a project of its own."""
    from serve_cases import Served

    with Served(kb.path, "--project", tmp_path / "team.sqlite") as service:
        service.project = tmp_path / "team.sqlite"
        yield service


@pytest.fixture
def opened(browser, served):
    """Opens the page of a service; it must be silent and ask nothing of anybody but its service."""
    contexts, noises = [], []

    def open_page(service=served, context=None, **options):
        address = f"http://127.0.0.1:{service.port}/"
        if context is None:
            context = browser.new_context(**options)
            contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: "Failed to load resource" in message.text or noises.append(message.text))
        page.on("pageerror", lambda error: noises.append(str(error)))
        page.on("request", lambda r: r.url.startswith((address, "blob:", "data:")) or noises.append(r.url))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert noises == []
