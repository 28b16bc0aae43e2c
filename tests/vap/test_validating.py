"""Validating policies: denials, warnings and audit annotations."""

from itertools import product
from typing import Any

import pytest

from tests.vap.documents import RULES, binding, load, policy, request, validate, widget
from webhook.admission.decision import GroupVersionKind, Request
from webhook.vap import Equivalent, GroupVersionResource, MemoryContext, ParamKind
from webhook.vap.dispatch import BoundPolicies
from webhook.vap.response import FAILURE_KEY

BIG = {"expression": "object.spec.size <= 3", "messageExpression": "'size ' + string(object.spec.size)"}
RULE = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["widgets"]}


def texts(response: Any) -> list[str]:
    return [denial.text for denial in response.denials]


def test_a_denial_names_policy_binding_and_message() -> None:
    response = validate(load(policy("p", validations=[BIG | {"reason": "Forbidden"}]), binding("p")), widget(size=4))
    assert texts(response) == ["ValidatingAdmissionPolicy 'p' with binding 'p' denied request: size 4"]
    assert (response.denials[0].reason, response.denials[0].code) == ("Forbidden", 403)
    assert [str(cause) for cause in response.causes] == texts(response)
    assert not response.allowed


def test_a_valid_object_is_allowed_and_its_policy_is_listed_as_evaluated() -> None:
    response = validate(load(policy("p", validations=[BIG]), binding("p")), widget(size=3))
    assert response.allowed
    assert response.evaluated == ("p",)


@pytest.mark.parametrize(
    ("actions", "denied", "warned", "audited"),
    [(["Deny"], 1, 0, False), (["Warn"], 0, 1, False), (["Audit", "Warn"], 0, 1, True), (["Audit"], 0, 0, True)],
)
def test_the_binding_decides_the_effect_of_a_failure(
    actions: list[str], denied: int, warned: int, audited: bool
) -> None:
    response = validate(load(policy("p", validations=[BIG]), binding("p", validationActions=actions)), widget(size=4))
    assert (len(response.denials), len(response.warnings), FAILURE_KEY in response.audit) == (denied, warned, audited)
    for warning in response.warnings:
        assert str(warning) == "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': size 4"


def test_an_audited_failure_has_the_format_of_the_api_server() -> None:
    loaded = load(policy("p", validations=[{"expression": "true"}, BIG]), binding("p", validationActions=["Audit"]))
    assert validate(loaded, widget(size=4)).audit[FAILURE_KEY] == (
        '[{"message":"size 4","policy":"p","binding":"p","expressionIndex":1,"validationActions":["Audit"]}]'
    )


@pytest.mark.parametrize(("failure_policy", "allowed"), [("Fail", False), ("Ignore", True)])
def test_failure_policy_decides_a_failed_evaluation(failure_policy: str, allowed: bool) -> None:
    broken = policy("p", validations=[{"expression": "object.spec.nope == 1"}], failurePolicy=failure_policy)
    assert validate(load(broken, binding("p")), widget()).allowed is allowed


def test_variables_are_lazy_and_can_read_earlier_ones() -> None:
    variables = [
        {"name": "never", "expression": "object.spec.nope"},
        {"name": "size", "expression": "object.spec.size"},
        {"name": "double", "expression": "variables.size * 2"},
    ]
    loaded = load(policy("p", variables=variables, validations=[{"expression": "variables.double == 4"}]), binding("p"))
    assert validate(loaded, widget(size=2)).allowed
    assert "variables.double == 4" in texts(validate(loaded, widget(size=3)))[0]


def test_the_object_is_null_when_it_is_deleted() -> None:
    rules = policy("p", validations=[{"expression": "object == null && oldObject.spec.size == 1"}])
    assert validate(load(rules, binding("p")), None, old=widget(size=1)).allowed


@pytest.mark.parametrize(
    ("condition", "evaluated"),
    [("request.name == 'w'", True), ("false", False), ("request.userInfo.username == 'a'", True)],
)
def test_match_conditions_select_requests(condition: str, evaluated: bool) -> None:
    conditions = [{"name": "c", "expression": condition}]
    loaded = load(policy("p", matchConditions=conditions, validations=[{"expression": "false"}]), binding("p"))
    response = validate(loaded, widget(), user={"username": "a"})
    assert (not response.allowed, bool(response.evaluated)) == (evaluated, evaluated)


def test_a_condition_that_is_false_wins_over_one_that_fails() -> None:
    conditions = [{"name": "a", "expression": "object.spec.nope"}, {"name": "b", "expression": "false"}]
    conditions[0]["expression"] += " == 1"
    loaded = load(policy("p", matchConditions=conditions, validations=[{"expression": "false"}]), binding("p"))
    assert validate(loaded, widget()).allowed
    alone = load(policy("p", matchConditions=conditions[:1], validations=[{"expression": "true"}]), binding("p"))
    assert "no such key: nope" in texts(validate(alone, widget()))[0]


