"""Kubernetes' own policies in the engine: their order among the gate's rules, and the answers of a webhook."""

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws import examples
from tests.vap.documents import binding, load, policy
from webhook import catalog, engine
from webhook.admission import patch, review
from webhook.admission.decision import Decision, GroupVersionKind, Request
from webhook.admission.errors import DeadlineExceeded
from webhook.admission.stamp import Stamp
from webhook.cluster import MemoryView
from webhook.engine import Native, Options, policyset
from webhook.engine.context import Offline
from webhook.policy import Profile
from webhook.vap import NativePolicies

LOADED = catalog.load()
VIEW = MemoryView()
MODEL = GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
POD = GroupVersionKind("", "v1", "Pod")


def options(*documents: dict[str, Any], **more: Any) -> Options:
    policies = load(*documents) if documents else NativePolicies()
    return Options(native=Native(policies, Offline(LOADED)), **more)


def validating(name: str, expression: str, action: str = "Deny", **spec: Any) -> list[dict[str, Any]]:
    validation = {"expression": expression, **spec.pop("validation", {})}
    return [policy(name, validations=[validation], **spec), binding(name, validationActions=[action])]


def mutating(name: str, expression: str, reinvocation: str = "Never", **spec: Any) -> list[dict[str, Any]]:
    mutations = [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}]
    spec = {"mutations": mutations, "reinvocationPolicy": reinvocation, **spec}
    return [policy(name, mutating=True, **spec), binding(name, mutating=True)]


def creation(kind: GroupVersionKind, resource: str, **content: Any) -> Request:
    api_version = f"{kind.group}/{kind.version}".lstrip("/")
    obj = {"apiVersion": api_version, "kind": kind.kind, "metadata": {"name": "x", "namespace": "team"}, **content}
    return Request(kind, resource, "CREATE", obj, uid="1", name="x", namespace="team")


def a_model(**spec: Any) -> Request:
    return creation(MODEL, "models", spec={"source": "pvc://c/m.gguf", **spec})


def mutate(request: Request, how: Options) -> Decision:
    return engine.mutate(request, LOADED, VIEW, how)


def validate(request: Request, how: Options) -> Decision:
    return engine.validate(request, LOADED, VIEW, how)


def status(request: Request, how: Options) -> dict[str, Any]:
    answer = review.encode("validate", "admission.k8s.io/v1", request, validate(request, how))
    found: dict[str, Any] = json.loads(answer)["response"]["status"]
    return found


GPU = "Object{spec: Object.spec{hardware: Object.spec.hardware{gpu: Object.spec.hardware.gpu{%s}}}}"


def test_our_defaults_are_made_of_what_policies_have_mutated_and_the_stamp_is_of_the_outcome() -> None:
    amd = mutating("amd", GPU % "vendor: 'amd'")
    decision = mutate(a_model(hardware={"gpu": {"count": 1}}), options(*amd))
    assert decision.object is not None
    assert decision.object["spec"]["hardware"]["gpu"]["vendor"] == "amd"
    assert decision.object["spec"]["hardware"]["gpu"]["resourceName"] == "amd.com/gpu"
    stamp = Stamp.read(decision.object)
    assert stamp is not None
    assert stamp.matches(decision.object)


FORMAT = "Object{metadata: Object.metadata{labels: {'format': has(object.spec.format) ? object.spec.format : 'none'}}}"


@pytest.mark.parametrize(("reinvocation", "seen"), [("Never", "none"), ("IfNeeded", "gguf")])
def test_a_policy_that_wants_it_sees_what_we_have_filled_in(reinvocation: str, seen: str) -> None:
    decision = mutate(a_model(), options(*mutating("format", FORMAT, reinvocation)))
    assert decision.object is not None
    assert decision.object["metadata"]["labels"] == {"format": seen}


def test_what_a_policy_makes_of_our_defaults_is_defaulted_and_stamped_again() -> None:
    late = GPU % "vendor: has(object.spec.hardware.gpu.resourceName) ? 'amd' : 'nvidia'"
    named = a_model(hardware={"gpu": {"count": 1, "tolerationKey": "a/b"}})
    decision = mutate(named, options(*mutating("late", late, "IfNeeded")))
    assert decision.object is not None
    gpu = decision.object["spec"]["hardware"]["gpu"]
    assert gpu == {"count": 1, "vendor": "amd", "resourceName": "amd.com/gpu", "tolerationKey": "a/b"}
    stamp = Stamp.read(decision.object)
    assert stamp is not None
    assert stamp.matches(decision.object)
    assert [(item.path, item.value) for item in decision.defaults] == [
        ("spec.hardware.gpu.resourceName", "amd.com/gpu")
    ]


