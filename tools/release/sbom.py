"""A software bill of materials (CycloneDX 1.6) from the lock file of the image."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any, Final

__all__ = ["sbom"]

_LOCKED: Final = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)(?: *; *([^\\]+?))? *\\?$")
_HASH: Final = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def sbom(lock: str, version: str, revision: str, epoch: int, without: Collection[str] = ()) -> str:
    """The document as JSON; ``without`` are locked packages that the image does not contain."""
    components: list[dict[str, Any]] = []
    for line in lock.splitlines():
        if found := _LOCKED.match(line):
            name, number, marker = found.groups()
            one: dict[str, Any] = {
                "type": "library",
                "name": name,
                "version": number,
                "purl": f"pkg:pypi/{name}@{number}",
                "hashes": [],
            }
            if name not in without and (marker is None or "win32'" not in marker or "!=" in marker):
                components.append({**one, "bom-ref": one["purl"]})
            else:
                components.append({})
        elif components and components[-1] and (digest := _HASH.search(line)):
            components[-1]["hashes"].append({"alg": "SHA-256", "content": digest[1]})
    own = {"type": "application", "name": "modelgate", "version": version, "purl": f"pkg:pypi/modelgate@{version}"}
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'modelgate@{version}+{revision}')}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, UTC).isoformat(),
            "component": {**own, "bom-ref": own["purl"], "licenses": [{"license": {"id": "Apache-2.0"}}]},
            "properties": [{"name": "revision", "value": revision}],
        },
        "components": [each for each in components if each],
    }
    return json.dumps(document, indent=1) + "\n"