def test_each_audit_annotation_is_published_once_and_blank_ones_are_omitted() -> None:
    annotations = [
        {"key": "size", "valueExpression": "string(object.spec.size) + params.data.suffix"},
        {"key": "none", "valueExpression": "' '"},
        {"key": "null", "valueExpression": "null"},
    ]
    params = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
    loaded = load(policy("p", auditAnnotations=annotations, **params), binding("p", paramRef={"selector": {}}))
    limits = [_limits(name, suffix=suffix) for name, suffix in (("a", "x"), ("b", "y"), ("c", "x"))]
    assert validate(loaded, widget(size=1), *limits).audit == {"p/size": "1x, 1y"}


def _limits(name: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "team", "labels": {"for": name}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


LIMITED = policy(
    "p",
    paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
    validations=[
        {"expression": "object.spec.size <= int(params.data.max)", "messageExpression": "string(params.data.max)"}
    ],
)


@pytest.mark.parametrize(
    ("ref", "denied"),
    [
        ({"name": "a"}, ["1"]),
        ({"name": "a", "namespace": "team"}, ["1"]),
        ({"selector": {}}, ["1", "2"]),
        ({"selector": {"matchLabels": {"for": "b"}}}, ["2"]),
        ({"name": "none", "parameterNotFoundAction": "Allow"}, []),
        (
            {"name": "none", "parameterNotFoundAction": "Deny"},
            ["failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"],
        ),
        (
            {"name": "a", "namespace": "other"},
            ["failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"],
        ),
    ],
)
def test_each_param_of_a_binding_is_evaluated(ref: dict[str, Any], denied: list[str]) -> None:
    response = validate(
        load(LIMITED, binding("p", paramRef=ref)), widget(size=3), _limits("a", max="1"), _limits("b", max="2")
    )
    assert [denial.message for denial in response.denials] == denied


def test_namespaced_params_fail_a_request_without_a_namespace() -> None:
    loaded = load(LIMITED, binding("p", paramRef={"name": "a"}))
    response = validate(loaded, widget(size=3), _limits("a", max="1"), namespace="")
    (denial,) = texts(response)
    assert "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources" in denial


@pytest.mark.parametrize(
    ("resources", "matches"),
    [
        ({"resourceRules": [RULE]}, True),
        ({"resourceRules": [RULE | {"operations": ["UPDATE"]}]}, False),
        ({"resourceRules": [RULE | {"apiVersions": ["v2"]}]}, False),
        ({"resourceRules": [RULE | {"resources": ["widgets/scale"]}]}, False),
        ({"resourceRules": [RULE | {"resourceNames": ["w"]}]}, True),
        ({"resourceRules": [RULE | {"resourceNames": ["x"]}]}, False),
        ({"resourceRules": [RULE | {"scope": "Cluster"}]}, False),
        ({"resourceRules": [RULE | {"scope": "Namespaced"}]}, True),
        ({"resourceRules": [RULE], "excludeResourceRules": [RULE | {"resourceNames": ["w"]}]}, False),
        ({"resourceRules": [RULE], "objectSelector": {"matchLabels": {"tier": "gold"}}}, True),
        ({"resourceRules": [RULE], "objectSelector": {"matchLabels": {"tier": "iron"}}}, False),
        ({"resourceRules": [RULE], "namespaceSelector": {"matchLabels": {"env": "prod"}}}, True),
        (
            {
                "resourceRules": [RULE],
                "namespaceSelector": {"matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["prod"]}]},
            },
            False,
        ),
    ],
)
@pytest.mark.parametrize("of_binding", [False, True])
def test_policies_and_bindings_match_by_rules_and_selectors(
    resources: dict[str, Any], matches: bool, of_binding: bool
) -> None:
    broad = {"validations": [{"expression": "false"}]}
    narrow = {"matchResources": resources} if of_binding else {}
    loaded = load(
        policy("p", **broad, **({} if of_binding else {"matchConstraints": resources})), binding("p", **narrow)
    )
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": {"env": "prod"}}}
    assert validate(loaded, widget(), namespace).allowed is not matches


def test_namespace_object_has_only_the_readable_fields() -> None:
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "team", "labels": {"env": "prod"}, "managedFields": [{}]},
    }
    sees = "namespaceObject.metadata.labels.env == 'prod' && dyn(namespaceObject.metadata).size() == 2"
    loaded = load(policy("p", validations=[{"expression": sees}]), binding("p"))
    assert texts(validate(loaded, widget(), namespace)) == []


