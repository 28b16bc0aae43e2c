"""Checks the schema of one version of a CRD."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from webhook.schema.crd.defaults import validate_defaults
from webhook.schema.crd.internal import SCHEMA_FIELDS, schema_struct
from webhook.schema.crd.lists import has_non_atomic_set, map_key_errors
from webhook.schema.crd.rules import RuleContext, SchemaOptions, total_cost_errors, unstructurable
from webhook.schema.crd.schema import TYPES, openapi_errors
from webhook.schema.crd.shape import schemas_below
from webhook.schema.crd.structure import validate_structure
from webhook.schema.default import prune_defaults
from webhook.schema.fielderror import FieldError, forbidden, invalid
from webhook.schema.node import build

Raw = Mapping[str, Any]

_WITH_STATUS = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern "
    "MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields "
    "XValidations"
)
"""The keywords that are allowed at the root of a schema with a status subresource, in the order of the error."""


def validation_errors(validation: Raw | None, path: str, options: SchemaOptions, *, status: bool) -> list[FieldError]:
    """All errors of ``schema`` (or ``spec.validation``). ``status``: there is a status subresource."""
    raw = (validation or {}).get("openAPIV3Schema")
    if raw is None:
        return []
    own = f"{path}.openAPIV3Schema"
    errors = _status_errors(raw, own) if status else []
    if raw.get("nullable"):
        errors.append(forbidden(f"{own}.nullable", "nullable cannot be true at the root"))
    unreadable = unstructurable(raw) if options.structural else None
    context = None
    if options.structural and unreadable is None:
        structure = _structure_errors(raw, own, pruned=options.pruned_defaults)
        errors += structure
        context = None if structure else RuleContext(raw)
    errors += openapi_errors(raw, own, options, context)
    if not errors and unreadable is not None:
        errors.append(invalid(own, "", unreadable))
    return errors + (total_cost_errors(context.costs, own) if context is not None else [])


def _structure_errors(raw: Raw, path: str, *, pruned: bool) -> list[FieldError]:
    node = build(raw)
    return validate_structure(node, path) or validate_defaults(node, path, pruned=pruned)


def _status_errors(raw: Raw, path: str) -> list[FieldError]:
    """At most one error: the first keyword (in the order of the Go struct) that is not allowed at the root."""
    allowed = _WITH_STATUS.split()
    for name, (key, zero) in SCHEMA_FIELDS.items():
        value = raw.get(key)
        if value is None or (zero is not None and value == zero):
            continue
        if name == "Type" and value != "object":
            why = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
            return [invalid(f"{path}.type", value, why)]
        if name not in allowed:
            why = "fields are allowed at the root of the schema if the status subresource is enabled"
            return [invalid(path, schema_struct(raw), f"only [{_WITH_STATUS}] {why}")]
    return []


def schemas_of(spec: Raw) -> Iterator[Raw]:
    """Every schema of a spec."""
    for holder in (spec.get("validation"), *(version.get("schema") for version in spec.get("versions") or ())):
        if holder is not None and holder.get("openAPIV3Schema") is not None:
            yield holder["openAPIV3Schema"]


def has_keyword(raw: Any, test: Callable[[Raw], bool]) -> bool:
    """Whether any schema at or below ``raw`` passes the test."""
    if not isinstance(raw, Mapping):
        return False
    return test(raw) or any(has_keyword(child, test) for child, _ in schemas_below(raw))


def options_for_update(old: Raw) -> SchemaOptions:
    """The checks of an update: a fault that the old CRD already has stays allowed."""
    rules: set[str] = set()
    messages: set[str] = set()

    def collect(raw: Raw) -> bool:
        for rule in raw.get("x-kubernetes-validations") or ():
            rules.add(rule.get("rule") or "")
            messages.add(rule.get("messageExpression") or "")
        return False

    schemas = list(schemas_of(old))
    for raw in schemas:
        has_keyword(raw, collect)
    return SchemaOptions(
        valid_types=not any(has_keyword(raw, _has_unknown_type) for raw in schemas),
        structural=not any(map(_is_non_structural, schemas)),
        pruned_defaults=not any(map(_has_unpruned_default, schemas)),
        atomic_sets=not any(has_keyword(raw, has_non_atomic_set) for raw in schemas),
        map_keys=not any(has_keyword(raw, lambda node: bool(map_key_errors(node, ""))) for raw in schemas),
        known_rules=frozenset(rules),
        known_messages=frozenset(messages - {""}),
    )


def _has_unknown_type(raw: Raw) -> bool:
    return bool(raw.get("type")) and raw["type"] not in TYPES


def _is_non_structural(raw: Raw) -> bool:
    return unstructurable(raw) is not None or bool(validate_structure(build(raw), ""))


def _has_unpruned_default(raw: Raw) -> bool:
    if _is_non_structural(raw):
        return False
    node = build(raw)
    return prune_defaults(node) is not node


def unchanged(options: SchemaOptions) -> SchemaOptions:
    """The checks of a version whose schema is unchanged: the cost of its rules is not checked."""
    return dataclasses.replace(options, rule_costs=False)
