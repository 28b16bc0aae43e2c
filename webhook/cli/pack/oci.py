"""OCI image layouts as archives: equal content gives equal bytes."""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, Final

__all__ = ["LAYER", "MANIFEST", "descriptor", "encoded", "image_manifest", "tarball", "write_layout"]

MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
LAYER: Final = "application/vnd.oci.image.layer.v1.tar"
_CONFIG: Final = "application/vnd.oci.image.config.v1+json"


def tarball(files: Mapping[str, bytes]) -> bytes:
    """A tar of contents by path, in the order of the paths, with no times and owners."""
    buffer = BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in sorted(files):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(files[name]), 0o644
            archive.addfile(member, BytesIO(files[name]))
    return buffer.getvalue()


def image_manifest(layer: bytes, annotations: Mapping[str, str]) -> tuple[bytes, bytes]:
    """The configuration and the manifest of an image of one layer, which a pod can mount as a volume."""
    # A platform is required. No program reads that of an image that is not in an index.
    rootfs = {"type": "layers", "diff_ids": [descriptor(LAYER, layer)["digest"]]}
    config = encoded({"architecture": "amd64", "os": "linux", "config": {}, "rootfs": rootfs})
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": descriptor(_CONFIG, config),
        "layers": [descriptor(LAYER, layer)],
        "annotations": dict(annotations),
    }
    return config, encoded(manifest)


def write_layout(blobs: Iterable[bytes], manifest: bytes, tag: str, target: Path) -> str:
    """Write a layout of one manifest with its blobs; returns the digest of the manifest."""
    entry = descriptor(MANIFEST, manifest) | {"annotations": {"org.opencontainers.image.ref.name": tag}}
    files = {f"blobs/sha256/{hashlib.sha256(content).hexdigest()}": content for content in (*blobs, manifest)}
    files["index.json"] = encoded({"schemaVersion": 2, "manifests": [entry]})
    files["oci-layout"] = encoded({"imageLayoutVersion": "1.0.0"})
    target.write_bytes(tarball(files))
    return str(entry["digest"])


def descriptor(media_type: str, content: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": f"sha256:{hashlib.sha256(content).hexdigest()}", "size": len(content)}


def encoded(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()
