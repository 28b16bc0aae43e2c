"""A pod that an operator makes of an object and of others that complete it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Whole"]


@dataclass(frozen=True, slots=True)
class Whole:
    """One pod, and where it comes from.

    ``path`` and ``given``: the node of the object, and its value. ``origin`` names what completes it, if anything does,
    and ``alone`` makes the pod that this would be without the node. ``pod`` is a PodSpec. ``runners``: by the index of
    a container, the key of the node that has it beside the list. ``keys``: the lists that are merged, and by which
    key. ``volumes`` are the names of those that the operator adds.
    """

    path: str
    given: dict[str, Any]
    origin: str
    pod: dict[str, Any]
    alone: Callable[[], dict[str, Any]]
    runners: Mapping[int | str, str] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    volumes: Collection[str] = ()
