"""NetworkPolicies that keep the API server from the gate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webhook.cli.doctor.finding import Finding
from webhook.cli.doctor.snapshot import Installation, Object, named, selects

__all__ = ["check"]


def check(found: Installation) -> Iterator[Finding]:
    """The ports that policies open add up: a finding only if policies select the pods and none opens the port."""
    labels = found.gate["spec"]["template"]["metadata"].get("labels") or {}
    about_us = [
        each
        for each in found.snapshot.of("NetworkPolicy", namespace=found.namespace)
        if selects(each["spec"].get("podSelector") or {}, labels)
        and "Ingress" in each["spec"].get("policyTypes", ["Ingress"])
    ]
    port = found.flags().port
    if about_us and not any(_opens(rule, port) for each in about_us for rule in each["spec"].get("ingress") or []):
        names = " and ".join(named(each) for each in about_us)
        yield Finding("network-closed", names, f"port {port} of the gate is open to no caller")


def _opens(rule: Object, wanted: int) -> bool:
    ports: list[dict[str, Any]] = rule.get("ports") or [{}]
    return any(
        each.get("protocol", "TCP") == "TCP"
        and (each.get("port") in {None, wanted, "https"} or each["port"] <= wanted <= each.get("endPort", each["port"]))
        for each in ports
        if not isinstance(each.get("port"), str) or each["port"] == "https"
    )
