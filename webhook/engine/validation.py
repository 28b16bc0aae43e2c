"""Name everything that is wrong with an object: its schema, the schema's rules, then the policy's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

from webhook.admission import patch
from webhook.admission.decision import Cause, Warn
from webhook.admission.stamp import ANNOTATION, Stamp, canonical
from webhook.cel import Budget, CelError
from webhook.engine.catalog import KnownKind
from webhook.golang.fmt import GoStrings
from webhook.policy import Action, Policy, PolicyFault, Profile, Scope, ValidationRule
from webhook.policy.path import MISSING, Path, field_path
from webhook.schema import OMIT, RULES_NOT_RUN, FieldError, annotations_size

__all__ = ["Findings", "unknown_fields", "validate_rules", "validate_schema", "without_specification"]

Keys = tuple[str | int, ...]

FINDINGS: Final = 1000
"""Of each sort, of the policy's rules about one object; nobody reads more. Only so many refusals end the looking."""
MEANT: Final = 100
"""Of unknown fields, those whose nearest known one is looked for: it takes 50 µs, and warnings have 4 KiB in all."""


@dataclass(slots=True)
class Findings:
    """What was found so far. ``notices`` are warnings that would be causes but for ratcheting: they go first."""

    causes: list[Cause] = field(default_factory=list)
    notices: list[Warn] = field(default_factory=list)
    warnings: list[Warn] = field(default_factory=list)


def validate_schema(known: KnownKind, obj: dict[str, Any], old: dict[str, Any] | None, budget: Budget) -> Findings:
    """Findings of the CRD: what the API server itself says, in its words."""
    found = Findings()
    errors, warnings = known.schema.check(obj, old, budget)
    for error in errors:
        if error.detail != RULES_NOT_RUN:  # of no use to a reader who is told the errors that it speaks of
            found.causes.append(Cause(error.field, error.type, error.body()))
    found.notices += [Warn("", text) for text in warnings]
    found.causes += _metadata_errors(obj)
    return found


def without_specification(known: KnownKind, obj: dict[str, Any]) -> Iterator[Warn]:
    """An object without spec, where a spec must have something in it, but the API does not ask for one."""
    root = known.schema.root
    spec = root.properties.get("spec")
    if obj.get("spec") is None and spec is not None and spec.required and "spec" not in root.required:
        fields = ", ".join(spec.required)
        yield Warn("spec", f"there is none: the API server lets that pass, but nothing comes of it: write {fields}")


def unknown_fields(
    known: KnownKind, obj: dict[str, Any], paths: list[str], said: Iterable[Cause | Warn]
) -> Iterator[tuple[str, str]]:
    """Each path with the field that may have been meant, as "; did you mean …?", unless a rule has spoken of it."""
    words = {word for each in said for word in each.message.split()} if paths else set()
    for index, path in enumerate(paths):
        near = "" if index >= MEANT or path.rpartition(".")[2] in words else known.schema.suggest(obj, path)
        yield path, f"; did you mean {near}?" if near else ""


def _metadata_errors(obj: dict[str, Any]) -> Iterator[Cause]:
    """What only files have, since the API server looks at metadata before it asks us.

    Labels and annotations that are no texts, which it cannot decode, and annotations that are too long.
    """
    metadata = obj.get("metadata") or {}
    if not isinstance(metadata, dict):
        yield Cause("metadata", "FieldValueInvalid", "Invalid value: must be an object")
        return
    found: list[Cause] = []
    for part in ("annotations", "labels"):
        given = metadata.get(part)
        if not isinstance(given, dict | None):
            found.append(Cause(f"metadata.{part}", "FieldValueInvalid", "Invalid value: must be a map of texts"))
        for key, value in (given if isinstance(given, dict) else {}).items():
            if not isinstance(value, str):
                text = "Invalid value: must be text: put it in quotes"
                found.append(Cause(field_path(("metadata", part, key)), "FieldValueInvalid", text))
    yield from found
    if not found:
        for error in annotations_size(metadata.get("annotations") or {}):
            yield Cause(error.field, error.type, error.body())


def validate_rules(
    known: KnownKind,
    obj: dict[str, Any],
    old: dict[str, Any] | None,
    scope: Scope,
    profile: Profile,
    *,
    sound: bool,
    references: bool = True,
    checkpoint: Callable[[str], None] = lambda _code: None,
) -> Findings:
    """Findings of the policy, :data:`FINDINGS` of each sort; ``checkpoint`` is told of each rule before it runs.

    ``sound`` says that the schema found nothing: then a rule that cannot be evaluated is a fault
    of ours, else it is passed over, because the schema has named the reason already, or would but
    for ratcheting. So it is where the schema refuses what is stored, which may be of another
    definition under the same name. Without ``references`` rules about other objects are passed over: who sees none
    cannot judge.

    Raises:
        PolicyFault: a rule could not be evaluated.
    """
    found = Findings()
    change = None if old is None else _Change(obj, old, known.policy)
    places: dict[str, Iterable[_Place]] = {}
    for rule in known.policy.validations:
        if rule.referential and not references:
            continue
        action = rule.action_under(profile)
        here = places.get(rule.at.text)
        if here is None:
            here = _places(rule.at, obj, old, scope)
            if rule.at.single:  # the places of a list may be a million, and take more memory than the object
                here = places[rule.at.text] = tuple(here)
        for place in here:
            checkpoint(rule.code)
            if rule.transition and place.stored is MISSING:
                continue
            if action is Action.WARN and len(found.warnings) == FINDINGS:
                break
            try:
                if _holds(rule, scope, place.bindings):
                    continue
                text = _message(rule, scope, place.bindings)
            except CelError as error:
                if not sound or (old is not None and any(known.schema.check(each)[0] for each in (obj, old))):
                    continue
                raise PolicyFault(rule.code, rule.rule.source, error) from error
            unchanged = change is not None and change.spares(rule, place)
            _record(found, rule, action, place, text, unchanged=unchanged)
            if len(found.causes) == FINDINGS:
                return found
    return found


