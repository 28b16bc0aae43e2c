"""Policies with their bindings, and the invocations that a request causes (``generic/policy_dispatcher.go``)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from webhook.vap.attributes import Attributes, GroupVersionResource
from webhook.vap.compiled import Interrupt, Invocation
from webhook.vap.context import AdmissionContext, Equivalent
from webhook.vap.environments import namespace_value
from webhook.vap.matching.matcher import Criteria, MatchError
from webhook.vap.matching.selector import Selector
from webhook.vap.models import MutatingBinding, ParamKind, ParamRef, ValidatingBinding
from webhook.vap.mutating.mutator import Mutator
from webhook.vap.stretch import SIZES, stretches
from webhook.vap.validating.validator import Validator

_NO_NAMESPACE = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"


class ParamError(Exception):
    """The params of a binding cannot be determined; failurePolicy decides."""


def collect(
    kind: ParamKind | None, ref: ParamRef | None, namespace: str, context: AdmissionContext
) -> Sequence[dict[str, Any] | None]:
    """The params of a policy, one for each evaluation (CollectParams). ``[None]``: policy or binding have no params.

    An empty list means that no param exists and that the binding allows it (``parameterNotFoundAction: Allow``).
    The kind of the params must be known.

    Raises:
        ParamError: with the API server's text.
    """
    if kind is None or ref is None:
        return [None]
    where = ""
    if context.is_namespaced(kind):
        where = ref.namespace or namespace
        if not where:
            raise ParamError(_NO_NAMESPACE)
    elif ref.namespace:
        raise ParamError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    found = _find(kind, ref, where, context)
    if not found and ref.parameterNotFoundAction == "Deny":
        raise ParamError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return [{"apiVersion": kind.apiVersion, "kind": kind.kind, **param} for param in found]


def _find(kind: ParamKind, ref: ParamRef, namespace: str, context: AdmissionContext) -> Sequence[dict[str, Any]]:
    if ref.name:
        param = context.param(kind, namespace, ref.name)
        return [] if param is None else [param]
    if ref.selector is None:
        raise ParamError("one of name or selector must be provided")
    selector = Selector.of(ref.selector)
    if selector.error:
        raise ParamError(selector.error)
    return context.params(kind, namespace, selector)


P = TypeVar("P", Validator, Mutator)


@dataclass(frozen=True, slots=True)
class Binding:
    """Where a policy applies, with which params and actions. ``criteria`` None: wherever the policy applies."""

    name: str
    criteria: Criteria | None = None
    param_ref: ParamRef | None = None
    actions: tuple[str, ...] = ("Deny",)

    @classmethod
    def of(cls, document: ValidatingBinding | MutatingBinding) -> Binding:
        spec = document.spec
        criteria = None if spec.matchResources is None else Criteria.of(spec.matchResources)
        actions = tuple(document.spec.validationActions) if isinstance(document, ValidatingBinding) else ("Deny",)
        return cls(document.metadata.name, criteria, spec.paramRef, actions)


@dataclass(frozen=True, slots=True)
class BoundPolicy(Generic[P]):
    """A policy with its bindings. Without a binding it never applies."""

    policy: P
    bindings: tuple[Binding, ...]


class BoundPolicies(tuple[BoundPolicy[P], ...]):  # noqa: SLOT001 - the index needs a dictionary
    """Policies in their order. An index finds those about a resource, so that others cost a request nothing."""

    @cached_property
    def _by_group(self) -> Mapping[str, Mapping[str, Collection[int]]]:
        """By group and name of a resource, each of which may be ``*``; without the policies that never apply."""
        found: dict[str, dict[str, set[int]]] = {}
        for index, each in enumerate(self):
            for group, name in each.policy.compiled.criteria.targets() if each.bindings else ():
                found.setdefault(group, {}).setdefault(name, set()).add(index)
        return found

    def about(self, attributes: Attributes, context: AdmissionContext) -> Iterator[BoundPolicy[P]]:
        """The policies whose rules may match the resource of a request, or an equivalent one."""
        indexes = self._indexes(attributes.resource, attributes.subresource, context)
        yield from (self[index] for index in sorted(indexes))

    def may_match(self, resource: GroupVersionResource, subresource: str, context: AdmissionContext) -> bool:
        """Whether :meth:`about` finds a policy for a request; told before anything else is made of the request."""
        return bool(self and self._indexes(resource, subresource, context))

    def affordable(
        self, resource: GroupVersionResource, subresource: str, context: AdmissionContext, limit: int
    ) -> int | None:
        """The bytes of the largest review for which no policy about a resource costs more than ``limit`` at a stretch.

        None if no policy is about it; 0 if one costs more for any review.
        """
        indexes = self._indexes(resource, subresource, context) if self else ()
        if not indexes:
            return None
        costs = [self.stretches(limit)[index] for index in indexes]
        return max((size for size, *each in zip(SIZES, *costs, strict=True) if max(each) <= limit), default=0)

    def stretches(self, limit: int) -> Sequence[Sequence[int]]:
        """What each policy may cost at a stretch for reviews of each of :data:`SIZES`. Computing it takes a while: it
        is remembered.
        """
        if self._stretches is None or self._stretches[0] != limit:
            self._stretches = (
                limit,
                [stretches(each.policy.expressions(), each.policy.compiled.variables, limit) for each in self],
            )
        return self._stretches[1]

    _stretches: tuple[int, Sequence[Sequence[int]]] | None = None

    def _indexes(self, resource: GroupVersionResource, subresource: str, context: AdmissionContext) -> set[int]:
        targets = {(resource.group, resource.name)}
        found: set[int] = set()
        for other, _ in context.equivalents(resource, subresource):
            targets.add((other.group, other.name))
        for group, name in targets:
            for written in (group, "*"):
                names = self._by_group.get(written)
                if names is not None:
                    found.update(names.get(name, ()), names.get("*", ()))
        return found


class Invoked(NamedTuple, Generic[P]):
    """A policy to evaluate for a request: one binding, one param."""

    policy: P
    binding: Binding
    invocation: Invocation


class Misconfigured(NamedTuple, Generic[P]):
    """A policy, or one of its bindings, that cannot be matched with the request."""

    policy: P
    binding: Binding | None
    message: str


def invocations(
    policies: BoundPolicies[P],
    attributes: Attributes,
    context: AdmissionContext,
    interrupt: Interrupt | None = None,
) -> Iterator[Invoked[P] | Misconfigured[P]]:
    """The invocations of a request, in the order of the policies, their bindings and their params.

    Calls ``interrupt`` before each policy, because many short policies take long too. It may raise; its result is
    ignored.
    """
    for each in policies.about(attributes, context):
        if interrupt is not None:
            interrupt()
        policy = each.policy
        try:
            matched = policy.compiled.criteria.match(attributes, context)
        except MatchError as error:
            yield Misconfigured(policy, None, f"failed to configure policy: {error}")
            continue
        if matched is None:
            continue
        kind = policy.compiled.param_kind
        if kind is not None and context.is_namespaced(kind) is None:
            unknown = f"failed to find resource referenced by paramKind: '{kind.apiVersion}, Kind={kind.kind}'"
            yield Misconfigured(policy, None, f"failed to configure policy: {unknown}")
            continue
        for binding in each.bindings:
            for found in _bound(policy, binding, matched, attributes, context):
                if isinstance(found, Invocation):
                    yield Invoked(policy, binding, replace(found, interrupt=interrupt))
                else:
                    yield Misconfigured(policy, binding, found)


def _bound(
    policy: Validator | Mutator,
    binding: Binding,
    matched: Equivalent,
    attributes: Attributes,
    context: AdmissionContext,
) -> Iterator[Invocation | str]:
    """The invocations of one binding, one for each param; a string is the error of the binding."""
    try:
        if binding.criteria is not None and binding.criteria.match(attributes, context) is None:
            return
        params = collect(policy.compiled.param_kind, binding.param_ref, attributes.namespace, context)
    except (MatchError, ParamError) as error:
        yield f"failed to configure binding: {error}"
        return
    where = attributes.namespace_of_object
    namespace = (
        namespace_value(context.namespace(where)) if where and params and policy.compiled.reads_namespace else None
    )
    references = policy.compiled.references
    for param in params:
        converted = attributes.converted(matched.kind)
        refs = None if references is None else references.over(converted.placed, context.view)
        yield Invocation(converted, matched, context, param, namespace, refs=refs)
