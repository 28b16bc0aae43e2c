"""The pods that OME makes: of a service over its runtime, and of a benchmark over the pod of its tool.

OME adds to the containers what it knows of the model: variables, a mount, and the volume that the mount refers to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from webhook.cluster.view import ClusterView
from webhook.facts.nodes import at, items, mapping, namespace_of, text
from webhook.facts.ome.choice import preferred
from webhook.facts.ome.components import MODE, MULTI_NODE, RAW, ROLES, base_of, mode_of
from webhook.facts.ome.lookup import Found, find_runtime
from webhook.facts.ome.merge import KEYS, merged
from webhook.facts.settings import Settings
from webhook.facts.whole import Whole, Wholes

__all__ = ["pods_of_benchmark", "pods_of_service"]

FINE_TUNED: Final = "model-empty-dir"
OUTPUT: Final = "benchmark-output-storage"
_OF_JOB: Final = ("volumes", "affinity", "nodeSelector", "tolerations")
_OF_TOOL: Final = ("image", "env", "envFrom", "volumeMounts", "resources")

Json = dict[str, Any]


def pods_of_service(service: Json, view: ClusterView, settings: Settings) -> Wholes:
    """The pods of each component, if the runtime is known and there is a container.

    OME makes no pod without one. Knative and Ray make theirs by rules of their own.
    """
    spec, mode = mapping(service, "spec"), text(service, "metadata", "annotations", MODE)
    name, first = text(spec, "runtime", "name"), preferred(service, "runtime", settings)
    runtime = find_runtime(view, namespace_of(service), name, first)
    if runtime is None or mode == "VirtualDeployment":
        return Wholes((), read=mode)
    return Wholes(_pods_over(runtime, spec), runtime.object, mode)


def _pods_over(runtime: Found, spec: Json) -> Iterator[Whole]:
    for role in ROLES:
        if isinstance(spec.get(role), dict):
            yield from (whole for whole in _pods_of(role, spec, runtime) if whole.pod.get("containers"))


def _pods_of(role: str, spec: Json, runtime: Found) -> Iterator[Whole]:
    given, base = spec[role], base_of(runtime.spec, role)
    whole = merged(base, given)
    mode = mode_of(whole, role, spec)
    if mode == RAW or (mode == MULTI_NODE and not isinstance(whole.get("leader"), dict)):
        yield _whole(f"spec.{role}", given, base, whole, spec, runtime)
    for part in ("leader", "worker") if mode == MULTI_NODE else ():
        if isinstance(whole.get(part), dict):
            path = f"spec.{role}.{part}"
            yield _whole(path, mapping(given, part), mapping(base, part), whole[part], spec, runtime)


def _whole(path: str, given: Json, base: Json, whole: Json, spec: Json, runtime: Found) -> Whole:
    pod, runners = _pod(whole)
    volumes = (text(spec, "model", "name"), FINE_TUNED)
    return Whole(path, given, f'{runtime.kind} "{runtime.name}"', pod, lambda: _pod(base)[0], runners, KEYS, volumes)


def _pod(component: Json) -> tuple[Json, dict[int | str, str]]:
    """The component as a PodSpec, and which container is the runner: the last one, or one of the same name."""
    runner, containers = component.get("runner"), items(component, "containers")
    if not isinstance(runner, dict):
        return component, {}
    names = [text(each, "name") for each in containers]
    name = text(runner, "name")
    place = names.index(name) if name in names else len(names)
    below = containers[place] if place < len(names) else {}
    return {**component, "containers": [*containers[:place], merged(below, runner), *containers[place + 1 :]]}, {
        place: "runner"
    }


def pods_of_benchmark(job: Json, _: ClusterView, __: Settings) -> Wholes:
    """The pod of a benchmark that overrides something. What its tool asks of the node is not known."""
    override, of_service = mapping(job, "spec", "podOverride"), at(job, "spec", "endpoint", "inferenceService")
    if not override:
        return Wholes(())
    if "volumeMounts" in override and of_service is not None:
        return Wholes((), read="volume of a service")  # which OME names after the model
    tool = {"name": "genai-bench", "image": "tool"}
    alone = {"containers": [tool], "restartPolicy": "Never"}
    container = {key: item for key, item in override.items() if key in _OF_TOOL}
    pod = {
        **{key: item for key, item in override.items() if key in _OF_JOB},
        **alone,
        "containers": [merged(tool, container)],
    }
    origin = "the pod of the benchmark"
    return Wholes([Whole("spec.podOverride", override, origin, pod, lambda: alone, {0: ""}, KEYS, (OUTPUT,))])
