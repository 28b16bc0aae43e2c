"""What this machine can run, and what to do where it cannot."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

# What is used from Debian, by the file that tells whether it is there.
DEBIAN = {
    "/usr/bin/buildah": "buildah",
    "/usr/bin/docker-registry": "docker-registry",
    "/usr/bin/gcc": "gcc",
    "/usr/bin/nsenter": "util-linux",
    "/usr/include/seccomp.h": "libseccomp-dev",
    "/usr/lib/cni/bridge": "containernetworking-plugins",
    "/usr/sbin/debootstrap": "debootstrap",
    "/usr/sbin/ip": "iproute2",
    "/usr/sbin/iptables": "iptables",
}


class Unavailable(Exception):
    """This machine cannot run that; the text says what to do about it."""


def require_debian(*files: str) -> None:
    """Raises Unavailable naming the Debian packages of the files that are not there."""
    missing = [DEBIAN[file] for file in files if not Path(file).exists()]
    if missing:
        raise Unavailable(f"needs programs that are not here: apt-get install {' '.join(missing)}")


def require_go() -> None:
    if not shutil.which("go"):
        raise Unavailable("needs Go to build the cluster's programs: install Go 1.26, or set KUBEBUILDER_ASSETS")


def require_node() -> None:
    """Raises Unavailable where a node cannot run: pods need root, namespaces, overlayfs and a bridge."""
    otherwise = "or give a cluster by MODELGATE_E2E_KUBECONFIG"
    if os.geteuid() != 0:
        raise Unavailable(f"a node needs root for its namespaces: run as root, {otherwise}")
    if "\toverlay\n" not in Path("/proc/filesystems").read_text():
        raise Unavailable(f"a node needs overlayfs, which this kernel does not have: modprobe overlay, {otherwise}")
    require_debian("/usr/bin/nsenter", "/usr/sbin/ip", "/usr/sbin/iptables", "/usr/lib/cni/bridge")
