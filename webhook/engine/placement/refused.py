"""What the API server says of the pod for ever (KF005): quotas, ranges of limits, and classes that do not exist.

What others use is not counted: it ends. Source: pkg/quota/v1/evaluator/core and plugin/pkg/admission/limitranger.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from webhook.engine.placement.surroundings import PodSurroundings
from webhook.facts import ServedPod
from webhook.facts.nodes import items, mapping, text
from webhook.placement import UnknownAmountError, amount, requests_of, shown

Json = dict[str, Any]
Refusal = tuple[str, str]
"""The part of the pod, and the text."""

_REQUIRED: Final = frozenset(["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"])
"""What each container must say where a quota has it (``podEvaluator.Constraints``)."""
_SCOPED: Final = ("scopes", "scopeSelector")


def refusals(pod: ServedPod, around: PodSurroundings, *, is_complete: bool) -> Iterator[Refusal]:
    """What is refused. ``is_complete``: an object that is not in the view does not exist."""
    yield from _classes(pod, around, is_complete=is_complete)
    ranges, quotas = around.limits("LimitRange"), around.limits("ResourceQuota")
    if not ranges and not quotas:
        return
    try:
        spec = _defaulted(pod.spec, ranges)
        yield from _by_ranges(spec, ranges)
        yield from _by_quotas(spec, quotas, is_part=pod.is_part)
    except UnknownAmountError:
        return


def _classes(pod: ServedPod, around: PodSurroundings, *, is_complete: bool) -> Iterator[Refusal]:
    priority, runtime = text(pod.spec, "priorityClassName"), text(pod.spec, "runtimeClassName")
    if not (priority or runtime) or not is_complete or not around.shows_classes:
        return
    if priority and around.priority_class(priority) is None:
        yield "priorityClassName", f"the API server refuses the pod: PriorityClass {priority} does not exist"
    if runtime and around.shows_runtime_classes and around.runtime_class(runtime) is None:
        yield "runtimeClassName", f"the API server refuses the pod: RuntimeClass {runtime} does not exist"


def _limits(ranges: Any, kind: str) -> Iterator[tuple[str, Json]]:
    """The limits of a type, with the name of their LimitRange."""
    for owner in ranges:
        for limit in items(owner, "spec", "limits"):
            if limit.get("type") == kind:
                yield text(owner, "metadata", "name"), limit


def _defaulted(pod: Json, ranges: Any) -> Json:
    """The pod with the defaults of the ranges: a limit is the maximum where no default is written."""
    given = ((container, mapping(container, "resources")) for container in items(pod, "containers"))
    return {
        **pod,
        "containers": [{**container, "resources": _with_defaults(asked, ranges)} for container, asked in given],
    }


def _with_defaults(resources: Json, ranges: Any) -> Json:
    limits = dict(mapping(resources, "limits"))
    requests = {**limits, **mapping(resources, "requests")}
    for _, limit in _limits(ranges, "Container"):
        of_limits = {**mapping(limit, "max"), **mapping(limit, "default")}
        of_requests = {**mapping(limit, "min"), **of_limits, **mapping(limit, "defaultRequest")}
        limits = {**of_limits, **limits}
        requests = {**of_requests, **requests}
    return {"limits": limits, "requests": requests}


def _by_ranges(pod: Json, ranges: Any) -> Iterator[Refusal]:
    for name, limit in _limits(ranges, "Container"):
        for resource, most in mapping(limit, "max").items():
            for container in items(pod, "containers"):
                asked = max(_of(container, part, resource) for part in ("limits", "requests"))
                if asked > amount(resource, most):
                    what = f"one container asks for {shown(resource, asked)} {resource}"
                    yield f"resources:{resource}", f"{what}, and LimitRange {name} allows {most}"
    for name, limit in _limits(ranges, "Pod"):
        for resource, most in mapping(limit, "max").items():
            asked = requests_of(pod).get(resource, 0)
            if asked > amount(resource, most):
                text_of = f"one pod asks for {shown(resource, asked)} {resource}, and LimitRange {name} allows {most}"
                yield f"resources:{resource}", text_of


def _of(container: Json, part: str, resource: str) -> int:
    value = mapping(container, "resources", part).get(resource)
    return 0 if value is None else amount(resource, value)


def _by_quotas(pod: Json, quotas: Any, *, is_part: bool) -> Iterator[Refusal]:
    for quota in quotas:
        if any(mapping(quota, "spec").get(key) for key in _SCOPED):
            continue  # it counts some pods only
        name = text(quota, "metadata", "name")
        for key, hard in (mapping(quota, "status", "hard") or mapping(quota, "spec", "hard")).items():
            yield from _by_quota(pod, name, key, hard, is_part=is_part)


def _by_quota(pod: Json, name: str, key: str, hard: Any, *, is_part: bool) -> Iterator[Refusal]:
    part, resource = key.split(".", 1) if key.startswith(("requests.", "limits.")) else ("requests", key)
    if key in {"pods", "count/pods"}:
        if amount("pods", hard) < 1:
            yield "", f"ResourceQuota {name} allows no pods"
        return
    written = (mapping(container, "resources", part) for container in items(pod, "containers"))
    if key in _REQUIRED and not all(resource in amounts for amounts in written):
        if is_part:
            return
        what = f"{'limit' if part == 'limits' else 'request'} of {resource}"
        yield f"resources:{resource}", f"the pod has no {what}, and ResourceQuota {name} demands one"
        return
    asked = _asked(pod, part).get(resource, 0)
    if asked > amount(resource, hard):
        what = f"one pod asks for {shown(resource, asked)} {resource}"
        yield f"resources:{resource}", f"{what}, and ResourceQuota {name} allows {hard} in all"


def _asked(pod: Json, part: str) -> Mapping[str, int]:
    """The sum of a part: limits are summed as requests are."""
    if part == "requests":
        return requests_of(pod)
    limits = (mapping(container, "resources", "limits") for container in items(pod, "containers"))
    return requests_of({"containers": [{"resources": {"requests": limit}} for limit in limits]})
