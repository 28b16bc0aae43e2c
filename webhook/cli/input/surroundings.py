"""The environment of a program that a command starts: nothing of the user's but what the program needs."""

from __future__ import annotations

import os
from pathlib import Path


def surroundings(**more: str) -> dict[str, str]:
    """The environment: the absolute folders of PATH, and ``more``.

    A relative folder of PATH would be one of the tree that is checked.
    """
    folders = [each for each in os.environ.get("PATH", os.defpath).split(os.pathsep) if Path(each).is_absolute()]
    return {"PATH": os.pathsep.join(folders), "LC_ALL": "C.UTF-8", **more}