@pytest.mark.parametrize(
    ("group", "kind", "applies"),
    [
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", False),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding", False),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", True),
        ("authentication.k8s.io", "TokenReview", False),
        ("authentication.k8s.io", "TokenRequest", True),
        ("authorization.k8s.io", "SubjectAccessReview", False),
    ],
)
def test_no_policy_applies_to_policies_and_to_questions_about_callers(group: str, kind: str, applies: bool) -> None:
    resource = f"{kind.lower()}s"
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    broad = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "false"}]}
    loaded = load(policy("p", **broad), binding("p"))
    obj = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "p"}}
    made = Request(GroupVersionKind(group, "v1", kind), resource, "CREATE", obj, name="p")
    assert loaded.validate(made, MemoryContext()).allowed is not applies


CHECK = "!authorizer.path('/x').check('get').allowed()"
TWO_CHECKS = {"expression": f"{CHECK} && {CHECK}"}
"""Costs a little over 700,000; the budget of all validations of a binding is 10,000,000."""
SPENT = "validation failed due to running out of cost budget, no further validation rules will be run"


@pytest.mark.parametrize(("validations", "denied"), [(14, []), (15, [SPENT])])
def test_validations_share_a_budget(validations: int, denied: list[str]) -> None:
    response = validate(load(policy("p", validations=[TWO_CHECKS] * validations), binding("p")), widget())
    assert [denial.message for denial in response.denials] == denied


def test_messages_share_the_budget_of_the_validations() -> None:
    loop = "variables.ten.all(a, variables.ten.all(b, variables.ten.all(c, variables.ten.all(d, d < 0 || d >= 0))))"
    variables = [{"name": "ten", "expression": "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"}]
    validations = [TWO_CHECKS | {"messageExpression": f"{loop} ? 'a' : 'b'"}] * 14
    response = validate(load(policy("p", variables=variables, validations=validations), binding("p")), widget())
    assert [denial.message for denial in response.denials] == [f"failed messageExpression: {SPENT}"] * 14


def test_the_request_variable_has_the_fields_of_the_api_server() -> None:
    seen = "request.kind.kind == 'Widget' && request.resource.resource == 'widgets' && request.dryRun"
    loaded = load(policy("p", validations=[{"expression": f"{seen} && !has(request.subResource)"}]), binding("p"))
    assert loaded.validate(request(widget(), dry_run=True), MemoryContext()).allowed


class _TimeIsUp(Exception):
    pass


def test_a_deadline_ends_an_evaluation() -> None:
    loop = "variables.ten.all(a, variables.ten.all(b, variables.ten.all(c, variables.ten.all(d, d < 0 || d >= 0))))"
    numbers = ", ".join(map(str, range(200)))
    variables = [{"name": "ten", "expression": f"[{numbers}]"}]
    loaded = load(policy("p", variables=variables, validations=[{"expression": loop}]), binding("p"))

    asked = iter([False])  # before the policy starts

    def interrupt() -> bool:
        if next(asked, True):
            raise _TimeIsUp
        return False

    with pytest.raises(_TimeIsUp):
        loaded.validate(request(widget()), MemoryContext(), interrupt)


@pytest.mark.parametrize(
    "metadata", [None, [], {"labels": [1]}, {"labels": {"tier": ["gold"]}}, {"labels": {"tier": 1}}]
)
def test_malformed_metadata_matches_no_selector(metadata: Any) -> None:
    constraints = {"resourceRules": [RULE], "objectSelector": {"matchLabels": {"tier": "gold"}}}
    loaded = load(policy("p", matchConstraints=constraints, validations=[{"expression": "false"}]), binding("p"))
    assert validate(loaded, widget() | {"metadata": metadata}).allowed


class _Nothing(MemoryContext):
    """An API server without any kind or namespace."""

    def is_namespaced(self, kind: ParamKind) -> bool | None:
        del kind
        return None

    def namespace(self, name: str) -> dict[str, Any] | None:
        del name
        return None


def test_an_unknown_kind_of_params_fails_every_request_that_the_policy_matches() -> None:
    elsewhere = {"objectSelector": {"matchLabels": {"tier": "none"}}}
    loaded = load(LIMITED, binding("p", matchResources=elsewhere))
    response = loaded.validate(request(widget(size=3)), _Nothing())
    unknown = "failed to find resource referenced by paramKind: 'v1, Kind=ConfigMap'"
    assert texts(response) == [
        f"ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: {unknown}",
    ]


