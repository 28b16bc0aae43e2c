"""The picture of a page in a browser: ``python -m tools.pictures.page``. Needs chromium."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.browser import browser
from tools.pictures.sources import FOLDER

_SIZE: Final = (1000, 590)
"""Width and height in pixels, with the whole choice."""


def draw(folder: Path) -> None:
    """The page of the service of ``runtime.yaml``, beside the other objects of that file."""
    *others, service = (FOLDER / "runtime.yaml").read_text(encoding="utf-8").split("\n---\n")
    (folder / "cluster.yaml").write_text("\n---\n".join(others), encoding="utf-8")
    (folder / "service.yaml").write_text(service, encoding="utf-8")
    command = [sys.executable, "-m", "webhook", "explain", "-o", "html", "--view=cluster.yaml", "service.yaml"]
    environment = {**os.environ, "PYTHONPATH": str(FOLDER.parents[1])}
    done = subprocess.run(  # noqa: S603 - this interpreter and this package
        command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE
    )
    page = folder / "page.html"
    page.write_bytes(done.stdout)
    with browser(folder / "profile") as shown:
        width, height = _SIZE
        shown.call("Emulation.setScrollbarsHidden", hidden=True)
        shown.open(page, width=width)
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        taken = shown.call("Page.captureScreenshot", format="webp", quality=70, clip=clip)
    FOLDER.joinpath("explain.webp").write_bytes(base64.b64decode(taken["data"]))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        draw(Path(name))
