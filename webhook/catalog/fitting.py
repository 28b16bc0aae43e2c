"""Fit a kind to another definition than the catalog's: to an installed one, or to that of another release.

A rule needs its fields: without one of them, in its own kind or where its facts read another, it is not applied.
Whether it holds for the values of an object is decided with each object (:mod:`webhook.catalog.applies`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Final

from webhook.admission import GroupVersionKind
from webhook.catalog.applies import Dependences, Foreign, Own
from webhook.catalog.kinds import KnownKind
from webhook.cluster import Kind
from webhook.facts import Fact
from webhook.policy import MISSING, DefaultRule, Keys, Open, Path, Policy, is_above, node_at
from webhook.schema import Structural
from webhook.schema.compare import Differences, compare, expected, joined

Inputs = Sequence[tuple[Kind, Keys]]
"""The fields of kinds that a fact reads."""

_NOTHING: Final = Differences()


@dataclass(frozen=True, slots=True)
class Fit:
    """``known``: a kind with another schema and all its rules. ``differences``: those of this schema from its own."""

    known: KnownKind
    differences: Differences

    @classmethod
    def of(cls, known: KnownKind, schema: Structural) -> Fit:
        differences = compare(known.schema.raw, schema.raw)
        own = Structural(expected(known.schema.raw, schema.raw), version=known.schema.version, name=known.schema.name)
        rules = Dependences(Kind(known.gvk.group, known.gvk.kind), known.policy)
        return cls(replace(known, schema=schema, own=Own(rules, own, schema, differences)), differences)


def of_other_release(
    known: KnownKind, kinds: Iterable[KnownKind], compiled: Callable[[KnownKind], KnownKind]
) -> KnownKind:
    """A kind of another release than the documented one, with the rules that its definition has fields for.

    ``kinds`` are those of this release, of which only those that its facts read are compared.
    """
    documented = known.documented or known
    with_rules = replace(compiled(with_all_fields(known)), schema=documented.schema)
    rules = Dependences(Kind(known.gvk.group, known.gvk.kind), with_rules.policy)
    read = {kind for name in with_rules.facts for kind, _ in rules.inputs(name)} - {rules.kind}
    around = (other for other in kinds if Kind(other.gvk.group, other.gvk.kind) in read)
    fits = {other.gvk: _fit(other) for other in around if _differs(other)}
    if _differs(known):
        fits[known.gvk] = Fit.of(with_rules, known.schema)
    return applicable(with_rules, fits)


def with_all_fields(known: KnownKind) -> KnownKind:
    """A kind with the fields of its release and of the documented one, for which its rules are compiled."""
    documented = known.documented or known
    both = joined(documented.schema.raw, known.schema.raw)
    return replace(known, schema=Structural(both, version=known.schema.version, name=known.schema.name))


def with_fields_of(schema: Structural, others: Sequence[Structural]) -> Structural:
    """A schema with the fields of other versions, for which the rules of all of them are compiled."""
    raw = reduce(joined, (other.raw for other in others), schema.raw)
    return Structural(raw, version=schema.version, name=schema.name) if others else schema


def of_version(kind: KnownKind, policy: Policy, others: Sequence[Structural]) -> Policy:
    """The rules of a policy that are about one version of a kind, of those that are compiled with the fields of all.

    Left out are those about a field that the version lacks, and those that read one which others always have: they need
    not ask for it first. For the rest, a field that the version lacks is absent.
    """
    rules = Dependences(Kind(kind.gvk.group, kind.gvk.kind), policy)
    lost = compare(with_fields_of(kind.schema, others).raw, kind.schema.raw).lost
    always = Open({path for path in lost if any(_has_always(other.raw, path) for other in others)})
    return policy.without(
        rules.where(lambda on: any(is_above(path, on.rule.about.keys) for path in lost) or on.needs(always))
    )


def _has_always(schema: Mapping[str, Any], path: Keys) -> bool:
    node, above = node_at(schema, path), node_at(schema, path[:-1])
    return above is not None and node is not None and (path[-1] in above.get("required", ()) or "default" in node)


def _differs(known: KnownKind) -> bool:
    return known.documented is not None and known.schema is not known.documented.schema


def _fit(known: KnownKind) -> Fit:
    assert known.documented is not None
    return Fit.of(replace(known, schema=known.documented.schema), known.schema)


def applicable(known: KnownKind, fits: Mapping[GroupVersionKind, Fit]) -> KnownKind:
    """The kind with the rules that apply to the other definitions; itself if nothing of it differs."""
    fit = fits.get(known.gvk)
    installed, differences = (known, _NOTHING) if fit is None else (fit.known, fit.differences)
    rules = installed.own.rules if installed.own else Dependences(Kind(known.gvk.group, known.gvk.kind), known.policy)
    around = {Kind(gvk.group, gvk.kind): each for gvk, each in fits.items() if each.known.api == known.api}
    inputs = {name: rules.inputs(name) for name in known.facts}
    unreliable = {name for name in inputs if _is_unreliable(known.facts[name], inputs[name], differences, around)}
    others = {name: foreign for name in inputs if (foreign := _foreign(inputs[name], around)).kinds}
    policy, absent = known.policy, Open(differences.lost, unreliable)
    if any(absent):
        policy = policy.without(rules.where(lambda on: on.needs(absent)))
        policy = policy.with_children(
            lambda child: child.facts.isdisjoint(unreliable) and not child.needs(differences.lost)
        )
    if installed.own is not None:
        policy = _fitted(policy, installed.schema.raw)
        installed = replace(installed, own=installed.own.with_rules(rules.of(policy)))
    return installed if policy is known.policy and not others else replace(installed, policy=policy, others=others)


def _fitted(policy: Policy, schema: Mapping[str, Any]) -> Policy:
    """The policy with the installed schema's own defaults, where a rule replaces such a default."""
    defaults = tuple(_fitted_default(rule, schema) for rule in policy.defaults)
    return policy if defaults == policy.defaults else replace(policy, defaults=defaults)


def _fitted_default(rule: DefaultRule, schema: Mapping[str, Any]) -> DefaultRule:
    if rule.over is MISSING:
        return rule
    over = (node_at(schema, rule.path.keys) or {}).get("default", MISSING)
    return rule if over == rule.over else replace(rule, over=over)


def _is_unreliable(fact: Fact, inputs: Inputs, differences: Differences, around: Mapping[Kind, Fit]) -> bool:
    """Whether a fact may be wrong under the installed definitions, whatever the values.

    A raw fact is about the fields of other releases, so it is wrong where another release is installed.
    """
    if fact.sparse:
        return False
    if fact.raw and (fields_of_spec(differences.lost) or fields_of_spec(differences.new)):
        return True
    lost = ((around[kind].differences.lost, keys) for kind, keys in inputs if kind in around)
    return any(keys[: end + 1] in fields for fields, keys in lost for end in range(len(keys)))


def _foreign(inputs: Inputs, around: Mapping[Kind, Fit]) -> Foreign:
    """The kinds that a fact reads of which the installed definition accepts more."""
    read = dict[Kind, tuple[Own, list[Keys]]]()
    for kind, keys in inputs:
        other = around[kind].known if kind in around else None
        if other is not None and other.own is not None and other.own.differences.accepts_more:
            read.setdefault(kind, (other.own, []))[1].append(keys)
    return Foreign(read)


def fields_of_spec(paths: Iterable[Keys]) -> tuple[str, ...]:
    """The paths in the specification, the shortest first."""
    found = sorted((path for path in paths if path[:1] == ("spec",)), key=lambda path: (len(path), path))
    return tuple(str(Path(path)) for path in found)