def test_a_policy_without_a_binding_is_never_evaluated() -> None:
    selector = {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}
    constraints = {"resourceRules": RULES, "namespaceSelector": selector}
    loaded = load(policy("p", validations=[{"expression": "false"}], matchConstraints=constraints))
    assert loaded.validate(request(widget()), _Nothing()).denials == ()


@pytest.mark.parametrize("subresource", ["", "status"])
def test_the_index_omits_only_policies_whose_rules_do_not_match(
    subresource: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = (["example.com"], ["*"], ["other.example"], ["", "example.com"])
    resources = (["widgets"], ["*"], ["*/*"], ["widgets/status"], ["*/status"], ["gadgets", "widgets"], ["gadgets"])
    found = []
    for number, (group, resource) in enumerate(product(groups, resources)):
        rule = RULE | {"apiGroups": group, "resources": resource}
        constraints = {"resourceRules": [rule | {"apiGroups": ["third.example"]}, rule]}
        found += [policy(f"p{number:02}", matchConstraints=constraints, validations=[{"expression": "true"}])]
        found += [binding(f"p{number:02}")]
    loaded = load(*found)
    indexed = validate(loaded, widget(), subresource=subresource).evaluated
    looked_at: list[int] = []
    monkeypatch.setattr(BoundPolicies, "about", lambda self, *_: looked_at.append(len(self)) or iter(self))
    assert validate(loaded, widget(), subresource=subresource).evaluated == indexed
    assert looked_at == [len(groups) * len(resources)]
    assert 0 < len(indexed) < looked_at[0]


class _Renamed(MemoryContext):
    """A cluster that serves widgets as gizmos of another group and version, too."""

    def equivalents(self, resource: GroupVersionResource, subresource: str) -> tuple[Equivalent, ...]:
        del resource, subresource
        kind = GroupVersionKind("old.example", "v0", "Gizmo")
        return (Equivalent(GroupVersionResource("old.example", "v0", "gizmos"), kind),)


def _constraints(**rule: Any) -> dict[str, Any]:
    return {"resourceRules": [RULE | rule]}


OLD = {"apiGroups": ["old.example"], "apiVersions": ["v0"], "resources": ["gizmos"]}
GOLD, IRON = ({"matchLabels": {"tier": tier}} for tier in ("gold", "iron"))


@pytest.mark.parametrize("mutating", [False, True])
@pytest.mark.parametrize(
    ("constraints", "asked", "applies"),
    [
        (_constraints(), True, True),
        (_constraints(apiGroups=["*"], resources=["*/*"]), True, True),
        (_constraints(resources=["gadgets"]), False, False),
        (_constraints(apiGroups=["other.example"]), False, False),
        (_constraints(**OLD), True, True),
        (_constraints(**OLD) | {"matchPolicy": "Exact"}, True, False),
        (_constraints(operations=["DELETE"]), True, False),
        (_constraints(apiVersions=["v2"]), True, False),
        (_constraints(resourceNames=["other"]), True, False),
        (_constraints() | {"excludeResourceRules": [RULE]}, True, False),
        (_constraints() | {"excludeResourceRules": [RULE | OLD]}, True, False),
        (_constraints() | {"objectSelector": GOLD}, True, True),
        (_constraints() | {"objectSelector": IRON}, True, False),
        (_constraints() | {"namespaceSelector": IRON}, True, True),
        (_constraints() | {"namespaceSelector": GOLD}, True, False),
    ],
)
def test_a_request_that_no_policy_is_about_is_told_by_its_resource(
    constraints: dict[str, Any], asked: bool, applies: bool, mutating: bool
) -> None:
    if mutating and "DELETE" in constraints["resourceRules"][0]["operations"]:
        constraints = _constraints(operations=["UPDATE"])
    patch = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{spec: Object.spec{n: 1}}"}}
    does = {"mutations": [patch]} if mutating else {"validations": [{"expression": "false"}]}
    unrelated = policy("u", mutating=mutating, matchConstraints=_constraints(apiGroups=["third.example"]), **does)
    bound = [binding("p", mutating=mutating), unrelated, binding("u", mutating=mutating)]
    loaded = load(policy("p", mutating=mutating, matchConstraints=constraints, **does), *bound)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": {"tier": "iron"}}}
    context, given = _Renamed([namespace]), request(widget())
    may, act = (loaded.may_mutate, loaded.mutate) if mutating else (loaded.may_validate, loaded.validate)
    assert may(given, context) is asked
    found = act(given, context)
    assert (found.evaluated == ("p",)) is applies
    assert (found.object is not given.object) is (applies and mutating)
    assert found.allowed is not (applies and not mutating)


def test_policies_without_a_binding_are_about_nothing() -> None:
    loaded = load(policy("p", validations=[{"expression": "false"}]))
    assert not loaded.may_validate(request(widget()), MemoryContext())
