"""A webhook configuration that was deleted is put back, as the chart has it, and one that was changed is reported or,
where that is wanted, put right.

Its text is in a ConfigMap of the release. What comes back belongs to the release as it is now: an upgrade changes the
ConfigMap, and an uninstallation deletes it. To keep the configurations away, or changed, delete the ConfigMap first.

An uninstallation deletes the configurations a moment before the ConfigMap and the rights of this account. One that is
put back in that moment is owned by the ClusterRole of these rights, and Kubernetes deletes it with its owner.

It is applied with the labels, the annotations and the field manager that the ConfigMap was installed with, such as
Helm's, so that the next upgrade takes it as its own. ``caBundle`` is applied with it, so that no call fails for want
of it, and then by the usual manager, which keeps it when the next upgrade leaves it out.

An apply cannot take back what others have added, such as a match condition. So what was changed is put right by a JSON
patch; then it is applied as above, and the record of the patch is removed: the next upgrade conflicts with nothing.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Final, Literal, get_args

from certs import publish
from certs.api import Api
from certs.compare import ChangedField, differences, sentence
from certs.errors import ApiServerError, CertsError, ChangedError, PublishError
from certs.keeper import Look
from certs.publish import Configuration, Live
from certs.report import Note

HELM: Final = "helm"
_RELEASE: Final = "meta.helm.sh/"
"""The prefix of the annotations by which Helm knows its objects."""
MANAGER: Final = "modelgate-restore"
"""The field manager of what is removed."""
PutBack = Literal["deleted", "changed", "off"]
PUT_BACK: Final = get_args(PutBack)
_SLOWEST: Final = 6
"""Doublings of the time until the next repair, where another program writes the same field: ten minutes at most."""
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
        put_back: what is put back: deleted ones; changed ones, too; or none.
    """

    api: Api | None
    template: tuple[str, str] | None
    patience: timedelta
    put_back: PutBack = "deleted"
    waiting: bool = field(default=False, init=False)
    """Whether something has just gone, so that the next look must not be late."""
    changed: frozenset[Configuration] = field(default=frozenset(), init=False)
    """Those that have another field than the chart for longer than an upgrade takes."""
    _since: dict[Configuration, datetime] = field(default_factory=dict, init=False)
    _differing: dict[Configuration, datetime] = field(default_factory=dict, init=False)
    """Since when."""
    _repairs: dict[Configuration, int] = field(default_factory=dict, init=False)

    @property
    def path(self) -> str:
        """The REST path of the ConfigMap; "" without one."""
        return "/api/v1/namespaces/{}/configmaps/{}".format(*self.template) if self.template else ""

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
                    notes.append(_restored(each, "was deleted, and"))
                elif now - since >= _REPORTED:
                    faults.append(self.missing(each, self.template))
            except ApiServerError as error:
                faults.append(error)
        if look and self.template:
            try:
                self._compare(look, now, notes, faults)
            except ApiServerError as error:
                faults.append(error)
        return notes, faults

    def _compare(self, look: Look, now: datetime, notes: list[Note], faults: list[CertsError]) -> None:
        """Report the configurations that are not as the chart has them, or put them right."""
        data = self._template().get("data") or {}
        compared = [(live, _compared(live, data)) for live in look.lives]
        wrong = [(live, fields) for live, fields in compared if fields]
        self._differing = {live.configuration: self._differing.get(live.configuration, now) for live, _ in wrong}
        late = [(live, fields) for live, fields in wrong if now - self._differing[live.configuration] >= _REPORTED]
        self.changed = frozenset(live.configuration for live, _ in late)
        for live, fields in late:
            key = live.configuration
            if look.state and self._is_due(key, now) and self._repair(live, fields, look.state.bundle):
                del self._differing[key]
                notes.append(_restored(key, f"was not as the release has it ({sentence(fields)}), and"))
            else:
                faults.append(_changed(key, fields))

    def _is_due(self, configuration: Configuration, now: datetime) -> bool:
        """Whether to put right what was changed. Another program may change it again and again: ever more slowly."""
        wait = _REPORTED * 2 ** min(self._repairs.get(configuration, 0), _SLOWEST)
        return self.put_back == "changed" and now - self._differing[configuration] >= wait

    def _template(self) -> dict[str, Any]:
        """The ConfigMap; {} if it does not exist."""
        assert self.api
        try:
            return self.api.get(self.path)
        except ApiServerError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return {}
            raise

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
        if self.put_back == "off" or self.api is None or publish.read(configuration, self.api).version:
            return False
        return self._apply(configuration, bundle)

    def _repair(self, live: Live, wrong: list[ChangedField], bundle: bytes) -> bool:
        """Give back to a configuration what others have changed; False if it has just changed again."""
        assert self.api
        self._repairs[live.configuration] = self._repairs.get(live.configuration, 0) + 1
        try:
            self._patch(live.configuration, live.version, [field.operation for field in wrong])
            if not self._apply(live.configuration, bundle, live.content["metadata"].get("ownerReferences", [])):
                return False
            metadata = self.api.get(live.configuration.path)["metadata"]
            managers = [entry.get("manager") for entry in metadata.get("managedFields", ())]
            if MANAGER in managers:
                record = {"op": "remove", "path": f"/metadata/managedFields/{managers.index(MANAGER)}"}
                self._patch(live.configuration, metadata["resourceVersion"], [record])
        except ApiServerError as error:
            if error.status == HTTPStatus.CONFLICT:
                return False
            raise
        else:
            return True

    def _patch(self, configuration: Configuration, version: str, operations: list[dict[str, Any]]) -> None:
        """Change the version that was read, and no other: the API server answers 409."""
        assert self.api
        read = {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
        self.api.patch(configuration.path, [read, *operations], MANAGER)

    def _apply(self, configuration: Configuration, bundle: bytes, owners: list[Any] | None = None) -> bool:
        """Apply what the ConfigMap has; False where it, or the owner, is gone. Without ``owners``, that is the role."""
        if self.api is None or self.template is None:
            return False
        template = self._template()
        data = template.get("data") or {}
        text, name = data.get(_key(configuration)), data.get("owner")
        if not text or not name:
            return False
        try:
            owner = self.api.get(f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}")
        except ApiServerError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return False
            raise
        body = _body(configuration, json.loads(text), template["metadata"], bundle)
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": name}
        body["metadata"]["ownerReferences"] = (
            owners if owners is not None else [{**role, "uid": owner["metadata"]["uid"]}]
        )
        self.api.apply(configuration.path, body, _manager(template))
        live = publish.read(configuration, self.api)
        return bool(live.version) and publish.publish(bundle, replace(live, error=None), self.api)


def _key(configuration: Configuration) -> str:
    return f"{configuration.type}.{configuration.name}"


def _compared(live: Live, data: dict[str, str]) -> list[ChangedField]:
    """Its differences; none if it is absent, or unknown to the chart."""
    text = data.get(_key(live.configuration))
    return differences(json.loads(text), live.content) if text and live.webhooks else []


def _changed(configuration: Configuration, wrong: list[ChangedField]) -> ChangedError:
    return ChangedError(
        f"{configuration}: not as the release has it: {sentence(wrong)}. Objects may not be reviewed; `modelgate "
        "doctor` prints the command that restores it",
        configuration.path,
    )


def _restored(configuration: Configuration, why: str) -> Note:
    text = f"{configuration}: the {configuration.kind} {why} has been put back"
    return Note(text, "ConfigurationRestored", configuration.path)


def _body(
    configuration: Configuration, wanted: dict[str, Any], template: dict[str, Any], bundle: bytes
) -> dict[str, Any]:
    release = {key: text for key, text in (template.get("annotations") or {}).items() if key.startswith(_RELEASE)}
    metadata = {
        "name": configuration.name,
        "labels": wanted["labels"],
        "annotations": {**wanted["annotations"], **release},
    }
    bundled = {"caBundle": base64.b64encode(bundle).decode()}
    webhooks = [{**each, "clientConfig": {**each["clientConfig"], **bundled}} for each in wanted["webhooks"]]
    kind = {"apiVersion": publish.GROUP_VERSION, "kind": configuration.kind}
    return {**kind, "metadata": metadata, "webhooks": webhooks}


def _manager(template: dict[str, Any]) -> str:
    """Who applies the objects of the release."""
    found = template["metadata"].get("managedFields") or []
    return next((str(each["manager"]) for each in found if each.get("operation") == "Apply"), HELM)
