"""OCI image layouts of a release, as archives: equal content gives equal bytes."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Final

import yaml

from webhook.cli.pack.build import MANIFEST, descriptor, encoded, tarball, write_layout

CHART_CONFIG: Final = "application/vnd.cncf.helm.config.v1+json"
CHART_CONTENT: Final = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"


def chart_layout(package: Path, target: Path) -> str:
    """Write a packed chart as ``helm push`` stores it in a registry; returns the digest of its manifest."""
    content = package.read_bytes()
    with tarfile.open(package) as archive:
        member = next(each for each in archive if each.name.count("/") == 1 and each.name.endswith("/Chart.yaml"))
        described = yaml.safe_load(archive.extractfile(member))  # type: ignore[arg-type]
    config = encoded(described)
    manifest = encoded(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": descriptor(CHART_CONFIG, config),
            "layers": [descriptor(CHART_CONTENT, content)],
        }
    )
    return write_layout((config, content), manifest, str(described["version"]), target)


def rewritten(archive: Path) -> None:
    """Write an archive again in the order of its names, with no times and owners."""
    with tarfile.open(archive) as given:
        files = {member.name: given.extractfile(member).read() for member in given if member.isfile()}  # type: ignore[union-attr]
    archive.write_bytes(tarball(files))


def manifest_digest(archive: Path) -> str:
    """The digest of the one manifest in an archived layout."""
    with tarfile.open(archive) as layout:
        index = json.load(layout.extractfile("index.json"))  # type: ignore[arg-type]
    (manifest,) = index["manifests"]
    return str(manifest["digest"])
