"""Webhook configurations of the chart that belong to no release any more: the API server still calls them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.cli.doctor.finding import Finding
from webhook.cli.doctor.snapshot import WEBHOOKS, Installation, Object, Snapshot, called, is_ours, named

__all__ = ["check"]


def check(snapshot: Snapshot, installations: Sequence[Installation]) -> Iterator[Finding]:
    """What an upgrade that failed, or a removed release, has left.

    ``installations`` are those of all namespaces: a configuration is left over if it calls none of them.
    """
    gates = {(each.namespace, each.name) for each in installations}
    for each in snapshot.of(*WEBHOOKS):
        if is_ours(each) and not called(each) & gates:
            yield _left(each, "its release has no gate any more")
        elif any(one.has_left(each) for one in installations):
            yield _left(each, "the release does not have it today, so an upgrade that failed has left it")


def _left(configuration: Object, why: str) -> Finding:
    closed = any(hook.get("failurePolicy", "Fail") == "Fail" for hook in configuration.get("webhooks") or [])
    effect = "; what it matches is refused when the gate does not answer" if closed else ""
    delete = f"kubectl delete {configuration['kind'].lower()} {configuration['metadata']['name']}"
    return Finding("left-over", named(configuration), f"{why}{effect}: {delete}")
