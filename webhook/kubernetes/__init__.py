"""Kubernetes' own validation of pods, and of the types of which pods are made: JSON values in, field errors out.

It judges as the API server judges the template of a Deployment or a Job, with the default feature gates of
Kubernetes 1.37: the same fields, reasons and texts. Values of the wrong type are the schema's concern.
"""

from webhook.kubernetes.places import DECLARED, Place, Spot, parts, pod_places, spots
from webhook.kubernetes.shown import VALUE, cut
from webhook.kubernetes.validate import validate
from webhook.kubernetes.warnings import template_warnings, warned

__all__ = [
    "DECLARED",
    "VALUE",
    "Place",
    "Spot",
    "cut",
    "parts",
    "pod_places",
    "spots",
    "template_warnings",
    "validate",
    "warned",
]