def test_what_we_filled_in_the_first_time_is_told_though_the_second_had_nothing_to_add() -> None:
    label = "Object{metadata: Object.metadata{labels: {'gpu': has(object.spec.hardware.gpu.resourceName) ? 'y' : 'n'}}}"
    decision = mutate(a_model(hardware={"gpu": {"count": 1}}), options(*mutating("l", label, "IfNeeded")))
    assert decision.object is not None
    assert decision.object["metadata"]["labels"] == {"gpu": "y"}
    assert "spec.hardware.gpu.resourceName=LK102" in decision.audit["defaults"]


def test_one_answer_has_all_failures_of_the_schema_the_rules_and_the_policies() -> None:
    denied = [*validating("a", "object.spec.format == 'none'"), *validating("b", "false", "Warn")]
    decision = validate(a_model(format="onnx"), options(*denied))
    assert [cause.label for cause in decision.causes] == ["schema", "policy"]
    assert [warning.policy for warning in decision.warnings] == ["b"]
    assert decision.audit["codes"] == "schema"
    found = status(a_model(format="onnx"), options(*denied))
    assert (found["reason"], found["code"]) == ("Invalid", 422)
    assert found["message"].startswith('Model.inference.llmkube.dev "x" is invalid: [spec.format: Unsupported value: ')
    assert found["message"].endswith(
        ", ValidatingAdmissionPolicy 'a' with binding 'a' denied request: failed expression: "
        "object.spec.format == 'none']"
    )


@pytest.mark.parametrize(("reason", "code"), [("Invalid", 422), ("Forbidden", 403), ("RequestEntityTooLarge", 413)])
def test_what_only_policies_refuse_is_answered_as_the_api_server_answers(reason: str, code: int) -> None:
    request = creation(DEPLOYMENT, "deployments", spec={"replicas": 9})
    how = options(*validating("few", "object.spec.replicas < 5", validation={"message": "too many", "reason": reason}))
    text = "ValidatingAdmissionPolicy 'few' with binding 'few' denied request: too many"
    assert status(request, how) == {
        "metadata": {},
        "status": "Failure",
        "message": f'deployments.apps "x" is forbidden: {text}',
        "reason": reason,
        "details": {
            "name": "x",
            "group": "apps",
            "kind": "deployments",
            "causes": [{"reason": "", "message": text, "field": ""}],
        },
        "code": code,
    }


def test_several_policies_refuse_together() -> None:
    how = options(*validating("a", "false"), *validating("b", "false"))
    message = status(creation(POD, "pods"), how)["message"]
    assert message.startswith("pods \"x\" is forbidden: [ValidatingAdmissionPolicy 'a' with")
    assert "ValidatingAdmissionPolicy 'b' with" in message


def test_a_mutation_that_fails_refuses_as_the_api_server_does_and_ignored_it_does_nothing() -> None:
    wrong = "Object{metadata: Object.metadata{labels: {'a': object.spec.nothing}}}"
    decision = mutate(a_model(), options(*mutating("m", wrong)))
    assert not decision.allowed
    answer = json.loads(review.encode("mutate", "admission.k8s.io/v1", a_model(), decision))["response"]
    assert "patch" not in answer
    assert answer["status"]["message"].startswith("policy 'm' with binding 'm' denied request: expression")
    assert (answer["status"]["reason"], answer["status"]["code"]) == ("Invalid", 403)
    ignored = mutate(a_model(), options(*mutating("m", wrong, failurePolicy="Ignore")))
    assert ignored.object == mutate(a_model(), Options()).object


