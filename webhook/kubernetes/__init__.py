"""Kubernetes' own validation of pods, and of the types of which pods are made: JSON values in, field errors out.

It judges as the API server judges the template of a Deployment or a Job, or a whole object of a built-in kind, with the
default feature gates of Kubernetes 1.37: the same fields, reasons and texts. Values of the wrong type are the schema's
concern.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.ground.later import later
from webhook.kubernetes.places import DECLARED, Place, Spot, parts, pod_places, spots
from webhook.kubernetes.remedies import LINE, Fault, advised_warning, faults_of, shortened
from webhook.kubernetes.validate import validate
from webhook.kubernetes.warnings import template_warnings, warned

if TYPE_CHECKING:
    from webhook.kubernetes.objects import is_validated, name_rule, object_errors, prepared, with_defaults

if not TYPE_CHECKING:  # whole objects are a matter of files, not of the server
    __getattr__ = later(__name__)
