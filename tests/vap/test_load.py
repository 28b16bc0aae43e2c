"""Loading native policies: invalid documents are refused with all problems at once, each with its line."""

import json
from typing import Any

import pytest

from tests.vap.documents import RULES, WIDGET, binding, documents, load, policy
from webhook.admission.errors import CatalogError
from webhook.manifests.documents import parse
from webhook.vap import NativePolicies

GOOD = [{"expression": "true"}]
NOTHING = [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}]
DELETIONS = {**RULES[0], "operations": ["CREATE", "DELETE"]}
SELECTOR = {"matchExpressions": [{"key": "a", "operator": "Among", "values": ["b"]}]}


def rule(**changes: Any) -> dict[str, Any]:
    return policy("p", validations=GOOD, matchConstraints={"resourceRules": [{**RULES[0], **changes}]})


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
        ([binding("p")], 'spec.policyName: ValidatingAdmissionPolicy "p" does not exist'),
        ([policy("p", validations=GOOD), binding("p", mutating=True)], 'MutatingAdmissionPolicy "p" does not exist'),
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
        ([policy("P_1", validations=GOOD)], "metadata.name: a lowercase RFC 1123 subdomain must consist of"),
        ([{**policy("p", validations=GOOD), "metadata": {"name": "p", "label": {}}}], "metadata.label: unknown field"),
        (
            [{**policy("p", validations=GOOD), "metadata": {"name": "p", "labels": {"a": 1}}}],
            "metadata: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
        ),
        ([rule(apiGroups=["*", "apps"])], "resourceRules[0].apiGroups: '*' must be the only item"),
        ([rule(apiVersions=["v1", "*"])], "resourceRules[0].apiVersions: '*' must be the only item"),
        ([rule(apiVersions=[""])], "resourceRules[0].apiVersions: versions must not be empty"),
        ([rule(operations=["*", "CREATE"])], "resourceRules[0].operations: '*' must be the only item"),
        ([rule(resources=["pods", "*/*"])], "resourceRules[0].resources: '*/*' must be the only item"),
        ([rule(resources=["*", "pods"])], "'*' must be the only item without a subresource"),
        ([rule(resources=["pods/*", "pods/scale"])], "'pods/scale' is redundant: 'pods/*' covers it"),
        ([rule(resources=["*/scale", "pods/scale"])], "'pods/scale' is redundant: '*/scale' covers it"),
        ([rule(resourceNames=["a", "a"])], "resourceRules[0].resourceNames[1]: duplicate name: a"),
        ([rule(resourceNames=["a/b"])], "resourceRules[0].resourceNames[0]: may not contain '/'"),
        (
            [policy("p", mutating=True, mutations=NOTHING, matchConstraints={"resourceRules": [DELETIONS]})],
            "resourceRules[0].operations: DELETE is not allowed: a deleted object cannot be mutated",
        ),
        ([policy("p", mutating=True, mutations=NOTHING, reinvocationPolicy=None)], "reinvocationPolicy is required"),
        (
            [policy("p", validations=GOOD, paramKind={"apiVersion": "a/b/c", "kind": "X"})],
            "spec.paramKind.apiVersion: ",
        ),
        (
            [policy("p", validations=GOOD, paramKind={"apiVersion": "apps/", "kind": "X"})],
            "spec.paramKind.apiVersion: ",
        ),
        (
            [policy("p", validations=GOOD, paramKind={"apiVersion": "v1", "kind": "A_B"})],
            "paramKind.kind: a DNS",
        ),
        (
            [policy("p", validations=GOOD, matchConditions=[{"name": "a b", "expression": "true"}])],
            "spec.matchConditions[0].name: name part must consist of",
        ),
        (
            [
                policy(
                    "p",
                    validations=GOOD,
                    variables=[{"name": "x", "expression": "true"}],
                    matchConditions=[{"name": "a", "expression": "variables.x"}],
                )
            ],
            "spec.matchConditions[0].expression: undeclared reference to 'variables'",
        ),
        (
            [policy("p", validations=GOOD, variables=[{"name": "if", "expression": "1"}])],
            "spec.variables[0]: name must not be a reserved word of CEL: if",
        ),
        ([policy("p", validations=[{"expression": "true", "message": " "}])], "message must not be blank"),
        (
            [policy("p", auditAnnotations=[{"key": "a/b", "valueExpression": "'x'"}])],
            "spec.auditAnnotations[0].key: a valid label key must consist of",
        ),
        ([policy("p", auditAnnotations=[{"key": "k", "valueExpression": "'x'"}] * 2)], "[1].key: duplicate key: k"),
        (
            [policy("p", auditAnnotations=[{"key": "k", "valueExpression": f"'{'x' * 5120}'"}])],
            "spec.auditAnnotations[0].valueExpression: must not exceed 5120 bytes",
        ),
        ([policy("p", validations=GOOD), binding("p", policyName="A b")], "spec.policyName: a lowercase RFC 1123"),
        (
            [policy("p", validations=GOOD), binding("p", paramRef={"name": "a/b"})],
            "spec.paramRef.name: may not contain '/'",
        ),
        (
            [policy("p", validations=GOOD), binding("p", paramRef={"name": "a", "parameterNotFoundAction": None})],
            "spec.paramRef: parameterNotFoundAction is required",
        ),
    ],
)
def test_the_errors_of_a_document_are_reported(values: list[dict[str, Any]], problem: str) -> None:
    with pytest.raises(CatalogError) as caught:
        load(*values)
    assert problem in str(caught.value)