def test_the_audit_profile_refuses_nothing() -> None:
    wrong = "Object{metadata: Object.metadata{labels: {'a': object.spec.nothing}}}"
    how = options(*validating("v", "false"), *mutating("m", wrong), profile=Profile.AUDIT)
    mutation, validation = mutate(a_model(), how), validate(a_model(), how)
    assert mutation.allowed
    assert validation.allowed
    assert mutation.object == mutate(a_model(), Options(profile=Profile.AUDIT)).object
    for decision, name in ((mutation, "m"), (validation, "v")):
        (warning,) = [each for each in decision.warnings if each.policy]
        assert warning.policy == name
        assert str(warning).startswith("would be refused: ")


STATUS = {"resourceRules": [
    {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": ["models/status"]},
    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CONNECT"], "resources": ["pods/exec"]},
    {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["deployments/scale"]},
    {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["DELETE"], "resources": ["models"]},
]}  # fmt: skip


def a_review(kind: dict[str, str], resource: dict[str, str], operation: str, **more: Any) -> Request:
    request = {"uid": "1", "kind": kind, "resource": resource, "operation": operation, "name": "x", **more}
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return review.decode(orjson.dumps(body))[1]


def gvk(group: str, version: str, kind: str) -> dict[str, str]:
    return {"group": group, "version": version, "kind": kind}


def gvr(group: str, version: str, resource: str) -> dict[str, str]:
    return {"group": group, "version": version, "resource": resource}


OBJECT = a_model().object
SCALE = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "x"}, "spec": {"replicas": 9}}
DEPLOYMENTS, MODELS = gvr("apps", "v1", "deployments"), gvr(MODEL.group, MODEL.version, "models")
OURS = gvk(MODEL.group, MODEL.version, "Model")


@pytest.mark.parametrize(
    "request_",
    [
        a_review(OURS, MODELS, "DELETE", oldObject=OBJECT),
        a_review(OURS, MODELS, "UPDATE", subResource="status", object=OBJECT, oldObject=OBJECT),
        a_review(gvk("", "v1", "PodExecOptions"), gvr("", "v1", "pods"), "CONNECT", subResource="exec", object={}),
        a_review(
            gvk("autoscaling", "v1", "Scale"), DEPLOYMENTS, "UPDATE", subResource="scale", object=SCALE, oldObject=SCALE
        ),
    ],
    ids=["delete", "status", "exec", "scale"],
)
def test_policies_see_what_our_rules_do_not_look_at(request_: Request) -> None:
    how = options(*validating("v", "request.operation != request.operation", matchConstraints=STATUS))
    assert [cause.label for cause in validate(request_, how).causes] == ["policy"]
    assert validate(request_, options(*validating("v", "true", matchConstraints=STATUS))).allowed
    assert validate(request_, Options()) == Decision(request_.object)


def test_an_object_that_is_being_deleted_is_judged_as_in_a_cluster() -> None:
    old = {**a_model().object, "metadata": {"name": "x", "deletionTimestamp": "2026-01-01T00:00:00Z"}}  # type: ignore[dict-item]
    released = {**old, "metadata": {"name": "x"}}
    request = replace(a_model(), operation="UPDATE", object=released, old_object=old)
    assert validate(request, options()).allowed
    assert [cause.label for cause in validate(request, options(*validating("v", "false"))).causes] == ["policy"]


def test_without_policies_the_answers_are_the_same_to_the_byte() -> None:
    for request in (a_model(), a_model(format="onnx"), creation(POD, "pods")):
        assert mutate(request, options()) == mutate(request, Options())
        assert validate(request, options()) == validate(request, Options())


