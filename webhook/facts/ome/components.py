"""What OME runs of an InferenceService: each component with its name, numbers and pods, for descriptions to copy.

Source: pkg/controller/v1beta1/inferenceservice of OME (17b77eda): components, reconcilers and utils. What OME made is
compared with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from webhook.facts.fact import BOOLEAN, INTEGER, OPEN, STRING, TEXTS, Schema, fields, listed
from webhook.facts.nodes import Referent, at, items, mapping, name_of, text, whole
from webhook.facts.ome.ingress import INGRESS, ingress_of
from webhook.facts.ome.merging import merged
from webhook.facts.ome.service import MAIN, MODE, MULTI_NODE, RAW, ROLES, base_of, mode_of
from webhook.facts.ome.wiring import (
    NOT_KEPT,
    PORT,
    Json,
    Served,
    Wiring,
    beside,
    has_container,
    pod_of,
    shortened,
    text_map,
)
from webhook.golang.errors import GoError
from webhook.golang.json import GoStruct, marshal
from webhook.golang.strconv import atoi

_NAME: Final = 63
"""Characters of a label's value and of the name of a Service."""
_OF_POD_ONLY: Final = (
    "k8s.grafana.com/",
    "loki.grafana.com/",
    "prometheus.io/",
    "networking.gke.io/",
    "rdma.ome.io/",
    "ome.io/inject-model-init",
    "ome.io/inject-fine-tuned-adapter",
    "ome.io/inject-serving-sidecar",
)

_OF_ENTRY: Final = ("service.beta.kubernetes.io/", "cloud.google.com/", "service.kubernetes.io/")

_NUMBER_OR_TEXT: Final[Schema] = {"x-kubernetes-int-or-string": True}
_COMPONENT: Final = fields(
    **dict.fromkeys(("role", "name", "app", "mode", "lws", "scaled", "scaler", "query", "service", "address"), STRING),
    **dict.fromkeys(("least", "most", "replicas", "size", "utilization"), INTEGER),
    known=BOOLEAN,
    **dict.fromkeys(("annotations", "forService", "ownForService", "podLabels"), TEXTS),
    **dict.fromkeys(("pod", "worker", "merged"), OPEN),
    ports=listed(OPEN),
    spec=fields(
        **dict.fromkeys(("labels", "annotations"), TEXTS),
        **dict.fromkeys(("minReplicas", "scaleTarget", "timeoutSeconds", "containerConcurrency"), INTEGER),
        **dict.fromkeys(("minAvailable", "maxUnavailable"), _NUMBER_OR_TEXT),
        scaleMetric=STRING,
        deploymentStrategy={**OPEN, "properties": {"type": STRING}},
    ),
)
"""``spec`` is the component of the service over the runtime's, ``app`` the name cut to 63 characters, ``worker`` the
pod of the workers, if there are several nodes. ``known`` is false without a runtime: ``pod`` then has only a name and
an image."""
MADE: Final = fields(
    components=listed(_COMPONENT),
    model=fields(**dict.fromkeys(("name", "size", "type", "vendor", "format", "version"), STRING)),
    **dict.fromkeys(("runtime", "config", "tuned"), STRING),
    entry=fields(role=STRING, port=INTEGER, type=STRING, annotations=TEXTS),
    ingress=INGRESS,
    merged=OPEN,
)
"""Of an InferenceService. ``model`` has what is known of it, ``runtime`` is its name, absent without one. ``config`` is
the JSON about the model, and ``entry`` the Service that users reach: empty without one, as where an ``ingress`` is."""


_OF_REFERENCES: Final = {
    "model": {"at": "spec.model"},
    "runtime": {"at": "spec.runtime.name"},
    "config": {"at": "spec.model"},
    "tuned": {"at": "spec.model.fineTunedWeights"},
    "ingress": {"at": ""},
}
_OF_METADATA: Final = {
    **{key: {"at": "metadata.name"} for key in ("name", "app", "lws", "scaled")},
    **{key: {"at": "metadata.annotations"} for key in ("annotations", "forService", "podLabels")},
    "scaler": {"at": "metadata.annotations[ome.io/autoscalerClass]"},
    "utilization": {"at": "metadata.annotations[ome.io/targetUtilizationPercentage]"},
    "service": {"at": "metadata.annotations[ome.io/service-type]"},
    "address": {"at": "metadata.annotations[ome.io/load-balancer-ip]"},
    "query": {"at": "spec.kedaConfig.customPromQuery"},
}
"""Where what is said of a component comes from."""


