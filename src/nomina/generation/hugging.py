"""What transformers is asked for, without its warnings and progress bars; what it raises is one line of ours."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from nomina.encoders.base import TOKENIZER
from nomina.errors import ArtifactError, MissingExtra, UsageError

_VOCABULARIES = ("vocab.json", "vocab.txt", "spiece.model", "sentencepiece.bpe.model", "source.spm")


@contextmanager
def quiet() -> Iterator[None]:
    """Have transformers say nothing: no warnings, no progress bars; what is wrong with a model is raised by us."""
    try:
        logging: Any = import_module("transformers.utils.logging")
    except ImportError as error:
        raise MissingExtra("train", "a generative model") from error
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@contextmanager
def one_line(folder: str | Path) -> Iterator[None]:
    """Whatever transformers raises over a folder is one line.

    Raises:
        ArtifactError: something was raised.
    """
    try:
        with quiet():
            yield
    except (ArtifactError, MissingExtra, UsageError):
        raise
    except Exception as error:  # of several libraries, which change them from version to version
        first = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise ArtifactError(
            f"{folder} holds no generative model that can be read ({first}): fetch or save it"
        ) from error


def from_folder(model: Any, folder: str | Path) -> Any:  # noqa: ANN401
    """A model of Hugging Face in a folder, all its weights there, float32.

    Raises:
        ArtifactError: it cannot be read, or weights are missing or of another shape.
    """
    with one_line(folder):
        found, how = model.from_pretrained(str(folder), local_files_only=True, output_loading_info=True)
    missing = [*how.get("missing_keys", ()), *how.get("mismatched_keys", ())]
    if missing:
        raise ArtifactError(
            f"{folder} lacks {len(missing)} of the model's weights ({missing[0]}): fetch or save it again"
        )
    return found.float()


def tokenizer_of(folder: str | Path) -> Tokenizer:
    """The tokenizer of a folder, which neither pads nor cuts off.

    Raises:
        ArtifactError: there is none, or a damaged one.
    """
    path = Path(folder)
    # Without any of these transformers makes a tokenizer that knows no word.
    if not any((path / name).is_file() for name in (TOKENIZER, *_VOCABULARIES)):
        raise ArtifactError(f"{folder} holds no {TOKENIZER}: fetch or save it again")
    with one_line(folder):
        if (path / TOKENIZER).is_file():
            found = Tokenizer.from_file(str(path / TOKENIZER))
        else:
            from transformers import AutoTokenizer

            found = AutoTokenizer.from_pretrained(str(folder), use_fast=True, local_files_only=True).backend_tokenizer
    found.no_padding()
    found.no_truncation()
    return found
