"""Which checks of a CRD's schema apply: all to a new CRD, fewer to an update of an old one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SchemaOptions:
    """The checks to run. An update may keep a fault that the old CRD already has.

    ``known_rules`` and ``known_messages`` are expressions of the old CRD. They may use everything that an older or
    newer API server allowed.
    """

    valid_types: bool = True
    structural: bool = True
    pruned_defaults: bool = True
    atomic_sets: bool = True
    map_keys: bool = True
    known_rules: frozenset[str] = frozenset()
    known_messages: frozenset[str] = frozenset()
    rule_costs: bool = True
