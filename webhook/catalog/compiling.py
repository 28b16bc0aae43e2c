"""Compiles the rules of a kind that are in force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from webhook import policy as policies  # its compiler is loaded when it is first used
from webhook.admission.errors import CatalogError, Problem
from webhook.catalog.kinds import NO_POLICY, KnownKind, PolicySource, facts_of
from webhook.policy import Policy, Reference

__all__ = ["compiled", "compiled_source", "joined"]


def compiled(known: KnownKind) -> KnownKind:
    """A kind with the rules of its sources that are in force.

    Raises:
        CatalogError: with every problem of these rules.
    """
    try:
        return replace(
            known, policy=reduce(joined, (compiled_source(known, each) for each in known.sources), NO_POLICY)
        )
    except ValueError as error:
        raise CatalogError([Problem(known.sources[-1].origin.source, "spec", str(error))]) from None


def compiled_source(known: KnownKind, source: PolicySource) -> Policy:
    """One policy of a kind: its rules that are in force.

    Raises:
        CatalogError: with every problem of these rules.
    """
    references = tuple(map(Reference.of, source.document.spec.references))
    _check_names(known, source, references)
    facts = {**known.own_facts, **facts_of(references)}
    inputs = policies.Inputs(known.schema, {name: fact.schema for name, fact in facts.items()})
    return policies.compile_policy(source.document, source.origin, inputs, holds=known.in_force.holds)


def joined(one: Policy, other: Policy) -> Policy:
    """The rules of two policies.

    Raises:
        ValueError: they have different variables or references of one name.
    """
    return other if one is NO_POLICY else one.joined(other)


def _check_names(known: KnownKind, source: PolicySource, references: Sequence[Reference]) -> None:
    taken = set(known.own_facts)
    problems = list[Problem]()
    for index, each in enumerate(references):
        if each.name in taken:
            place = f"{source.origin.source}:{source.origin.line_of('spec', 'references', index, 'name')}"
            text = f"{known.gvk.kind} has a fact {each.name} already; use another name"
            problems.append(Problem(place, f"spec.references[{index}].name", text))
        taken.add(each.name)
    if problems:
        raise CatalogError(problems)
