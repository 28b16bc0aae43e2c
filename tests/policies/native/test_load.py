"""Documents that cannot be used are refused when they are loaded: all problems at once, each with its line."""

from typing import Any

import pytest

from tests.policies.native.documents import RULES, WIDGET, binding, documents, load, policy
from webhook.errors import CatalogError
from webhook.policy.native import NativePolicies

GOOD = [{"expression": "true"}]
SELECTOR = {"matchExpressions": [{"key": "a", "operator": "Among", "values": ["b"]}]}


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([policy("p", validation=[])], "spec.validation: unknown field"),
        ([policy("p", validations=[{"expression": "1"}])], "spec.validations[0].expression: must evaluate to bool but"),
        ([policy("p", validations=[{"expression": "object."}])], "spec.validations[0].expression: Syntax error"),
        ([policy("p", validations=[{"expression": "params.x == 1"}])], "undeclared reference to 'params'"),
        ([policy("p", validations=[{"expression": "variables.x == 1"}])], "undefined field 'x'"),
        (
            [
                policy(
                    "p", validations=[{"expression": "true", "messageExpression": "authorizer.path('/').check('get')"}]
                )
            ],
            "undeclared reference to 'authorizer'",
        ),
        ([policy("p", validations=[{"expression": "true", "reason": "Bad"}])], "spec.validations[0].reason: Input sho"),
        ([policy("p", validations=[{"expression": "true", "message": "a\nb"}])], "message must not contain line break"),
        ([policy("p")], "spec: give validations or auditAnnotations"),
        ([policy("p", validations=GOOD, matchConstraints={})], "must have at least one rule"),
        (
            [policy("p", validations=GOOD, matchConstraints={"resourceRules": RULES, "objectSelector": SELECTOR})],
            'spec.matchConstraints.objectSelector: "Among" is not a valid label selector operator',
        ),
        (
            [policy("p", validations=GOOD, variables=[{"name": "a-b", "expression": "1"}])],
            "spec.variables[0].name: Str",
        ),
        (
            [policy("p", validations=GOOD, variables=[{"name": "a", "expression": "1"}] * 2)],
            "spec: variables: given twice: a",
        ),
        (
            [policy("p", validations=GOOD), policy("p", validations=GOOD)],
            "metadata.name: ValidatingAdmissionPolicy p is",
        ),
        ([binding("p")], "spec.policyName: there is no ValidatingAdmissionPolicy p"),
        ([policy("p", validations=GOOD), binding("p", mutating=True)], "there is no MutatingAdmissionPolicy p"),
        (
            [policy("p", validations=GOOD), binding("p", validationActions=["Deny", "Warn"])],
            "spec: validationActions: Deny and Warn together",
        ),
        (
            [policy("p", validations=GOOD), binding("p", paramRef={"name": "a", "selector": {}})],
            "spec.paramRef: give one of name and selector",
        ),
        (
            [policy("p", mutating=True, mutations=[{"patchType": "JSONPatch"}])],
            "spec.mutations[0]: patchType JSONPatch needs jsonPatch, and nothing else",
        ),
        (
            [policy("p", mutating=True, mutations=[{"patchType": "JSONPatch", "jsonPatch": {"expression": "[1]"}}])],
            "spec.mutations[0].jsonPatch.expression: must evaluate to list(JSONPatch) but got list(int)",
        ),
        ([{"kind": "Pod", "metadata": {"name": "p"}}], "kind: expected one of ValidatingAdmissionPolicy"),
    ],
)
def test_what_is_wrong_with_a_document_is_said(values: list[dict[str, Any]], problem: str) -> None:
    with pytest.raises(CatalogError) as caught:
        load(*values)
    assert problem in str(caught.value)


def test_all_problems_come_at_once_each_with_its_line() -> None:
    broken = policy("p", validations=[{"expression": "1"}, {"expression": "true", "msg": "x"}])
    wrong = policy(
        "q", validations=[{"expression": "'a' < 1"}], auditAnnotations=[{"key": "k", "valueExpression": "2"}]
    )
    with pytest.raises(CatalogError) as caught:
        load(broken, wrong, binding("r"))
    lines = str(caught.value).split("\n")
    assert [line.split(":")[0] for line in lines] == ["policies.yaml"] * 4
    assert [line.split(": ")[1] for line in lines] == [
        "spec.validations[1].msg",
        "spec.validations[0].expression",
        "spec.auditAnnotations[0].valueExpression",
        "spec.policyName",
    ]
    assert len({line.split(":")[1] for line in lines}) == 4


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_every_version_of_the_api_is_read(version: str) -> None:
    value = policy("p", validations=GOOD) | {"apiVersion": f"admissionregistration.k8s.io/{version}"}
    assert len(load(value).validators) == 1


def test_a_policy_without_a_binding_is_named() -> None:
    loaded = load(policy("p", validations=GOOD), policy("q", validations=GOOD), binding("q"))
    assert loaded.unbound == (("ValidatingAdmissionPolicy", "p"),)


def test_expressions_are_those_of_the_version_at_least() -> None:
    newer = documents(policy("p", validations=[{"expression": "isSemver('1.0.0')"}]))
    assert NativePolicies.load(newer, (1, 30)).validators


def test_what_a_policy_gets_wrong_about_a_kind_is_a_warning() -> None:
    rule = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["widgets"]}
    constraints = {"resourceRules": [rule]}
    loaded = load(policy("p", validations=[{"expression": "object.spec.sise == 1"}], matchConstraints=constraints))
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    ((name, warning),) = loaded.warnings(lambda _: [WIDGET], {WIDGET: schema}.get)
    assert (name, warning.field) == ("p", "spec.validations[0].expression")
    assert warning.text.startswith("example.com/v1, Kind=Widget: ERROR: <input>:1:12: undefined field 'sise'")
    assert loaded.warnings(lambda _: [WIDGET], lambda _: None) == []
