"""What is wrong with the description of a child itself: faults of what nothing decides but the description."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from webhook import children
from webhook.admission import kind_of
from webhook.catalog import Catalog
from webhook.engine.children import by_definition
from webhook.ground.budget import Budget
from webhook.ground.fieldpath import field_keys
from webhook.schema import FieldError


def description_faults(made: Iterable[children.Child], catalog: Catalog) -> Iterator[tuple[children.Child, FieldError]]:
    """What the API server refuses of children that are described, though no field of an object decides it."""
    budget = Budget()
    for child in made:
        for error in _errors(child.object, catalog, budget):
            if not child.source(tuple(field_keys(error.field))).paths:
                yield child, error


def _errors(made: dict[str, Any], catalog: Catalog, budget: Budget) -> Iterable[FieldError]:
    if children.is_builtin(kind_of(made)):
        return chain(children.child_errors(made, budget), children.pod_errors(made, budget))
    return by_definition(made, catalog, budget)
