"""The webhook configurations are as the release says: the ConfigMap of the release has each, field by field."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

from certs import differences, sentence
from webhook.cli.doctor.finding import finding
from webhook.cli.doctor.snapshot import Installation, Object, named
from webhook.library import Finding


def check(installation: Installation) -> Iterator[Finding]:
    """What differs from the release, each with the command that ends it."""
    for configuration in installation.configurations():
        yield from _changed(configuration, installation)
    if installation.put_back() != "off" and installation.template() is None and not _is_unread(installation):
        what = "it does not exist, so a webhook configuration that is deleted stays away, and a change is not seen"
        about = f"ConfigMap {installation.namespace}/{installation.template_name}"
        yield finding("template-missing", about, what, installation.upgrade())


def _is_unread(installation: Installation) -> bool:
    return any(text.startswith("configmaps") for text in installation.snapshot.unread)


def _changed(configuration: Object, installation: Installation) -> Iterator[Finding]:
    wrong = differences_of(configuration, installation)
    if not wrong:
        return
    operations = [field.operation for field in wrong]
    what = f"{sentence(wrong)}; the release has another value"
    yield finding("configuration-changed", named(configuration), what, patch(configuration, operations))


def differences_of(configuration: Object, installation: Installation) -> list[Any]:
    """The differences from the release; none if the release does not say, or what it says cannot be read."""
    wanted = installation.wanted(configuration["kind"], configuration["metadata"]["name"])
    return differences(wanted, configuration) if wanted else []


def missing(kind: str, name: str, installation: Installation) -> Finding:
    """A configuration of the release that does not exist."""
    wanted = installation.wanted(kind, name)
    command = installation.upgrade()
    if wanted is not None:
        api = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind}
        metadata = {"name": name, **{key: wanted.get(key) or {} for key in ("labels", "annotations")}}
        document = json.dumps({**api, "metadata": metadata, "webhooks": wanted["webhooks"]})
        apply = "kubectl apply --server-side --force-conflicts --field-manager=helm -f -"
        command = f"printf %s {shlex.quote(document)} | {apply}"
    return finding("configuration-missing", f"{kind} {name}", "the configuration does not exist", command)


def patch(obj: Object, operations: list[Any], type_: str = "json") -> str:
    """The command that changes an object by a patch."""
    metadata = obj["metadata"]
    space = f" --namespace={metadata['namespace']}" if metadata.get("namespace") else ""
    body = shlex.quote(json.dumps(operations, separators=(",", ":")))
    return f"kubectl patch {obj['kind'].lower()} {metadata['name']}{space} --type={type_} -p {body}"
