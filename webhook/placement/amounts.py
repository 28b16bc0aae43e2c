"""Amounts of resources as kube-scheduler counts them: processors in thousandths, all others in whole units, rounded up.

Source: ``Resource.SetMaxResource`` of pkg/scheduler/framework, ``PodRequests`` of component-helpers/resource.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Context, Decimal
from functools import lru_cache
from typing import Any, Final

from webhook.golang import quantity
from webhook.golang.errors import GoError

INT64_MAX: Final = 2**63 - 1
_ZERO: Final = Decimal(0)
_MILLI: Final = Decimal("0.001")
_WIDE: Final = Context(prec=40)
_LONGEST: Final = 64
"""Characters of a quantity: the largest has 19 digits, the finest 9 behind the point."""
_POD_LEVEL: Final = ("cpu", "memory")
"""What ``spec.resources`` of a pod may say, beside huge pages (``IsSupportedPodLevelResource``)."""

Amounts = dict[str, int]
_Exact = dict[str, Decimal]
"""Kubernetes adds quantities before it rounds them."""


class UnknownAmountError(ValueError):
    """A value is not a quantity, or needs more than 64 bits."""


@lru_cache(maxsize=4096)  # the nodes of a pool, and the pods of a kind, share most of their quantities
def _number(text: str) -> Decimal:
    try:
        number = quantity.parse(text).amount if len(text) <= _LONGEST else Decimal("Infinity")
    except GoError as error:
        raise UnknownAmountError(text) from error
    if not -INT64_MAX <= number <= INT64_MAX:
        raise UnknownAmountError(text[:_LONGEST])
    return number.quantize(_MILLI, ROUND_CEILING, _WIDE)  # defaulting does so (core/v1, SetDefaults_ResourceList)


def _exact(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UnknownAmountError(type(value).__name__)
    return _number(str(value))


def _counted(resource: str, number: Decimal) -> int:
    whole = int(number.scaleb(3 if resource == "cpu" else 0).to_integral_value(ROUND_CEILING))
    return min(whole, INT64_MAX)


def amount(resource: str, value: Any) -> int:
    """A quantity of a resource.

    Raises:
        UnknownAmountError: the value is not a quantity, or is larger than 64 bits hold.
    """
    return _counted(resource, _exact(value))


def _amounts(value: Any) -> _Exact:
    """A list of resources. One that is absent is empty."""
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise UnknownAmountError(type(value).__name__)
    return {name: _exact(item) for name, item in value.items()}


def requests_of(pod: Mapping[str, Any]) -> Amounts:
    """What a PodSpec asks for: the sum of its containers, or the largest of its init containers with the sidecars
    before it, whatever is more, and its overhead. A limit alone is a request, as the API server fills it in.

    Raises:
        UnknownAmountError: as :func:`amount`.
    """
    total, sidecars, first = _Exact(), _Exact(), _Exact()
    for container in _containers(pod, "containers"):
        _add(total, _of_container(container))
    for container in _containers(pod, "initContainers"):
        asked = _of_container(container)
        if container.get("restartPolicy") == "Always":
            _add(total, asked)
            _add(sidecars, asked)
            asked = dict(sidecars)
        else:
            _add(asked, sidecars)
        _raise(first, asked)
    _raise(total, first)
    for name, asked_of_pod in _of_container(pod).items():
        if name in _POD_LEVEL or name.startswith("hugepages-"):
            total[name] = asked_of_pod
    _add(total, _amounts(pod.get("overhead")))
    return {name: _counted(name, number) for name, number in total.items() if _is_counted(name)}


def _containers(pod: Mapping[str, Any], field: str) -> Iterable[Mapping[str, Any]]:
    listed = pod.get(field) or ()
    if not isinstance(listed, list | tuple) or not all(isinstance(item, dict) for item in listed):
        raise UnknownAmountError(field)
    return listed


def _of_container(container: Mapping[str, Any]) -> _Exact:
    resources = container.get("resources") or {}
    if not isinstance(resources, dict):
        raise UnknownAmountError("resources")
    return _amounts(resources.get("limits")) | _amounts(resources.get("requests"))


def _add(to: _Exact, more: _Exact) -> None:
    for name, number in more.items():
        to[name] = to.get(name, _ZERO) + number


def _raise(to: _Exact, least: _Exact) -> None:
    for name, number in least.items():
        to[name] = max(to.get(name, _ZERO), number)


def _is_counted(name: str) -> bool:
    """Whether kube-scheduler counts a resource (``IsScalarResourceName``, and those with a field of their own)."""
    return (
        "/" in name or name in {"cpu", "memory", "ephemeral-storage"} or name.startswith(("hugepages-", "attachable-"))
    )


_UNITS: Final = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))


def shown(resource: str, number: int) -> str:
    """An amount for people: ``4`` or ``500m`` processors, ``600Gi`` of memory, ``2`` GPUs."""
    if resource == "cpu":
        return f"{number // 1000}" if number % 1000 == 0 else f"{number}m"
    if "/" not in resource:
        for unit, size in _UNITS:
            if number >= size:
                return f"{number / size:.4g}{unit}"
    return str(number)
