"""Kubernetes' own validation of whole objects of built-in kinds, after their defaults, and of what updates change."""

from webhook.kubernetes.objects.defaulting import with_defaults
from webhook.kubernetes.objects.kinds import is_validated, name_rule, object_errors
from webhook.kubernetes.objects.storing import prepared
