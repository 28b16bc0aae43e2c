"""What all mutating policies together make of an object (``policy/mutating/dispatcher.go``).

Policies are invoked in order, each on what those before have made. Afterwards those whose
reinvocationPolicy is IfNeeded are invoked once more, if anything was mutated after them or by
the last of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from webhook import patch
from webhook.policy.native.attributes import Attributes
from webhook.policy.native.conditions import ConditionError
from webhook.policy.native.head import Interrupt
from webhook.policy.native.hooks import Binding, Hook, Invoked, Misconfigured, invocations
from webhook.policy.native.mutator import MutationError, Mutator
from webhook.policy.native.surroundings import Surroundings
from webhook.policy.native.verdict import Denial, Verdict

__all__ = ["mutate"]

_Key = tuple[str, str, str, str]
"""Policy, binding, namespace and name of the param."""


def mutate(
    hooks: Sequence[Hook[Mutator]],
    attributes: Attributes,
    surroundings: Surroundings,
    interrupt: Interrupt | None = None,
) -> Verdict:
    """The object that the policies make, or why the request is refused."""
    first = _Pass(attributes.object)
    first.run(invocations(hooks, attributes, surroundings, interrupt))
    last = first
    if first.again and not first.denials:
        last = _Pass(first.object, only=frozenset(first.again))
        last.run(invocations(hooks, replace(attributes, object=first.object), surroundings, interrupt))
    evaluated = tuple(dict.fromkeys(name for name, *_ in first.evaluated))
    if last.denials:
        return Verdict(attributes.object, tuple(last.denials), evaluated=evaluated)
    changed = bool(patch.diff(attributes.object, last.object))
    return Verdict(last.object if changed else attributes.object, evaluated=evaluated)


@dataclass(slots=True)
class _Pass:
    """One way through the policies. ``again`` are those to invoke a second time."""

    object: dict[str, Any] | None
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
                self._fail(item.policy, item.binding, item.message)
            else:
                self._invoke(item)
        if self.mutated:
            self._require()

    def _invoke(self, found: Invoked[Mutator]) -> None:
        policy = found.policy
        key = _key(found)
        try:
            applies = policy.head.applies(found.invocation.on(self.object))
        except ConditionError as error:
            self._fail(policy, found.binding, str(error))
            return
        if not applies or (self.only is not None and key not in self.only):
            return
        self.evaluated.append(key)
        before = self.object
        self._mutate(found)
        if before is not self.object and patch.diff(before, self.object):
            self._require()
        if policy.again:
            self.invoked.append(key)

    def _mutate(self, found: Invoked[Mutator]) -> None:
        for mutate_object, expression in found.policy.mutations:
            if self.object is None:
                return
            try:
                on = found.invocation.on(self.object)
                self.object = mutate_object(expression, found.policy.head.variables, on)
            except MutationError as error:
                self._fail(found.policy, found.binding, str(error))
            else:
                self.mutated = True

    def _require(self) -> None:
        self.again += self.invoked
        self.invoked = []

    def _fail(self, policy: Mutator, binding: Binding | None, message: str) -> None:
        if policy.head.ignore:
            return
        name = policy.head.name
        if binding is None:
            text = f'policy "{name}" denied request: {message}'
        else:
            text = f"policy '{name}' with binding '{binding.name}' denied request: {message}"
        self.denials.append(Denial(name, "" if binding is None else binding.name, message, text))


def _key(found: Invoked[Mutator]) -> _Key:
    metadata = (found.invocation.param or {}).get("metadata") or {}
    name = found.policy.head.name
    return name, found.binding.name, metadata.get("namespace", ""), metadata.get("name", "")
