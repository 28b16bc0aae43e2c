"""What is exported is what a cluster accepts, and says the same as the gate."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.policies.test_cases import files, read
from webhook import catalog, engine
from webhook.cases import run as run_case
from webhook.cel.environment import Environment
from webhook.cel.types import BOOL, DYN
from webhook.cli import main
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.policy import Profile
from webhook.request import GroupVersionKind, Request
from webhook.schema import load_crd

MODEL = GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")


def exported(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[Any]:
    assert main(["export", *arguments]) == 0
    return list(yaml.safe_load_all(capsys.readouterr().out))


def test_every_policy_has_a_binding_and_its_rules_a_code(capsys: pytest.CaptureFixture[str]) -> None:
    found = exported(capsys, "policies", "model", "--profile", "strict")
    kinds = [item["kind"] for item in found]
    assert kinds == [
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ]
    deny, binding = found[2:4]
    assert binding["spec"] == {"policyName": deny["metadata"]["name"], "validationActions": ["Deny"]}
    assert all("LK2" in rule["message"] for rule in deny["spec"]["validations"])


def test_static_names_end_as_the_api_server_wants_them(capsys: pytest.CaptureFixture[str]) -> None:
    found = exported(capsys, "static", "model")
    assert all(item["metadata"]["name"].endswith(".static.k8s.io") for item in found)


def test_what_is_left_out_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    main(["export", "policies", "model"])
    assert "only the gate can evaluate LK211, LK315" in capsys.readouterr().err


def test_an_exported_crd_is_one_the_api_server_takes(capsys: pytest.CaptureFixture[str]) -> None:
    (crd,) = exported(capsys, "crd", "model", "--profile", "strict")
    spec = load_crd(crd).versions["v1alpha1"].schema
    errors, _ = spec.validate_rules({"spec": {"source": "pvc://x"}})
    assert any("(LK205)" in error.detail for error in errors)
    (plain,) = exported(capsys, "crd", "model")
    assert load_crd(plain).versions["v1alpha1"].schema.validate_rules({"spec": {"source": "pvc://x"}})[0] == []


def test_the_exported_conditions_hold_where_our_rules_do(capsys: pytest.CaptureFixture[str]) -> None:
    """Over every object of the cases, evaluated without types, as the API server does."""
    env = Environment(variables={"object": DYN, "variables": DYN})
    rules, variables = {}, {}
    for policy in exported(capsys, "policies", "model", "--profile", "strict")[2::2]:
        for rule in policy["spec"]["validations"]:
            rules[re.findall(r"LK\d{3}", rule["message"])[-1]] = env.compile(rule["expression"], expect=BOOL)
        for variable in policy["spec"].get("variables", []):
            variables[variable["name"]] = env.compile(variable["expression"])
    count = 0
    for obj, ours in admitted_objects():
        bindings: dict[str, Any] = {"object": obj, "variables": {}}
        for name, program in variables.items():
            bindings["variables"][name] = program.evaluate(bindings)
        assert {code for code, program in rules.items() if program.evaluate(bindings) is False} == ours & rules.keys()
        count += 1
    assert count > 100


def admitted_objects() -> Iterator[tuple[dict[str, Any], set[str]]]:
    """What the schema lets in of the objects of the cases, normalised, with the codes of what the gate finds."""
    loaded, options = catalog.load(), Options(profile=Profile.STRICT)
    known = loaded.kinds[MODEL]
    for file in files():
        for case in (case for document in read(file) if document.target.kind == "Model" for case in document.cases):
            obj = run_case(case, known, loaded).mutation.object
            if obj is None or known.schema.validate(obj) or known.schema.decode(obj) != (obj, []):
                continue
            request = Request(MODEL, "models", "CREATE", obj)
            decision = engine.validate(request, loaded, MemoryView(), options)
            found = {cause.code for cause in decision.causes} | {warning.code for warning in decision.warnings}
            yield obj, found
