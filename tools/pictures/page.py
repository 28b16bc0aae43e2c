"""The picture of a page in a browser: ``python -m tools.pictures.page``. Needs chromium."""

from __future__ import annotations

import base64
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.browser import browser
from tools.pictures.sources import FOLDER

_SIZE: Final = (1000, 620)
"""Width and height in pixels: the choice, and the beginning of what follows."""


def draw(folder: Path) -> None:
    """The page of the objects of ``runtime.yaml``, of which the service is first."""
    command = [sys.executable, "-m", "webhook", "explain", "-o", "html", "runtime.yaml"]
    done = subprocess.run(command, cwd=FOLDER, check=True, stdout=subprocess.PIPE)  # noqa: S603 - this package
    page = folder / "page.html"
    page.write_bytes(done.stdout)
    with browser(folder / "profile") as shown:
        width, height = _SIZE
        shown.open(page, width=width)
        shown.evaluate("document.querySelector('nav').remove()")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        taken = shown.call("Page.captureScreenshot", format="webp", quality=70, clip=clip)
    FOLDER.joinpath("explain.webp").write_bytes(base64.b64decode(taken["data"]))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        draw(Path(name))