def made(context: Served) -> Json:
    """What OME makes of a service, as :data:`MADE`."""
    if text(context.service, "metadata", "annotations", MODE) == "VirtualDeployment":
        return {"components": [], "model": {}, "config": "", "tuned": "false", "entry": {}, "ingress": {}}
    components = _components(context)
    modes = {component["role"]: component["mode"] for component in components}
    wanted = [role for role in ROLES if isinstance(context.spec.get(role), dict)]
    complete = "engine" in wanted and [*modes] == wanted
    return {
        "components": components,
        "model": _described(context.model),
        **({"runtime": context.runtime.name} if context.runtime is not None else {}),
        "config": _config(context),
        "tuned": "true" if context.weights else "false",
        "entry": _entry(context, components) if complete else {},
        "ingress": ingress_of(context.service, context.ingress, modes) if complete else {},
        "merged": {**_OF_REFERENCES, "entry": {"at": "spec.router" if "router" in context.spec else "spec.engine"}},
    }


def _entry(context: Served, components: list[Json]) -> Json:
    """The Service with the name of the InferenceService, if OME makes no ingress."""
    labels = text_map(context.service, "metadata", "labels")
    local = labels.get("networking.knative.dev/visibility") == "cluster-local"
    if context.ingress.get("disableIngressCreation") is not True or local:
        return {}
    entry = next((component for component in components if component["role"] == "router"), components[0])
    annotations = text_map(context.service, "metadata", "annotations")
    kept = {key: value for key, value in annotations.items() if key.startswith(_OF_ENTRY)}
    port, kind = whole(entry["ports"][0], "port") or PORT, _service(annotations)["service"]
    return {"role": entry["role"], "port": port, "type": kind, "annotations": kept}


def _described(model: Referent | None) -> dict[str, str]:
    """What the labels and annotations of the children say of the model; without what it lacks."""
    if model is None:
        return {}
    size = text_map(model.object, "metadata", "annotations").get("models.ome.io/category", "SMALL")
    parts = {"vendor": ("vendor",), "version": ("modelFormat", "version")}
    more = {key: text(model.spec, *path) for key, path in parts.items() if isinstance(at(model.spec, *path), str)}
    return {
        "name": model.name,
        "size": size,
        "format": text(model.spec, "modelFormat", "name"),
        "type": "Serving",
        **more,
    }


def _config(context: Served) -> str:
    """The JSON of the ConfigMap about the model and its fine-tuned weights; "" if the model is not in view."""
    if context.model is None:
        return ""
    entry = GoStruct(modelName=text(context.spec, "model", "name"), modelSpec=_settings(context.model.spec))
    if context.weight is not None:
        entry["fineTunedWeightSpec"] = _settings(mapping(context.weight, "spec"))
    return marshal([entry])


def _settings(spec: Json) -> GoStruct:
    """The storage and the format of a model; of a fine-tuned weight, which has no format, only the storage."""
    storage, is_model = mapping(spec, "storage"), "baseModelRef" not in spec
    values = {
        **{key: storage.get(key) for key in ("storageUri", "path", "schemaPath", "parameters")},
        "storageKey": storage.get("key"),
        "modelFormatName": text(spec, "modelFormat", "name") if is_model else None,
        "modelFormatVersion": at(spec, "modelFormat", "version"),
        "modelType": spec.get("modelType"),
        "modelFrameworkName": at(spec, "modelFramework", "name"),
        "modelFrameworkVersion": at(spec, "modelFramework", "version"),
    }
    return GoStruct({key: value for key, value in values.items() if isinstance(value, str | dict)})


def _components(context: Served) -> list[Json]:
    """The components that OME runs, in its order: none after one that has no container."""
    components: list[Json] = []
    for role in ROLES:
        if isinstance(context.spec.get(role), dict):
            component = _Component(role, context)
            if component.failed:
                break
            components.append(component.facts())
    return components


