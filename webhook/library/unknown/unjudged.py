"""Which findings depend on an unknown value, and are therefore not said; and the values that stand for unknown ones.

A stand-in is valid in the schema where it is, as far as one can be found.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import getitem
from typing import Any, Final, TypeVar

from webhook.admission import Cause, Decision, Warn
from webhook.admission.stamp import ANNOTATION
from webhook.catalog import Catalog, KnownKind
from webhook.cel import Budget, Program
from webhook.cel.values import escape
from webhook.cluster import ClusterView
from webhook.engine import CHILD_CODES, FIT_CODES, POD_CODES
from webhook.facts.settings import Settings
from webhook.golang.regexp import matcher
from webhook.ground.fieldpath import field_keys, field_path
from webhook.kubernetes import pod_places, spots
from webhook.library.unknown.narrowing import NAMES, NOTHING, Narrowing, Undecided, World, dependences_of
from webhook.library.unknown.substitution import Keys, unknown_in
from webhook.policy import SELF, Open, Path, Reads, ValidationRule, any_meet, is_above, node_at
from webhook.schema import FieldError, RuleNode, RuleRun

Schema = Mapping[str, Any]
_DEEP: Final = 32
"""Levels of required fields that a stand-in has."""


def filled(value: Any, unknown: Mapping[Keys, str], schema: Schema | None) -> Any:
    """The object with stand-ins at these paths; equal texts of equal places get equal stand-ins."""
    for path, text in unknown.items():
        node = None if schema is None else node_at(schema, ["*" if isinstance(key, int) else key for key in path])
        value = _set(value, path, stand_in(node, path, text))
    return value


def restored(value: Any, paths: Iterable[Keys], written: Any) -> Any:
    """The object with what the file has at these paths, where it still has a value there."""
    for path in paths:
        with suppress(LookupError, TypeError, AttributeError):  # it has no value there any more
            value = _set(value, path, reduce(getitem, path, written))
    return value


def stand_in(schema: Schema | None, path: Keys, text: str, depth: int = 0) -> Any:
    """A value for a place; ``schema`` is None where the definition says nothing."""
    if path[:1] == ("metadata",):
        return _in_metadata(path, text)
    if schema is None or depth > _DEEP:
        return text
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        below = schema.get("properties") or {}
        names = schema.get("required") or ()
        return {name: stand_in(below.get(name), (*path, name), text, depth + 1) for name in names}
    if kind == "array":
        item = stand_in(schema.get("items"), (*path, 0), text, depth + 1)
        return [item] * int(schema.get("minItems") or 0)
    if kind in ("integer", "number"):
        return _number(schema)
    if kind == "boolean":
        return True
    return _text(schema, text) if kind == "string" else 1 if schema.get("x-kubernetes-int-or-string") else text


def name_of(text: str) -> str:
    """A valid name, the same for the same text."""
    return f"x{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:12]}"


def _in_metadata(path: Keys, text: str) -> Any:
    if len(path) == 1:
        return {"name": name_of(text)}
    if len(path) == 2 and path[1] in ("labels", "annotations"):
        return {}
    return name_of(text)


def _number(schema: Schema) -> int | float:
    least, most = schema.get("minimum"), schema.get("maximum")
    value: int | float = 1
    if least is not None and value <= least:
        value = least + (1 if schema.get("exclusiveMinimum") else 0)
    elif most is not None and value >= most:
        value = most - (1 if schema.get("exclusiveMaximum") else 0)
    return value


def _text(schema: Schema, text: str) -> str:
    """The text itself if it is valid, else a similar one, else one that is only not too long."""
    longest = schema.get("maxLength")
    candidates = [text, name_of(text), "1", "a", "A", "2000-01-01T00:00:00Z", "1s", "http://x"]
    pattern = schema.get("pattern")
    for each in candidates:
        fits = longest is None or len(each) <= longest
        if fits and len(each) >= (schema.get("minLength") or 0) and (not pattern or matcher(pattern)(each)):
            return each
    return text if longest is None else text[:longest]


def _set(value: Any, path: Keys, new: Any) -> Any:
    """A copy with another value at a path that is there."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = _set(value[path[0]], path[1:], new)
    return copy


