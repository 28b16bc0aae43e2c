"""The codes whose rules, defaults or facts read a field."""

from __future__ import annotations

from collections.abc import Collection

from tools.statements import Keys
from webhook.catalog import Catalog, KnownKind
from webhook.cluster import Kind
from webhook.facts import inputs_of
from webhook.policy import OBJECT, SELF, Dependence, Rule, ValidationRule


def touched(catalog: Catalog, api: str, kind: str, fields: Collection[Keys]) -> set[str]:
    """The codes of an API that are about one of these fields of a kind, or read it, alone or with what is around it."""
    around = {keys[:end] for keys in fields for end in range(1, len(keys) + 1)}
    found: set[str] = set()
    for known in (each for each in catalog.kinds.values() if each.api == api):
        for rule in known.policy.rules:
            exact, whole = _of_kind(known, rule, kind)
            if not exact.isdisjoint(fields) or not whole.isdisjoint(around):
                found.add(rule.code)
    return found


def _of_kind(known: KnownKind, rule: Rule, kind: str) -> tuple[set[Keys], set[Keys]]:
    """The fields of a kind that a rule is about, or whose presence it tests; and those that it reads as a whole."""
    reads = Dependence(known.policy, rule).reads
    inputs = (each for fact in rule.facts for each in inputs_of(Kind(known.gvk.group, known.gvk.kind), fact))
    whole = {each.keys for each in inputs if each.kind.kind == kind}
    if known.gvk.kind != kind:
        return set(), whole
    node = rule.at.keys if isinstance(rule, ValidationRule) else ()
    roots = {OBJECT: (), SELF: node}
    exact, values = (
        {(*roots[path[0]], *path[1:]) for path in paths if path[0] in roots} for paths in (reads.tests, reads.values)
    )
    return exact | {rule.about.keys}, whole | values
