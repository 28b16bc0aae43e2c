"""Folders of files that a test writes, such as a pack."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml


def written(folder: Path, files: Mapping[str, Any]) -> Path:
    """The folder with files, by their paths in it: a text as it is, a value as YAML."""
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False))
    return folder
