"""A registry in the network of a node, with a pack as an image in it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.e2e.machine import require_debian
from tests.e2e.programs import modelgate
from tests.shared import ROOT

if TYPE_CHECKING:
    from tests.e2e.node import Node

REGISTRY = "127.0.0.1:5000"  # containerd speaks plain HTTP to this address
CONFIGURATION = """
version: 0.1
storage: {filesystem: {rootdirectory: %s}}
http: {addr: "%s"}
"""
PUSH = Path(__file__).with_name("push.py")
ASK = f"import urllib.request as u; u.urlopen('http://{REGISTRY}/v2/')"


class PackImage(NamedTuple):
    """``reference`` names the image by its digest; ``digest`` is that of the pack, which a gate shows."""

    api: str
    reference: str
    digest: str


def pushed(node: Node, api: str, folder: Path, *beside: Path) -> PackImage:
    """Build one of the packs with the folders ``beside`` it, start a registry that ends with the node, and push it."""
    require_debian("/usr/bin/docker-registry")
    archive, configuration = folder / "pack.tar", folder / "registry.yml"
    others = [f"--beside={each}" for each in beside]
    built = [*modelgate("pack", "build"), str(ROOT / "packs" / api), *others, "--output", str(archive)]
    printed = subprocess.run(built, capture_output=True, text=True, check=True).stdout
    if not _answers(node):
        configuration.write_text(CONFIGURATION % (node.folder / "registry", REGISTRY))
        node.processes.start("registry", "/usr/bin/docker-registry", "serve", configuration)
        node.processes.wait_until(lambda: _answers(node), "the registry")
    node.run(sys.executable, PUSH, archive, f"http://{REGISTRY}", f"packs/{api}")
    (digest,) = re.findall(r"sha256:\w{64}", printed)
    (pack,) = re.findall(rf"pack {api} (\w{{16}})", printed)
    return PackImage(api, f"{REGISTRY}/packs/{api}@{digest}", pack)


def _answers(node: Node) -> bool:
    try:
        node.run(sys.executable, "-c", ASK)
    except subprocess.CalledProcessError:
        return False
    return True
