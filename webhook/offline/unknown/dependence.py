"""Which rules and findings depend on an unknown value, and are therefore not judged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from webhook.admission import Cause, Decision, Warn
from webhook.admission.stamp import ANNOTATION
from webhook.cel import Budget, Program
from webhook.cel.values import escape
from webhook.cluster import ClusterView, Kind
from webhook.engine import POD_CODES
from webhook.engine.catalog import Catalog, KnownKind
from webhook.facts import inputs_of
from webhook.facts.settings import Settings
from webhook.manifests.places import keys
from webhook.offline.receive import kind_of
from webhook.offline.unknown.standins import filled, name_of, restored
from webhook.offline.unknown.substitution import Keys, unknown_in
from webhook.policy import OBJECT, SELF, DefaultRule, Expression, Policy, Reads, ValidationRule, field_path
from webhook.schema import FieldError, RuleNode, RuleRun
from webhook.schema.pods import pod_places, spots

__all__ = ["Unjudged", "World"]

_NAMES: Final = (("metadata", "name"), ("metadata", "namespace"), ("metadata", "generateName"))
_DUPLICATE: Final = "FieldValueDuplicate"
_JUNCTORS: Final = "must validate"
Said = TypeVar("Said", Cause, Warn)


@dataclass(frozen=True, slots=True)
class World:
    """The unknown values of all objects among the files: by kind, their paths."""

    unknown: Mapping[Kind, tuple[Keys, ...]] = field(default_factory=dict)

    def extended(self, values: Iterable[dict[str, Any]]) -> World:
        """This world and the unknown values of further objects."""
        found = dict(self.unknown)
        for value in values:
            if paths := unknown_in(value):
                kind = Kind(kind_of(value).group, kind_of(value).kind)
                found[kind] = (*found.get(kind, ()), *paths)
        return World(found)

    def hides(self, kind: Kind, read: Iterable[Keys]) -> bool:
        """Whether a look at these fields of the objects of a kind may find an unknown value, or miss an object.

        What is read of metadata is not recorded: any of it may be.
        """
        paths = self.unknown.get(kind, ())
        return any(each[0] == "metadata" or any(_meet(each, path) for path in read) for each in paths)


class _Watched:
    """A view that remembers which kinds are looked up."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self.kinds: set[Kind] = set()

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        self.kinds.add(kind)
        return self._view.get(kind, namespace, name)

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        self.kinds.add(kind)
        return self._view.list(kind, namespace)


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

    def narrowed(self, catalog: Catalog, judged: dict[str, Any], view: ClusterView, settings: Settings) -> Catalog:
        """The catalog without the rules and defaults of the kind that cannot be decided; itself if all can.

        ``judged`` is the object with stand-ins.
        """
        kind = self.kind
        if kind is None or not (self.unknown or self.world.unknown):
            return catalog
        policy, prepared = kind.policy, catalog.prepared(kind)
        facts = frozenset(name for name in kind.facts if self._is_unknown(name, judged, view, settings))
        rules = tuple(each for each in policy.validations if not self._hinders(each, prepared.reads(each), facts))
        defaults = tuple(each for each in policy.defaults if not self._hinders_default(each, policy, facts))
        wholes = None if self._hides_wholes(judged, view, settings) else kind.wholes
        if len(rules) == len(policy.validations) and len(defaults) == len(policy.defaults) and wholes is kind.wholes:
            return catalog
        policy = replace(policy, validations=rules, defaults=defaults)
        return catalog.with_kind(replace(kind, policy=policy, wholes=wholes))

    def _hides_wholes(self, judged: dict[str, Any], view: ClusterView, settings: Settings) -> bool:
        """Whether an object that completes the pods has an unknown value."""
        assert self.kind is not None
        watched = _Watched(view)
        if self.kind.wholes is not None:
            self.kind.wholes(judged, watched, settings)
        return any(kind in self.world.unknown for kind in watched.kinds)

    def decided(self, decision: Decision, judged: dict[str, Any], written: dict[str, Any]) -> Decision:
        """The decision without what depends on unknown values, about the object as it is written.

        ``judged`` is the object with stand-ins.
        """
        if not self.unknown:
            return decision
        tainted, pods = self._of_schema_rules(judged), self._pods(judged)
        causes = (each for each in decision.causes if (each.field, each.message) not in tainted)
        obj = decision.object
        return replace(
            decision,
            object=None if obj is None else self.written(obj, written),
            causes=tuple(self._kept(causes, pods)),
            warnings=tuple(self._kept(decision.warnings, pods)),
        )

    def written(self, obj: dict[str, Any], file: dict[str, Any]) -> dict[str, Any]:
        """An object with the unknown values as the file has them, instead of stand-ins.

        It has no stamp: the one of stand-ins is not that of the object.
        """
        if not self.unknown:
            return obj
        paths = [path for path in self.unknown if path != ("metadata",)]
        found: dict[str, Any] = restored(obj, paths, file)
        metadata = dict(found["metadata"])
        metadata["annotations"] = {
            key: item for key, item in (metadata.get("annotations") or {}).items() if key != ANNOTATION
        }
        if not metadata["annotations"]:
            del metadata["annotations"]
        return {**found, "metadata": metadata}

    def _pods(self, judged: dict[str, Any]) -> list[Keys]:
        """The pods and parts of pods with an unknown value: what Kubernetes says of one field depends on others."""
        place = None if self.kind is None else pod_places(self.kind.schema.root, self.kind.policy.pod_types)
        paths = [] if place is None else [tuple(keys(spot.path)) for spot in spots(place, judged)]
        return [each for each in paths if any(_meet(each, path) for path in self.unknown)]

    def _kept(self, found: Iterable[Said], pods: Collection[Keys]) -> Iterator[Said]:
        """The findings that are not about an unknown value, with what is written instead of a stand-in."""
        names = {name_of(text): text for text in self.unknown.values()}
        for each in found:
            if not self._is_about(each) and not (each.code in POD_CODES and _is_within(each.field, pods)):
                message = each.message
                for name, text in names.items():
                    message = message.replace(name, text)
                yield each if message == each.message else replace(each, message=message)

    def _is_about(self, found: Cause | Warn) -> bool:
        at = tuple(keys(found.field))
        for path in self.unknown:
            if at[: len(path)] == path:
                return True
            above = path[: len(at)] == at
            if above and isinstance(found, Cause) and (found.reason == _DUPLICATE or _JUNCTORS in found.message):
                return True
            if above and found.code and self._reads_below(found.code, at, path):
                return True
        return False

    def _reads_below(self, code: str, at: Keys, path: Keys) -> bool:
        """Whether a rule about many nodes, of which this is one, reads an unknown value below it."""
        assert self.kind is not None
        for rule in self.kind.policy.validations:
            if rule.code == code and not rule.at.single:
                depth = len(rule.at.keys)
                if at[:depth] == path[:depth] and (SELF, *_names(path[depth:])) in self.kind.policy.reads(rule):
                    return True
        return False

    def _of_schema_rules(self, judged: dict[str, Any]) -> set[tuple[str, str]]:
        """The errors of the definition's own rules (``x-kubernetes-validations``) that read an unknown value."""
        rules = None if self.kind is None else self.kind.schema.rules
        if rules is None:
            return set()
        errors = (each for path in self.unknown for each in _errors_that_read(rules, judged, path))
        return {("" if each.field == "<nil>" else each.field, each.body()) for each in errors}

    def _hinders(self, rule: ValidationRule, reads: Reads, facts: Collection[str]) -> bool:
        """Whether a rule cannot be decided at any node."""
        if any((OBJECT, *_names(path)) in reads for path in self.unknown):
            return True
        covered = any(_meet(rule.at.keys, path) and len(path) <= len(rule.at.keys) for path in self.unknown)
        return covered or any(not each.facts.isdisjoint(facts) for each in rule.conditions)

    def _hinders_default(self, rule: DefaultRule, policy: Policy, facts: Collection[str]) -> bool:
        parts = [part for part in (rule.when, rule.value) if part is not None]
        if any(not part.facts.isdisjoint(facts) for part in parts):
            return True
        expressions = [part for part in parts if isinstance(part, Expression)]
        trees = {name: policy.variables[name].program.tree() for each in expressions for name in each.variables}
        reads = Reads.of([each.program.tree() for each in expressions], trees)
        reads.values.add((OBJECT, *rule.path.keys))
        return any((OBJECT, *_names(path)) in reads for path in self.unknown)

    def _is_unknown(self, fact: str, judged: dict[str, Any], view: ClusterView, settings: Settings) -> bool:
        """Whether a fact reads an unknown value, of this object or of another one.

        What facts read of metadata is not recorded, so an unknown label or annotation may be among it. Where other
        objects are looked up, the name and the namespace count.
        """
        assert self.kind is not None
        own, read = Kind(self.kind.gvk.group, self.kind.gvk.kind), dict[Kind, list[Keys]]()
        for kind, path in inputs_of(own, fact):
            read.setdefault(kind, []).append(path)
        for each in self.unknown:
            recorded = each[0] != "metadata" or each in _NAMES
            if not recorded or any(_meet(each, path) for path in read.get(own, ())):
                return True
        watched = _Watched(view)
        self.kind.facts[fact].value(judged, watched, settings)
        named = any(each in _NAMES for each in self.unknown)
        return any(named or self.world.hides(kind, read.get(kind, [])) for kind in watched.kinds)


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
            obj = obj[key]


def _reads_of(program: Program) -> Reads:
    return Reads.of([program.tree()], {}, {SELF: (SELF,), "oldSelf": (SELF,)})


def _meet(one: Keys, other: Keys) -> bool:
    """Whether one path is at, above or below the other; ``*`` is any key."""
    return all(a == b or "*" in (a, b) for a, b in zip(one, other, strict=False))


def _is_within(field: str, places: Collection[Keys]) -> bool:
    at = tuple(keys(field))
    return any(at[: len(each)] == each for each in places)


def _names(path: Keys) -> tuple[str, ...]:
    return tuple(map(str, path))
