"""Events about one Pod: what ``kubectl describe pod`` shows below it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from webhook.admission import one_line
from webhook.admission.errors import NotReady, Unavailable
from webhook.cluster.api import ApiError, Reader
from webhook.cluster.connection import NoConnection, connect

__all__ = ["Pod", "PodEvents", "pod_events"]

TIMEOUT: Final = 10.0
"""Seconds for one answer. Nothing waits for it."""

NOTE: Final = 1024
"""Kubernetes' limit of characters."""

CONTROLLER: Final = "modelgate.dev/gate"


class Pod(NamedTuple):
    """A pod, as an Event refers to it."""

    namespace: str
    name: str
    uid: str


class PodEvents(Reader):
    """Writes Events about a pod. It needs the right to create Events in the pod's namespace, and no other."""

    def __init__(self, client: Any, pod: Pod) -> None:
        super().__init__(client, TIMEOUT)
        self._pod = pod

    def warn(self, reason: str, note: str) -> None:
        """Create a Warning.

        Raises:
            Unavailable: the API server does not take it.
        """
        try:
            self._call(
                "POST",
                f"/apis/events.k8s.io/v1/namespaces/{self._pod.namespace}/events",
                None,
                self._event(reason, note),
            )
        except ApiError as error:
            raise Unavailable(str(error)) from None

    def _event(self, reason: str, note: str) -> dict[str, Any]:
        now, pod = datetime.now(UTC), self._pod
        name = f"{pod.name[:200]}.{int(now.timestamp() * 1_000_000):x}"  # as client-go names Events
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": pod.namespace},
            "eventTime": f"{now:%FT%T.%fZ}",
            "reportingController": CONTROLLER,
            "reportingInstance": pod.name[:128],
            "action": "LoadRules",
            "reason": reason,
            "regarding": {"apiVersion": "v1", "kind": "Pod", **pod._asdict()},
            "note": one_line(note)[:NOTE],
            "type": "Warning",
        }


def pod_events(kubeconfig: Path | None, pod: Pod) -> PodEvents:
    """Events in the cluster that :func:`webhook.cluster.connection.connect` finds.

    Raises:
        NotReady: no valid configuration for a connection was found.
    """
    try:
        return PodEvents(connect(kubeconfig), pod)
    except (NoConnection, OSError) as error:
        raise NotReady(f"cannot connect to the API server: {error}") from None
