"""Names and amounts of resources: ResourceRequirements of a container and of a pod, overhead, and their sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Final

from webhook.golang.errors import GoError
from webhook.golang.names import dns_1123_label, label_key
from webhook.golang.quantity import Quantity, parse
from webhook.kubernetes.judge import DATA, Judge, not_found, rule
from webhook.kubernetes.values import Json, field, quantities, structs, text
from webhook.schema.fielderror import duplicate, forbidden, invalid, required
from webhook.schema.fielderror import not_supported as unsupported

__all__ = ["check_overhead", "check_pod_resources", "fractional", "is_usual_name"]

_STANDARD: Final = frozenset(DATA["resources"]["standard"])
_CONTAINER: Final = frozenset(DATA["resources"]["container"])
_INTEGERS: Final = frozenset(DATA["resources"]["integers"])
_POD: Final = ("cpu", "hugepages-", "memory")
_HUGE: Final = "hugepages-"
_MOST: Final = Decimal(2**63 - 1)

Amounts = Mapping[str, Quantity]


@lru_cache(1024)
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


def is_usual_name(name: str) -> bool:
    """Whether it is right for a container, and takes whole numbers of anything."""
    return not name.startswith(_HUGE) and (name in _CONTAINER or not _name_problems(name))


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


@lru_cache(1024)
def _is_extended(name: str) -> bool:
    return not _is_native(name) and not name.startswith("requests.") and not label_key(f"requests.{name}")


def _can_overcommit(name: str) -> bool:
    return _is_native(name) and not name.startswith(_HUGE)


def fractional(amount: Quantity) -> bool:
    return amount.amount != amount.amount.to_integral_value()


@rule("ResourceRequirements")
def _container(judge: Judge, value: Json, at: str) -> None:
    check_amounts(judge, quantities(value, "limits"), quantities(value, "requests"), at)
    if "claims" in value:
        _claims(judge, value, f"{at}claims")


def check_amounts(judge: Judge, limits: Amounts, requests: Amounts, at: str, *, pod: bool = False) -> None:
    """``validateResourceRequirements`` without its claims."""
    for kind, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            _check_name(judge, name, f"{at}{kind}[{name}]", pod=pod)
            _check_amount(judge, name, amount, f"{at}{kind}[{name}]")
    for name, amount in requests.items():
        _check_request(judge, name, amount, limits.get(name), at)
    names = limits.keys() | requests.keys()
    if any(name.startswith(_HUGE) for name in names) and not names & {"cpu", "memory"}:
        judge.whole(forbidden(at[:-1], "HugePages require cpu or memory"))


def _check_name(judge: Judge, name: str, path: str, *, pod: bool) -> None:
    problems: Iterable[str] = () if name in _CONTAINER else _name_problems(name)
    if pod:
        problems = [problem for problem in problems if problem != "must be a standard resource for containers"]
        problems = [problem for problem in problems if not problem.startswith("doesn't follow")]
        if not problems and name not in _POD and not name.startswith(_HUGE):
            judge.say(unsupported(path, name, _POD))
    for problem in problems:
        judge.say(invalid(path, name, problem))


def _check_amount(judge: Judge, name: str, amount: Quantity, path: str) -> None:
    if amount.sign() < 0:
        judge.say(invalid(path, str(amount), "must be greater than or equal to 0"))
    if fractional(amount) and (name in _INTEGERS or _is_extended(name)):
        judge.say(invalid(path, str(amount), "must be an integer"))
    if name.startswith(_HUGE) and not _fills_pages(name, amount):
        judge.say(invalid(path, str(amount), f"{amount} is not positive integer multiple of {name}"))


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


def _check_request(judge: Judge, name: str, amount: Quantity, limit: Quantity | None, at: str) -> None:
    if limit is None:
        if not _can_overcommit(name):
            judge.whole(required(f"{at}limits", "Limit must be set for non overcommitable resources"))
    elif amount.compare(limit) and not _can_overcommit(name):
        judge.say(invalid(f"{at}requests", str(amount), f"must be equal to {name} limit of {limit}"))
    elif amount.compare(limit) > 0:
        judge.say(invalid(f"{at}requests", str(amount), f"must be less than or equal to {name} limit of {limit}"))


def _claims(judge: Judge, value: Json, path: str) -> None:
    seen: set[str] = set()
    for index, claim in structs(value, "claims"):
        own, name = f"{path}[{index}]", text(claim, "name")
        if not name:
            judge.say(required(own))
            continue
        _claim(judge, name, text(claim, "request"), own, seen)
        known = judge.pod.claims
        if name not in known:
            names = f": {', '.join(sorted(known))}" if known else " which is empty"
            judge.whole(not_found(own, name, f"must be one of the names in pod.spec.resourceClaims{names}"))


def _claim(judge: Judge, name: str, request: str, path: str, seen: set[str]) -> None:
    if name in seen:
        judge.say(duplicate(path, name))
        return
    key = f"{name}/{request}" if request else name
    for problem in dns_1123_label(request) if request else []:
        judge.say(invalid(f"{path}.request", request, problem))
    if key in seen or (not request and any(other.partition("/")[0] == name for other in seen)):
        judge.say(duplicate(path, key))
    seen.add(key)


def check_overhead(judge: Judge, spec: Json, at: str) -> None:
    """Overhead is judged as limits: its errors stand below ``overhead.limits``."""
    check_amounts(judge, quantities(spec, "overhead"), {}, f"{at}overhead.")


def check_pod_resources(judge: Judge, spec: Json, at: str) -> None:
    """``validatePodResources``: the resources of a whole pod, and the sums of its containers."""
    resources = field(spec, "resources")
    if resources is None:
        return
    own = f"{at}resources"
    if judge.pod.os == "windows":
        judge.say(forbidden(own, "may not be set for a windows pod"))
        return
    if resources.get("claims") is not None:
        judge.say(forbidden(f"{own}.claims", "claims may not be set for Resources at pod-level"))
        _claims(judge, resources, f"{own}.claims")
    limits, requests = quantities(resources, "limits"), quantities(resources, "requests")
    check_amounts(judge, limits, requests, f"{own}.", pod=True)
    if not judge.part:
        _check_sums(judge, spec, limits, requests, own)


def _check_sums(judge: Judge, spec: Json, limits: Amounts, requests: Amounts, path: str) -> None:
    for name, total in _sums(spec, "requests").items():
        if name in requests and total.compare(requests[name]) > 0:
            why = f"must be greater than or equal to aggregate container requests of {total}"
            judge.whole(invalid(f"{path}.requests[{name}]", str(requests[name]), why))
    for name, total in _sums(spec, "limits").items():
        if name.startswith(_HUGE) and name in limits and total.compare(limits[name]) > 0:
            why = f"must be greater than or equal to aggregate container limits of {total}"
            judge.whole(invalid(f"{path}.limits[{name}]", str(limits[name]), why))
    for index, container in structs(spec, "containers"):
        for name, amount in quantities(field(container, "resources") or {}, "limits").items():
            if name in limits and amount.compare(limits[name]) > 0:
                why = f"must be less than or equal to pod limits of {limits[name]}"
                judge.whole(invalid(f"{path}.containers[{index}][{name}].limits", str(amount), why))


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
            amounts = sidecars
        else:
            _add(amounts, sidecars)
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