class _Place(NamedTuple):
    """A node with its path, what is stored in its place (or MISSING), and what rules see there."""

    keys: Keys
    node: Any
    stored: Any
    bindings: Mapping[str, Any]


def _places(at: Path, obj: dict[str, Any], old: dict[str, Any] | None, scope: Scope) -> Iterator[_Place]:
    find = _stored(at, old)
    for keys, node in at.nodes(obj):
        stored = find(node)
        yield _Place(keys, node, stored, scope.at(node, stored))


def _holds(rule: ValidationRule, scope: Scope, bindings: Mapping[str, Any]) -> bool:
    if rule.when is not None and scope.value(rule.when, bindings) is False:
        return True
    return scope.value(rule.rule, bindings) is not False


def _message(rule: ValidationRule, scope: Scope, bindings: Mapping[str, Any]) -> str:
    return rule.message if rule.message_expression is None else str(scope.value(rule.message_expression, bindings))


def _record(
    found: Findings,
    rule: ValidationRule,
    action: Action,
    place: _Place,
    text: str,
    *,
    unchanged: bool,
) -> None:
    below = Path.parse(rule.field_path.removeprefix("."))
    path = field_path((*place.keys, *below.keys))
    if action is Action.WARN:
        found.warnings.append(Warn(path, text, rule.code))
    elif unchanged and len(found.notices) == FINDINGS:
        return
    elif unchanged:
        found.notices.append(Warn(path, f"{text} (not refused, because this update does not change it)", rule.code))
    else:
        value = below.get(place.node)
        error = FieldError(rule.reason, path, text, _shown(value))
        found.causes.append(Cause(path, rule.reason, error.body(), rule.code))


def _shown(value: Any) -> Any:
    """What a cause shows of the value: texts and numbers, and lists of texts as Go's webhooks print them."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return GoStrings(value)
    return OMIT if value is MISSING or isinstance(value, dict | list) else value


def _stored(at: Path, old: dict[str, Any] | None) -> Callable[[Any], Any]:
    """What finds the stored node that corresponds to a node, or MISSING.

    Items of a list have no identity of their own: an equal item anywhere in the stored list is
    the same one.
    """
    if old is None:
        return lambda _node: MISSING
    if at.single:
        value = at.get(old)
        return lambda _node: MISSING if value is None else value
    stored = {canonical(node): node for _, node in at.nodes(old)}
    return lambda node: stored.get(canonical(node), MISSING)


class _Change:
    """What an update changes, for the ratcheting of our rules (KEP-4008); what the gate fills in is nobody's change."""

    def __init__(self, obj: dict[str, Any], old: dict[str, Any], policy: Policy) -> None:
        self._obj, self._old, self._policy = obj, old, policy

    def spares(self, rule: ValidationRule, place: _Place) -> bool:
        """Whether it leaves alone everything that the rule reads."""
        if rule.local:
            return _same(place.keys, place.stored, place.node, *self._filled)
        return self._same_specification and (not rule.annotations or self._same_annotations)

    @cached_property
    def _filled(self) -> tuple[set[Keys], set[Keys]]:
        return _filled(self._old, self._policy), _filled(self._obj, self._policy)

    @cached_property
    def _same_specification(self) -> bool:
        return _same((), _specification(self._old), _specification(self._obj), *self._filled)

    @cached_property
    def _same_annotations(self) -> bool:
        return not patch.diff(_annotations(self._old, self._policy), _annotations(self._obj, self._policy))


def _same(keys: Keys, before: Any, after: Any, filled_before: set[Keys], filled: set[Keys]) -> bool:
    """Whether two nodes differ in nothing but leaves that are filled in on their side."""
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
    if any(keys[:length] in paths for length in range(1, len(keys) + 1)):
        return True
    return (
        isinstance(value, dict)
        and bool(value)
        and all(_all_below((*keys, key), item, paths) for key, item in value.items())
    )


def _filled(obj: dict[str, Any], policy: Policy) -> set[Keys]:
    """Where the values are that the policy has filled in, by the object's stamp, or would replace."""
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
    """The annotations of the user: not the stamp, and not those that the policy writes."""
    given = obj.get("metadata", {}).get("annotations") or {}
    written = {rule.path.keys[2] for rule in policy.defaults if rule.path.keys[:2] == ("metadata", "annotations")}
    return {key: value for key, value in given.items() if key not in {ANNOTATION, *written}}


def _specification(obj: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in obj.items() if key not in {"metadata", "status"}}
