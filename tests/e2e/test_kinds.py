"""Every kind in front of a real API server: create, dry run, update, apply twice, delete. One row of KINDS for each."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest

from tests.e2e.gate import STAMP
from tests.e2e.kubectl import Object

pytestmark = pytest.mark.usefixtures("gate")


@dataclass(frozen=True)
class Row:
    """A good specification, a change to it, and what is refused of a bad one.

    ``filled`` is what the gate or the schema must have written: path → value, None where the value is not known before.
    """

    resource: str
    api_version: str
    kind: str
    spec: Object
    change: tuple[str, Any]
    bad: tuple[str, Any]
    refusal: str
    filled: dict[str, Any]


KINDS = [
    Row(
        "openmodels.llmaz.io",
        "llmaz.io/v1alpha1",
        "OpenModel",
        {"familyName": "llama3", "source": {"modelHub": {"modelID": "meta-llama/Meta-Llama-3-8B"}}},
        change=("spec.familyName", "qwen"),
        bad=("spec.source", {"uri": "gs://bucket/path"}),
        refusal='spec.source.uri: Invalid value: "gs://bucket/path": URI with unsupported protocol (LZ203)',
        filled={
            "metadata.labels": {"llmaz.io/model-family-name": "llama3"},
            "spec.createdAt": None,
            "spec.ownedBy": "llmaz",
            "spec.source.modelHub.revision": "main",
        },
    ),
    Row(
        "variantautoscalings.llmd.ai",
        "llmd.ai/v1alpha1",
        "VariantAutoscaling",
        {
            "modelID": "meta/llama-3.1-8b",
            "variantID": "meta/llama-3.1-8b-A100-4",
            "accelerator": "A100",
            "acceleratorCount": 4,
            "sloClassRef": {"name": "service-classes-config", "key": "premium.yaml"},
            "variantProfile": {
                "maxBatchSize": 4,
                "perfParms": {
                    "decodeParms": {"alpha": "20.58", "beta": "0.41"},
                    "prefillParms": {"gamma": "5.2", "delta": "0.1"},
                },
            },
        },
        change=("spec.variantProfile.maxBatchSize", 8),
        bad=("spec.variantID", "meta/llama-3.1-8b-4"),
        refusal='(expected "meta/llama-3.1-8b-A100-4") (LD203)',
        filled={},
    ),
]

kinds = pytest.mark.parametrize("row", KINDS, ids=lambda row: row.kind)


@pytest.fixture
def name(kubectl):
    """A name that no other test has, in a kind without namespaces too."""
    return f"of-{kubectl.flags[-1]}"


def made(row: Row, name: str, *change: Any) -> Object:
    obj = {"apiVersion": row.api_version, "kind": row.kind, "metadata": {"name": name}, "spec": deepcopy(row.spec)}
    if change:
        path, value = change
        *parents, last = path.split(".")
        node: Any = obj
        for key in parents:
            node = node[key]
        node[last] = value
    return obj


def at(obj: Any, path: str) -> Any:
    for key in path.split("."):
        obj = obj[key]
    return obj


@kinds
def test_a_dry_run_shows_what_is_filled_in_and_stores_nothing(kubectl, row, name):
    shown = kubectl.send("create", made(row, name), "--dry-run=server")
    assert STAMP in shown["metadata"]["annotations"]
    for path, value in row.filled.items():
        assert at(shown, path) == value if value is not None else at(shown, path)
    assert kubectl.find(row.resource, name) is None


@kinds
def test_it_is_created_changed_and_deleted(kubectl, row, name):
    created = kubectl.send("create", made(row, name))
    path, value = row.change
    changed = kubectl.send("replace", made(row, name, path, value))
    assert at(changed, path) == value
    assert changed["metadata"]["annotations"][STAMP] != created["metadata"]["annotations"][STAMP]
    if "createdAt" in created["spec"]:
        assert changed["spec"]["createdAt"] == created["spec"]["createdAt"]
    kubectl("delete", row.resource, name)
    assert kubectl.find(row.resource, name) is None


@kinds
@pytest.mark.parametrize("flags", [(), ("--server-side",)], ids=["client-side", "server-side"])
def test_applying_the_same_again_changes_nothing(kubectl, row, name, flags):
    first = kubectl.send("apply", made(row, name), *flags)
    again = kubectl.send("apply", made(row, name), *flags)
    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    kubectl("delete", row.resource, name)


@kinds
def test_a_bad_one_is_refused_with_the_reason(kubectl, row, name):
    assert row.refusal in kubectl.refusal("create", made(row, name, *row.bad))
