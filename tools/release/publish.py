"""The commands that sign and upload a release. They need credentials: a CI with an identity of its own runs them.

Signatures are keyless (Sigstore): ``cosign`` takes the identity token of the CI. PyPI takes the same token (trusted
publishing).
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from tools.release import oci
from tools.release.statements import CHECKSUMS, PROVENANCE

Command = tuple[str, ...]


def commands(folder: Path, registry: str, version: str) -> Iterator[Command]:
    """Every command, in order. ``registry`` is a host and a path, such as ``registry.example/team``."""
    materials = folder / f"modelgate-{version}.cdx.json"
    yield (
        "cosign",
        "sign-blob",
        "--yes",
        "--bundle",
        str(folder / f"{CHECKSUMS}.sigstore.json"),
        str(folder / CHECKSUMS),
    )
    yield from _pushed(folder / f"modelgate-{version}-image.tar", f"{registry}/modelgate", version)
    image = f"{registry}/modelgate@{oci.manifest_digest(folder / f'modelgate-{version}-image.tar')}"
    yield "cosign", "attest", "--yes", "--type", "cyclonedx", "--predicate", str(materials), image
    yield "cosign", "attest", "--yes", "--type", "slsaprovenance1", "--predicate", str(folder / PROVENANCE), image
    for layout in sorted(folder.glob("*-chart.tar")):
        name = layout.name.removesuffix(f"-{version}-chart.tar")
        yield from _pushed(layout, f"{registry}/charts/{name}", version)
    files = sorted(str(path) for path in folder.iterdir() if path.suffix == ".whl" or path.name.endswith(".tar.gz"))
    yield "uv", "publish", "--trusted-publishing", "always", *files


def _pushed(archive: Path, name: str, version: str) -> Iterator[Command]:
    """Upload a layout as it is, so that its digest stays, and sign the digest."""
    yield "skopeo", "copy", "--preserve-digests", f"oci-archive:{archive}", f"docker://{name}:{version}"
    yield "cosign", "sign", "--yes", f"{name}@{oci.manifest_digest(archive)}"


def publish(folder: Path, registry: str, version: str) -> None:
    """Run the commands; the first that fails ends it (CalledProcessError)."""
    for command in commands(folder, registry, version):
        print("+", *command, flush=True)
        subprocess.run(command, check=True)
