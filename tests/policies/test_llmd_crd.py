"""The VariantAutoscaling's definition says what the API document says, field by field and marker by marker."""

import re
from typing import Any

import pytest
import re2

from tests.definitions import POLICIES, definition
from tests.policies.statements import fields_of, schema_of, statements_of
from tests.shared import shared
from tools.coverage.formats import seed_fields
from tools.coverage.seeds import Field

CRD = POLICIES / "llmd" / "crds" / "variantautoscalings.yaml"


# What the document's tables leave to the reader: fields of an allocation that are not optional, as upstream has them.
NOT_MARKED = {
    ".status.currentAlloc required",
    ".status.desiredOptimizedAlloc required",
    ".status.actuation required",
    ".spec.sloClassRef required",
    ".spec.variantProfile.perfParms required",
}


def document() -> dict[str, Field]:
    return seed_fields(shared("seeds"), "llmd", "VariantAutoscaling")


def stated(schema: dict[str, Any]) -> dict[str, Any]:
    """The markers as statements of a schema: everything but types, and what is said of conditions."""
    return {
        path: value
        for path, value in statements_of(schema)
        if path.rpartition(" ")[2] not in {"type", "format"} and not path.startswith(".status.conditions")
    }


def test_every_field_of_the_document_is_there_and_no_other() -> None:
    ours = {path for path in fields_of(schema_of(definition(CRD))) if not path.startswith(".status.conditions[*]")}
    assert ours == document().keys()
    assert len(ours) == 31


def test_every_marker_of_the_document_is_there_and_no_other() -> None:
    expected: dict[str, Any] = {}
    for path, field in document().items():
        for keyword, value in field.stated.items():
            if keyword == "required":
                parent, _, last = path.rpartition(".")
                expected.setdefault(f"{parent} required", set()).add(last)
            elif keyword != "value":
                expected[f"{path} {keyword}"] = value
    found = stated(schema_of(definition(CRD)))
    assert {path: value for path, value in found.items() if path not in NOT_MARKED} == expected
    assert found.keys() >= NOT_MARKED


def test_conditions_are_a_map_by_type() -> None:
    conditions = fields_of(schema_of(definition(CRD)))[".status.conditions"]
    assert conditions["x-kubernetes-list-type"] == "map"
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]


VARIANTS = """\
meta/llama-3.1-8b-A100-4, default/default-A100-1, model-123-A100-1, x-L40S-8, x-MI300X-1, x-A100-10, a-A100-4,
meta/llama-8b-4, model-H100-SXM4-80GB-2, x-NVIDIA-A100-PCIE-80GB-1, x-H100-SXM-2"""
NO_VARIANTS = """\
m-A100-0, m-A100-01, m-A100, m-A100-+4, m-A100-1e3, A100-4, -A100-4, x--4, x-A100--1, x-A_100-4, x-A100_80GB-1,
x-nvidia.com/gpu-1, x-nvidia.com/mig-1g.5gb-1, x-A100-\N{FULLWIDTH DIGIT FOUR}, meta-llama/Llama-3.1-8B-Instruct"""


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        (".spec.variantID", [*re.split(r",\s+", VARIANTS), " -A100-4"], ["x-A100-4 ", "x-A100-4\n", "x\n-A100-4"]),
        (".spec.variantID", [], re.split(r",\s+", NO_VARIANTS)),
        (".status.currentAlloc.variantCost", ["40", "40.00", "0", "0.0", "007"], [".5", "10.", "-1", "+1", "1e3"]),
        (".status.currentAlloc.variantCost", [], ["NaN", "", "40 ", "1,5"]),
    ],
)
def test_patterns_take_what_upstream_s_take(field: str, good: list[str], bad: list[str]) -> None:
    pattern = re2.compile(fields_of(schema_of(definition(CRD)))[field]["pattern"])
    assert [text for text in good if not pattern.search(text)] == []
    assert [text for text in bad if pattern.search(text)] == []
