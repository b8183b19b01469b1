"""What was fitted for an exported encoder and lies beside it: one JSON file each, outside of its fingerprint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nomina.artifact import Artifact
from nomina.errors import ArtifactError
from nomina.files import atomic


def read_fitted(model: Artifact, name: str, what: str, version: int) -> dict[str, Any] | None:
    """The content of a file beside an encoder; None where it is not there.

    Args:
        model: the encoder.
        name: of the file.
        what: it is, for messages.
        version: that it must have.

    Raises:
        ArtifactError: the file is damaged, of another version or was fitted for another encoder.
    """
    path = model.folder / name
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{path} cannot be read ({error}): remove it, or fit it again") from error
    if not isinstance(found, dict) or found.get("version") != version:
        raise ArtifactError(f"{path} is no {what} of version {version}: remove it, or fit it again")
    if found.get("model") != model.fingerprint:
        raise ArtifactError(f"{path} was fitted for another encoder: remove it, or fit it again")
    return found


def write_fitted(model: Artifact, name: str, version: int, values: Mapping[str, Any]) -> None:
    """Put a file beside an encoder."""
    with atomic(model.folder / name) as temporary:
        described = {"version": version, "model": model.fingerprint, **values}
        temporary.write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")
