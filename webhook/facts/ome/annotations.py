"""Annotations that OME reads, and those whose keys are misspellings of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from webhook.facts.names import is_typo
from webhook.facts.nodes import mapping

__all__ = ["misspelt"]

_NAMES: Final = (
    "autoscalerClass deploymentMode targetUtilizationPercentage metrics accelerator-class service-type "
    "load-balancer-ip volcano-queue entrypoint-component enable-metric-aggregation enable-prometheus-scraping "
    "enable-tag-routing inject-model-init inject-fine-tuned-adapter inject-serving-sidecar disable-model-decryption "
    "base-model-decryption-key-name base-model-decryption-secret-name dedicated-ai-cluster ingress-additional-domains "
    "ingress-disable-creation ingress-disable-istio-virtualhost ingress-domain ingress-domain-template "
    "ingress-path-template ingress-url-scheme"
)
_READ: Final = (
    *(f"ome.io/{name}" for name in _NAMES.split()),
    "autoscaling.keda.sh/operator",
    "autoscaling.keda.sh/threshold",
    "autoscaling.keda.sh/prometheus.serverAddress",
    "rdma.ome.io/profile",
    "rdma.ome.io/auto-inject",
    "rdma.ome.io/container-name",
)
"""The keys that users set, from the constants of OME."""
_LETTERS: Final = {key.lower().replace("-", ""): key for key in _READ}
_COMPONENTS: Final = ("engine", "decoder", "router")
_LONGEST: Final = 317
"""A prefix of 253 characters, a slash and a name of 63."""


def misspelt(service: dict[str, Any]) -> dict[str, str]:
    """The misspelt keys of a service and of its components, with what is meant."""
    places = (("metadata",), *(("spec", name) for name in _COMPONENTS))
    keys = (key for place in places for key in mapping(service, *place, "annotations"))
    return dict(_meant(keys))


def _meant(keys: Iterator[str]) -> Iterator[tuple[str, str]]:
    for key in keys:
        if len(key) > _LONGEST or key in _READ:
            continue
        letters = key.lower().replace("-", "").replace("_", "")
        found = _LETTERS.get(letters) or next((each for each in _READ if is_typo(key, each)), "")
        if found:
            yield key, found
