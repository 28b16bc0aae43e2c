"""Ratcheting of policy rules (KEP-4008): an update is not refused for what it does not change.

Leaves that the policy itself fills in do not count as changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

from webhook.admission import patch
from webhook.admission.stamp import ANNOTATION, Stamp, specification
from webhook.policy import MISSING, Path, Policy, ValidationRule

__all__ = ["Ratchet", "TargetNode"]

Keys = tuple[str | int, ...]


class TargetNode(NamedTuple):
    """A node that a rule is about: its path, its value, the stored value (or MISSING), and what expressions see."""

    keys: Keys
    value: Any
    stored: Any
    bindings: Mapping[str, Any]


class Ratchet:
    """What one update changes."""

    def __init__(self, obj: dict[str, Any], old: dict[str, Any], policy: Policy) -> None:
        self._obj, self._old, self._policy = obj, old, policy

    def spares(self, rule: ValidationRule, node: TargetNode) -> bool:
        """Whether the update leaves everything unchanged that the rule reads."""
        if rule.local:
            return _same(node.keys, node.stored, node.value, *self._filled)
        return self._same_specification and (not rule.annotations or self._same_annotations)

    @cached_property
    def _filled(self) -> tuple[set[Keys], set[Keys]]:
        return _filled(self._old, self._policy), _filled(self._obj, self._policy)

    @cached_property
    def _same_specification(self) -> bool:
        return _same((), specification(self._old), specification(self._obj), *self._filled)

    @cached_property
    def _same_annotations(self) -> bool:
        return not patch.diff(_annotations(self._old, self._policy), _annotations(self._obj, self._policy))


def _same(keys: Keys, before: Any, after: Any, filled_before: set[Keys], filled: set[Keys]) -> bool:
    """Whether two values differ only in leaves that are filled in on their side."""
    if before is MISSING:
        return _all_below(keys, after, filled)
    for operation in patch.diff(before, after):
        below = patch.keys(operation["path"])
        if operation["op"] != "remove" and not _all_below((*keys, *below), operation["value"], filled):
            return False
        if operation["op"] != "add" and not _all_below((*keys, *below), Path(below).get(before), filled_before):
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
    stamp = Stamp.read(obj)
    recorded = {} if stamp is None else stamp.defaulted
    values = {rule: rule.path.get(obj) for rule in policy.defaults}
    return {
        rule.path.keys
        for rule, value in values.items()
        if (rule.over is not MISSING and value == rule.over)
        or (rule.path.text in recorded and not patch.diff(value, recorded[rule.path.text]))
    }


def _annotations(obj: dict[str, Any], policy: Policy) -> dict[str, Any]:
    """The user's annotations: without the stamp, and without those that the policy writes."""
    given = obj.get("metadata", {}).get("annotations") or {}
    written = {rule.path.keys[2] for rule in policy.defaults if rule.path.keys[:2] == ("metadata", "annotations")}
    return {key: value for key, value in given.items() if key not in {ANNOTATION, *written}}
