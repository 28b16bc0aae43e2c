"""The CA bundle in the webhook configurations: written by server-side apply, and read back by the next look.

The configurations are the chart's; ours is one field of each webhook, ``clientConfig.caBundle``. What we apply is the
least that the API server takes: the webhook's name, which is the key of the list, and the field. The API server then
merges and validates the whole, so that the chart's fields and ours never undo each other, in any order.

Two things follow from the merge. Applying to a configuration that does not exist does not create it: it would lack
required fields, and is refused. And a webhook can leave the chart only together with its configuration: what we
applied to it would stay behind alone, and the API server would refuse the chart's next version for it. So the names of
webhooks never change.

A bundle is applied only to the version that was read, and that read comes before the read of the store. A replica that
was suspended in between cannot put an older bundle over a newer one: the API server answers 409.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal, get_args

from certs import pem
from certs.api import Api
from certs.errors import ApiServerError

FIELD_MANAGER = "modelgate-certs"

GROUP_VERSION = "admissionregistration.k8s.io/v1"
_Type = Literal["mutating", "validating"]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A MutatingWebhookConfiguration (``mutating/NAME``) or ValidatingWebhookConfiguration (``validating/NAME``)."""

    type: _Type
    name: str

    @classmethod
    def parse(cls, text: str) -> Configuration:
        """Raises ValueError for any other form."""
        kind, _, name = text.partition("/")
        for known in get_args(_Type):
            if kind == known and name:
                return cls(known, name)
        raise ValueError(f"{text!r} is neither mutating/NAME nor validating/NAME")

    def __str__(self) -> str:
        return f"{self.type}/{self.name}"

    @property
    def kind(self) -> str:
        return f"{self.type.capitalize()}WebhookConfiguration"

    @property
    def path(self) -> str:
        return f"/apis/{GROUP_VERSION}/{self.type}webhookconfigurations/{self.name}"


@dataclass(frozen=True, slots=True)
class Live:
    """A configuration as it was read: each webhook by name, with its bundle (b"" for none), and the whole object.

    Without a webhook it does not exist, or could not be read; then ``error`` says why.
    """

    configuration: Configuration
    webhooks: dict[str, bytes] = field(default_factory=dict)
    content: dict[str, Any] = field(default_factory=dict)
    version: str = ""
    error: ApiServerError | None = None

    @property
    def trusted(self) -> pem.Certificates:
        """The CAs that every webhook of it trusts."""
        first, *others = [pem.parse(each) for each in self.webhooks.values()]
        return tuple(each for each in first if all(each in other for other in others))

    def carries(self, bundle: bytes) -> bool:
        return all(found == bundle for found in self.webhooks.values())

    def applied(self, bundle: bytes) -> dict[str, Any]:
        """All that we say about it."""
        client = {"caBundle": base64.b64encode(bundle).decode()}
        return {
            "apiVersion": GROUP_VERSION,
            "kind": self.configuration.kind,
            "metadata": {"name": self.configuration.name, "resourceVersion": self.version},
            "webhooks": [{"name": name, "clientConfig": client} for name in self.webhooks],
        }


def read(configuration: Configuration, api: Api) -> Live:
    """The configuration as it is now; never raises, because one that cannot be read says nothing about the others."""
    try:
        found = api.get(configuration.path)
    except ApiServerError as error:
        return Live(configuration, error=None if error.status == HTTPStatus.NOT_FOUND else error)
    own = found.get("webhooks") or ()
    webhooks = {webhook["name"]: _decoded(webhook["clientConfig"].get("caBundle")) for webhook in own}
    return Live(configuration, webhooks, found, found["metadata"]["resourceVersion"])


def publish(bundle: bytes, live: Live, api: Api) -> bool:
    """Let every webhook of the configuration trust ``bundle`` (PEM); False when it was changed since it was read.

    Raises:
        ApiServerError: the API server refuses, or cannot be reached.
    """
    try:
        api.apply(live.configuration.path, live.applied(bundle), FIELD_MANAGER)
    except ApiServerError as error:
        if error.status in {HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND}:
            return False
        raise
    return True


def _decoded(text: str | None) -> bytes:
    try:
        return base64.b64decode(text or "")
    except binascii.Error:
        return b""
