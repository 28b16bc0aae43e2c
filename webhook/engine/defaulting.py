"""Fill in what is absent: the CRD's defaults, then the policy's, each leaf with the reason it was set.

Derived values follow their inputs. What the gate filled in is written down in the stamp; on the
next update a recorded leaf that still holds our value counts as absent and is derived anew,
while anything a user wrote stays. Only leaves that the policy names are ever touched.
A structure that was made of another one stays where that is gone: see :func:`_orphans`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from webhook.admission import patch
from webhook.admission.decision import Default
from webhook.cel import CelError
from webhook.engine.catalog import KnownKind
from webhook.policy import DefaultRule, FactValue, PolicyFault, Scope
from webhook.policy.path import MISSING, field_path

__all__ = ["Normalised", "normalise"]

SCHEMA_DEFAULT: Final = "default of the API"

ScopeOf = Callable[[dict[str, Any]], Scope]


@dataclass(frozen=True, slots=True)
class Normalised:
    """``object`` with every default; ``recorded`` what the policy filled in; ``defaults`` every leaf that changed."""

    object: dict[str, Any]
    recorded: dict[str, Any]
    defaults: tuple[Default, ...]


def normalise(
    known: KnownKind,
    obj: dict[str, Any],
    records: Sequence[Mapping[str, Any]],
    scope_of: ScopeOf,
    old: dict[str, Any] | None = None,
) -> Normalised:
    """Default one object.

    Args:
        known: the kind's schema and policy.
        obj: the object as it came; never changed.
        records: what earlier passes filled in, from stamps: a leaf that holds one of these values is ours.
        scope_of: makes the scope of the policy's expressions over a given state of the object.
        old: what is stored, on an update. Where its schema refuses it, as when it was stored under another
            definition, a default that cannot be evaluated is left out.

    Raises:
        PolicyFault: a default could not be evaluated on an object that its schema accepts.
    """
    rules = known.policy.defaults
    bare = known.schema.default(_without_ours(obj, rules, records))
    orphans: dict[str, Any] = {}
    try:
        current, filled = _fill(known, old, bare, scope_of)
        if orphans := _orphans(rules, obj, current):
            others = tuple(rule for rule in rules if str(rule.path) not in orphans)
            bare = known.schema.default(_without_ours(obj, others, records))
            current, filled = _fill(known, old, bare, scope_of)
    except PolicyFault:
        if not known.schema.validate(known.schema.decode(bare)[0]):
            raise
        filled = {}  # refused by its schema in a moment: nothing to derive from
        current = known.schema.default(obj)
    new = {**orphans, **{str(rule.path): value for rule, value in filled.items()}}
    return Normalised(current, new, tuple(_explain(obj, current, filled, rules)))


def _orphans(rules: tuple[DefaultRule, ...], obj: dict[str, Any], derived: dict[str, Any]) -> dict[str, Any]:
    """The structures of ours, by path, that nothing derives any more.

    Whoever follows the advice to write an engine instead of a predictor, and takes the predictor out, must not lose the
    engine that was made of it; nor must a service that runs, because the model that its predictor names is gone. They
    stay on record, and follow their source again if it comes back.
    """
    structures = [rule.path for rule in rules if isinstance(rule.value, FactValue)]
    gone = [path for path in structures if path.get(derived) in (MISSING, None)]
    return {str(path): path.get(obj) for path in gone if path.get(obj) not in (MISSING, None)}


def _without_ours(
    obj: dict[str, Any], rules: tuple[DefaultRule, ...], records: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    for rule in rules:
        path, value = str(rule.path), rule.path.get(obj)
        if any(path in record and not patch.diff(value, record[path]) for record in records):
            obj = rule.path.delete(obj)
    return obj


def _fill(
    known: KnownKind, old: dict[str, Any] | None, current: dict[str, Any], scope_of: ScopeOf
) -> tuple[dict[str, Any], dict[DefaultRule, Any]]:
    """Apply the rules until none has anything to add; each sets its leaf once, so there is an end."""
    filled: dict[DefaultRule, Any] = {}
    scope = scope_of(current)
    progress = True
    while progress:
        progress = False
        for rule in known.policy.defaults:
            if rule in filled or not _absent(rule, current):
                continue
            try:
                value = _value(rule, scope)
            except PolicyFault:
                if old is None or not known.schema.check(known.schema.decode(old)[0])[0]:
                    raise
                continue
            if value is MISSING:
                continue
            filled[rule] = value
            current = known.schema.default(rule.path.set(current, value))
            scope = scope_of(current)
            progress = True
    return current, filled


def _absent(rule: DefaultRule, obj: dict[str, Any]) -> bool:
    value = rule.path.get(obj)
    if not rule.path.is_open(obj):
        return False  # something else is in the place of a parent, and is refused for it
    return rule.overwrites or value is MISSING or value is None or (rule.over is not MISSING and value == rule.over)


def _value(rule: DefaultRule, scope: Scope) -> Any:
    """The value of the leaf, or MISSING where the rule does not apply."""
    expression = rule.when or rule.value
    try:
        if rule.when is not None and scope.value(rule.when) is False:
            return MISSING
        expression = rule.value
        return scope.taken(expression) if isinstance(expression, FactValue) else scope.value(expression)
    except CelError as error:
        raise PolicyFault(rule.code, expression.source, error) from error


def _explain(
    before: dict[str, Any], after: dict[str, Any], filled: Mapping[DefaultRule, Any], rules: tuple[DefaultRule, ...]
) -> list[Default]:
    """One entry per leaf that differs, in the order of the object."""
    by_path = {**{str(rule.path): rule for rule in rules}, **{str(rule.path): rule for rule in filled}}
    found: list[Default] = []
    for operation in patch.diff(before, after):
        keys = patch.keys(operation["path"])
        if operation["op"] == "remove":
            path = field_path(keys)
            rule = by_path.get(path)
            reason = "taken back: what it was derived from is gone" if rule else "null counts as absent"
            found.append(Default(path, None, reason, rule.code if rule else "", removed=True))
            continue
        for path, value in _leaves(keys, operation["value"]):
            rule = by_path.get(path)
            if rule is None or rule not in filled:
                rule = _around(path, filled)
            if rule is None:
                found.append(Default(path, value, SCHEMA_DEFAULT))
            else:
                found.append(Default(path, value, rule.because, rule.code))
    return found


def _around(path: str, filled: Mapping[DefaultRule, Any]) -> DefaultRule | None:
    """The default that wrote the part of the object in which a leaf is."""
    return next((rule for rule in filled if path.startswith(f"{rule.path}.")), None)


def _leaves(keys: tuple[str, ...], value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        return [leaf for key, item in value.items() for leaf in _leaves((*keys, key), item)]
    return [(field_path(keys), value)]
