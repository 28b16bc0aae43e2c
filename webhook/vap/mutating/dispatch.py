"""Applies all mutating policies to an object (``policy/mutating/dispatcher.go``).

The policies run in order, each on the result of the one before. Then the webhooks run. A policy whose
reinvocationPolicy is IfNeeded runs a second time if the object changed after its first run. If a second run changes
the object, the webhooks run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from webhook.admission import patch
from webhook.vap.attributes import Attributes
from webhook.vap.compiled import ConditionError, Interrupt
from webhook.vap.context import AdmissionContext
from webhook.vap.dispatch import Binding, BoundPolicies, Invoked, Misconfigured, invocations
from webhook.vap.mutating.evaluation import MutationError
from webhook.vap.mutating.mutator import Mutator
from webhook.vap.response import Denial, PolicyResponse

Object = dict[str, Any] | None
Webhooks = Callable[[Object], Object]
"""Mutates the object after the policies; returns it itself if nothing changes."""

FORBIDDEN: Final = 403
"""The HTTP status of every failed mutation, whatever its reason."""

_Key = tuple[str, str, str, str]
"""Policy, binding, namespace and name of the param."""


def unchanged(obj: Object) -> Object:
    """The :data:`Webhooks` that change nothing."""
    return obj


def mutate(
    policies: BoundPolicies[Mutator],
    attributes: Attributes,
    context: AdmissionContext,
    interrupt: Interrupt | None = None,
    webhooks: Webhooks = unchanged,
) -> PolicyResponse:
    """The object after the policies and webhooks, or the denials."""
    first = _Round(attributes.object)
    first.run(invocations(policies, attributes, context, interrupt))
    evaluated = tuple(dict.fromkeys(name for name, *_ in first.evaluated))
    if first.denials:
        return PolicyResponse(attributes.object, tuple(first.denials), evaluated=evaluated)
    mutated = webhooks(first.object)
    if not first.invoked and not first.again and first.object is attributes.object:
        return PolicyResponse(mutated, evaluated=evaluated)  # most requests: no policy has done anything
    if patch.diff(first.object, mutated):
        first.note_change()
    if first.again:
        last = _Round(mutated, only=frozenset(first.again))
        last.run(invocations(policies, replace(attributes, object=mutated), context, interrupt))
        if last.denials:
            return PolicyResponse(attributes.object, tuple(last.denials), evaluated=evaluated)
        mutated = webhooks(last.object) if patch.diff(mutated, last.object) else mutated
    return PolicyResponse(mutated if patch.diff(attributes.object, mutated) else attributes.object, evaluated=evaluated)


@dataclass(slots=True)
class _Round:
    """One run of the policies in order. ``again`` are the policies to invoke a second time."""

    object: Object
    only: frozenset[_Key] | None = None
    denials: list[Denial] = field(default_factory=list)
    evaluated: list[_Key] = field(default_factory=list)
    invoked: list[_Key] = field(default_factory=list)
    again: list[_Key] = field(default_factory=list)
    mutated: bool = False

    def run(self, matches: Iterable[Invoked[Mutator] | Misconfigured[Mutator]]) -> None:
        # match all policies before the first mutation: the original object decides which of them apply
        for item in list(matches):
            if isinstance(item, Misconfigured):
                self._fail(item.policy, item.binding, item.message, "Forbidden")
            else:
                self._invoke(item)
        if self.mutated:
            self.note_change()

    def _invoke(self, invoked: Invoked[Mutator]) -> None:
        policy = invoked.policy
        key = _key(invoked)
        try:
            applies = policy.compiled.applies(invoked.invocation.on(self.object))
        except ConditionError as error:
            self._fail(policy, invoked.binding, str(error))
            return
        if not applies or (self.only is not None and key not in self.only):
            return
        self.evaluated.append(key)
        before = self.object
        self._mutate(invoked)
        if before is not self.object and patch.diff(before, self.object):
            self.note_change()
        if policy.again:
            self.invoked.append(key)

    def _mutate(self, invoked: Invoked[Mutator]) -> None:
        for mutate_object, expression in invoked.policy.mutations:
            if self.object is None:
                return
            try:
                on = invoked.invocation.on(self.object)
                self.object = mutate_object(expression, invoked.policy.compiled.variables, on)
            except MutationError as error:
                self._fail(invoked.policy, invoked.binding, str(error))
            else:
                self.mutated = True

    def note_change(self) -> None:
        """Require a second run of all policies invoked so far: the object changed after their run."""
        self.again += self.invoked
        self.invoked = []

    def _fail(self, policy: Mutator, binding: Binding | None, message: str, reason: str = "Invalid") -> None:
        if policy.compiled.ignore:
            return
        name = policy.compiled.name
        if binding is None:
            text = f'policy "{name}" denied request: {message}'
        else:
            text = f"policy '{name}' with binding '{binding.name}' denied request: {message}"
        where = "" if binding is None else binding.name
        self.denials.append(Denial(name, where, message, text, reason, FORBIDDEN))


def _key(invoked: Invoked[Mutator]) -> _Key:
    metadata = (invoked.invocation.param or {}).get("metadata") or {}
    name = invoked.policy.compiled.name
    return name, invoked.binding.name, metadata.get("namespace", ""), metadata.get("name", "")
