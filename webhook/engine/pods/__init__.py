"""What Kubernetes says of the pods in an object."""

from webhook.engine.pods.findings import POD_CODES, pod_findings
