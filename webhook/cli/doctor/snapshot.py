"""The objects to check, and the installation among them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, Final, Protocol

from webhook.catalog import built_in, groups_of
from webhook.cluster import Kind
from webhook.manifests.documents import Document

Object = Mapping[str, Any]

NAME: Final = "app.kubernetes.io/name"
INSTANCE: Final = "app.kubernetes.io/instance"
COMPONENT: Final = "app.kubernetes.io/component"
WEBHOOKS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


class Cluster(Protocol):
    """What only a live cluster can answer."""

    def dry_run(self, obj: Object, plural: str) -> tuple[int, Object, Sequence[str]]:
        """The HTTP status, the body and the warnings of a creation that is not stored."""
        ...

    def text(self, pod: Object, port: int, path: str) -> str | None:
        """What a pod serves over plain HTTP; None if it cannot be read."""
        ...

    def unanswered(self, namespace: str, service: str) -> str:
        """Why nothing answers at a Service; "" if something does, or it is not known."""
        ...

    def resource(self, kind: Kind) -> str | None:
        """The resource of a kind in any version; None if the cluster serves none, "" if it is not known."""
        ...


@dataclass(frozen=True, slots=True)
class Snapshot:
    """``cluster`` is None for rendered manifests; then only they are checked. ``unread``: what could not be read.
    ``read_only``: no dry runs, and no look at Secrets and metrics. ``policies``: the users' admission policies, if they
    are given by a folder.
    """

    objects: Sequence[Object]
    now: datetime
    cluster: Cluster | None = None
    version: str = ""
    unread: tuple[str, ...] = ()
    read_only: bool = False
    policies: Sequence[Document] = ()

    def of(self, *kinds: str, namespace: str | None = None) -> Iterator[Object]:
        for each in self.objects:
            if each.get("kind") in kinds and namespace in {None, each["metadata"].get("namespace")}:
                yield each

    def absent(self, names: Iterable[str]) -> frozenset[str]:
        """Those of these definitions that are known not to be installed."""
        unread = " ".join(self.unread)
        installed = {each["metadata"]["name"] for each in self.of("CustomResourceDefinition")}
        return frozenset(each for each in names if each not in installed and each not in unread)

    def find(self, kind: str, name: str, namespace: str | None = None) -> Object | None:
        return next((each for each in self.of(kind, namespace=namespace) if each["metadata"]["name"] == name), None)


@dataclass(frozen=True, slots=True)
class Installation:
    """One release: its Deployments, and what their flags say."""

    gate: Object
    reconciler: Object | None
    snapshot: Snapshot = field(repr=False)

    @classmethod
    def all_of(cls, snapshot: Snapshot, namespace: str | None) -> list[Installation]:
        deployments = [
            each for each in snapshot.of("Deployment", namespace=namespace) if _label(each, NAME) == "modelgate"
        ]
        reconcilers = {_release(each): each for each in deployments if _label(each, COMPONENT) == "reconciler"}
        gates = [each for each in deployments if _label(each, COMPONENT) == "gate"]
        return [cls(gate, reconcilers.get(_release(gate)), snapshot) for gate in gates]

    @property
    def namespace(self) -> str:
        return str(self.gate["metadata"].get("namespace", "default"))

    @property
    def name(self) -> str:
        return str(self.gate["metadata"]["name"])

    @property
    def instance(self) -> str:
        return _label(self.gate, INSTANCE)

    def flags(self, component: str = "gate") -> argparse.Namespace:
        """The flags of a component's main container that the checks need."""
        deployment = self.gate if component == "gate" else self.reconciler
        found = [each for each in _containers(deployment) if each["name"] == component]
        return _parsed(tuple(str(each) for each in found[0].get("args", [])) if found else ())

    def certs(self) -> Sequence[str]:
        """The arguments of `modelgate certs`; empty where there is no such container."""
        found = [each for each in _containers(self.gate) if each["name"] == "certs"]
        return [str(each) for each in found[0].get("args", [])] if found else []

    def published(self, kind: str) -> set[str]:
        """The names of the webhook configurations of a kind that the release has."""
        type_ = kind.removesuffix("WebhookConfiguration").lower()
        flags = (each.removeprefix("--publish=").partition("/") for each in self.certs())
        return {self.name, *(name for found, _, name in flags if found == type_)}

    @property
    def template_name(self) -> str:
        """The name of the ConfigMap that holds what the configurations have to be."""
        return f"{self.name}-webhooks"

    def template(self) -> Object | None:
        """That ConfigMap; None if it does not exist."""
        return self.snapshot.find("ConfigMap", self.template_name, self.namespace)

    def wanted(self, kind: str, name: str) -> dict[str, Any] | None:
        """What the release says that a configuration has to be; None if it does not say, or not in JSON."""
        type_ = kind.removesuffix("WebhookConfiguration").lower()
        try:
            wanted = json.loads(((self.template() or {}).get("data") or {})[f"{type_}.{name}"])
        except (KeyError, TypeError, ValueError):
            return None
        hooks = wanted.get("webhooks") if isinstance(wanted, dict) else None
        is_usable = isinstance(hooks, list) and all(isinstance(hook, dict) and "name" in hook for hook in hooks)
        return wanted if is_usable else None

    def upgrade(self, *values: str) -> str:
        """As :func:`upgrade`, of this release."""
        return upgrade(self.instance, self.namespace, *values)

    def records(self) -> list[dict[str, str]]:
        """Helm's records of this release."""
        return records(self.snapshot, self.instance, self.namespace)

    def put_back(self) -> str:
        """What `modelgate certs` puts back: deleted, changed or off."""
        flag = "--put-back="
        return next((given.removeprefix(flag) for given in self.certs() if given.startswith(flag)), "off")

    @property
    def mode(self) -> str:
        """Where certificates come from: own, or others."""
        return "own" if "issue" in self.certs() else "others"

    def secret(self) -> str:
        """The name of the Secret with the CA or the certificate."""
        stored = [each.rpartition("/")[2] for each in self.certs() if each.startswith("--store=secret:")]
        volumes = self.gate["spec"]["template"]["spec"].get("volumes", [])
        mounted = [each["secret"]["secretName"] for each in volumes if each["name"] == "tls" and "secret" in each]
        return str((stored or mounted or [""])[0])

    def groups(self) -> frozenset[str]:
        """The groups of the APIs that are covered."""
        return groups_of(built_in().keys() - set(self.flags().without))

    def configurations(self) -> list[Object]:
        """Those of the release and those that call its Service, but not what is left over of an earlier state."""
        return [each for each in self.snapshot.of(*WEBHOOKS) if self.owns(each)]

    def owns(self, configuration: Object) -> bool:
        """Whether a configuration is one of the release; by its name also if it calls something else today."""
        own = configuration["metadata"]["name"] in {self.name, f"{self.name}-policies"} and is_ours(configuration)
        mine = own and _label(configuration, INSTANCE) == self.instance and not called(configuration)
        return mine or (self._is_called_by(configuration) and not self.has_left(configuration))

    def has_left(self, configuration: Object) -> bool:
        """Whether a configuration of this release is none that it has today, as after an upgrade that failed."""
        today = {self.name, f"{self.name}-policies"}
        mine = _release(configuration)[1] == self.instance and _label(configuration, NAME) == "modelgate"
        return mine and self._is_called_by(configuration) and configuration["metadata"]["name"] not in today

    def _is_called_by(self, configuration: Object) -> bool:
        return (self.namespace, self.name) in called(configuration)

    def pods(self, component: str = "gate") -> list[Object]:
        """The pods of a component, without those that end, which serve no more."""
        deployment = self.gate if component == "gate" else self.reconciler
        wanted = deployment["spec"]["selector"]["matchLabels"] if deployment else {"": ""}
        found = self.snapshot.of("Pod", namespace=self.namespace)
        mine = [each for each in found if wanted.items() <= (each["metadata"].get("labels") or {}).items()]
        return [each for each in mine if "deletionTimestamp" not in each["metadata"]]

    def reconciler_account(self) -> Object | None:
        """The ServiceAccount that the release has for a reconciler; None if it has none."""
        accounts = self.snapshot.of("ServiceAccount", namespace=self.namespace)
        mine = (account for account in accounts if _release(account) == _release(self.gate))
        return next((account for account in mine if _label(account, COMPONENT) == "reconciler"), None)

    def accounts(self) -> dict[str, str]:
        """Component or "view" → the name of its ServiceAccount."""
        found = {"gate": self.gate["spec"]["template"]["spec"].get("serviceAccountName", "default")}
        if self.reconciler is not None:
            found["reconciler"] = self.reconciler["spec"]["template"]["spec"].get("serviceAccountName", "default")
        view = [each.rpartition("/")[2] for each in self.certs() if each.startswith("--account=")]
        return found | ({"view": view[0]} if view else {})


