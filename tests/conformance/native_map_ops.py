"""Operations on MutatingAdmissionPolicy: single mutations, whole policies, several of them with reinvocation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.conformance.cel_describe import describe
from tests.conformance.compare import differs, first
from tests.conformance.deployment import Deployment
from tests.conformance.native_inputs import kind_of, resource_of
from webhook.cel import LATEST
from webhook.cel.errors import CelError, CompileFailure
from webhook.cel.library.authorizer import Decision, Question
from webhook.cel.types import object_of
from webhook.cel.values.value import NONE, Opt
from webhook.vap.attributes import Attributes
from webhook.vap.compiled import Compilation, Invocation
from webhook.vap.context import Equivalent, MemoryContext
from webhook.vap.dispatch import Binding, BoundPolicies, BoundPolicy
from webhook.vap.environments import admission_environment
from webhook.vap.expressions import VariableSet, compile_expression
from webhook.vap.models import MutatingBinding, MutatingPolicy
from webhook.vap.mutating.applied import native
from webhook.vap.mutating.dispatch import mutate
from webhook.vap.mutating.evaluation import MutationError
from webhook.vap.mutating.mutator import Mutate, apply_configuration, compile_mutator, json_patch
from webhook.vap.mutating.objects import APPLY_CONFIGURATION, JSON_PATCHES, ObjectValue, PatchValue, make, mismatches

Case = dict[str, Any]
V1 = "admissionregistration.k8s.io/v1"


class _Cluster(MemoryContext):
    """Everybody may do anything."""

    def decide(self, user: Mapping[str, Any], question: Question) -> Decision:
        del user, question
        return Decision(True)


def _invocation(given: Case, deployment: Deployment) -> Invocation:
    kind, resource = kind_of(given["kind"]), resource_of(given["resource"])
    version = f"{kind.group}/{kind.version}"
    objects = [
        None if obj is None else {"apiVersion": version, "kind": kind.kind, **obj}
        for obj in (given["obj"], given.get("oldObj"))
    ]
    operation = "CREATE" if objects[1] is None else "UPDATE"
    metadata = given["obj"]["metadata"]
    names = (metadata.get("name", ""), metadata.get("namespace", ""))
    attributes = Attributes(kind, resource, operation, objects[0], objects[1], *names)
    context = _Cluster(given["params"] if isinstance(given.get("params"), list) else (), {kind: deployment})
    params = given.get("params") if isinstance(given.get("params"), dict) else None
    return Invocation(attributes, Equivalent(resource, kind), context, params, given.get("namespaceObject"))


def _same(case: Case, obj: Case | None) -> str | None:
    """The object but for its type, which the tables sometimes leave out."""
    wanted, got = (
        {key: value for key, value in (one or {}).items() if key not in {"apiVersion", "kind"}}
        for one in (case["actual"].get("obj"), obj)
    )
    return first(differs("error", case["actual"].get("error"), None), differs("object", wanted, got))


def _single(mutate_object: Mutate, expect: Any) -> Any:
    def run(case: Case) -> str | None:
        environment = admission_environment(LATEST, authorizer=True, patches=True)
        expression = compile_expression(environment, case["in"]["expr"], (expect,))
        try:
            obj = mutate_object(expression, VariableSet(), _invocation(case["in"], Deployment()))
        except MutationError as error:
            return differs("error", case["actual"].get("error"), str(error))
        return _same(case, obj)

    return run


def _policy(given: Case) -> MutatingPolicy:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    spec = {"matchConstraints": {"resourceRules": [rule]}, **given["spec"]}
    document = {"apiVersion": V1, "kind": "MutatingAdmissionPolicy", **given, "spec": spec}
    return MutatingPolicy.model_validate(document)


def map_policy(case: Case) -> str | None:
    given = case["in"]
    document = _policy(given["policy"])
    mutator = compile_mutator(document, Compilation(document, LATEST))
    invocation = _invocation(given, Deployment())
    try:
        for mutate_object, expression in mutator.mutations:
            invocation = invocation.on(mutate_object(expression, mutator.compiled.variables, invocation))
    except MutationError as error:
        return differs("error", case["actual"].get("error"), str(error))
    return _same(case, invocation.attributes.object)


def map_dispatch(case: Case) -> str | None:
    given = case["in"]
    invocation = _invocation(given, Deployment("RollingUpdate"))
    hooks = []
    for hook in given["policyHooks"]:
        document = _policy(hook["policy"])
        compilation = Compilation(document, LATEST)
        bindings = [
            Binding.of(
                MutatingBinding.model_validate({"apiVersion": V1, "kind": "MutatingAdmissionPolicyBinding"} | one)
            )
            for one in hook["bindings"]
        ]
        hooks.append(BoundPolicy(compile_mutator(document, compilation), tuple(bindings)))
    response = mutate(BoundPolicies(hooks), invocation.attributes, invocation.context)
    if response.denials:
        return differs("error", case["actual"].get("error"), response.denials[0].text)
    return _same(case, response.object)


# cel/mutation


def mutation_eval(case: Case) -> str | None:
    expect = case["expect"]
    environment = admission_environment(LATEST, patches=True)
    try:
        value = environment.compile(case["in"]["expr"]).evaluate({})
    except CompileFailure as failure:
        return differs("errors", case["actual"].get("compileErrors"), [issue.message for issue in failure.issues])
    except CelError as error:
        return f"fails: {error}"
    if "compileErrors" in case["actual"]:
        return f"compiles, wanted {case['actual']}"
    if "native" in expect:
        return differs("native", expect["native"], _native(value))
    got = {"type": value.cel_type.name, "value": f"map[{value or ''}]"} if isinstance(value, ObjectValue) else None
    return differs("value", expect["value"], got or describe(value))


def _native(value: Any) -> Any:
    if not isinstance(value, PatchValue):
        return native(value)
    texts = {name: value.get(name.lower(), "") for name in ("From", "Op", "Path")}
    return {**texts, "Val": describe(value["value"]) if "value" in value else None}


def typenames(case: Case) -> str | None:
    made = _made(case["in"]["object"], case["name"].startswith("invalid"))
    return differs("error", case["actual"].get("error"), "\n".join(mismatches(made)) or None)


def _made(given: Any, invalid: bool, path: str = "") -> Any:
    """The object of a table. The record has lost the type names of elements, which upstream's test has so."""
    if "typeName" in given:
        name = given["typeName"]
        return make(
            object_of(name, {}), {key: _made(item, invalid, f"{name}.{key}") for key, item in given["fields"].items()}
        )
    if "objectType" in given:
        name = f"{path.rpartition('.')[0]}.invalid" if invalid else path
        fields = {key: _made(item, invalid, f"{path}.{key}") for key, item in (given["fields"] or {}).items()}
        return make(object_of(name, {}), fields)
    if given.get("type") == "baselist":
        return [_made(item, invalid, path) for item in given["value"]]
    if given.get("type") == "basemap":
        return {_key(key): _made(item, invalid, path) for key, item in given["value"].items()}
    if given.get("type") == "optional":
        return NONE if given["value"] is None else Opt.of(given["value"])
    return given["value"] if "type" in given else {_key(key): item for key, item in given.items()}


def _key(text: str) -> Any:
    """A key of a map: the record wraps a key of another type than string, or has only its digits."""
    if text.startswith("{"):
        return json.loads(text)["value"]
    return int(text) if text.isdigit() else text


def mutation_object(case: Case) -> str | None:
    fields = {name: _made(item, invalid=False) for name, item in case["in"]["fields"].items()}
    try:
        got = native(make(APPLY_CONFIGURATION, fields))
    except CelError as error:
        return differs("error", case["actual"].get("error"), error.message)
    return differs("native", case["expect"].get("native"), got)


OPS = {
    "map-json-patch": _single(json_patch, JSON_PATCHES),
    "map-apply-configuration": _single(apply_configuration, APPLY_CONFIGURATION),
    "map-policy": map_policy,
    "map-dispatch": map_dispatch,
    "mutation-eval": mutation_eval,
    "mutation-typenames": typenames,
    "mutation-object": mutation_object,
}
