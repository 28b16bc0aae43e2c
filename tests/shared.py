"""Optional material beside the checkout (specifications, samples, upstream's definitions), never committed."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("MODELGATE_SHARED", ROOT.parent / "shared"))


def shared(*parts: str) -> Path:
    """The path of a shared file or folder; skips the test, saying so, where it is absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"needs {'/'.join(parts)} of the shared material ({SHARED} has none; set MODELGATE_SHARED)")
    return path
