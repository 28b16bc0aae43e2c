"""The checks of documents that have the right shape (``admissionregistration/validation``).

Expressions and selectors are not checked here: the modules that compile them report their errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from webhook.golang.names import dns_1035_label, dns_1123_subdomain, label_key, path_segment
from webhook.schema import MetadataError, decode_metadata, validate_metadata
from webhook.vap.compiled import At
from webhook.vap.models import (
    MatchResources,
    MutatingBinding,
    MutatingPolicy,
    ParamKind,
    ParamRef,
    Rule,
    ValidatingBinding,
    ValidatingPolicy,
)

SpecError = tuple[At, str]
_VALUE_EXPRESSION_LIMIT: Final = 5 * 1024
"""Bytes of an audit annotation's expression (``maxAuditAnnotationValueExpressionLength``)."""
_NOT_ALONE: Final = "'*' must be the only item"


def metadata_errors(metadata: Mapping[str, Any]) -> Iterator[SpecError]:
    """The errors of the metadata. Policies are cluster-scoped, so a namespace is ignored."""
    try:
        decoded, unknown = decode_metadata({key: item for key, item in metadata.items() if key != "namespace"})
    except MetadataError as error:
        yield ("metadata",), str(error)
        return
    for name in unknown:
        yield ("metadata", name), "unknown field"
    for wrong in validate_metadata(decoded, namespaced=False):
        yield tuple(wrong.field.split(".")), wrong.detail


def spec_errors(
    document: ValidatingPolicy | MutatingPolicy | ValidatingBinding | MutatingBinding,
) -> Iterator[SpecError]:
    """The errors of the ``spec``: path and sentence."""
    mutating = isinstance(document, (MutatingPolicy, MutatingBinding))
    if isinstance(document, (ValidatingBinding, MutatingBinding)):
        spec = document.spec
        yield from _all(("spec", "policyName"), dns_1123_subdomain(spec.policyName))
        if spec.paramRef is not None:
            yield from _of_param_ref(spec.paramRef)
        if spec.matchResources is not None:
            yield from _of_resources(("spec", "matchResources"), spec.matchResources, mutating=mutating)
    else:
        yield from _of_resources(("spec", "matchConstraints"), document.spec.matchConstraints, mutating=mutating)
        yield from _of_policy(document)


def _of_policy(document: ValidatingPolicy | MutatingPolicy) -> Iterator[SpecError]:
    spec = document.spec
    if spec.paramKind is not None:
        yield from _of_param_kind(spec.paramKind)
    for index, condition in enumerate(spec.matchConditions):
        yield from _all(("spec", "matchConditions", index, "name"), label_key(condition.name))
    if isinstance(document, MutatingPolicy) and "reinvocationPolicy" not in document.spec.model_fields_set:
        yield ("spec",), "reinvocationPolicy is required: Never or IfNeeded"
    if isinstance(document, ValidatingPolicy):
        keys = [annotation.key for annotation in document.spec.auditAnnotations]
        for index, annotation in enumerate(document.spec.auditAnnotations):
            at: At = ("spec", "auditAnnotations", index)
            yield from _all((*at, "key"), label_key(f"{document.metadata.name}/{annotation.key}"))
            if annotation.key in keys[:index]:
                yield (*at, "key"), f"duplicate key: {annotation.key}"
            if len(annotation.valueExpression.strip().encode()) > _VALUE_EXPRESSION_LIMIT:
                yield (*at, "valueExpression"), f"must not exceed {_VALUE_EXPRESSION_LIMIT} bytes"


def _of_param_kind(kind: ParamKind) -> Iterator[SpecError]:
    group, _, version = kind.apiVersion.rpartition("/")
    at: At = ("spec", "paramKind", "apiVersion")
    if group:
        yield from _all(at, dns_1123_subdomain(group))
    yield from _all(at, dns_1035_label(version))
    yield from _all(("spec", "paramKind", "kind"), dns_1035_label(kind.kind.lower()))


def _of_param_ref(ref: ParamRef) -> Iterator[SpecError]:
    at: At = ("spec", "paramRef")
    yield from _all((*at, "name"), path_segment(ref.name))
    if "parameterNotFoundAction" not in ref.model_fields_set:
        yield at, "parameterNotFoundAction is required: Allow or Deny"


def _of_resources(at: At, written: MatchResources, *, mutating: bool) -> Iterator[SpecError]:
    for name in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(getattr(written, name)):
            yield from _of_rule((*at, name, index), rule)
            if mutating and name == "resourceRules" and "DELETE" in rule.operations:
                yield (
                    (*at, name, index, "operations"),
                    "DELETE is not allowed: a deleted object cannot be mutated",
                )


def _of_rule(at: At, rule: Rule) -> Iterator[SpecError]:
    for name in ("apiGroups", "apiVersions", "operations"):
        values = getattr(rule, name)
        if "*" in values and len(values) > 1:
            yield (*at, name), _NOT_ALONE
    if "" in rule.apiVersions:
        yield (*at, "apiVersions"), "versions must not be empty"
    yield from _all((*at, "resources"), _of_names(rule.resources))
    for index, name in enumerate(rule.resourceNames):
        yield from _all((*at, "resourceNames", index), path_segment(name))
        if name in rule.resourceNames[:index]:
            yield (*at, "resourceNames", index), f"duplicate name: {name}"


def _of_names(resources: Sequence[str]) -> Iterator[str]:
    """The items that an earlier item with a wildcard covers. As in the API server, the order of the items matters."""
    if "*/*" in resources and len(resources) > 1:
        yield "'*/*' must be the only item"
    if "*" in resources and any("/" not in name and name != "*" for name in resources):
        yield "'*' must be the only item without a subresource"
    for index, written in enumerate(resources):
        name, slash, sub = written.partition("/")
        before = resources[:index]
        for wider in (f"{name}/*", f"*/{sub}"):
            if slash and wider in before and wider != "*/*":
                yield f"'{written}' is redundant: '{wider}' covers it"


def _all(at: At, problems: Iterable[str]) -> Iterator[SpecError]:
    return ((at, problem) for problem in problems)
