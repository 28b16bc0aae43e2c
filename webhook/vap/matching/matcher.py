"""Matches requests with ``matchConstraints`` and ``matchResources`` (``policy/matching``, ``webhook/predicates``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

from webhook.admission import GroupVersionKind
from webhook.vap.attributes import Attributes, GroupVersionResource
from webhook.vap.context import AdmissionContext, Equivalent
from webhook.vap.matching.selector import Selector, labels_of
from webhook.vap.models import MatchResources, Rule

NAME_LABEL: Final = "kubernetes.io/metadata.name"
"""The API server sets this label on every namespace to its name, so a selector of this label needs no lookup."""
_NAMESPACES: Final = GroupVersionResource("", "v1", "namespaces")
_EXEMPT: Final = frozenset(
    {
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
        ("authentication.k8s.io", "SelfSubjectReview"),
        ("authentication.k8s.io", "TokenReview"),
        ("authorization.k8s.io", "LocalSubjectAccessReview"),
        ("authorization.k8s.io", "SelfSubjectAccessReview"),
        ("authorization.k8s.io", "SelfSubjectRulesReview"),
        ("authorization.k8s.io", "SubjectAccessReview"),
    }
)


class MatchError(Exception):
    """The match cannot be decided; the text is the API server's."""


def is_exempt(attributes: Attributes) -> bool:
    """Whether no policy applies to the request.

    Policies must not be able to block changes of policies, or the questions by which the API server knows its callers
    (policy/generic/plugin.go, kubeapiserver/admission/exclusion). They do apply to configurations of webhooks.
    """
    return (attributes.kind.group, attributes.kind.kind) in _EXEMPT


@dataclass(frozen=True, slots=True)
class Criteria:
    """A compiled ``matchConstraints`` or ``matchResources``."""

    namespace_selector: Selector
    object_selector: Selector
    rules: tuple[Rule, ...] = ()
    excluded: tuple[Rule, ...] = ()
    exact: bool = False

    @classmethod
    def of(cls, written: MatchResources) -> Criteria:
        return cls(
            Selector.of(written.namespaceSelector),
            Selector.of(written.objectSelector),
            tuple(written.resourceRules),
            tuple(written.excludeResourceRules),
            written.matchPolicy == "Exact",
        )

    def targets(self) -> Iterator[tuple[str, str]]:
        """The groups and names of the resources that the rules may match, each of which may be ``*``."""
        if not self.rules:
            yield "*", "*"
        for rule in self.rules:
            yield from product(rule.apiGroups, (written.partition("/")[0] for written in rule.resources))

    def match(self, attributes: Attributes, context: AdmissionContext) -> Equivalent | None:
        """The resource and kind under which the request matches; None if it does not match.

        Raises:
            MatchError: the rules match, but a selector cannot be evaluated.
        """
        failure = ""
        for selected in (self._selects_namespace, self._selects_object):
            try:
                if not selected(attributes, context):
                    return None
            except MatchError as error:
                failure = failure or str(error)
        if self._matching(self.excluded, attributes, context):
            return None
        found: Equivalent | None = Equivalent(attributes.resource, attributes.kind)
        if self.rules:
            found = self._matching(self.rules, attributes, context)
        if found is not None and failure:
            raise MatchError(failure)
        return found

    def _selects_namespace(self, attributes: Attributes, context: AdmissionContext) -> bool:
        about_namespaces = attributes.resource.name == "namespaces"
        if not attributes.namespace and not about_namespaces:
            return True
        selector = self.namespace_selector
        if selector.error:
            raise MatchError(f"Internal error occurred: {selector.error}")
        if selector.empty:
            return True
        if about_namespaces and not attributes.subresource and attributes.operation in {"CREATE", "UPDATE"}:
            return selector.matches(labels_of(attributes.object) or {})
        if selector.keys == {NAME_LABEL}:
            return selector.matches({NAME_LABEL: attributes.namespace})
        namespace = context.namespace(attributes.namespace)
        if namespace is None:
            raise MatchError(f'namespaces "{attributes.namespace}" not found')
        return selector.matches(labels_of(namespace) or {})

    def _selects_object(self, attributes: Attributes, _context: AdmissionContext) -> bool:
        selector = self.object_selector
        if selector.error:
            raise MatchError(f"Internal error occurred: {selector.error}")
        if selector.empty:
            return True
        found = map(labels_of, (attributes.object, attributes.old_object))
        return any(labels is not None and selector.matches(labels) for labels in found)

    def _matching(self, rules: Iterable[Rule], attributes: Attributes, context: AdmissionContext) -> Equivalent | None:
        for rule in rules:
            if rule_matches(rule, attributes, attributes.resource) and _is_named(rule, attributes.name):
                return Equivalent(attributes.resource, attributes.kind)
        if self.exact:
            return None
        equivalents = context.equivalents(attributes.resource, attributes.subresource)
        for rule in rules:
            for other in equivalents:
                if other.resource == attributes.resource or not rule_matches(rule, attributes, other.resource):
                    continue
                if other.kind == GroupVersionKind("", "", ""):
                    raise MatchError(f"unable to convert to {other.resource}: unknown kind")
                if _is_named(rule, attributes.name):
                    return other
        return None


def rule_matches(rule: Rule, attributes: Attributes, resource: GroupVersionResource) -> bool:
    """Whether a rule matches the request as a request for ``resource``; the rule's resourceNames are not checked."""
    return (
        _in_scope(rule, attributes, resource)
        and ("*" in rule.operations or attributes.operation in rule.operations)
        and ("*" in rule.apiGroups or resource.group in rule.apiGroups)
        and ("*" in rule.apiVersions or resource.version in rule.apiVersions)
        and _is_resource(rule, resource, attributes.subresource)
    )


def _in_scope(rule: Rule, attributes: Attributes, resource: GroupVersionResource) -> bool:
    if rule.scope == "*":
        return True
    in_cluster = resource == _NAMESPACES or not attributes.namespace
    return in_cluster is (rule.scope == "Cluster")


def _is_resource(rule: Rule, resource: GroupVersionResource, subresource: str) -> bool:
    for written in rule.resources:
        name, _, sub = written.partition("/")
        if name in {"*", resource.name} and sub in {"*", subresource}:
            return True
    return False


def _is_named(rule: Rule, name: str) -> bool:
    return not rule.resourceNames or name in rule.resourceNames
