"""Draw every picture: ``make pictures``. Needs Go, which builds D2 once into a cache outside of the checkout."""

from __future__ import annotations

import os
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Final

from tools.pictures.sources import FOLDER, MARK, sources

VERSION: Final = "v0.7.1"
_MODULE: Final = "oss.terrastruct.com/d2"
_CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "modelgate" / f"d2-{VERSION}"
_LOOK: Final = ("--theme=0", "--dark-theme=200", "--pad=16", "--layout=dagre")
"""Light, and dark where the reader's system is: one file has both."""


def program() -> Path:
    """D2, built if it is not there."""
    built = _CACHE / "d2"
    if not built.exists():
        print(f"building D2 {VERSION} …", flush=True)
        command = ("go", "install", f"{_MODULE}@{VERSION}")
        subprocess.run(command, env={**os.environ, "GOBIN": str(_CACHE)}, check=True)  # noqa: S603 - pinned
    return built


def draw(name: str, text: str) -> None:
    """One picture, with the digest of its text, by which a test knows that it is up to date."""
    command = (program(), *_LOOK, "-", "-")
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=True)  # noqa: S603 - our own text
    mark = MARK.format(sha256(text.encode()).hexdigest())
    FOLDER.joinpath(f"{name}.svg").write_bytes(done.stdout.rstrip() + mark.encode())
    print(f"{name}: {len(done.stdout) // 1024} KiB")


if __name__ == "__main__":
    for each, of in sources().items():
        draw(each, of)
