"""Type checks of a validating policy against the kinds that it names (``validating/typechecking.go``).

The findings are warnings, as in ``status.typeChecking``: an object may have any type at run time, so a policy with
findings loads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from webhook.admission import GroupVersionKind, group_version
from webhook.cel import Authorizer, CompileFailure, Environment
from webhook.cel.types import DYN, Type
from webhook.vap.attributes import GroupVersionResource
from webhook.vap.context import References
from webhook.vap.environments import NAMESPACE, REQUEST, with_references, with_variables
from webhook.vap.models import Rule, ValidatingPolicy, Variable

Schema = Mapping[str, Any]
KindsFor = Callable[[GroupVersionResource], Sequence[GroupVersionKind]]
SchemaOf = Callable[[GroupVersionKind], Schema | None]

_MAX_KINDS: Final = 10
"""Check at most this many kinds for one rule (``maxTypesToCheck``)."""


@dataclass(frozen=True, slots=True)
class TypeWarning:
    """``field`` is a path in the policy, ``text`` the API server's text."""

    field: str
    text: str


def type_warnings(
    policy: ValidatingPolicy, kinds_for: KindsFor, schema_of: SchemaOf, references: References | None = None
) -> list[TypeWarning]:
    """Check validations and their messages against every kind whose schema is known.

    Args:
        policy: the document.
        kinds_for: the kinds of a resource.
        schema_of: the OpenAPI schema of a kind; None for an unknown kind.
        references: the objects that the expressions read as ``refs``.
    """
    kinds = [(kind, schema_of(kind)) for kind in kinds_to_check(policy.spec.matchConstraints.resourceRules, kinds_for)]
    environments = [
        (kind, _environment(schema, policy, schema_of, references), policy.spec.variables)
        for kind, schema in kinds
        if schema is not None
    ]
    found = []
    for index, validation in enumerate(policy.spec.validations):
        for name, source in (
            ("expression", validation.expression),
            ("messageExpression", validation.messageExpression),
        ):
            texts = [text for checked in environments if source and (text := _check(*checked, source))]
            if texts:
                found.append(TypeWarning(f"spec.validations[{index}].{name}", "\n".join(texts)))
    return found


def _environment(
    schema: Schema, policy: ValidatingPolicy, schema_of: SchemaOf, references: References | None
) -> Environment:
    variables: dict[str, Type] = {
        "object": DYN,
        "oldObject": DYN,
        "request": REQUEST,
        "namespaceObject": NAMESPACE,
        "authorizer": Authorizer.cel_type,
    }
    environment = Environment(variables=variables)
    if references is not None:
        environment = with_references(environment, references)
    for name in ("object", "oldObject"):
        environment = environment.with_schema(name, schema, is_root=True, type_name="object")
    params = policy.spec.paramKind
    if params is None:
        return environment
    of_params = schema_of(GroupVersionKind(*group_version(params.apiVersion), params.kind))
    if of_params is None:
        return environment.extend({"params": DYN})
    return environment.with_schema("params", of_params, is_root=True, type_name="params")


def _check(kind: GroupVersionKind, environment: Environment, variables: Sequence[Variable], source: str) -> str:
    types: dict[str, Type] = {}
    environment = with_variables(environment, types)
    for variable in variables:
        try:
            types[variable.name] = environment.check(variable.expression).result
        except CompileFailure:
            types[variable.name] = DYN
    try:
        environment.check(source)
    except CompileFailure as failure:
        return f"{kind.api_version}, Kind={kind.kind}: {failure}\n"
    return ""


def kinds_to_check(rules: Iterable[Rule], kinds_for: KindsFor) -> list[GroupVersionKind]:
    """The kinds of the rules without wildcards."""
    found: set[GroupVersionKind] = set()
    for rule in rules:
        for count, kind in enumerate(_kinds_of(rule, kinds_for), 1):
            found.add(kind)
            if count == _MAX_KINDS:
                return sorted(found)
    return sorted(found)


def _kinds_of(rule: Rule, kinds_for: KindsFor) -> Iterator[GroupVersionKind]:
    if any("*" in text for text in (*rule.apiGroups, *rule.apiVersions)):
        return
    resources = [name for name in rule.resources if "*" not in name and "/" not in name]
    for names in product(*map(sorted, (rule.apiGroups, rule.apiVersions, resources))):
        yield from kinds_for(GroupVersionResource(*names))
