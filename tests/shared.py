"""Optional material beside the checkout (specifications, samples, upstream's definitions), never committed."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("MODELGATE_SHARED", ROOT.parent / "shared"))


def rows(found: Iterable[Path], what: str) -> list[Any]:
    """The paths as rows of a test; without any, one row that is skipped with the reason."""
    reason = f"needs {what} of the shared material ({SHARED} has none; set MODELGATE_SHARED)"
    none = pytest.param(Path(what), marks=pytest.mark.skip(reason=reason))
    return sorted(found) or [none]


def shared(*parts: str) -> Path:
    """The path of a shared file or folder; skips the test, saying so, where it is absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"needs {'/'.join(parts)} of the shared material ({SHARED} has none; set MODELGATE_SHARED)")
    return path