_DUPLICATE: Final = "FieldValueDuplicate"
_JUNCTORS: Final = "must validate"
_NOT_FOUND: Final = "Not found"
"""What a part of a pod names may be in any other part."""
_ANNOTATIONS: Final = Path(("metadata", "annotations"))
_STAMP: Final = Path((*_ANNOTATIONS.keys, ANNOTATION))
Said = TypeVar("Said", Cause, Warn)


@dataclass(frozen=True, slots=True)
class Unjudged:
    """What is not judged of one object: its unknown values, and what depends on them or on those of other objects."""

    kind: KnownKind | None
    unknown: Mapping[Keys, str]
    world: World

    @classmethod
    def of(cls, value: dict[str, Any], kind: KnownKind | None, world: World) -> Unjudged:
        return cls(kind, unknown_in(value), world)

    def stand_in(self, value: dict[str, Any]) -> dict[str, Any]:
        """The object with valid values instead of the unknown ones."""
        found: dict[str, Any] = filled(value, self.unknown, None if self.kind is None else self.kind.schema.raw)
        return found

    def narrowing(
        self,
        catalog: Catalog,
        sent: dict[str, Any],
        old: dict[str, Any] | None,
        view: ClusterView,
        settings: Settings,
    ) -> Narrowing | None:
        """What tells which rules are undecided; None if none can be. ``sent`` is the object with stand-ins."""
        if self.kind is None or not (self.unknown or self.world.unknown or self.world.without_rules(catalog)):
            return None
        return Narrowing(self.kind, catalog, self.unknown, self.world, sent, old, view, settings)

    def decided(
        self, decision: Decision, judged: dict[str, Any], written: dict[str, Any], undecided: Undecided
    ) -> Decision:
        """The decision without what depends on unknown values, about the object as it is written.

        ``judged`` is the object with stand-ins.
        """
        if not self.unknown and undecided == NOTHING:
            return decision
        findings, obj = _Findings(self.kind, self.unknown, undecided, judged), decision.object
        return replace(
            decision,
            object=None if obj is None else self.written(obj, written),
            causes=tuple(findings.kept(decision.causes)),
            warnings=tuple(findings.kept(decision.warnings)),
        )

    def written(self, obj: dict[str, Any], file: dict[str, Any]) -> dict[str, Any]:
        """An object with the unknown values as the file has them, instead of stand-ins.

        It has no stamp: the one of stand-ins is not that of the object.
        """
        if not self.unknown:
            return obj
        paths = [path for path in self.unknown if path != ("metadata",)]
        found: dict[str, Any] = restored(obj, paths, file)
        bare = _STAMP.delete(found)
        return bare if _ANNOTATIONS.get(bare) else _ANNOTATIONS.delete(bare)