class _Component:
    """``base`` is the runtime's, and ``spec`` the service's over it."""

    def __init__(self, role: str, context: Served) -> None:
        self.role, self.context = role, context
        self.base = base_of(context.runtime.spec, role) if context.runtime is not None else {}
        self.spec = merged(self.base, mapping(context.spec, role))
        self.mode = mode_of(self.spec, role, context.spec)

    @cached_property
    def _annotations(self) -> dict[str, str]:
        own = text_map(self.context.service, "metadata", "annotations")
        kept = {key: value for key, value in own.items() if key not in NOT_KEPT}
        tuned = {"ome.io/inject-fine-tuned-adapter": self.context.weights[0]} if self.context.weights else {}
        return {**kept, **text_map(self.spec, "annotations"), **tuned}

    @property
    def failed(self) -> bool:
        """Whether OME ends with an error before it makes the component."""
        scaler = self._annotations.get("ome.io/autoscalerClass", "hpa")
        if len(self.context.weights) > 1 or (self.mode == RAW and scaler not in _CLASSES):
            return True
        workers = self.mode != MULTI_NODE or isinstance(self.spec.get("worker"), dict)
        return self.context.runtime is not None and not (
            workers and all(has_container(part) for _, part in _parts(self.spec, self.mode))
        )

    def facts(self) -> Json:
        name, least = f"{name_of(self.context.service)}-{self.role}", whole(self.spec, "minReplicas")
        minimum, most = max(least or 1, 1), whole(self.spec, "maxReplicas") or 0
        annotations = self._annotations
        pods = self._pods()
        return {
            "role": self.role,
            "name": name,
            "app": shortened(name, _NAME, letter=True),
            "lws": f"lws-{name[-50:]}",
            "scaled": f"scaledobject-{name[-50:]}",
            "mode": self.mode,
            "known": self.context.runtime is not None,
            "least": minimum,
            "most": max(minimum, most),
            "replicas": 1 if least is None else least,
            "size": self._workers + 1,
            "scaler": annotations.get("ome.io/autoscalerClass", "hpa"),
            **_service(annotations),
            **_utilization(annotations),
            "query": self._query(name, annotations),
            "annotations": annotations,
            "forService": _of_services(annotations),
            "ownForService": _of_services(text_map(self.spec, "annotations")),
            "podLabels": _queue_labels(annotations),
            "spec": self.spec,
            "ports": _ports(pods["pod"]),
            **pods,
            "merged": {**_OF_METADATA, **self._origins(), **pods["merged"]},
        }

    def _origins(self) -> Json:
        """As :data:`_OF_METADATA`, what comes from the component itself."""
        path = f"spec.{self.role}"
        fields = {"least": "minReplicas", "most": "maxReplicas", "size": "worker.size"}
        own = {"at": f"{path}.annotations", "alone": _of_services(text_map(self.base, "annotations"))}
        origins = {key: {"at": f"{path}.{field}"} for key, field in fields.items()}
        return {"role": {"at": path}, **origins, "ownForService": own}

    @property
    def _workers(self) -> int:
        return whole(self.spec, "worker", "size") or 0

    def _query(self, name: str, annotations: dict[str, str]) -> str:
        """The query of KEDA: a custom one is a format of Go with the name of the Deployment."""
        if (annotated := annotations.get("autoscaling.keda.sh/prometheus.query")) is not None:
            return annotated
        custom = text(self.context.spec, "kedaConfig", "customPromQuery")
        if not custom:
            return _QUERY.replace("%s", name)
        return custom.replace("%s", name, 1) if "%s" in custom else f"{custom}%!(EXTRA string={name})"

    def _pods(self) -> Json:
        """The pods, and which nodes of the object they and ``spec`` are merged with."""
        path = f"spec.{self.role}"
        if self.context.runtime is None:
            runner = mapping(self.spec, "runner") or next(iter(items(self.spec, "containers")), {})
            pod = {"containers": [{"name": MAIN, "image": text(runner, "image") or "of-the-runtime"}]}
            node = {"at": path, "beside": {"containers[0]": "runner"}}
            merged_with = {"spec": {"at": path, "alone": {}}, "pod": node, "worker": node, "ports": {"at": ""}}
            return {"pod": pod, "merged": merged_with, **({"worker": pod} if self.mode == MULTI_NODE else {})}
        wiring = Wiring(self.context, self.role, self._annotations, self._workers, probed=self.mode != MULTI_NODE)
        bases = dict(_parts(self.base, self.mode)) if mode_of(self.base, self.role, {}) == self.mode else {}
        origin = f'{self.context.runtime.kind} "{self.context.runtime.name}"'
        pods = dict[str, Json]()
        nodes: dict[str, Json] = {"spec": {"at": path, "alone": self.base, "with": origin}}
        for member, (key, part) in zip(("pod", "worker"), _parts(self.spec, self.mode), strict=False):
            pods[member] = wiring.pod(part)
            at, below = f"{path}.{key}" if key else path, wiring.pod(bases[key]) if key in bases else {}
            nodes[member] = {"at": at, "alone": below, "with": origin, "beside": beside(part)}
        main = "runner" if "containers[0]" in nodes["pod"]["beside"] else "containers[0]"
        ports = _ports(nodes["pod"]["alone"])
        nodes["ports"] = {"at": f"{nodes['pod']['at']}.{main}.ports", "alone": ports, "with": origin}
        return {**pods, "merged": nodes}


def _of_services(annotations: dict[str, str]) -> dict[str, str]:
    """Without those that only pods have."""
    return {key: value for key, value in annotations.items() if not key.startswith(_OF_POD_ONLY)}


