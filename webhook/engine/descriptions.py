"""What is wrong with the description of a child itself: faults of what nothing decides but the description."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from webhook import children
from webhook.catalog import Catalog, neighbour
from webhook.ground.budget import Budget
from webhook.ground.fieldpath import field_keys
from webhook.schema import FieldError


def description_faults(made: Iterable[children.Child], catalog: Catalog) -> Iterator[tuple[children.Child, FieldError]]:
    """What the API server refuses of children that are described, though no field of an object decides it."""
    budget = Budget()
    for child in made:
        for error in _errors(child.object, catalog, budget):
            if not child.rule.object.source(child.frame, tuple(field_keys(error.field))).paths:
                yield child, error


def _errors(made: dict[str, Any], catalog: Catalog, budget: Budget) -> Iterable[FieldError]:
    kind = children.kind_of(made)
    if children.is_builtin(kind):
        return chain(children.child_errors(made, budget), children.pod_errors(made, budget))
    known = catalog.find(kind) or neighbour(kind)
    return () if known is None else children.defined_errors(made, known.schema, budget, namespaced=known.namespaced)
