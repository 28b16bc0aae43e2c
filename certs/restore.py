"""A webhook configuration that was deleted is put back, as the chart has it, and one that was changed is reported.

Its text is in a ConfigMap of the release, which is read when a configuration is missing, and not kept. So what comes
back belongs to the release as it is now: an upgrade changes the ConfigMap, and an uninstallation deletes it. To keep
the configurations away, delete the ConfigMap first.

An uninstallation deletes the configurations a moment before the ConfigMap and the rights of this account. One that is
put back in that moment is owned by the ClusterRole of these rights, and Kubernetes deletes it with its owner.

It is applied with the labels, the annotations and the field manager that the ConfigMap was installed with, such as
Helm's, so that the next upgrade takes it as its own. ``caBundle`` is applied with it, so that no call fails for want
of it, and then by the usual manager, which keeps it when the next upgrade leaves it out.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Final

from certs import publish
from certs.api import Api
from certs.errors import ApiServerError, CertsError, ChangedError, PublishError
from certs.keeper import Look
from certs.publish import Configuration, Live
from certs.report import Note

HELM: Final = "helm"
_RELEASE: Final = "meta.helm.sh/"
"""The prefix of the annotations by which Helm knows its objects."""
_REPORTED: Final = timedelta(seconds=10)
"""An uninstallation deletes configurations before pods, which end sooner than that. An upgrade changes the ConfigMap
before the configurations, which follow sooner than that."""


@dataclass
class Restorer:
    """Puts configurations back, or says that they are missing or changed. Usage: ``settle(look, now)`` after each look.

    Attributes:
        template: the ConfigMap as namespace and name; None: nothing is put back.
        patience: how long a configuration must have been absent. Long enough for Helm to delete all of a release, or to
            create all of it.
    """

    api: Api | None
    template: tuple[str, str] | None
    patience: timedelta
    waiting: bool = field(default=False, init=False)
    """Whether something has just gone, so that the next look must not be late."""
    changed: frozenset[Configuration] = field(default=frozenset(), init=False)
    """Those that have another field than the chart for longer than an upgrade takes."""
    _since: dict[Configuration, datetime] = field(default_factory=dict, init=False)
    _differing: dict[Configuration, tuple[datetime, str]] = field(default_factory=dict, init=False)
    """Since when, and in which fields."""
    _compared: tuple[str, ...] = field(default=(), init=False)
    """The versions that were compared with the chart last; without a new one, nothing has changed."""

    def settle(self, look: Look | None, now: datetime) -> tuple[list[Note], list[CertsError]]:
        """What was put back, and what is missing or changed for longer than can be expected."""
        absent = look.absent if look else list(self._since)
        self._since = {each: self._since.get(each, now) for each in absent}
        self.waiting = any(now - since < _REPORTED for since in self._since.values())
        notes: list[Note] = []
        faults: list[CertsError] = []
        for each, since in self._since.items():
            try:
                if look and look.state and now - since >= self.patience and self._restore(each, look.state.bundle):
                    notes.append(_restored(each))
                elif now - since >= _REPORTED:
                    faults.append(self.missing(each, self.template))
            except ApiServerError as error:
                faults.append(error)
        return notes, [*faults, *(self._changes(look, now) if look else ())]

    def _changes(self, look: Look, now: datetime) -> list[CertsError]:
        """The configurations that are not as the chart has them."""
        versions = tuple(live.version for live in look.lives)
        if self.template and (self._differing or versions != self._compared):
            try:
                data = self._template().get("data") or {}
            except ApiServerError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    return [error]
                data = {}
            found = {live.configuration: _differing(live, data) for live in look.lives}
            before = self._differing
            self._differing = {key: (before.get(key, (now,))[0], fields) for key, fields in found.items() if fields}
            self._compared = versions
        late = {key: fields for key, (since, fields) in self._differing.items() if now - since >= _REPORTED}
        self.changed = frozenset(late)
        return [
            ChangedError(
                f"{key}: not as the release has it: {fields}. Objects may not be reviewed; restore it: helm upgrade "
                "--reset-then-reuse-values --force-conflicts",
                key.path,
            )
            for key, fields in late.items()
        ]

    def _template(self) -> dict[str, Any]:
        assert self.api
        assert self.template
        namespace, name = self.template
        return self.api.get(f"/api/v1/namespaces/{namespace}/configmaps/{name}")

    @staticmethod
    def missing(configuration: Configuration, template: tuple[str, str] | None = None) -> PublishError:
        """The fault that a configuration is not there."""
        why = f"; without the ConfigMap {'/'.join(template)} it does not come back" if template else ""
        return PublishError(
            f"{configuration}: there is no {configuration.kind} of that name with a webhook in it, so the gate is not "
            f"asked{why}; restore it: helm upgrade --reset-then-reuse-values --force-conflicts",
            configuration.path,
        )

    def _restore(self, configuration: Configuration, bundle: bytes) -> bool:
        """False where it is not wanted back."""
        if self.api is None or self.template is None or publish.read(configuration, self.api).version:
            return False
        try:
            template = self._template()
            data = template.get("data") or {}
            text, role = data.get(f"{configuration.type}.{configuration.name}"), data.get("owner")
            if not text or not role:
                return False
            owner = self.api.get(f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{role}")
        except ApiServerError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return False
            raise
        body = _body(configuration, json.loads(text), template["metadata"], owner["metadata"], bundle)
        self.api.apply(configuration.path, body, _manager(template))
        live = publish.read(configuration, self.api)
        return bool(live.version) and publish.publish(bundle, replace(live, error=None), self.api)


def _differing(live: Live, data: dict[str, str]) -> str:
    """The fields of its webhooks that are not as the chart has them; "" if it is absent, or unknown to the chart."""
    text = data.get(f"{live.configuration.type}.{live.configuration.name}")
    if not text or not live.fields:
        return ""
    wanted, found = ([_plain(webhook) for webhook in every] for every in (json.loads(text)["webhooks"], live.fields))
    if len(wanted) != len(found):
        return "webhooks"
    pairs = zip(wanted, found, strict=True)
    fields = {key for one, other in pairs for key in one.keys() | other.keys() if one.get(key) != other.get(key)}
    return ", ".join(sorted(fields))


def _plain(value: Any) -> Any:
    """Without caBundle, and without what is empty, which the API server drops."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items() if key != "caBundle" and inner not in ({}, [])}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _restored(configuration: Configuration) -> Note:
    text = f"{configuration}: the {configuration.kind} was deleted, and has been put back"
    return Note(text, "ConfigurationRestored", configuration.path)


def _body(
    configuration: Configuration, wanted: dict[str, Any], template: dict[str, Any], owner: dict[str, Any], bundle: bytes
) -> dict[str, Any]:
    release = {key: text for key, text in (template.get("annotations") or {}).items() if key.startswith(_RELEASE)}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": owner["name"]}
    metadata = {
        "name": configuration.name,
        "labels": wanted["labels"],
        "annotations": {**wanted["annotations"], **release},
        "ownerReferences": [{**role, "uid": owner["uid"]}],
    }
    bundled = {"caBundle": base64.b64encode(bundle).decode()}
    webhooks = [{**each, "clientConfig": {**each["clientConfig"], **bundled}} for each in wanted["webhooks"]]
    kind = {"apiVersion": publish.GROUP_VERSION, "kind": configuration.kind}
    return {**kind, "metadata": metadata, "webhooks": webhooks}


def _manager(template: dict[str, Any]) -> str:
    """Who applies the objects of the release."""
    found = template["metadata"].get("managedFields") or []
    return next((str(each["manager"]) for each in found if each.get("operation") == "Apply"), HELM)
