"""What Kubernetes says of the pods in an object."""

from webhook.engine.pods.findings import POD_CODES, JudgedParts, pod_findings

__all__ = ["POD_CODES", "JudgedParts", "pod_findings"]