def upgrade(release: str, namespace: str, *values: str) -> str:
    """The command that gives the chart all its fields back, by these values; CHART stands for the chart."""
    flags = " ".join(["--reset-then-reuse-values", "--force-conflicts", *(f"--set={value}" for value in values)])
    return f"helm upgrade {release} CHART --namespace={namespace} {flags}"


def policy_maps(gate: Object) -> list[str]:
    """The names of the ConfigMaps with the users' admission policies, which a gate mounts."""
    volumes = {volume["name"]: volume for volume in gate["spec"]["template"]["spec"].get("volumes") or ()}
    sources = (volumes.get("policies", {}).get("projected") or {}).get("sources") or ()
    return [source["configMap"]["name"] for source in sources if "configMap" in source]


def records(snapshot: Snapshot, release: str, namespace: str) -> list[dict[str, str]]:
    """Helm's records of a release, the oldest first: the labels version and status of each."""
    labels = [dict(secret["metadata"].get("labels") or {}) for secret in snapshot.of("Secret", namespace=namespace)]
    own = [record for record in labels if record.get("owner") == "helm" and record.get("name") == release]
    whole = [record for record in own if record.get("version", "").isdecimal() and "status" in record]
    return sorted(whole, key=lambda record: int(record["version"]))


def called(configuration: Object) -> set[tuple[str, str]]:
    """The namespaces and names of the Services that a webhook configuration calls."""
    services = [hook["clientConfig"].get("service") or {} for hook in configuration.get("webhooks") or []]
    return {(str(each.get("namespace")), str(each.get("name"))) for each in services if each}


