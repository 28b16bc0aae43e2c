"""Sets of admission policies for all objects, cheap and expensive: as generated functions, or by the interpreter."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from webhook.engine import policyset
from webhook.engine.policyset import PolicySet
from webhook.vap import NativePolicies
from webhook.vap.mutating.mutator import Mutator
from webhook.vap.validating.validator import Validator

__all__ = ["policy_sets"]

API: Final = "admissionregistration.k8s.io/v1"
RULE: Final = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
LIST: Final = "object.metadata.?annotations[?'list'].orValue('').split(',')"

CHEAP: Final = (
    "object.metadata.name != 'm'",
    "!has(object.spec.source) || object.spec.source.startsWith('https://')",
    "!has(object.spec.replicas) || object.spec.replicas <= 5",
    "object.metadata.?labels.orValue({}).all(k, k.matches('^[a-z]+$'))",
    "oldObject == null || object.spec == oldObject.spec",
    "request.userInfo.username != 'bob' || request.operation == 'CREATE'",
    "object.spec.files.size() > 0",
)
EXPENSIVE: Final = (
    f"{LIST}.all(x, {LIST}.exists_one(y, y == x))",
    f"{LIST}.all(x, {LIST}.exists(y, {LIST}.exists(z, x + y == z)) || x != 'b')",
    "variables.items.map(x, variables.items.filter(y, y != x).join('-')).join('+').size() < 5000",
)


def policy_sets(*, exactly: bool = False) -> list[PolicySet]:
    """The sets, in the same order each time."""
    return [_loaded(documents, exactly=exactly) for documents in _sets()]


def _sets() -> Iterator[list[dict[str, Any]]]:
    for index, expression in enumerate((*CHEAP, *EXPENSIVE)):
        yield _validating(f"v{index}", [expression])
    yield _validating("all", [*CHEAP], actions=("Warn", "Audit"))
    yield _validating("first", CHEAP[:2]) + _validating("second", EXPENSIVE[:1], actions=("Warn",))
    yield _validating("some", CHEAP[:3], matchConditions=[{"name": "c", "expression": "object.kind.size() > 5"}])
    yield _validating("slow", ["true"], matchConditions=[{"name": "c", "expression": EXPENSIVE[0]}])
    yield _mutating("label", "Object{metadata: Object.metadata{labels: {'by': 'policy'}}}")
    yield _mutating("counted", "Object{metadata: Object.metadata{annotations: {'n': string(variables.items.size())}}}")
    slow = f"{LIST}.map(x, {LIST}.map(y, x + y).join('')).join('').size()"
    yield _mutating("slow", f"Object{{metadata: Object.metadata{{annotations: {{'n': string({slow})}}}}}}")


def _validating(name: str, expressions: Iterable[str], actions: Iterable[str] = ("Deny",), **spec: Any) -> Any:
    validations = [{"expression": each, "messageExpression": f"'{name} of ' + object.kind"} for each in expressions]
    policy = _document("ValidatingAdmissionPolicy", name, validations=validations, **_matched(), **spec)
    binding = {"policyName": name, "validationActions": [*actions]}
    return [policy, _document("ValidatingAdmissionPolicyBinding", name, **binding)]


def _mutating(name: str, expression: str) -> list[dict[str, Any]]:
    mutations = [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}]
    spec = {**_matched(), "mutations": mutations, "reinvocationPolicy": "IfNeeded", "failurePolicy": "Ignore"}
    policy = _document("MutatingAdmissionPolicy", name, **spec)
    return [policy, _document("MutatingAdmissionPolicyBinding", name, policyName=name)]


def _matched() -> dict[str, Any]:
    return {"matchConstraints": {"resourceRules": [RULE]}, "variables": [{"name": "items", "expression": LIST}]}


def _document(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _loaded(documents: Iterable[dict[str, Any]], *, exactly: bool) -> PolicySet:
    with tempfile.TemporaryDirectory() as name:
        for index, document in enumerate(documents):
            (Path(name) / f"{index}.json").write_text(json.dumps(document))
        found = policyset.load(Path(name))
    if exactly:
        _make_exact(found.policies)
    return found


def _make_exact(policies: NativePolicies) -> None:
    """Have the interpreter evaluate every expression."""
    loaded: list[Validator | Mutator] = [each.policy for each in policies.validators]
    loaded += [each.policy for each in policies.mutators]
    for policy in loaded:
        for expression in (*policy.compiled.variables.compiled.values(), *policy.expressions()):
            if expression.program is not None:
                expression.program.evaluate = expression.program.evaluate_exactly
