"""A made KB and `nomina bulk` over it, in a folder of its own."""

import pytest
import s3_cases

from nomina.cli.main import main
from nomina.types import Name


@pytest.fixture(scope="module")
def kb(make_kb):
    """A made KB with a homonym."""
    return make_kb(
        {
            "T:1": ("Disease",),
            "T:2": ("Heart disease", Name("cardiac disease")),
            "T:3": ("Seizure", "fit"),
            "T:4": ("Physical fitness", "fit"),
            "T:5": ("Ataxia",),
        },
        parents={"T:2": ["T:1"], "T:3": ["T:1"]},
        types={"T:4": ["wellness"], "T:5": ["sign"]},
    )


@pytest.fixture
def bulk(kb, tmp_path, monkeypatch, capsys):
    """Run `nomina bulk`: exit code, stdout, stderr. If not said otherwise, by the dictionary, with one worker."""
    monkeypatch.chdir(tmp_path)

    def call(command: str, *arguments: object) -> tuple[int, str, str]:
        given = [str(argument) for argument in arguments]
        if command == "run":
            given += [] if "--kb" in given else ["--kb", str(kb.path)]
            given += [] if "--linker" in given else ["--linker", "dictionary"]
        if command in ("run", "resume") and "--workers" not in given:
            given += ["--workers", "1"]
        code = main(["bulk", command, *given])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def s3(monkeypatch):
    """An S3 of this machine, which the environment leads to."""
    for name, value in s3_cases.ACCESS.items():
        monkeypatch.setenv(name, value)
    with s3_cases.serving() as there:
        monkeypatch.setenv("AWS_ENDPOINT_URL", there.url)
        yield there