def condition_of(obj: Object, kind: str, status: str) -> Object | None:
    """The condition of a kind of an object, if it has this status."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if (one["type"], one["status"]) == (kind, status)), None)


def refusal_of(deployment: Object) -> Object | None:
    """The condition that the API server refuses the pods of a Deployment."""
    return condition_of(deployment, "ReplicaFailure", "True")


def is_ours(obj: Object) -> bool:
    """Whether an object has the labels of the chart."""
    return _label(obj, NAME) == "modelgate" and bool(_label(obj, INSTANCE))


def named(obj: Object) -> str:
    """An object in a text: its kind, namespace and name."""
    metadata = obj["metadata"]
    place = "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
    return f"{obj['kind']} {place}"


def selects(selector: Object, labels: Object) -> bool:
    """Whether a label selector matches."""
    if not (selector.get("matchLabels") or {}).items() <= labels.items():
        return False
    return all(_matches(each, labels) for each in selector.get("matchExpressions") or [])


def _matches(expression: Object, labels: Object) -> bool:
    operator, key, values = expression["operator"], expression["key"], expression.get("values") or []
    present = key in labels
    return {
        "In": present and labels.get(key) in values,
        "NotIn": not present or labels[key] not in values,
        "Exists": present,
        "DoesNotExist": not present,
    }[operator]


def _label(obj: Object, label: str) -> str:
    return str((obj["metadata"].get("labels") or {}).get(label, ""))


def _release(obj: Object) -> tuple[str, str]:
    return str(obj["metadata"].get("namespace", "default")), _label(obj, INSTANCE)


def _containers(deployment: Object | None) -> list[Object]:
    return list(deployment["spec"]["template"]["spec"]["containers"]) if deployment else []


@cache
def _parsed(arguments: tuple[str, ...]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    add = parser.add_argument
    add("--without", type=_listed, default=())
    add("--apis", type=_listed, default=())
    add("--only-namespaces", type=_listed, default=())
    add("--cluster-objects", action="store_true")
    add("--view", default="none")
    add("--nodes", default="off")
    add("--no-fit", action="store_true")
    add("--profile", default="standard")
    add("--port", type=int, default=9443)
    add("--health-port", type=int, default=0)
    add("--admission-policies")
    add("--lease", default="modelgate-reconciler")
    return parser.parse_known_args(arguments)[0]


def _listed(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))
