"""What the tests of `--what-if` share: the objects of a tree, and its report."""

import json
from collections import Counter
from typing import Any

import jsonschema
import pytest
from referencing import Registry, Resource

from tests.shared import ROOT
from webhook.cli import main

Capture = pytest.CaptureFixture[str]
SCHEMAS = {file.name: json.loads(file.read_text()) for file in (ROOT / "docs/schemas").glob("*-report.schema.json")}
DEFINITION = ROOT / "policies/llmkube/crds/models.yaml"
HEAD = "apiVersion: inference.llmkube.dev/v1alpha1\n"
MODEL = (
    f"{HEAD}kind: Model\nmetadata: {{name: amd, namespace: ml}}\n"
    "spec: {source: pvc://c/m.gguf, hardware: {accelerator: rocm, gpu: {enabled: true, count: 1, vendor: amd}}}\n"
)
S3 = f"{HEAD}kind: Model\nmetadata: {{name: s3, namespace: ml}}\nspec:\n  source: s3://bucket/m.gguf\n"
SHARED = f"""{HEAD}kind: InferenceService
metadata: {{name: shared, namespace: team}}
spec:
  modelRef: amd
  image: example.com/llama:1
  resources:
    gpu: 2
    gpuSharing:
      mode: shared
"""
PLAIN = (
    "apiVersion: inference.llmkube.dev/v1alpha1\nkind: Model\nmetadata: {name: m%s}\nspec: {source: pvc://c/m.gguf}\n"
)
UP, DOWN = "release=llmkube=0.9.19", "release=llmkube=0.9.5"


def run(capsys: Capture, *arguments: object) -> tuple[int, str, str]:
    code = main([*map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out, said.err


def report(capsys: Capture, *arguments: object) -> Any:
    """The report as JSON, which is of its schema."""
    _, out, err = run(capsys, *arguments, "-o", "json")
    assert out, err
    found = json.loads(out)
    registry = Registry().with_resources([(name, Resource.from_contents(each)) for name, each in SCHEMAS.items()])
    jsonschema.Draft202012Validator(SCHEMAS["what-if-report.schema.json"], registry=registry).validate(found)
    return found


def codes(found: Any, effect: str) -> dict[str, int]:
    return {each["code"]: each["objects"] for each in found["codes"] if each["effect"] == effect}


def findings(found: Any, name: str) -> Counter[Any]:
    """The findings of all objects, each with the line of its object."""
    return Counter(
        (each["line"], finding["severity"], finding["code"], finding["field"])
        for each in found["objects"]
        for finding in each[name]
    )
