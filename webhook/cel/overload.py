"""One signature of one function: what the checker resolves a call to and the backends run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from webhook.cel.types import Type

__all__ = ["Cost", "Overload"]

Cost = Callable[[tuple[Any, ...], Any], int]
"""The run-time cost of a call, from its arguments and its result, in the API server's units."""


@dataclass(frozen=True, slots=True)
class Overload:
    """A function's signature and implementation.

    ``function`` is an operator (``_+_``), a name (``size``) or a dotted name (``sets.contains``,
    which has no receiver). ``id`` is cel-go's or Kubernetes' overload id. ``args`` holds the
    receiver first when ``member``. ``impl`` takes native values and returns one, or raises
    ``CelError``; it checks its arguments, because a ``dyn`` argument may hold anything.
    ``cost`` None means 1. A non-``strict`` overload is also called with errors as arguments.
    """

    function: str
    id: str
    args: tuple[Type, ...]
    result: Type
    member: bool
    impl: Callable[..., Any]
    cost: Cost | None = None
    strict: bool = True
