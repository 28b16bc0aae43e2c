"""Laws of the Model's rules over anything its schema allows, and over damaged Models: see also test_engine.py."""

import re
from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shared import ROOT
from webhook import catalog, engine
from webhook.admission import patch
from webhook.admission.decision import GroupVersionKind, Request
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.policy import Profile

MODEL = GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")
LOADED = catalog.load()
(VERSION,) = yaml.safe_load((ROOT / "policies/llmkube/crds/models.yaml").read_text())["spec"]["versions"]
SPEC = VERSION["schema"]["openAPIV3Schema"]["properties"]["spec"]

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=3,
)
TEXTS = {
    "source": ["https://h/m.gguf", "org/repo", "hf://o/r@v", "/m.gguf", "pvc://c/m.gguf", "word", "hf://o/r/f.gguf"],
    "sha256": ["0" * 64],
    "resourceName": ["a.b/c", "nvidia.com/gpu", "-/-"],
    "tolerationKey": ["a.b/c", "nvidia.com/gpu"],
}
FREE = ["", "m.gguf", "16Gi", "16GB", "0", "-1", "0-15", "16-31", "a", "A_", "*"]


def values(schema: dict[str, Any], name: str = "") -> st.SearchStrategy[Any]:
    """Values that the schema accepts (but for its rules): some parts absent, numbers as JSON may spell them."""
    match schema["type"]:
        case "object":
            fields = {key: values(child, key) for key, child in schema["properties"].items()}
            required = {key: fields.pop(key) for key in schema.get("required", ())}
            return st.fixed_dictionaries(required, optional=fields)
        case "array":
            return st.lists(values(schema["items"]), max_size=3)
        case "integer":
            return st.integers(schema.get("minimum", -3), schema.get("maximum", 99))
        case "number":
            return st.sampled_from([-1, 0, 0.5, 1, 1.5, 80])
        case "boolean":
            return st.booleans()
    return st.sampled_from(schema.get("enum") or TEXTS.get(name) or FREE)


def with_damage(node: Any, places: list[int], junk: Any) -> Any:
    """The object with something else in one place, found by walking along ``places``."""
    if not places or not isinstance(node, dict) or not node:
        return junk
    key = sorted(node)[places[0] % len(node)]
    return {**node, key: with_damage(node[key], places[1:], junk)}


SPECS = values(SPEC)
DAMAGED = st.builds(with_damage, SPECS, st.lists(st.integers(0, 9), max_size=4), ANYTHING)


def request(spec: Any) -> Request:
    obj = {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "Model", "metadata": {"name": "m"}, "spec": spec}
    return Request(MODEL, "models", "CREATE", obj)


def mutated(of: Request) -> dict[str, Any]:
    obj = engine.mutate(of, LOADED, MemoryView()).object
    assert obj is not None
    return obj


@settings(deadline=None)
@given(SPECS)
def test_only_what_is_absent_is_written(spec: dict[str, Any]) -> None:
    before = request(spec).object
    assert before is not None
    changed = [
        change for change in patch.diff(before, mutated(request(spec))) if change["path"] != "/metadata/annotations"
    ]
    assert {change["op"] for change in changed} <= {"add", "replace"}
    assert {change["path"] for change in changed if change["op"] == "replace"} <= {"/spec/hardware/accelerator"}
    gpu = spec.get("hardware", {}).get("gpu", {})
    if "accelerator" in spec.get("hardware", {}) and spec["hardware"]["accelerator"] != "cpu":
        assert not [change for change in changed if change["op"] == "replace"]
    if not gpu.get("count") and not gpu.get("enabled"):
        assert not {change["path"] for change in changed} & {
            "/spec/hardware/gpu/resourceName",
            "/spec/hardware/gpu/tolerationKey",
        }


@settings(deadline=None)
@given(SPECS, st.sampled_from(Profile))
def test_no_rule_is_a_fault(spec: dict[str, Any], profile: Profile) -> None:
    normalised = replace(request(spec), object=mutated(request(spec)))
    decision = engine.validate(normalised, LOADED, MemoryView(), Options(profile=profile))
    if profile is Profile.STANDARD:
        assert not [cause for cause in decision.causes if cause.code]


@settings(deadline=None)
@given(DAMAGED)
def test_no_object_is_a_fault(spec: Any) -> None:
    normalised = replace(request(spec), object=mutated(request(spec)))
    engine.validate(normalised, LOADED, MemoryView(), Options(profile=Profile.STRICT))


NUMBERS = ["0", ".", "1", "0.5", "16", "1.5.5", "1023"]
UNITS = ["", "m", "K", "Ki", "kB", "Mi", "MB", " gb", "Gi", "GiB", " TB"]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("number", NUMBERS)
def test_the_amount_that_a_message_tells_to_write_is_right(number: str, unit: str) -> None:
    def told(amount: str) -> dict[str, str]:
        hardware = {"accelerator": "metal", "memoryBudget": amount, "gpu": {"memory": amount}}
        of = request({"source": "https://h/m.gguf", "resources": {"memory": amount}, "hardware": hardware})
        warnings = engine.validate(replace(of, object=mutated(of)), LOADED, MemoryView()).warnings
        return {warning.code: warning.message for warning in warnings}

    for code, message in told(number + unit).items():
        for better in re.findall(r": write ([0-9.]\S*)", message):
            assert code not in told(better)