def _utilization(annotations: dict[str, str]) -> dict[str, int]:
    """That of the annotation, which wins over scaleTarget: a text that is not a number is 0."""
    written = annotations.get("ome.io/targetUtilizationPercentage")
    try:
        return {} if written is None else {"utilization": atoi(written)}
    except GoError:
        return {"utilization": 0}


def _service(annotations: dict[str, str]) -> dict[str, str]:
    """The type of a Service, and the address of its load balancer, if it has one."""
    kind, address = annotations.get("ome.io/service-type", ""), annotations.get("ome.io/load-balancer-ip", "")
    if kind == "LoadBalancer" and address:
        return {"service": kind, "address": address}
    return {"service": kind if kind in {"LoadBalancer", "NodePort"} else "ClusterIP"}


def _ports(pod: Json) -> list[Json]:
    """The ports of the Service of a pod: those of its first container, or one with its name."""
    container = next(iter(items(pod, "containers")), {})
    ports = items(container, "ports") or [{"name": text(container, "name"), "containerPort": PORT}]
    return [
        {
            **({"name": port["name"]} if port.get("name") else {}),
            "port": port.get("containerPort"),
            "targetPort": port.get("containerPort"),
            "protocol": port.get("protocol") or "TCP",
        }
        for port in ports
    ]


_CLASSES: Final = frozenset({"hpa", "external", "keda"})
_QUERY: Final = """sum(
            avg_over_time(vllm:avg_generation_throughput_toks_per_s{ome_io_inferenceservice="%s"}[5m]) < bool 10
        )
        *
        sum(
            rate(vllm:request_success_total{ome_io_inferenceservice="%s"}[1m]) > bool 0.50
        )"""


def _parts(component: Json, mode: str) -> Iterator[tuple[str, Json]]:
    """What becomes a pod each, with its key in the component: the leader or, without one, all, and the workers."""
    several = mode == MULTI_NODE
    leader, worker = component.get("leader"), component.get("worker")
    yield ("leader", leader) if several and isinstance(leader, dict) else ("", component)
    if several and isinstance(worker, dict):
        yield "worker", worker


PODS: Final = listed(fields(pod=OPEN, merged=OPEN))
"""Of a runtime: what becomes a pod."""
_NAMED: Final = {"name": MAIN, "image": "of-the-service"}


def pods_of_runtime(runtime: Json) -> list[Json]:
    """The pods of a service that writes nothing but its model; it may give the runner a name and an image.

    A mount may mean the volume of the model, whose name is not known, so each has a volume.
    """
    spec = mapping(runtime, "spec")
    nodes = [(f"spec.{role}Config", role, mapping(spec, f"{role}Config")) for role in ROLES]
    if not mapping(spec, "engineConfig") and mode_of(base_of(spec, "engine"), "engine", {}) == RAW:
        nodes.append(("spec", "engine", base_of(spec, "engine")))
    return [pod for path, role, node in nodes if node for pod in _alone(path, node, mode_of(node, role, {}))]


def _alone(path: str, node: Json, mode: str) -> Iterator[Json]:
    for key, part in _parts(node, mode) if mode in {RAW, MULTI_NODE} else ():
        runner = part.get("runner")
        pod = pod_of({**part, "runner": {**_NAMED, **runner}} if isinstance(runner, dict) else part)
        if not pod["containers"]:
            continue
        volumes = [*items(pod, "volumes")]
        mounts = [text(mount, "name") for container in pod["containers"] for mount in items(container, "volumeMounts")]
        absent = dict.fromkeys(mounts).keys() - {text(volume, "name") for volume in volumes}
        if absent:
            pod["volumes"] = [*volumes, *({"name": name, "emptyDir": {}} for name in sorted(absent))]
        at = {
            "at": f"{path}.{key}" if key else path,
            "alone": {},
            **({"beside": beside(part)} if path != "spec" else {}),
        }
        yield {"pod": pod, "merged": {"pod": at}}


def _queue_labels(annotations: dict[str, str]) -> dict[str, str]:
    """The labels by which Volcano or Kueue find the pods."""
    queue, cluster = annotations.get("ome.io/volcano-queue"), annotations.get("ome.io/dedicated-ai-cluster")
    labels: dict[str, str] = {}
    if queue is not None:
        labels["volcano.sh/queue-name"] = queue
    elif cluster is not None and "kueue-enabled" in annotations:
        labels["kueue.x-k8s.io/queue-name"] = cluster
        labels["kueue.x-k8s.io/priority-class"] = "kueue-scheduling-high-priority"
    elif cluster is not None:
        labels["volcano.sh/queue-name"] = cluster
        labels["ray.io/priority-class-name"] = "volcano-scheduling-high-priority"
    return labels | ({"ray.io/scheduler-name": "volcano"} if "volcano" in annotations else {})