class _Findings:
    """The findings of one object, some of which depend on its unknown values or on leaves that are undecided."""

    def __init__(
        self, kind: KnownKind | None, unknown: Mapping[Keys, str], undecided: Undecided, judged: dict[str, Any]
    ) -> None:
        self._kind, self._unknown, self._undecided, self._judged = kind, unknown, undecided, judged
        self._paths = (*unknown, *undecided.leaves)

    def kept(self, found: Iterable[Said]) -> Iterator[Said]:
        """The findings that hold for every value, with what is written instead of a stand-in."""
        names = {name_of(text): text for text in self._unknown.values()}
        for each in found:
            if not (self._is_about(each) or self._is_undecided(each)):
                message = each.message
                for name, text in names.items():
                    message = message.replace(name, text)
                yield each if message == each.message else replace(each, message=message)

    def _is_about(self, found: Cause | Warn) -> bool:
        """Whether a finding is about an unknown value, or about something above it that it decides."""
        at = tuple(field_keys(found.field))
        for path in self._paths:
            above = path[: len(at)] == at
            if at[: len(path)] == path or (above and at[:1] == ("metadata",) and not found.code):
                return True
            if above and isinstance(found, Cause) and (found.reason == _DUPLICATE or _JUNCTORS in found.message):
                return True
        return False

    def _is_undecided(self, found: Cause | Warn) -> bool:
        """Whether a rule that has read an unknown value says it: a policy's, of pods, or the definition's own."""
        at = tuple(field_keys(found.field))
        if found.code in CHILD_CODES:  # Kubernetes compares a field with those beside it
            return any(at[:-1] == each[: len(at) - 1] for each in self._paths)
        if found.code in FIT_CODES:
            return bool(self._paths)  # what is asked of nodes may depend on any value
        if found.code in POD_CODES:
            pods = self._pods
            return any(at[: len(each)] == each for each in pods) or bool(pods and _NOT_FOUND in found.message)
        rules = () if self._kind is None or not found.code else self._kind.policy.validations
        of_code = (rule for rule in rules if rule.code == found.code and is_above(rule.at.keys, at))
        return any(self._is_read(rule, at) for rule in of_code) or (found.field, found.message) in self._tainted

    def _is_read(self, rule: ValidationRule, at: Keys) -> bool:
        """Whether a rule at a node reads an unknown value below it, or its message any: it would be another text.

        A message shows the object's name and namespace as they are written.
        """
        assert self._kind is not None
        on, undecided = dependences_of(self._kind)[rule], self._undecided
        shown, depth = [path for path in self._paths if path not in NAMES], len(rule.at.keys)
        if on.is_worded_by(Open(shown, undecided.facts, undecided.leaves)):
            return True
        below = [path[depth:] for path in self._paths if not rule.at.single and at[:depth] == path[:depth]]
        return any((SELF, *path) in reads for path in below for reads in (on.reads, on.texts))

    @cached_property
    def _pods(self) -> list[Keys]:
        """The pods and parts of pods with an unknown value: what Kubernetes says of one field depends on others."""
        place = None if self._kind is None else pod_places(self._kind.schema.root, self._kind.policy.pod_types)
        paths = [] if place is None else [tuple(field_keys(str(spot.path))) for spot in spots(place, self._judged)]
        return [each for each in paths if any_meet(self._paths, [each])]

    @cached_property
    def _tainted(self) -> set[tuple[str, str]]:
        """The errors of the definition's own rules (``x-kubernetes-validations``) that read an unknown value."""
        rules = None if self._kind is None else self._kind.schema.rules
        if rules is None:
            return set()
        errors = (each for path in self._paths for each in _errors_that_read(rules, self._judged, path))
        return {("" if each.field == "<nil>" else each.field, each.body()) for each in errors}


def _errors_that_read(rules: RuleNode, obj: Any, path: Keys) -> Iterator[FieldError]:
    """The errors of the rules at and above a path that read the value there."""
    node: RuleNode | None = rules
    for depth, key in enumerate((*path, "")):
        if node is None or obj is None:
            return
        below = (SELF, *(escape(str(each)) or str(each) for each in path[depth:]))
        reading = tuple(each for each in node.rules if each.program is not None and below in _reads_of(each.program))
        run = RuleRun(Budget())
        run.validate(RuleNode(node.node, reading), obj, path=field_path(path[:depth]))
        yield from run.errors
        if depth < len(path):
            node = node.items if isinstance(key, int) else node.properties.get(key, node.additional)
            obj = obj[key] if isinstance(key, int) else obj.get(key)  # absent: a default may set it


def _reads_of(program: Program) -> Reads:
    return Reads.of([program.tree()], {}, {SELF: (SELF,), "oldSelf": (SELF,)})
