"""The pods that an operator makes of an object and of others that complete it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple

__all__ = ["Whole", "Wholes"]

_NONE: Final[Mapping[Any, Any]] = MappingProxyType({})


class Whole(NamedTuple):
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
    runners: Mapping[int | str, str] = _NONE
    keys: Mapping[str, str] = _NONE
    volumes: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Wholes:
    """The pods of one object, which are made when they are asked for, once. The cluster is looked at before.

    They depend on the parts of pods in the object, on ``other``, an object of the cluster that completes it, and on
    ``read``, what else of the object they are made of. That is without the names in :attr:`Whole.volumes`.
    """

    pods: Iterable[Whole]
    other: dict[str, Any] | None = None
    read: str = ""
