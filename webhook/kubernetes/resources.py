"""Names and amounts of resources: ResourceRequirements of a container and of a pod, overhead, and their sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Final, TypeVar

from webhook.golang.errors import GoError
from webhook.golang.names import dns_1123_label, label_key
from webhook.golang.quantity import Quantity, parse
from webhook.ground.fieldpath import FieldPath
from webhook.kubernetes.judge import DATA, Judge, rule
from webhook.kubernetes.shown import cut
from webhook.kubernetes.values import Json, field, quantities, structs, text
from webhook.schema.fielderror import duplicate, forbidden, invalid, not_found, required
from webhook.schema.fielderror import not_supported as unsupported

_STANDARD: Final = frozenset(DATA["resources"]["standard"])
_CONTAINER: Final = frozenset(DATA["resources"]["container"])
_INTEGERS: Final = frozenset(DATA["resources"]["integers"])
_POD: Final = ("cpu", "hugepages-", "memory")
_HUGE: Final = "hugepages-"
_MOST: Final = Decimal(2**63 - 1)
_USUAL: Final = 256  # characters

T = TypeVar("T")

Amounts = Mapping[str, Quantity]


def _remembered(check: Callable[[str], T]) -> Callable[[str], T]:
    """A check of names that remembers those of a usual length: long ones would fill the memory."""
    remembered = lru_cache(1024)(check)
    return lambda name: remembered(name) if len(name) <= _USUAL else check(name)


@_remembered
def _name_problems(name: str) -> tuple[str, ...]:
    """What is wrong with the name of a resource of a container."""
    problems = label_key(name)
    if (
        not problems
        and "/" not in name
        and name not in _STANDARD
        and not name.startswith((_HUGE, "requests.hugepages-"))
    ):
        problems = ["must be a standard resource type or fully qualified"]
    if "/" not in name:
        if name not in _CONTAINER and not name.startswith(_HUGE):
            problems = [*problems, "must be a standard resource for containers"]
    elif not _is_native(name) and not _is_extended(name):
        problems = [*problems, "doesn't follow extended resource name standard"]
    return tuple(problems)


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


@_remembered
def _is_extended(name: str) -> bool:
    return not _is_native(name) and not name.startswith("requests.") and not label_key(f"requests.{name}")


def _can_overcommit(name: str) -> bool:
    return _is_native(name) and not name.startswith(_HUGE)


def fractional(amount: Quantity) -> bool:
    return amount.amount != amount.amount.to_integral_value()


@rule("ResourceRequirements")
def _container(judge: Judge, value: Json, at: FieldPath) -> None:
    check_amounts(judge, quantities(value, "limits"), quantities(value, "requests"), at)
    if "claims" in value:
        _claims(judge, value, at.child("claims"))


def check_amounts(judge: Judge, limits: Amounts, requests: Amounts, at: FieldPath, *, pod: bool = False) -> None:
    """``validateResourceRequirements`` without its claims."""
    for kind, amounts in (("limits", limits), ("requests", requests)):
        path = at.child(kind)
        for name, amount in amounts.items():
            _check_name(judge, name, path, pod=pod)
            _check_amount(judge, name, amount, path)
    for name, amount in requests.items():
        _check_request(judge, name, amount, limits.get(name), at)
    names = limits.keys() | requests.keys()
    if any(name.startswith(_HUGE) for name in names) and not names & {"cpu", "memory"}:
        judge.add(forbidden(at, "HugePages require cpu or memory"), only_if_complete=True)


def _check_name(judge: Judge, name: str, path: FieldPath, *, pod: bool) -> None:
    problems: Iterable[str] = () if name in _CONTAINER else _name_problems(name)
    if pod:
        problems = [problem for problem in problems if problem != "must be a standard resource for containers"]
        problems = [problem for problem in problems if not problem.startswith("doesn't follow")]
        if not problems and name not in _POD and not name.startswith(_HUGE):
            judge.add(unsupported(path.key(name), name, _POD))
    for problem in problems:
        judge.add(invalid(path.key(name), name, problem))


def check_resource_name(judge: Judge, name: str, at: FieldPath) -> None:
    """``ValidateContainerResourceName``."""
    judge.add_invalid(_name_problems(name), name, at)


def _check_amount(judge: Judge, name: str, amount: Quantity, path: FieldPath) -> None:
    if amount.sign() < 0:
        judge.add(invalid(path.key(name), str(amount), "must be greater than or equal to 0"))
    if fractional(amount) and (name in _INTEGERS or _is_extended(name)):
        judge.add(invalid(path.key(name), str(amount), "must be an integer"))
    if name.startswith(_HUGE) and not _fills_pages(name, amount):
        judge.add(invalid(path.key(name), str(amount), f"{amount} is not positive integer multiple of {cut(name)}"))


def _fills_pages(name: str, amount: Quantity) -> bool:
    try:
        page = parse(name.removeprefix(_HUGE))
    except GoError:
        return False
    if page.sign() <= 0 or fractional(page):
        return False
    return _value(amount) % _value(page) == 0


def _value(amount: Quantity) -> int:
    """``Quantity.Value()``, which has 64 bits."""
    return int(max(min(amount.rounded_up(0).amount, _MOST), -_MOST))


def _check_request(judge: Judge, name: str, amount: Quantity, limit: Quantity | None, at: FieldPath) -> None:
    if limit is None:
        if not _can_overcommit(name):
            why = "Limit must be set for non overcommitable resources"
            judge.add(required(at.child("limits"), why), only_if_complete=True)
    elif amount.compare(limit) and not _can_overcommit(name):
        judge.add(invalid(at.child("requests"), str(amount), f"must be equal to {cut(name)} limit of {limit}"))
    elif amount.compare(limit) > 0:
        why = f"must be less than or equal to {cut(name)} limit of {limit}"
        judge.add(invalid(at.child("requests"), str(amount), why))


def _claims(judge: Judge, value: Json, path: FieldPath) -> None:
    seen, named = set[str](), set[str]()
    for index, claim in structs(value, "claims"):
        own, name = path.index(index), text(claim, "name")
        if not name:
            judge.add(required(own))
            continue
        _claim(judge, name, text(claim, "request"), own, seen, named)
        if name not in judge.pod.claims:
            names = f": {judge.pod.claim_names}" if judge.pod.claims else " which is empty"
            why = f"must be one of the names in pod.spec.resourceClaims{names}"
            judge.add(not_found(own, name, why), only_if_complete=True)


def _claim(judge: Judge, name: str, request: str, path: FieldPath, seen: set[str], named: set[str]) -> None:
    """``seen`` has the claims that are used, with their requests; ``named`` only their names."""
    if name in seen:
        judge.add(duplicate(path, name))
        return
    key = f"{name}/{request}" if request else name
    judge.add_invalid(dns_1123_label(request) if request else [], request, path, "request")
    if key in seen or (not request and name in named):
        judge.add(duplicate(path, key))
    seen.add(key)
    named.add(key.partition("/")[0])


def check_overhead(judge: Judge, spec: Json, at: FieldPath) -> None:
    """Overhead is judged as limits: its errors stand below ``overhead.limits``."""
    check_amounts(judge, quantities(spec, "overhead"), {}, at.child("overhead"))


def check_pod_resources(judge: Judge, spec: Json, at: FieldPath) -> None:
    """``validatePodResources``: the resources of a whole pod, and the sums of its containers."""
    resources = field(spec, "resources")
    if resources is None:
        return
    own = at.child("resources")
    if judge.pod.os == "windows":
        judge.add(forbidden(own, "may not be set for a windows pod"))
        return
    if resources.get("claims") is not None:
        judge.add(forbidden(own.child("claims"), "claims may not be set for Resources at pod-level"))
        _claims(judge, resources, own.child("claims"))
    limits, requests = quantities(resources, "limits"), quantities(resources, "requests")
    check_amounts(judge, limits, requests, own, pod=True)
    if not judge.part:
        _check_sums(judge, spec, limits, requests, own)


def _check_sums(judge: Judge, spec: Json, limits: Amounts, requests: Amounts, path: FieldPath) -> None:
    for name, total in _sums(spec, "requests").items():
        if name in requests and total.compare(requests[name]) > 0:
            why = f"must be greater than or equal to aggregate container requests of {total}"
            judge.add(invalid(path.child("requests").key(name), str(requests[name]), why))
    for name, total in _sums(spec, "limits").items():
        if name.startswith(_HUGE) and name in limits and total.compare(limits[name]) > 0:
            why = f"must be greater than or equal to aggregate container limits of {total}"
            judge.add(invalid(path.child("limits").key(name), str(limits[name]), why))
    for index, container in structs(spec, "containers"):
        for name, amount in quantities(field(container, "resources") or {}, "limits").items():
            if name in limits and amount.compare(limits[name]) > 0:
                why = f"must be less than or equal to pod limits of {limits[name]}"
                own = path.child("containers").index(index).key(name).child("limits")
                judge.add(invalid(own, str(amount), why))


def _sums(spec: Json, kind: str) -> dict[str, Quantity]:
    """``aggregateContainerResourcesByFn``: sidecars run beside the containers, other init containers before them."""
    total: dict[str, Quantity] = {}
    for _, container in structs(spec, "containers"):
        _add(total, quantities(field(container, "resources") or {}, kind))
    sidecars: dict[str, Quantity] = {}
    largest: dict[str, Quantity] = {}
    for _, container in structs(spec, "initContainers"):
        amounts = quantities(field(container, "resources") or {}, kind)
        if text(container, "restartPolicy") == "Always":
            _add(total, amounts)
            _add(sidecars, amounts)
            _raise(largest, {name: sidecars[name] for name in amounts if name in sidecars})
        else:  # what it does not ask for is as large as it was after the last sidecar with it
            _add(amounts, {name: sidecars[name] for name in amounts if name in sidecars})
            _raise(largest, amounts)
    _raise(total, largest)
    return total


def _add(total: dict[str, Quantity], amounts: Amounts) -> None:
    for name, amount in amounts.items():
        try:
            total[name] = total[name].plus(amount) if name in total else amount
        except GoError:  # a sum that Go could not print either
            total.pop(name, None)


def _raise(largest: dict[str, Quantity], amounts: Amounts) -> None:
    for name, amount in amounts.items():
        if name not in largest or amount.compare(largest[name]) > 0:
            largest[name] = amount
