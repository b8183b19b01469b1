"""Options of a format's ``read`` or ``write``, as texts or values, checked against its signature."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

from nomina.errors import UsageError

Value = bool | str | Sequence[str]
"""A reader option: of its own type, or as the command line has it (``true``, ``a,b``)."""

_YES, _NO = frozenset("true yes on 1".split()), frozenset("false no off 0".split())


def parsed(texts: Sequence[str]) -> dict[str, str]:
    """``KEY=VALUE`` texts as a dict.

    Raises:
        UsageError: a text without ``=``, a key given twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        key = key.strip().replace("-", "_")
        if not key or not equals:
            raise UsageError(f"expected KEY=VALUE, as in languages=ENG, not {text!r}")
        if key in found:
            raise UsageError(f"the option {key} is given twice; several values stand in one, apart by commas")
        found[key] = value.strip()
    return found


def as_text(options: Mapping[str, Value]) -> str | None:
    """Options as ``KEY=VALUE`` apart by spaces; None where there are none."""
    return " ".join(f"{key}={_text(value)}" for key, value in options.items()) or None


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else ",".join(value)


def fitting(formats: Mapping[str, Callable[..., Any]], options: Mapping[str, Value]) -> dict[str, dict[str, Any]]:
    """For each format those of the options that its ``read`` takes, as values of its defaults' types.

    Raises:
        UsageError: an option that none of the formats has, or a value that does not fit.
    """
    found: dict[str, dict[str, Any]] = {}
    known: dict[str, list[str]] = {}
    for name, read in formats.items():
        defaults = {p.name: p.default for p in signature(read).parameters.values() if p.default is not p.empty}
        for own in ("skip", "dropped"):
            defaults.pop(own, None)
        known[name] = list(defaults)
        found[name] = {key: _value(key, options[key], default) for key, default in defaults.items() if key in options}
    for key in options:
        if not any(key in names for names in known.values()):
            kind = "format" if len(known) == 1 else "formats"
            verb = "has" if len(known) == 1 else "have"
            all_known = ", ".join(dict.fromkeys(other for names in known.values() for other in names))
            raise UsageError(
                f"the {kind} {' and '.join(known)} {verb} no option {key}; there are: {all_known or 'none'}"
            )
    return found


def _value(key: str, value: Value, default: object) -> Value:
    if isinstance(default, bool):
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.casefold() in _YES | _NO:
            return value.casefold() in _YES
        raise UsageError(f"the option {key} is true or false, not {value!r}")
    if isinstance(default, tuple):
        values = value.split(",") if isinstance(value, str) else value
        if isinstance(values, bool) or not (texts := tuple(text.strip() for text in values if text.strip())):
            raise UsageError(f"the option {key} needs one or more values, apart by commas")
        return texts
    if not isinstance(value, str) or not value:
        raise UsageError(f"the option {key} needs a value")
    return value
