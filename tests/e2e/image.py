"""Our image, built from our Dockerfile without a daemon, on a base image that needs no registry.

``python -m tests.e2e.image ARCHIVE`` writes it as a docker-archive.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.e2e.machine import Unavailable, require_debian

CHECKOUT = Path(__file__).parents[2]
DEBIAN = "bookworm"  # its Python is 3.11, the oldest that we support
BASE = f"localhost/python:{DEBIAN}"
IMAGE = "localhost/modelgate:e2e"
PACKAGES = "python3,python3-venv,ca-certificates"


def buildah(*arguments: str | Path) -> str:
    """Run buildah as it works in a container, too: no overlay mounts. Raises Unavailable with what it said."""
    command = ["buildah", "--storage-driver=vfs", *map(str, arguments)]
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
    """Build our Dockerfile and write the image as a docker-archive. Raises Unavailable."""
    require_debian("/usr/bin/buildah")
    if os.geteuid() != 0:
        raise Unavailable("building an image here needs root: run as root")
    certificates = "/etc/ssl/certs:/etc/ssl/certs:ro"  # what this machine trusts, for pip
    buildah(
        "bud",
        "--layers",
        "--isolation=chroot",
        "--network=host",
        f"--volume={certificates}",
        f"--build-arg=PYTHON_IMAGE={base()}",
        f"--tag={IMAGE}",
        CHECKOUT,
    )
    archive.unlink(missing_ok=True)  # buildah does not write over one
    buildah("push", IMAGE, f"docker-archive:{archive}:{IMAGE}")


if __name__ == "__main__":
    try:
        build(Path(sys.argv[1]))
    except Unavailable as reason:
        sys.exit(f"image: {reason}")
