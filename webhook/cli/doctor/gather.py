"""Where the objects come from: a live cluster, or rendered manifests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import urllib3

from webhook.catalog import Catalog, definition_names
from webhook.cli.doctor.snapshot import WEBHOOKS, Object, Snapshot, called, is_ours, policy_maps
from webhook.cluster import JSON, METADATA_ONLY, ApiError, APIResource, Kind, Reader, content_of, find
from webhook.manifests.documents import parse, read

_LISTS: Final = (
    ("/apis/admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
    ("/apis/admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
    ("/apis/admissionregistration.k8s.io/v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy"),
    ("/apis/admissionregistration.k8s.io/v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"),
    ("/apis/apps/v1", "deployments", "Deployment"),
    ("/apis/rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole"),
    ("/apis/rbac.authorization.k8s.io/v1", "clusterrolebindings", "ClusterRoleBinding"),
    ("/api/v1", "nodes", "Node"),
)
_INSIDE: Final = (
    ("/api/v1", "services", "Service"),
    ("/api/v1", "pods", "Pod"),
    ("/api/v1", "serviceaccounts", "ServiceAccount"),
    ("/apis/rbac.authorization.k8s.io/v1", "roles", "Role"),
    ("/apis/rbac.authorization.k8s.io/v1", "rolebindings", "RoleBinding"),
    ("/apis/networking.k8s.io/v1", "networkpolicies", "NetworkPolicy"),
    ("/apis/autoscaling/v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler"),
    ("/apis/policy/v1", "poddisruptionbudgets", "PodDisruptionBudget"),
)
_HELM: Final = "secrets?labelSelector=owner%3Dhelm"
_SECONDS: Final = 30.0


def from_files(paths: Sequence[str], stdin: str) -> Snapshot:
    """Rendered manifests: files, or "-" for standard input. Raises LoadError and OSError."""
    documents = [each for path in paths for each in (parse(stdin, "stdin") if path == "-" else read(Path(path)))]
    objects = [each.value for each in documents if isinstance(each.value, dict) and each.value.get("kind")]
    whole = [each for each in objects if isinstance(each.get("metadata"), dict) and "name" in each["metadata"]]
    return Snapshot(whole, datetime.now(UTC))


class Live(Reader):
    """A cluster, by a connection of its own. Nothing is ever stored."""

    def dry_run(self, obj: Object, plural: str) -> tuple[int, Object, Sequence[str]]:
        group, _, version = str(obj["apiVersion"]).rpartition("/")
        namespace = str(obj["metadata"].get("namespace", ""))
        path = APIResource(group, version, plural, str(obj["kind"]), bool(namespace)).path(namespace)
        try:
            answer = self._request("POST", path, {"dryRun": "All"}, dict(obj))
            return answer.status, content_of(answer), answer.headers.getlist("warning")
        except ApiError as error:
            return error.status or 503, {"message": error.message}, ()

    def text(self, pod: Object, port: int, path: str) -> str | None:
        metadata = pod["metadata"]
        proxied = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}:{port}/proxy{path}"
        limit = urllib3.Timeout(total=_SECONDS)
        try:
            answer = self._request("GET", proxied, None, timeout=limit, accept="text/plain")
            return answer.read(decode_content=True).decode("utf-8", "replace")
        except (ApiError, urllib3.exceptions.HTTPError, OSError):
            return None

    def unanswered(self, namespace: str, service: str) -> str:
        slices = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
        try:
            there = self.document(f"/api/v1/namespaces/{namespace}/services/{service}")
            if there is None:
                return "does not exist"
            if not (there.get("spec") or {}).get("selector"):
                return ""
            listed = self.document(f"{slices}?labelSelector=kubernetes.io%2Fservice-name%3D{service}") or {}
        except ApiError:
            return ""
        ends = [end for piece in listed.get("items") or () for end in piece.get("endpoints") or ()]
        ready = any((end.get("conditions") or {}).get("ready", True) for end in ends)
        return "" if ready else "has no pod that is ready"

    def resource(self, kind: Kind) -> str | None:
        try:
            served = find(self, kind)
        except ApiError:
            return ""
        return None if served is None else served.plural


def from_cluster(client: Any, catalog: Catalog, namespace: str | None, *, read_only: bool) -> Snapshot:
    """What the checks need of a cluster. What may not be read is named. Raises Unreachable without an answer."""
    live = Live(client, _SECONDS)
    version = (live.document("/version") or {}).get("gitVersion", "")
    unread: list[str] = []
    objects = [each for where in _LISTS for each in _listed(live, *where, unread=unread)]
    names = sorted(frozenset().union(*definition_names(catalog)))
    objects += _got(live, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", names, unread)
    gates = [each for each in objects if each["kind"] == "Deployment" and is_ours(each)]
    spaces = {each["metadata"]["namespace"] for each in gates}
    for space in sorted(spaces & {namespace} if namespace else spaces):
        for root, plural, kind in _INSIDE:
            objects += _listed(live, f"{root}/namespaces/{space}", plural, kind, unread=unread)
        for gate in (gate for gate in gates if gate["metadata"]["namespace"] == space):
            maps = [f"{gate['metadata']['name']}-webhooks", *policy_maps(gate)]
            objects += _got(live, f"/api/v1/namespaces/{space}/configmaps", maps, unread)
        if not read_only:
            objects += _got(live, f"/api/v1/namespaces/{space}/secrets", sorted(_secrets(gates, space)), unread)
    recorded = set() if read_only else spaces | _left_spaces(objects)
    for space in sorted(recorded & {namespace} if namespace else recorded):
        root = f"/api/v1/namespaces/{space}"
        objects += _listed(live, root, _HELM, "Secret", unread, METADATA_ONLY.format("List"))
    return Snapshot(objects, datetime.now(UTC), live, str(version), tuple(unread), read_only=read_only)


def _left_spaces(objects: Sequence[Object]) -> set[str]:
    """The namespaces of what the configurations of the chart call, whose gate may be gone."""
    configurations = [obj for obj in objects if obj["kind"] in WEBHOOKS and is_ours(obj)]
    return {namespace for configuration in configurations for namespace, _ in called(configuration)}


def _listed(live: Live, root: str, plural: str, kind: str, unread: list[str], accept: str = JSON) -> Iterator[Object]:
    try:
        found = live.document(f"{root}/{plural}", accept=accept) or {}
    except ApiError as error:
        if not error.status:
            raise
        unread.append(f"{plural}: {error.message}")
        return
    for each in found.get("items") or []:
        yield {**each, "kind": kind}


def _got(live: Live, root: str, names: Sequence[str], unread: list[str]) -> Iterator[Object]:
    kinds = {"configmaps": "ConfigMap", "secrets": "Secret", "customresourcedefinitions": "CustomResourceDefinition"}
    for name in names:
        try:
            found = live.document(f"{root}/{name}")
        except ApiError as error:
            if not error.status:
                raise
            unread.append(f"{root.rpartition('/')[2]}/{name}: {error.message}")
            continue
        if found is not None:
            yield {"kind": kinds[root.rpartition("/")[2]], **found}


def _secrets(gates: Sequence[Object], space: str) -> Iterator[str]:
    """The Secrets that the pods of a namespace use for certificates."""
    for each in (one["spec"]["template"]["spec"] for one in gates if one["metadata"]["namespace"] == space):
        arguments = [str(arg) for one in each["containers"] for arg in one.get("args", [])]
        yield from (arg.rpartition("/")[2] for arg in arguments if arg.startswith("--store=secret:"))
        yield from (volume["secret"]["secretName"] for volume in each.get("volumes", []) if "secret" in volume)
