"""The tables of states, one file per API: what a projection makes of an object and of what is around it."""

from pathlib import Path

import pytest
import yaml

from reconciler.projection import Observed
from reconciler.projections import llmaz, llmkube
from reconciler.say.conditions import find
from tests.reconciler.models import NOW, model, node, volume_claim
from webhook.admission.decision import Cause
from webhook.cluster.view import MemoryView

CASES = Path(__file__).parent / "cases"


def rows(api):
    return [pytest.param(row, id=row["name"]) for row in yaml.safe_load((CASES / f"{api}.yaml").read_text())]


def given(text):
    """An object from a few words."""
    kind, name, *rest = text.split()
    if kind == "claim":
        return volume_claim(name, rest[0])
    if kind == "node":
        return node(name, **dict(each.split("=") for each in rest))
    kinds = {"device": "ResourceClaim", "template": "ResourceClaimTemplate"}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "resource.k8s.io/v1", "kind": kinds[kind], "metadata": metadata}


def compared(projection, want):
    """The parts of a projection that a row states, in the row's words."""
    status = projection.status
    (true,) = [each for each in status["conditions"] if each["status"] == "True"]
    found = {
        "condition": [true["type"], true["reason"]],
        "status": {key: status.get(key) for key in want.get("status", {})},
        "absent": [key for key in want.get("absent", ()) if key not in status],
        "events": [[each.type, each.reason] for each in projection.events],
    }
    if want.get("message", "") in find(status["conditions"], true["type"])["message"]:
        found["message"] = want.get("message")
    return {key: found.get(key) for key in want}


@pytest.mark.parametrize("row", rows("llmkube"))
def test_a_model(row):
    observed = Observed(NOW, MemoryView(map(given, row.get("given", ()))))
    projection = llmkube.project(model(**row["spec"]), observed, row.get("roots", ()))
    assert compared(projection, row["want"]) == row["want"]


@pytest.mark.parametrize("row", rows("llmaz"))
def test_an_open_model(row):
    if "refused" in row:
        condition = llmaz.refused([Cause(field, "FieldValueInvalid", "no", "LZ299") for field in row["refused"]])
        assert (condition.status, condition.reason) == (False, row["reason"])
        assert all(field in condition.message for field in row["refused"])
        return
    obj = {"metadata": {"name": "m", "generation": 3}, "spec": {"source": row["source"]}}
    (written,) = llmaz.project(obj, Observed(NOW, MemoryView())).status["conditions"]
    assert (written["status"], written["reason"], written["observedGeneration"]) == ("True", "SourceResolved", 3)
    assert written["message"] == row["says"]
