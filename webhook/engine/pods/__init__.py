"""What Kubernetes says of the pods in an object."""

from webhook.engine.pods.findings import NOTHING_JUDGED, POD_CODES, pod_findings

__all__ = ["NOTHING_JUDGED", "POD_CODES", "pod_findings"]