def test_all_problems_are_reported_at_once_with_their_lines() -> None:
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


def test_the_binding_of_a_broken_policy_is_not_reported() -> None:
    with pytest.raises(CatalogError) as caught:
        load(policy("p", validations=[{}]), binding("p"))
    (found,) = caught.value.problems
    assert found.path == "spec.validations[0].expression"


def test_a_problem_of_a_document_in_json_names_the_document() -> None:
    broken = [policy("p", validations=[{"expression": "1"}]), policy("q", validations=[{}])]
    values = parse(json.dumps({"apiVersion": "v1", "kind": "List", "items": broken}), "policies.json")
    with pytest.raises(CatalogError) as caught:
        NativePolicies.load(values)
    assert [problem.path for problem in caught.value.problems] == [
        "ValidatingAdmissionPolicy p: spec.validations[0].expression",
        "ValidatingAdmissionPolicy q: spec.validations[0].expression",
    ]


def test_documents_exported_from_a_cluster_load() -> None:
    metadata = {
        "name": "p",
        "uid": "1",
        "resourceVersion": "7",
        "generation": 2,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [{"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:spec": {}}}],
    }
    assert load({**policy("p", validations=GOOD), "metadata": metadata, "status": {"observedGeneration": 2}}).validators


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_every_version_of_the_api_loads(version: str) -> None:
    value = policy("p", validations=GOOD) | {"apiVersion": f"admissionregistration.k8s.io/{version}"}
    assert len(load(value).validators) == 1


def test_policies_without_a_binding_are_listed() -> None:
    loaded = load(policy("p", validations=GOOD), policy("q", validations=GOOD), binding("q"))
    assert loaded.unbound == (("ValidatingAdmissionPolicy", "p"),)


def test_expressions_can_use_the_libraries_of_the_version() -> None:
    newer = documents(policy("p", validations=[{"expression": "isSemver('1.0.0')"}]))
    assert NativePolicies.load(newer, (1, 30)).validators


def test_a_type_error_of_a_policy_is_a_warning() -> None:
    rule = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["widgets"]}
    constraints = {"resourceRules": [rule]}
    loaded = load(policy("p", validations=[{"expression": "object.spec.sise == 1"}], matchConstraints=constraints))
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    ((name, warning),) = loaded.warnings(lambda _: [WIDGET], {WIDGET: schema}.get)
    assert (name, warning.field) == ("p", "spec.validations[0].expression")
    assert warning.text.startswith("example.com/v1, Kind=Widget: ERROR: <input>:1:12: undefined field 'sise'")
    assert loaded.warnings(lambda _: [WIDGET], lambda _: None) == []
