"""The pods of a component as OME makes them: its containers, told where the model is.

Source: pkg/controller/v1beta1/inferenceservice of OME (17b77eda), components and utils.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from webhook.facts.nodes import Referent, at, items, mapping, name_of, namespace_of, text, whole
from webhook.facts.ome.merging import joined
from webhook.facts.ome.service import MAIN
from webhook.golang.errors import GoError
from webhook.golang.quantity import parse

Json = dict[str, Any]

FINE_TUNED: Final = "model-empty-dir"
_MODEL_PATH: Final = "/opt/ml/model"
PORT: Final = 8080
_DIGITS: Final = 9
"""Of a number of GPUs that is believed."""
_HASH: Final = 8
_MODEL_LABEL: Final = 49
"""Characters of the name of a label of a model, after ``models.ome.io/``."""
_NAMESPACE: Final = 8
"""Characters of the namespace that are kept in the label of a model that is too long."""
NOT_OF_POD: Final = frozenset(
    {
        *("minReplicas", "maxReplicas", "scaleMetric", "scaleTarget"),
        *("containerConcurrency", "timeoutSeconds", "canaryTrafficPercent", "labels", "annotations"),
        *("deploymentStrategy", "kedaConfig", "enableKeda"),
        *("minAvailable", "maxUnavailable", "acceleratorOverride"),
        *("config", "runner", "leader", "worker", "size"),
    }
)
"""Fields of a component that are not of its pods."""
NOT_KEPT: Final = frozenset(
    {
        "autoscaling.knative.dev/min-scale",
        "autoscaling.knative.dev/max-scale",
        "internal.ome.io/storage-initializer-sourceuri",
        "kubectl.kubernetes.io/last-applied-configuration",
    }
)
"""Annotations of a service that its children do not get."""
_PLACEHOLDER: Final = re.compile(r"\{\{\s*\.(Name|Namespace|Labels|Annotations)(?:\.([^\s}.]+))?\s*\}\}")
_GPU: Final = "nvidia.com/gpu"


def shortened(name: str, most: int, *, letter: bool = False) -> str:
    """A name of at most ``most`` characters: a longer one is its hash and its end. ``letter``: it begins with one."""
    if len(name) <= most:
        return name
    digest = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:_HASH]
    if letter and digest[0].isdigit():
        digest = f"a{digest[1:]}"
    end = most - _HASH - 1
    return f"{digest}-{name[-end:]}" if end > 0 else digest[:most]


def ready_label(model: Referent) -> str:
    """The label of the nodes on which a model is ready."""
    name, namespace = model.name, model.namespace
    if model.cluster_scoped or not namespace:
        name = shortened(name, _MODEL_LABEL - len("clusterbasemodel."))
        return f"models.ome.io/clusterbasemodel.{name}"
    room = _MODEL_LABEL - len(".basemodel.")
    if len(namespace) + len(name) > room:
        namespace = shortened(namespace, _NAMESPACE)
        name = shortened(name, room - len(namespace))
    return f"models.ome.io/{namespace}.basemodel.{name}"


@dataclass(frozen=True, slots=True)
class Served:
    """A service, what was chosen for it, the names of its fine-tuned weights, the first one, and OME's ``ingress``
    configuration for it.
    """

    service: Json
    model: Referent | None
    runtime: Referent | None
    weights: tuple[str, ...]
    weight: Json | None
    ingress: Json

    @property
    def spec(self) -> Json:
        return mapping(self.service, "spec")

    @property
    def merged(self) -> bool:
        """Whether the weights hold the whole model."""
        return at(self.weight, "spec", "configuration", "merged_weights") is True

    @property
    def path(self) -> str | None:
        """The folder of the model on its nodes; None if it has none."""
        path = at(self.model.spec, "storage", "path") if self.model is not None else None
        return path if isinstance(path, str) else None


@dataclass(frozen=True, slots=True)
class Wiring:
    """How OME makes the pods of a component of a service. ``probed``: a main container without a probe gets one."""

    context: Served
    role: str
    annotations: dict[str, str]
    workers: int
    probed: bool

    def pod(self, part: Json) -> Json:
        """The pod of a component or of a part of it, with what OME adds to the main container and to the pod."""
        runner = part.get("runner")
        if isinstance(runner, dict):
            part = {**part, "runner": self._told(runner)}
        pod = pod_of(part)
        containers, index = [*pod["containers"]], _main_of(part)
        containers[index : index + 1] = [
            expanded(container, self.context.service) for container in containers[index : index + 1]
        ]
        pod["containers"] = [_with_defaults(container, probed=self.probed) for container in containers]
        pod = {**_OF_PODS, **{key: value for key, value in pod.items() if value not in (None, "")}}
        if volumes := [*items(pod, "volumes"), *self._volumes(pod)]:
            pod["volumes"] = volumes
        if self.role == "router":
            return {**pod, "serviceAccountName": f"{name_of(self.context.service)}-router"}
        selector = self._selector(pod)
        return {**pod, "nodeSelector": selector} if selector else pod

    def _told(self, runner: Json) -> Json:
        """The runner, told where the model is and how many GPUs are there."""
        env, mounts = [*items(runner, "env")], [*items(runner, "volumeMounts")]
        if self.role == "router":
            config = text_map(self.context.runtime.spec if self.context.runtime else {}, "routerConfig", "config")
            config |= text_map(self.context.spec, "router", "config")
            env += [{"name": key, "value": value} for key, value in sorted(config.items())]
        else:
            self._tell_model(env, mounts)
            if (gpus := _gpus(runner)) > 0:
                _set(env, "PARALLELISM_SIZE", str(gpus * (1 + self.workers)))
        return {**runner, **({"env": env} if env else {}), **({"volumeMounts": mounts} if mounts else {})}

    @property
    def _is_injected(self) -> bool:
        return self.annotations.get("ome.io/inject-model-init") == "true"

    def _tell_model(self, env: list[Json], mounts: list[Json]) -> None:
        path, model, weights = self.context.path, self.context.model, self.context.weights
        if path is not None and model is not None and not self._is_injected and not self.context.merged:
            if not weights and not _has(env, "MODEL_PATH"):
                env.append({"name": "MODEL_PATH", "value": path})
            mounts.append({"name": model.name, "mountPath": path, "readOnly": True})
        if weights and not _has(mounts, FINE_TUNED):
            mounts.append({"name": FINE_TUNED, "mountPath": _MODEL_PATH})

    def _volumes(self, pod: Json) -> Iterator[Json]:
        """The volume of the model, which OME adds whatever others there are. One that is not in view has no place."""
        volumes, path, model = items(pod, "volumes"), self.context.path, self.context.model
        name = text(self.context.spec, "model", "name")
        if model is None and name and not _has(volumes, name):
            yield {"name": name, "emptyDir": {}}
        elif path is not None and model is not None:
            yield {"name": model.name, "hostPath": {"path": path}}
        if (self.context.weights or self._is_injected) and not _has(volumes, FINE_TUNED):
            yield {"name": FINE_TUNED, "emptyDir": {"medium": "Memory"}}

    def _selector(self, pod: Json) -> Json:
        """The nodes that have the model, and those of an older runtime and of the service's own component."""
        own = mapping(pod, "nodeSelector")
        if self.context.model is None or self.context.merged:
            return own
        older = mapping(self.context.runtime.spec if self.context.runtime else {}, "nodeSelector")
        ready = {ready_label(self.context.model): "Ready"}
        return {**ready, **own, **older, **mapping(self.context.spec, self.role, "nodeSelector")}


