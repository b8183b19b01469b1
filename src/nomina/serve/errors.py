"""A request that is not answered with what it asks for."""

from __future__ import annotations

from nomina.errors import NominaError


class Refusal(NominaError):
    """An answer with a status of its own and one line that says why; ``headers`` and ``facts`` go with it."""

    def __init__(
        self, status: int, why: str, headers: dict[str, str] | None = None, facts: dict[str, object] | None = None
    ) -> None:
        self.status, self.headers, self.facts = status, headers or {}, facts or {}
        super().__init__(why)


def busy() -> Refusal:
    """What is said where no more can be held."""
    return Refusal(429, "too much is waiting: try again in a second", {"retry-after": "1"})


def broken_down() -> Refusal:
    """What is said where the fault is ours; more would show the text that it happened with."""
    return Refusal(500, "an error of the service's own; its log says where")
