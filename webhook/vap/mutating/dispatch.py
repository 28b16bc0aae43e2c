"""What all mutating policies together make of an object (``policy/mutating/dispatcher.go``).

Policies are invoked in order, each on what those before have made; then come the webhooks.
Afterwards those whose reinvocationPolicy is IfNeeded are invoked once more, if anything was
mutated after them or by the last of them, and the webhooks see what they have made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from webhook.admission import patch
from webhook.vap.attributes import Attributes
from webhook.vap.compiled import Interrupt
from webhook.vap.context import AdmissionContext
from webhook.vap.dispatch import Binding, BoundPolicy, Invoked, Misconfigured, invocations
from webhook.vap.matching.conditions import ConditionError
from webhook.vap.mutating.mutator import MutationError, Mutator
from webhook.vap.response import Denial, PolicyResponse

__all__ = ["Webhooks", "mutate", "unchanged"]

Object = dict[str, Any] | None
Webhooks = Callable[[Object], Object]
"""What comes after the policies, and makes another object of theirs, or the same."""

FORBIDDEN: Final = 403
"""The HTTP status with which the API server refuses what cannot be mutated, whatever the reason."""

_Key = tuple[str, str, str, str]
"""Policy, binding, namespace and name of the param."""


def unchanged(obj: Object) -> Object:
    """No webhooks."""
    return obj


def mutate(
    hooks: Sequence[BoundPolicy[Mutator]],
    attributes: Attributes,
    context: AdmissionContext,
    interrupt: Interrupt | None = None,
    webhooks: Webhooks = unchanged,
) -> PolicyResponse:
    """The object that the policies and webhooks make, or why a policy refuses the request."""
    first = _Pass(attributes.object)
    first.run(invocations(hooks, attributes, context, interrupt))
    evaluated = tuple(dict.fromkeys(name for name, *_ in first.evaluated))
    if first.denials:
        return PolicyResponse(attributes.object, tuple(first.denials), evaluated=evaluated)
    found = webhooks(first.object)
    if patch.diff(first.object, found):
        first.require()
    if first.again:
        last = _Pass(found, only=frozenset(first.again))
        last.run(invocations(hooks, replace(attributes, object=found), context, interrupt))
        if last.denials:
            return PolicyResponse(attributes.object, tuple(last.denials), evaluated=evaluated)
        found = webhooks(last.object) if patch.diff(found, last.object) else found
    return PolicyResponse(found if patch.diff(attributes.object, found) else attributes.object, evaluated=evaluated)


@dataclass(slots=True)
class _Pass:
    """One way through the policies. ``again`` are those to invoke a second time."""

    object: Object
    only: frozenset[_Key] | None = None
    denials: list[Denial] = field(default_factory=list)
    evaluated: list[_Key] = field(default_factory=list)
    invoked: list[_Key] = field(default_factory=list)
    again: list[_Key] = field(default_factory=list)
    mutated: bool = False

    def run(self, found: Iterable[Invoked[Mutator] | Misconfigured[Mutator]]) -> None:
        # which policies apply is decided by the object as it came, before any of them has changed it
        for item in list(found):
            if isinstance(item, Misconfigured):
                self._fail(item.policy, item.binding, item.message, "Forbidden")
            else:
                self._invoke(item)
        if self.mutated:
            self.require()

    def _invoke(self, found: Invoked[Mutator]) -> None:
        policy = found.policy
        key = _key(found)
        try:
            applies = policy.compiled.applies(found.invocation.on(self.object))
        except ConditionError as error:
            self._fail(policy, found.binding, str(error))
            return
        if not applies or (self.only is not None and key not in self.only):
            return
        self.evaluated.append(key)
        before = self.object
        self._mutate(found)
        if before is not self.object and patch.diff(before, self.object):
            self.require()
        if policy.again:
            self.invoked.append(key)

    def _mutate(self, found: Invoked[Mutator]) -> None:
        for mutate_object, expression in found.policy.mutations:
            if self.object is None:
                return
            try:
                on = found.invocation.on(self.object)
                self.object = mutate_object(expression, found.policy.compiled.variables, on)
            except MutationError as error:
                self._fail(found.policy, found.binding, str(error))
            else:
                self.mutated = True

    def require(self) -> None:
        """The object has changed since those invoked so far have seen it."""
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


def _key(found: Invoked[Mutator]) -> _Key:
    metadata = (found.invocation.param or {}).get("metadata") or {}
    name = found.policy.compiled.name
    return name, found.binding.name, metadata.get("namespace", ""), metadata.get("name", "")