def text_map(node: Any, *keys: str) -> dict[str, str]:
    """The texts of the map at a path."""
    return {key: value for key, value in mapping(node, *keys).items() if isinstance(value, str)}


def _has(named: list[Json], name: str) -> bool:
    return any(entry.get("name") == name for entry in named)


def has_container(part: Json) -> bool:
    return isinstance(part.get("runner"), dict) or bool(items(part, "containers"))


def pod_of(part: Json) -> Json:
    """A component or a part of one as a PodSpec: the runner is the last container, or joins the one of its name."""
    pod = {key: value for key, value in part.items() if key not in NOT_OF_POD}
    runner = part.get("runner")
    containers = items(part, "containers")
    if isinstance(runner, dict):
        index = _main_of(part)
        if index == len(containers):
            containers = [*containers, runner]
        else:
            containers[index] = joined(containers[index], runner)
    return {**pod, "containers": containers}


def beside(part: Json) -> dict[str, str]:
    """Which container of the pod is a key of the component, and not in its list."""
    return {f"containers[{_main_of(part)}]": "runner"} if isinstance(part.get("runner"), dict) else {}


def _main_of(part: Json) -> int:
    """The index of the container that OME changes: the runner's, else the first."""
    runner, containers = part.get("runner"), items(part, "containers")
    if not isinstance(runner, dict):
        return 0
    name = text(runner, "name")
    return next(
        (index for index, container in enumerate(containers) if text(container, "name") == name), len(containers)
    )


_OF_PODS: Final[Json] = {
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "schedulerName": "default-scheduler",
}
"""What OME sets in pods."""
_OF_CONTAINERS: Final[Json] = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "IfNotPresent",
}
"""What OME sets in containers: Kubernetes' own default of the last is another one for :latest."""


def _with_defaults(container: Json, *, probed: bool) -> Json:
    told = {**_OF_CONTAINERS, **{key: value for key, value in container.items() if value not in (None, "")}}
    if probed and container.get("name") == MAIN and not container.get("readinessProbe"):
        ports = items(container, "ports")
        port = (whole(ports[0], "containerPort") if ports else None) or PORT
        told = {**told, "readinessProbe": {"tcpSocket": {"port": port}}}
    return told


def _gpus(container: Json) -> int:
    resources = mapping(container, "resources")
    amounts = (mapping(resources, key).get(_GPU) for key in ("limits", "requests"))
    amount = next((given for given in amounts if given is not None), None)
    if isinstance(amount, bool) or not isinstance(amount, str | int):
        return 0
    try:
        number = parse(str(amount)).amount
    except GoError:
        return 0
    return math.ceil(number) if number.adjusted() < _DIGITS else 0


def _set(env: list[Json], name: str, value: str) -> None:
    """A variable gets a value, whatever it had, and keeps its source."""
    for index, variable in enumerate(env):
        if variable.get("name") == name:
            env[index] = {**variable, "value": value}
            return
    env.append({"name": name, "value": value})


def expanded(value: Any, service: Json) -> Any:
    """A container with the placeholders of the service's metadata, such as ``{{.Name}}``, replaced."""
    if isinstance(value, dict):
        return {key: expanded(item, service) for key, item in value.items()}
    if isinstance(value, list):
        return [expanded(item, service) for item in value]
    if isinstance(value, str) and "{{" in value:
        return _PLACEHOLDER.sub(lambda match: _replaced(match, service), value)
    return value


def _replaced(match: re.Match[str], service: Json) -> str:
    if match[1] in {"Name", "Namespace"}:
        return match[0] if match[2] else (name_of(service) if match[1] == "Name" else namespace_of(service))
    return text_map(service, "metadata", match[1].lower()).get(match[2], "") if match[2] else match[0]
