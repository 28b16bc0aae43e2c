"""The order of defaults: each comes after those that it reads. A cycle is an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from graphlib import TopologicalSorter

from webhook.cel.syntax import parse
from webhook.policy.document import Default, PolicyDocument
from webhook.policy.path import Path
from webhook.policy.ranges import in_force
from webhook.policy.reads import OBJECT, SELF, Keys, Reads


def defaults_in_force(document: PolicyDocument, holds: Callable[[str], bool]) -> list[Default]:
    """The defaults of a document without faults that are in force, in the order in which they are set.

    It is the order of the compiled policy. Nothing is compiled for it: expressions are only parsed.
    """
    defaults = [default for _, default in in_force(document.spec.defaults, holds)]
    in_use = in_force(document.spec.variables, holds) if defaults else ()
    variables = {variable.name: parse(variable.expression) for _, variable in in_use}
    rules = []
    for default in defaults:
        expressions = [parse(text) for text in (default.value, default.when) if text]
        path = Path.parse(default.path)
        roots = {} if path.single else {SELF: (OBJECT, *path.around)}
        rules.append((path.keys, Reads.of(expressions, variables, roots)))
    return [defaults[index] for index in in_order(rules)]


def in_order(rules: Sequence[tuple[Keys, Reads]]) -> list[int]:
    """The indices of the rules, each (the path it sets, what it reads) after those it depends on.

    Independent rules keep their order. ``graphlib.CycleError`` names the indices of a cycle.
    """
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for index, (path, reads) in enumerate(rules):
        inputs = [
            other for other, (set_there, _) in enumerate(rules) if set_there != path and (OBJECT, *set_there) in reads
        ]
        sorter.add(index, *inputs)
    sorter.prepare()
    found: list[int] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        found += ready
        sorter.done(*ready)
    return found
