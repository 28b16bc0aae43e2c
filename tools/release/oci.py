"""OCI image layouts as archives: equal content gives equal bytes."""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import yaml

MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
CHART_CONFIG: Final = "application/vnd.cncf.helm.config.v1+json"
CHART_CONTENT: Final = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"


def chart_layout(package: Path, target: Path) -> str:
    """Write a packed chart as ``helm push`` stores it in a registry; returns the digest of its manifest."""
    content = package.read_bytes()
    with tarfile.open(package) as archive:
        member = next(each for each in archive if each.name.count("/") == 1 and each.name.endswith("/Chart.yaml"))
        described = yaml.safe_load(archive.extractfile(member))  # type: ignore[arg-type]
    config = _json(described)
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": _descriptor(CHART_CONFIG, config),
            "layers": [_descriptor(CHART_CONTENT, content)],
        }
    )
    entry = _descriptor(MANIFEST, manifest) | {
        "annotations": {"org.opencontainers.image.ref.name": str(described["version"])}
    }
    files = {_blob(each): each for each in (config, content, manifest)}
    files["index.json"] = _json({"schemaVersion": 2, "manifests": [entry]})
    files["oci-layout"] = _json({"imageLayoutVersion": "1.0.0"})
    _write(files, target)
    return str(entry["digest"])


def rewritten(archive: Path) -> None:
    """Write an archive again in the order of its names, with no times and owners."""
    with tarfile.open(archive) as given:
        files = {member.name: given.extractfile(member).read() for member in given if member.isfile()}  # type: ignore[union-attr]
    _write(files, archive)


def manifest_digest(archive: Path) -> str:
    """The digest of the one manifest in an archived layout."""
    with tarfile.open(archive) as layout:
        index = json.load(layout.extractfile("index.json"))  # type: ignore[arg-type]
    (manifest,) = index["manifests"]
    return str(manifest["digest"])


def _write(files: Mapping[str, bytes], target: Path) -> None:
    with tarfile.open(target, "w") as archive:
        for name in sorted(files):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(files[name]), 0o644
            archive.addfile(member, BytesIO(files[name]))


def _descriptor(media_type: str, content: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": f"sha256:{hashlib.sha256(content).hexdigest()}", "size": len(content)}


def _blob(content: bytes) -> str:
    return f"blobs/sha256/{hashlib.sha256(content).hexdigest()}"


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()
