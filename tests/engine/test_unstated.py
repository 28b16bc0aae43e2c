"""Rules about data that a definition leaves open: refused when they are loaded; at run time a finding about a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.crds import crd
from webhook import catalog, engine
from webhook.admission import GroupVersionKind, Request
from webhook.admission.errors import CatalogError
from webhook.catalog import Catalog
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.policy import PolicyFault, Profile

Json = dict[str, Any]
KIND = GroupVersionKind("example.com", "v1", "Thing")
OPEN = {"x-kubernetes-preserve-unknown-fields": True}
SPEC = {
    "type": "object",
    "properties": {
        "adapters": {"type": "array", "items": OPEN},
        "one": OPEN,
        "maps": {"type": "object", "additionalProperties": OPEN},
        "text": {"type": "string"},
        "port": {"x-kubernetes-int-or-string": True},
        "rest": {"type": "object", **OPEN},
    },
}


def load(folder: Path, at: str, rule: str, **more: str) -> Catalog:
    """A catalog of one kind with one rule."""
    api = folder / "example"
    (api / "crds").mkdir(parents=True)
    definition = crd("example.com", "Thing", {"type": "object", "properties": {"spec": SPEC}})
    (api / "crds" / "things.json").write_text(json.dumps(definition))
    rules = [{"code": "EX201", "at": at, "rule": rule, "message": "no", "action": "Deny", "docs": "A rule.", **more}]
    rules.append(
        {"code": "EX202", "at": "spec.text", "rule": "self != 'bad'", "message": "bad", "action": "Deny", "docs": "-"}
    )
    target = {"group": "example.com", "versions": ["v1"], "kind": "Thing"}
    head = {"apiVersion": "modelgate.dev/v1alpha1", "kind": "Policy", "metadata": {"name": "thing"}}
    (api / "thing.yaml").write_text(yaml.safe_dump({**head, "spec": {"target": target, "validations": rules}}))
    return catalog.load(folder)


@pytest.mark.parametrize(
    ("at", "rule"),
    [
        ("spec.adapters", "self.all(one, has(one.name))"),
        ("spec.adapters", "self.exists(one, one.startsWith('a'))"),
        ("spec.adapters", "self.map(one, string(one)).size() > 0"),
        ("spec.adapters[*]", "has(self.name)"),
        ("spec.one", "self.name == 'a'"),
        ("spec.one", "self > 3"),
        ("spec.maps", "self.all(key, self[key].a == 1)"),
        ("spec.text", "oldObject.spec.one.name == self"),
    ],
)
def test_a_rule_that_reads_data_that_is_left_open_is_not_loaded(tmp_path: Path, at: str, rule: str) -> None:
    with pytest.raises(CatalogError, match="the definition does not say what is in") as caught:
        load(tmp_path, at, rule)
    (problem,) = caught.value.problems
    assert problem.path == "spec.validations[0].rule"


@pytest.mark.parametrize(
    ("at", "rule"),
    [
        ("spec.adapters", "self.size() < 3"),
        ("spec.adapters", "self.all(one, self.exists_one(other, other == one))"),
        ("spec.one", "self == oldSelf"),
        ("spec.port", "self != 80"),
        ("spec.port", "string(self) != '80'"),
        ("spec.rest", "true"),
        ("spec", "!has(self.text) || self.text != ''"),
    ],
)
def test_a_rule_that_only_compares_such_data_is_loaded(tmp_path: Path, at: str, rule: str) -> None:
    assert load(tmp_path, at, rule).kinds[KIND].policy.codes == ("EX201", "EX202")


def thing(spec: Json) -> Json:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a", "namespace": "n"}, "spec": spec}


def test_a_rule_that_cannot_be_evaluated_is_a_finding_about_a_file_beside_the_others(tmp_path: Path) -> None:
    loaded = load(tmp_path, "spec", "[self.text][int(self.port)] == ''", when="has(self.text) && has(self.port)")
    spec = {"text": "bad", "port": 7}
    request = Request(KIND, "things", "CREATE", thing(spec), name="a", namespace="n")
    found = engine.validate(request, loaded, MemoryView(), Options(strict_fields=True, faults_told=True))
    fault, usual = found.causes
    assert (fault.field, fault.code, fault.reason) == ("spec", "EX201", "InternalError")
    assert "rule EX201 could not be evaluated: index out of bounds" in fault.message
    assert (usual.field, usual.code) == ("spec.text", "EX202")
    audit = engine.validate(request, loaded, MemoryView(), Options(Profile.AUDIT, strict_fields=True, faults_told=True))
    assert audit.causes == ()
    assert audit.warnings[0].message.startswith("would be refused: Internal error: rule EX201 could not be evaluated")
    with pytest.raises(PolicyFault, match="rule EX201 could not be evaluated"):
        engine.validate(request, loaded, MemoryView())


def test_a_default_that_cannot_be_evaluated_is_one_too(tmp_path: Path) -> None:
    load(tmp_path, "spec", "true")
    file = tmp_path / "example" / "thing.yaml"
    policy = yaml.safe_load(file.read_text())
    policy["spec"]["defaults"] = [
        {"code": "EX101", "path": "spec.text", "value": "['a'][int(object.spec.port)]", "because": "of it"}
    ]
    file.write_text(yaml.safe_dump(policy))
    loaded = catalog.load(tmp_path)
    request = Request(KIND, "things", "CREATE", thing({"port": 7}), name="a", namespace="n")
    (cause,) = engine.mutate(request, loaded, MemoryView(), Options(faults_told=True)).causes
    assert (cause.field, cause.code) == ("spec.text", "EX101")
    with pytest.raises(PolicyFault):
        engine.mutate(request, loaded, MemoryView())