def test_a_policy_says_nothing_of_an_object_that_is_only_tolerated() -> None:
    """The stamp says what our rules think of the whole object; policies are asked about the request."""
    old = a_model().object
    request = replace(a_model(), operation="UPDATE", old_object=old)
    creations = {"resourceRules": [
        {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"]}
    ]}  # fmt: skip
    how = options(*validating("v", "false", matchConstraints=creations))
    assert mutate(request, how) == mutate(request, Options())
    assert validate(request, how).allowed


def test_the_patch_has_what_policies_and_we_have_changed() -> None:
    request = creation(POD, "pods", spec={"containers": [{"name": "c", "image": "i"}]})
    decision = mutate(request, options(*mutating("l", "Object{metadata: Object.metadata{labels: {'a': 'b'}}}")))
    answer = json.loads(review.encode("mutate", "admission.k8s.io/v1", request, decision))["response"]
    operations = json.loads(base64.b64decode(answer["patch"]))
    assert patch.apply(request.object, operations) == decision.object
    assert operations == [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]


def test_audit_annotations_have_keys_that_a_webhook_may_use() -> None:
    long = "a" * 60
    audited = policy("team", auditAnnotations=[{"key": "who", "valueExpression": "request.namespace"}])
    other = policy(long, auditAnnotations=[{"key": "who", "valueExpression": "'x'"}])
    failing = validating("v", "false", "Audit")
    documents = [audited, binding("team", validationActions=["Audit"]), other]
    how = options(*documents, binding(long, validationActions=["Audit"]), *failing)
    audit = validate(creation(POD, "pods"), how).audit
    assert audit["team_who"] == "team"
    assert json.loads(audit["validation-failure"])[0]["policy"] == "v"
    assert max(map(len, audit)) <= 63
    assert len(audit) == 3


@pytest.mark.parametrize("patience", range(3))
def test_the_deadline_is_kept_before_policies_before_each_and_within(patience: int) -> None:
    left = [*["admission policies", "the end of admission policies"][:patience], "nothing"]

    def checkpoint(step: str) -> None:
        if step in {"admission policies", "the end of admission policies"} and left.pop(0) == "nothing":
            raise DeadlineExceeded(f"no time left before {step}")

    numbers = ", ".join(map(str, range(200)))
    loop = "variables.all.all(a, variables.all.all(b, variables.all.all(c, variables.all.all(d, d < 0 || d >= 0))))"
    long = validating("v", loop, variables=[{"name": "all", "expression": f"[{numbers}]"}])
    with pytest.raises(DeadlineExceeded, match="before admission policies" if patience == 0 else "before the end of"):
        validate(creation(POD, "pods"), options(*long, checkpoint=checkpoint))
    assert left == []


def test_a_namespace_of_which_nothing_is_known_is_what_the_failure_policy_says() -> None:
    gold = {"namespaceSelector": {"matchLabels": {"tier": "gold"}}, "resourceRules": STATUS["resourceRules"][:0]}
    rules = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    gold["resourceRules"] = [rules]
    fails = validate(creation(POD, "pods"), options(*validating("v", "true", matchConstraints=gold)))
    assert 'failed to configure policy: namespaces "team" not found' in str(fails.causes[0])
    ignored = validating("v", "false", matchConstraints=gold, failurePolicy="Ignore")
    assert validate(creation(POD, "pods"), options(*ignored)).allowed
    name = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["team"]}
    by_name = {"namespaceSelector": {"matchExpressions": [name]}, "resourceRules": [rules]}
    assert validate(creation(POD, "pods"), options(*validating("v", "false", matchConstraints=by_name))).allowed


REAL = policyset.load(Path(__file__).parents[1] / "e2e" / "policies.yaml")
words = st.sampled_from(["", "reads", "probe", "fail", "mutate", "tier", "template", "containers", "image", "hardware"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=examples(500))
@given(
    kind=st.sampled_from(
        [(GroupVersionKind("", "v1", "ConfigMap"), "configmaps"), (DEPLOYMENT, "deployments"), (MODEL, "models")]
    ),
    labels=json_values | st.dictionaries(words, words),
    content=json_values,
    operation=st.sampled_from(["CREATE", "UPDATE", "DELETE"]),
    subresource=st.sampled_from(["", "scale", "status"]),
)
def test_policies_answer_whatever_they_are_asked(
    kind: tuple[GroupVersionKind, str], labels: Any, content: Any, operation: str, subresource: str
) -> None:
    request = creation(*kind, spec=content, data=content)
    obj = {**(request.object or {}), "metadata": {"name": "x", "namespace": "team", "labels": labels}}
    new, old = None if operation == "DELETE" else obj, None if operation == "CREATE" else obj
    request = replace(request, operation=operation, object=new, old_object=old, subresource=subresource)
    how = Options(native=Native(REAL.policies, REAL.over(LOADED)))
    mutation = mutate(request, how)
    validation = validate(replace(request, object=mutation.object), how)
    for call, decision in (("mutate", mutation), ("validate", validation)):
        assert review.encode(call, "admission.k8s.io/v1", request, decision)  # type: ignore[arg-type]
