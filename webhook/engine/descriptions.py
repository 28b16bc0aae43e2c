"""What is wrong with the description of a child itself: faults of what nothing decides but the description."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from webhook import children
from webhook.admission import Request
from webhook.catalog import Catalog, neighbour
from webhook.cluster import ClusterView
from webhook.engine.children import described
from webhook.engine.options import Options
from webhook.ground.budget import Budget
from webhook.ground.fieldpath import field_keys
from webhook.schema import FieldError


def description_faults(
    request: Request, catalog: Catalog, view: ClusterView, options: Options
) -> Iterator[tuple[children.Child, FieldError]]:
    """What the API server refuses of the children of an object though no field of this or of another one decides it.

    Raises:
        SpentError, PolicyFault: as a judgement.
    """
    budget = Budget()
    for child in described(request, catalog, view, options):
        for error in _errors(child.object, catalog, budget):
            if not child.rule.object.source(child.frame, tuple(field_keys(error.field))).paths:
                yield child, error


def _errors(made: dict[str, Any], catalog: Catalog, budget: Budget) -> Iterable[FieldError]:
    kind = children.kind_of(made)
    if children.is_builtin(kind):
        return chain(children.child_errors(made, budget), children.pod_errors(made, budget))
    known = catalog.find(kind) or neighbour(kind)
    return () if known is None else children.defined_errors(made, known.schema, budget, namespaced=known.namespaced)
