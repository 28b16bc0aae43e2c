"""Checks of certificates: the bundles that the API server trusts, and the Secret that the gate serves."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from certs import pem
from webhook.cli.doctor.finding import finding
from webhook.cli.doctor.snapshot import Installation, named
from webhook.library import Finding

_SOON: Final = timedelta(days=30)
"""As the alert about the CA in docs/metrics.md."""


def check(found: Installation) -> Iterator[Finding]:
    if found.mode == "own":
        yield from _guard(found)
    if found.snapshot.cluster is None and found.mode == "own":
        return  # written when the pods run
    bundles = {}
    for each in found.configurations():
        for webhook in each.get("webhooks") or []:
            about = f"{named(each)}, webhook {webhook['name']}"
            text = webhook["clientConfig"].get("caBundle")
            injected = "cert-manager.io/inject-ca-from" in (each["metadata"].get("annotations") or {})
            if not text:
                if found.snapshot.cluster is not None or not injected:
                    yield finding("bundle-missing", about, "caBundle is empty")
                continue
            bundles[about] = pem.parse(_decoded(text))
            if not bundles[about]:
                yield finding("bundle-missing", about, "caBundle contains no certificate")
            elif not pem.alive(bundles[about], found.snapshot.now):
                yield finding("bundle-expired", about, "every certificate in caBundle has expired")
    if len({frozenset(each) for each in bundles.values()}) > 1:
        yield finding(
            "bundle-differs", f"release {found.instance}", f"caBundle differs between {' and '.join(bundles)}"
        )
    if found.snapshot.cluster is not None and not found.snapshot.read_only:
        yield from _secret(found, bundles)


def _secret(found: Installation, bundles: dict[str, pem.Certificates]) -> Iterator[Finding]:
    name, now = found.secret(), found.snapshot.now
    about = f"Secret {found.namespace}/{name}"
    secret = found.snapshot.find("Secret", name, found.namespace)
    if secret is None:
        if not any(name in each for each in found.snapshot.unread):
            yield finding("secret-missing", about, "the Secret does not exist")
        return
    certificates = pem.parse(_decoded((secret.get("data") or {}).get("tls.crt", "")))
    if not certificates or not (secret.get("data") or {}).get("tls.key"):
        delete = f"kubectl delete secret {name} --namespace={found.namespace}" if found.mode == "own" else ""
        yield finding("secret-unusable", about, "it holds no certificate with its key", delete)
        return
    first = certificates[0]
    if first.not_valid_after_utc <= now:
        yield finding("secret-unusable", about, f"its certificate ended on {first.not_valid_after_utc:%Y-%m-%d}")
    elif found.mode == "own" and first.not_valid_after_utc - now < _SOON:
        yield finding(
            "ca-ends", about, f"the CA ends on {first.not_valid_after_utc:%Y-%m-%d} and is not being replaced"
        )
    for webhook, bundle in bundles.items():
        trusted = first in bundle if found.mode == "own" else any(pem.signed(first, each) for each in bundle)
        if bundle and not trusted:
            yield finding("bundle-untrusting", webhook, f"caBundle does not trust the certificate in {about}")


_GUARDED: Final = {
    "validatingwebhookconfigurations": "no admission policy restricts what it may patch",
    "secrets": "no admission policy restricts which Secrets it may create",
}
"""The resources that a policy of the chart must be about, and what is wrong without one."""


def _guard(found: Installation) -> Iterator[Finding]:
    if any("policies" in text for text in found.snapshot.unread):
        return
    account = f"system:serviceaccount:{found.namespace}:{found.accounts()['gate']}"
    bindings = [binding["spec"] for binding in found.snapshot.of("ValidatingAdmissionPolicyBinding")]
    bound = {spec.get("policyName") for spec in bindings if "Deny" in spec.get("validationActions", [])}
    guarded = {
        resource
        for policy in found.snapshot.of("ValidatingAdmissionPolicy")
        if policy["metadata"]["name"] in bound
        and any(f"'{account}'" in condition["expression"] for condition in policy["spec"].get("matchConditions") or [])
        for rule in policy["spec"].get("matchConstraints", {}).get("resourceRules", [])
        for resource in rule["resources"]
    }
    for resource in sorted(_GUARDED.keys() - guarded):
        yield finding("guard-missing", f"account {account}", _GUARDED[resource], found.upgrade("certs.guard=true"))


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
