"""Charts as packages and as OCI artefacts, of the same bytes each time: Helm's own contain the time of packing."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import yaml

__all__ = ["oci_layout", "package"]

_CONFIG: Final = "application/vnd.cncf.helm.config.v1+json"
_CONTENT: Final = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
_INDEX: Final = "application/vnd.oci.image.index.v1+json"
_LEFT_OUT: Final = {".helmignore"}


def package(chart: Path, epoch: int) -> tuple[str, bytes]:
    """The file name and content of a chart's package; symbolic links are followed, as Helm does."""
    described = yaml.safe_load((chart / "Chart.yaml").read_text())
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in _files(chart):
            content = path.read_bytes()
            member = tarfile.TarInfo(f"{described['name']}/{path.relative_to(chart).as_posix()}")
            member.size, member.mode, member.mtime = len(content), 0o644, epoch
            archive.addfile(member, io.BytesIO(content))
    return f"{described['name']}-{described['version']}.tgz", gzip.compress(made.getvalue(), mtime=epoch)


def _files(chart: Path) -> list[Path]:
    """Chart.yaml first, as Helm expects; sources of definitions are not part of a chart."""
    found = (path for path in chart.glob("**/*") if path.is_file())
    linked = (path for folder in chart.glob("files/crds/*") for path in folder.glob("*") if path.is_file())
    every = {path for path in (*found, *linked) if path.name not in _LEFT_OUT and path.parent.name != "src"}
    return sorted(every, key=lambda path: (path.name != "Chart.yaml", path.relative_to(chart).as_posix()))


def oci_layout(chart: Path, content: bytes, folder: Path, epoch: int) -> str:
    """Write the package as an OCI layout, as `helm push` would store it; returns the digest of its manifest."""
    described = yaml.safe_load((chart / "Chart.yaml").read_text())
    config = _blob(folder, json.dumps(described, sort_keys=True).encode(), _CONFIG)
    layer = _blob(folder, content, _CONTENT)
    annotations = {
        "org.opencontainers.image.title": described["name"],
        "org.opencontainers.image.version": described["version"],
        "org.opencontainers.image.description": described["description"],
        "org.opencontainers.image.created": _instant(epoch),
    }
    document = {"schemaVersion": 2, "mediaType": _MANIFEST, "config": config, "layers": [layer]}
    manifest = _blob(folder, json.dumps({**document, "annotations": annotations}, sort_keys=True).encode(), _MANIFEST)
    named = {**manifest, "annotations": {"org.opencontainers.image.ref.name": described["version"]}}
    index = {"schemaVersion": 2, "mediaType": _INDEX, "manifests": [named]}
    (folder / "index.json").write_text(json.dumps(index, sort_keys=True))
    (folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
    return str(manifest["digest"])


def _blob(folder: Path, content: bytes, media: str) -> dict[str, Any]:
    digest = hashlib.sha256(content).hexdigest()
    path = folder / "blobs" / "sha256" / digest
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return {"mediaType": media, "digest": f"sha256:{digest}", "size": len(content)}


def _instant(epoch: int) -> str:
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
