"""The CA bundle in the webhook configurations: written by server-side apply, and read back.

The configurations belong to the chart; this module owns one field of each webhook, ``clientConfig.caBundle``. It
applies the minimum that the API server accepts: the webhook's name, which is the key of the list, and the field. The
API server merges and validates the whole, so neither manager overwrites the other's fields, in any order.

The merge has two consequences. Applying to a configuration that does not exist is refused, because required fields are
missing. And a webhook can be removed from the chart only together with its configuration: otherwise the applied field
would remain alone, and the API server would refuse the chart's next version. So never rename a webhook.
"""

from __future__ import annotations

import base64
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal, get_args

from certs.api import Api
from certs.errors import ApiServerError, PublishError

__all__ = ["FIELD_MANAGER", "Configuration", "publish"]

FIELD_MANAGER = "modelgate-certs"

_GROUP_VERSION = "admissionregistration.k8s.io/v1"
_Type = Literal["mutating", "validating"]
# The chart creates its configurations a moment after the pods; after this time the pod reports an error.
_PATIENCE_SECONDS = 60.0
_PAUSE_SECONDS = 1.0


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
        return f"/apis/{_GROUP_VERSION}/{self.type}webhookconfigurations/{self.name}"

    def applied(self, names: list[str], bundle: bytes) -> dict[str, Any]:
        """The configuration to apply, with the owned fields only."""
        client = {"caBundle": base64.b64encode(bundle).decode()}
        webhooks = [{"name": name, "clientConfig": client} for name in names]
        return {
            "apiVersion": _GROUP_VERSION,
            "kind": self.kind,
            "metadata": {"name": self.name},
            "webhooks": webhooks,
        }


def publish(bundle: bytes, configuration: Configuration, api: Api, *, patience: float = _PATIENCE_SECONDS) -> bool:
    """Write ``bundle`` (PEM) into every webhook of the configuration; False if it is there already.

    Waits up to ``patience`` seconds for the configuration to appear. Raises PublishError if a fresh read does not show
    the bundle in every webhook, and ApiServerError if the API server refuses.
    """
    live = _await(configuration, api, time.monotonic() + patience)
    if _carry(live, bundle):
        return False
    api.apply(configuration.path, configuration.applied(list(live), bundle), FIELD_MANAGER)
    if not _carry(_await(configuration, api, time.monotonic() + patience), bundle):
        raise PublishError(f"{configuration}: its caBundle was overwritten at once; find the other client that sets it")
    return True


def _await(configuration: Configuration, api: Api, give_up: float) -> dict[str, bytes]:
    while not (live := _read(configuration, api)):
        if time.monotonic() >= give_up:
            raise PublishError(f"{configuration}: no {configuration.kind} of that name with a webhook was found")
        time.sleep(_PAUSE_SECONDS)
    return live


def _read(configuration: Configuration, api: Api) -> dict[str, bytes]:
    """The webhooks by name, each with its current bundle (b"" for none); {} if the configuration does not exist."""
    try:
        webhooks = api.get(configuration.path).get("webhooks") or []
    except ApiServerError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return {}
        raise
    return {webhook["name"]: base64.b64decode(webhook["clientConfig"].get("caBundle") or "") for webhook in webhooks}


def _carry(live: dict[str, bytes], bundle: bytes) -> bool:
    return all(found == bundle for found in live.values())
