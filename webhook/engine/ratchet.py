"""Ratcheting of policy rules (KEP-4008): an update is not refused for what it does not change.

A rule is spared if the update changes nothing that it reads, directly or through variables. Leaves that the policy
itself fills in do not count as changed. A fact does not tell what it reads, so it is computed for the stored object
and compared; and the field that the finding names must be unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from webhook.admission import patch
from webhook.admission.stamp import ANNOTATION
from webhook.engine.filling.ownership import is_recorded, recorded_in
from webhook.engine.review import Subject
from webhook.policy import FACTS, MISSING, OBJECT, Path, Policy, PolicyScope, ValidationRule

_ANNOTATIONS: Final = Path(("metadata", "annotations"))
_STAMP: Final = Path((*_ANNOTATIONS.keys, ANNOTATION))

Keys = tuple[str | int, ...]


class TargetNode:
    """A node that a rule is about: its path, its value, and the stored value (or MISSING)."""

    __slots__ = ("_bindings", "_scope", "keys", "stored", "value")

    def __init__(self, keys: Keys, value: Any, stored: Any, scope: PolicyScope) -> None:
        self.keys, self.value, self.stored, self._scope = keys, value, stored, scope
        self._bindings: Mapping[str, Any] | None = None

    @property
    def bindings(self) -> Mapping[str, Any]:
        """What expressions see at the node; made when one is evaluated."""
        if self._bindings is None:
            self._bindings = self._scope.at(self.value, self.stored)
        return self._bindings


class Ratchet:
    """What one update of a ``subject`` changes; ``scope`` is that of the subject."""

    def __init__(self, subject: Subject, scope: PolicyScope) -> None:
        obj, old, policy = subject.obj, subject.old or {}, subject.review.kind.policy
        self._subject, self._scope = subject, scope
        self._prepared, self._obj, self._old = subject.review.prepared, _unstamped(obj), _unstamped(old)
        self._filled = (_filled(old, policy), _filled(obj, policy))
        self._outside: dict[ValidationRule, bool] = {}

    def spares(self, rule: ValidationRule, node: TargetNode) -> bool:
        """Whether the update leaves everything unchanged that the rule reads."""
        outside = self._outside.get(rule)
        if outside is None:  # the same for all nodes of the rule, of which there may be very many
            outside = self._outside[rule] = self._is_same_outside(rule)
        return (
            outside
            and (rule.at.single or _same(node.keys, node.stored, node.value, *self._filled))
            and (not self._facts(rule) or self._is_same_field(rule, node))
        )

    def _is_same_outside(self, rule: ValidationRule) -> bool:
        """Whether the fields and the facts are unchanged that the rule reads, without those of a node in a list."""
        reads = self._prepared.reads(rule)
        return (
            all(self._is_same(path[1:]) for path in reads.values if path[0] == OBJECT)
            and all(self._is_same(path[1:], presence=True) for path in reads.tests if path[0] == OBJECT)
            and all(self._is_same_fact(path[1:]) for path in self._facts(rule))
        )

    def _facts(self, rule: ValidationRule) -> set[tuple[str, ...]]:
        """The paths into facts that the rule reads, without facts that no object changes."""
        reads = self._prepared.reads(rule)
        paths = {path for path in (*reads.values, *reads.tests) if path[0] == FACTS}
        return {path for path in paths if not self._subject.review.kind.facts[path[1]].constant}

    def _is_same(self, keys: tuple[str, ...], *, presence: bool = False) -> bool:
        at = Path(keys)
        before, after = at.get(self._old), at.get(self._obj)
        if presence and not _is_absent(before) and not _is_absent(after):
            return True
        return _same(keys, before, after, *self._filled)

    def _is_same_field(self, rule: ValidationRule, node: TargetNode) -> bool:
        """Whether the field that a finding names is unchanged; the whole specification may change in other parts."""
        below = Path.parse(rule.field_path.removeprefix("."))
        keys = (*node.keys, *below.keys)
        return len(keys) < 2 or _same(keys, below.get(node.stored), below.get(node.value), *self._filled)

    def _is_same_fact(self, path: tuple[str, ...]) -> bool:
        """Whether a member of a fact is unchanged, with those beside it, which tell more about the same thing."""
        name, beside = path[0], Path(path[1:-1])
        return not patch.diff(beside.get(self._stored_scope.fact(name)), beside.get(self._scope.fact(name)))

    @cached_property
    def _stored_scope(self) -> PolicyScope:
        return self._subject.stored_scope()


def _is_absent(value: Any) -> bool:
    return value is MISSING or value is None


def _same(keys: Keys, before: Any, after: Any, filled_before: set[Keys], filled: set[Keys]) -> bool:
    """Whether two values differ only in leaves that are filled in on their side."""
    if _is_absent(before) or _is_absent(after):
        return (_is_absent(before) or _all_below(keys, before, filled_before)) and (
            _is_absent(after) or _all_below(keys, after, filled)
        )
    for operation, below, value in patch.steps(before, after):
        if operation != "remove" and not _all_below((*keys, *below), value, filled):
            return False
        if operation != "add" and not _all_below((*keys, *below), Path(below).get(before), filled_before):
            return False
    return True


def _all_below(keys: Keys, value: Any, paths: set[Keys]) -> bool:
    """Whether every leaf of the value is at one of the paths or below it."""
    if any(keys[:length] in paths for length in range(1, len(keys) + 1)):
        return True
    return (
        isinstance(value, dict)
        and bool(value)
        and all(_all_below((*keys, key), item, paths) for key, item in value.items())
    )


def _filled(obj: dict[str, Any], policy: Policy) -> set[Keys]:
    """The paths of values that the policy has filled in, by the object's stamp, or would replace."""
    recorded, values = recorded_in(obj), {rule: rule.path.get(obj) for rule in policy.defaults}
    return {
        rule.path.keys
        for rule, value in values.items()
        if value == rule.over or is_recorded(recorded, rule.path.text, value)
    }


def _unstamped(obj: dict[str, Any]) -> dict[str, Any]:
    """The object without the gate's stamp, and without annotations if it has no other."""
    bare = _STAMP.delete(obj)
    return bare if _ANNOTATIONS.get(bare) else _ANNOTATIONS.delete(bare)
