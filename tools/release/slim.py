"""Remove from an environment what nothing of Modelgate imports: ``python3 slim.py SITE-PACKAGES``.

The kubernetes client loads its parts when they are used. Objects stay dictionaries here, so its models and APIs never
are. Its asynchronous half needs aiohttp, which nothing else needs. The Dockerfile then imports what all commands need.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

__all__ = ["PACKAGES"]

PACKAGES = (
    "aiohappyeyeballs",
    "aiohttp",
    "aiohttp-retry",
    "aiosignal",
    "attrs",
    "frozenlist",
    "multidict",
    "propcache",
    "yarl",
)
MODULES = {"attrs": ("attr", "attrs")}
FOLDERS = ("kubernetes/aio", "kubernetes/client/api", "kubernetes/client/models")


def main(site: Path) -> None:
    before = size(site)
    for package in PACKAGES:
        plain = re.sub(r"[-.]+", "_", package)
        for path in (*(site / each for each in MODULES.get(package, (plain,))), *site.glob(f"{plain}-*.dist-info")):
            shutil.rmtree(path)
    for folder in FOLDERS:
        for path in (site / folder).iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != "__init__.py" or folder.endswith("aio"):
                path.unlink()
    shutil.rmtree(site / "kubernetes" / "aio")
    print(f"slim: {before >> 20} MB before, {size(site) >> 20} MB after")


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
