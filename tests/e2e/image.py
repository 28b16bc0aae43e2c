"""Our image, built from our Dockerfile without a daemon, on a base image that needs no registry.

``python -m tests.e2e.image ARCHIVE`` writes it as a docker-archive.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from tests.e2e.machine import Unavailable, require_debian
from tests.e2e.processes import Failed

SCRIPT = Path(__file__).parents[2] / ".ci" / "image"
DEBIAN = "bookworm"  # its Python is 3.11, the oldest that we support
BASE = f"localhost/python:{DEBIAN}"
IMAGE = "localhost/modelgate:e2e"
PACKAGES = "python3,python3-venv,ca-certificates"
TRUST = "/etc/ssl/certs:/etc/ssl/certs:ro"  # while building: what this machine trusts, for pip


@cache
def storage_driver() -> str:
    """``overlay`` where buildah can mount it, else ``vfs``, which copies the whole image at every step."""
    probe = subprocess.run(["buildah", "--storage-driver=overlay", "info"], capture_output=True, check=False)
    return "vfs" if probe.returncode else "overlay"


def buildah(*arguments: str | Path) -> str:
    """Run buildah; returns what it prints. Raises Unavailable with what it said."""
    command = ["buildah", f"--storage-driver={storage_driver()}", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"{' '.join(command)} failed: {(done.stderr or done.stdout).strip()[-3000:]}")
    return done.stdout.strip()


def base() -> str:
    """The tag of a Debian with Python, made once by debootstrap (about 40 s) and kept in buildah's own storage."""
    if not buildah("images", "--quiet", "--filter", f"reference={BASE}"):
        require_debian("/usr/sbin/debootstrap")
        with tempfile.TemporaryDirectory(prefix="modelgate-base-") as folder:
            root = Path(folder) / "root"
            bootstrap(root)
            container = buildah("from", "scratch")
            buildah("add", container, root, "/")
            buildah("config", "--env=PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", container)
            buildah("commit", "--rm", container, BASE)
    return BASE


def bootstrap(root: Path) -> None:
    """A minimal Debian as a folder. Raises Unavailable."""
    command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", DEBIAN, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"{' '.join(command)} failed: {done.stdout.strip()[-2000:]}")


def build(archive: Path) -> None:
    """Build our Dockerfile, as ``make image`` does, into a docker-archive of IMAGE. Raises Unavailable.

    PYTHON_IMAGE in the environment is another base, for a machine that reaches a registry.
    """
    settings = {"IMAGE": IMAGE}
    if "PYTHON_IMAGE" not in os.environ:
        require_debian("/usr/bin/buildah")
        if os.geteuid() != 0:
            raise Unavailable("building a base image needs root: run as root, or set PYTHON_IMAGE")
        settings |= {"PYTHON_IMAGE": base(), "BUILDER": "buildah", "BUILD_VOLUMES": TRUST}
        settings |= {"STORAGE_DRIVER": storage_driver()}
    done = subprocess.run(
        [SCRIPT, archive],
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Failed(f"{SCRIPT} failed: {done.stdout[-3000:]}")


if __name__ == "__main__":
    try:
        build(Path(sys.argv[1]))
    except (Unavailable, Failed) as reason:
        sys.exit(f"image: {reason}")
