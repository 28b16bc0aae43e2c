"""The pods that OME makes: of a service over its runtime, of a runtime alone, of a benchmark over the pod of its tool.

A service's component is merged over that of its runtime by Kubernetes' strategic merge: the service wins. OME adds to
the containers what it knows of the model: variables, a mount, and the volume that the mount refers to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from webhook.cluster.view import ClusterView
from webhook.facts.fact import Whole, Wholes
from webhook.facts.nodes import Referent, at, items, mapping, namespace_of, text
from webhook.facts.ome.choice import preferred
from webhook.facts.ome.lookup import find_runtime
from webhook.facts.ome.merging import KEYS, joined, merged
from webhook.facts.ome.service import MAIN, MODE, MULTI_NODE, RAW, ROLES, base_of, mode_of
from webhook.facts.settings import Settings

FINE_TUNED: Final = "model-empty-dir"
OUTPUT: Final = "benchmark-output-storage"
_NAMED: Final = {"name": MAIN, "image": "of the service"}
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


def _pods_over(runtime: Referent, spec: Json) -> Iterator[Whole]:
    origin, volumes = f'{runtime.kind} "{runtime.name}"', (text(spec, "model", "name"), FINE_TUNED)
    for role in ROLES:
        if isinstance(spec.get(role), dict):
            for each in _components(f"spec.{role}", role, spec[role], base_of(runtime.spec, role), spec):
                pod, runners = _pod(each.whole)
                if pod.get("containers"):
                    yield Whole(each.path, each.given, origin, pod, each.alone, runners, KEYS, volumes)


def pods_of_runtime(runtime: Json, _: ClusterView, __: Settings) -> Wholes:
    """The pods of a service that writes nothing but its model. It may give the runner a name and an image."""
    return Wholes(_pods_alone(mapping(runtime, "spec")))


def _pods_alone(spec: Json) -> Iterator[Whole]:
    for each in _components_alone(spec):
        runner = each.whole.get("runner")
        named = {"runner": {**_NAMED, **runner}} if isinstance(runner, dict) else {}
        pod, runners = _pod({**each.whole, **named})
        mounts = (mount for container in items(pod, "containers") for mount in items(container, "volumeMounts"))
        if pod.get("containers"):
            at_top = each.given is spec
            volumes = {text(mount, "name") for mount in mounts}
            yield Whole(each.path, each.given, "", pod, each.alone, {} if at_top else runners, KEYS, volumes)


def _components_alone(spec: Json) -> Iterator[_Component]:
    """Those of a runtime. The engine of an older one has its containers at the top."""
    for role in ROLES:
        yield from _components(f"spec.{role}Config", role, mapping(spec, f"{role}Config"), {}, {})
    if not mapping(spec, "engineConfig"):
        older = base_of(spec, "engine")
        if mode_of(older, "engine", {}) == RAW:
            yield _Component("spec", spec, {}, older)


class _Component(NamedTuple):
    """What becomes one pod: its node, its value and that of the runtime below it, and both merged."""

    path: str
    given: Json
    base: Json
    whole: Json

    def alone(self) -> Json:
        return _pod(self.base)[0]


def _components(path: str, role: str, given: Json, base: Json, service: Json) -> Iterator[_Component]:
    whole = merged(base, given)
    mode = mode_of(whole, role, service)
    if mode == RAW or (mode == MULTI_NODE and not isinstance(whole.get("leader"), dict)):
        yield _Component(path, given, base, whole)
    for part in ("leader", "worker") if mode == MULTI_NODE else ():
        if isinstance(whole.get(part), dict):
            yield _Component(f"{path}.{part}", mapping(given, part), mapping(base, part), whole[part])


def _pod(component: Json) -> tuple[Json, dict[int | str, str]]:
    """The component as a PodSpec, and which container is the runner: the last one, or one of the same name."""
    runner = component.get("runner")
    if not isinstance(runner, dict):
        return component, {}
    if not component.get("containers"):
        return {**component, "containers": [runner]}, {0: "runner"}
    containers = items(component, "containers")
    names, name = [text(each, "name") for each in containers], text(runner, "name")
    if name not in names:
        return {**component, "containers": [*containers, runner]}, {len(containers): "runner"}
    place = names.index(name)
    both = joined(containers[place], runner)
    return {**component, "containers": [*containers[:place], both, *containers[place + 1 :]]}, {place: "runner"}


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
