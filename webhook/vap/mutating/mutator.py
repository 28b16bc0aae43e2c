"""Compiles a MutatingAdmissionPolicy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from webhook.vap.compiled import Compilation, CompiledPolicy, Invocation
from webhook.vap.expressions import Expression, VariableSet
from webhook.vap.models import MutatingPolicy
from webhook.vap.mutating.configuration import apply_configuration
from webhook.vap.mutating.jsonpatch import json_patch
from webhook.vap.mutating.objects import APPLY_CONFIGURATION, JSON_PATCHES

__all__ = ["Mutate", "Mutator", "compile_mutator"]

Mutate = Callable[[Expression, VariableSet, Invocation], dict[str, Any]]
"""Applies one mutation to the invocation's object and returns the mutated object."""


@dataclass(frozen=True, slots=True)
class Mutator:
    """A compiled policy. Its mutations run in order. ``again``: reinvocationPolicy is IfNeeded."""

    compiled: CompiledPolicy
    mutations: tuple[tuple[Mutate, Expression], ...]
    again: bool = False

    def expressions(self) -> list[Expression]:
        """All expressions but those of the variables."""
        return [*self.compiled.conditions, *(expression for _, expression in self.mutations)]


def compile_mutator(document: MutatingPolicy, compilation: Compilation) -> Mutator:
    """Compile a policy; ``compilation.problems`` collects its errors."""
    compiled = compilation.policy(document)
    mutations: list[tuple[Mutate, Expression]] = []
    for index, mutation in enumerate(document.spec.mutations):
        by_patch = mutation.patchType == "JSONPatch"
        at = ("spec", "mutations", index, "jsonPatch" if by_patch else "applyConfiguration", "expression")
        expect = (JSON_PATCHES if by_patch else APPLY_CONFIGURATION,)
        expression = compilation.expression(at, mutation.expression, expect, patches=True)
        mutations.append((json_patch if by_patch else apply_configuration, expression))
    return Mutator(compiled, tuple(mutations), document.spec.reinvocationPolicy == "IfNeeded")
