"""AIM's definitions have upstream's real constraints."""

from typing import Any

import pytest
import yaml

from tests.definitions import POLICIES, definition
from tests.policies.statements import descriptions_of, node_at, schema_of, statements_of
from tests.shared import shared

KINDS = (
    "AIMClusterImage",
    "AIMClusterRuntimeConfig",
    "AIMClusterServiceTemplate",
    "AIMImage",
    "AIMModelCache",
    "AIMRuntimeConfig",
    "AIMService",
    "AIMServiceTemplate",
    "AIMTemplateCache",
)


def ours(kind: str) -> dict[str, Any]:
    return definition(POLICIES / "aim" / "crds" / f"{kind.lower()}s.json")


def upstream(kind: str) -> dict[str, Any]:
    path = shared("upstream-crds", "aim") / f"aim.silogen.ai_{kind.lower()}s.yaml"
    return yaml.load(path.read_text(), Loader=yaml.CSafeLoader)


PRECISION = {
    "AIMService": {".spec.overrides.precision enum"},
    "AIMServiceTemplate": {".spec.precision enum"},
    "AIMClusterServiceTemplate": {".spec.precision enum"},
}
"""Upstream's definitions ask for two enums at once, ours leave the narrower one to the rules (docs/rules/aim.md)."""


@pytest.mark.parametrize("kind", KINDS)
def test_upstream_s_schema_differs_only_in_precision(kind):
    mine, theirs = dict(statements_of(schema_of(ours(kind)))), dict(statements_of(schema_of(upstream(kind))))
    assert mine.keys() == theirs.keys()
    assert {path for path in mine if mine[path] != theirs[path]} == PRECISION.get(kind, set())
    for path in PRECISION.get(kind, ()):
        assert theirs[path] < mine[path]


def test_upstream_s_rules_are_ours_to_the_letter():
    rules = [
        (path, rule["rule"], rule["message"])
        for kind in KINDS
        for path, value in statements_of(schema_of(ours(kind)))
        if path.endswith("x-kubernetes-validations")
        for rule in value
    ]
    assert len(rules) == 16


@pytest.mark.parametrize("kind", KINDS)
def test_upstream_s_names_and_subresources_are_ours(kind):
    heads = []
    for crd in (ours(kind), upstream(kind)):
        (version,) = crd["spec"]["versions"]
        kept = {key: version.get(key) or None for key in ("name", "served", "storage", "subresources")}
        heads.append({**crd["spec"], "versions": kept})
    assert heads[0] == heads[1]


@pytest.mark.parametrize("kind", KINDS)
def test_columns_show_fields_that_there_are(kind):
    """Five of upstream's columns name fields that no object has."""
    (version,) = ours(kind)["spec"]["versions"]
    for column in version["additionalPrinterColumns"]:
        if column["jsonPath"] != ".metadata.creationTimestamp":
            node = node_at(schema_of(ours(kind)), column["jsonPath"])
            assert node is not None, column
            assert node.get("type", "string") == column["type"]


@pytest.mark.parametrize("kind", KINDS)
def test_descriptions_are_ours(kind):
    assert not set(descriptions_of(schema_of(ours(kind)))) & set(descriptions_of(schema_of(upstream(kind))))
