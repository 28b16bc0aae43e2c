"""Make a release of the checked-out commit in dist/release: ``python -m tools.release [--without-image]``.

The wheel, both charts as packages and as OCI artefacts, the image as an OCI layout, the static manifests, a software
bill of materials, and the checksums of all of them. Two runs for the same commit give the same bytes; the image depends
on its base, too, which PYTHON_IMAGE should name by digest.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tools.release.charts import oci_layout, package
from tools.release.sbom import sbom
from tools.release.slim import PACKAGES

ROOT: Final = Path(__file__).parents[2]
NAMESPACE: Final = "modelgate-system"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="release", description="Make a release of the checked-out commit.")
    parser.add_argument("--without-image", action="store_true", help="everything but the image")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "dist" / "release", metavar="DIR", help="where to (dist/release)"
    )
    options = parser.parse_args(arguments)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    revision, epoch = run("git", "rev-parse", "HEAD"), int(run("git", "log", "-1", "--format=%ct"))
    if changes := run("git", "status", "--porcelain", "--untracked-files=no"):
        print(f"release: the checkout has changes that are not committed:\n{changes}", file=sys.stderr)
    out: Path = options.out
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    environment = {"SOURCE_DATE_EPOCH": str(epoch)}
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out), more=environment)
    for chart in (ROOT / "chart", ROOT / "chart-crds"):
        name, content = package(chart, epoch)
        (out / name).write_bytes(content)
        print(f"{name.removesuffix('.tgz')} (OCI) {oci_layout(chart, content, out / 'oci' / chart.name, epoch)}")
    (out / "install.yaml").write_text(manifests(out / f"modelgate-{version}.tgz"))
    lock = (ROOT / "requirements" / "run.txt").read_text()
    (out / "sbom.cdx.json").write_text(sbom(lock, version, revision, epoch, PACKAGES))
    if not options.without_image:
        print(f"image {image(out / 'oci' / 'image', version, environment)}")
    (out / "SHA256SUMS").write_text(checksums(out))
    for line in checksums(out).splitlines():
        digest, _, name = line.partition("  ")
        if "/blobs/" not in name:
            print(f"{digest}  {(out / name).stat().st_size:>10}  {name}")
    return 0


def run(*command: str, more: Mapping[str, str] | None = None) -> str:
    """What a command prints. Ends the program with its complaint if it fails."""
    done = subprocess.run(  # noqa: S603
        command, cwd=ROOT, env=os.environ | dict(more or {}), capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"release: {' '.join(command)}: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout.strip()


def manifests(chart: Path) -> str:
    """The chart with its default values, and its namespace."""
    namespace = f"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {NAMESPACE}\n---\n"
    helm = shutil.which("helm") or os.environ.get("HELM")
    if helm is None:
        sys.exit("release: needs helm: install it, or name it by HELM")
    rendered = run(helm, "template", "modelgate", str(chart), f"--namespace={NAMESPACE}", "--skip-tests")
    return namespace + rendered.removeprefix("---\n") + "\n"


def image(folder: Path, version: str, environment: Mapping[str, str]) -> str:
    """Build the image with buildah or podman, write it as an OCI layout, and return the digest of its manifest."""
    name = f"localhost/modelgate:{version}"
    run(str(ROOT / ".ci" / "image"), more={**environment, "IMAGE": name})
    driver = os.environ.get("STORAGE_DRIVER", "vfs")
    run("buildah", f"--storage-driver={driver}", "push", "--quiet", name, f"oci:{folder}:{version}")
    (found,) = json.loads((folder / "index.json").read_text())["manifests"]
    return str(found["digest"])


def checksums(out: Path) -> str:
    """As sha256sum prints them."""
    files = sorted(path for path in out.rglob("*") if path.is_file() and path.name != "SHA256SUMS")
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(out)}\n" for path in files)


if __name__ == "__main__":
    sys.exit(main())
