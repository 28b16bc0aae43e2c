"""The files: sources, the types that they name, and the CRDs generated from them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from tools.crds.expand import embedded_names, expand
from tools.crds.openapi import Schema
from tools.crds.text import text_of

POLICIES: Final = Path(__file__).parents[2] / "policies"
TYPES: Final = Path(__file__).with_name("kubernetes.json")
"""The types of Kubernetes that the sources name, from ``types_of``."""
EMBEDDED: Final = "1.36.3"
"""The release of Kubernetes with these types: its fields are those that upstream's newest definitions have."""
BUILTIN: Final = POLICIES.parent / "webhook" / "vap" / "mutating" / "builtin.json"
"""The API server's built-in kinds, from ``builtin``."""


def kubernetes_names() -> list[str]:
    """The types of Kubernetes that the sources name."""
    documents = [_read(path) for path in sorted(POLICIES.glob("*/crds/src/*.yaml"))]
    return sorted({name for document in documents for name in embedded_names(document) if "." in name})


def made_files() -> Iterator[tuple[Path, str]]:
    """Each CRD that has a source, with its expected text.

    Raises:
        UnknownType: a source names an unknown type.
    """
    kubernetes: dict[str, Schema] = json.loads(TYPES.read_text())
    for folder in sorted(POLICIES.glob("*/crds/src")):
        local = folder / "types.yaml"
        types = {**kubernetes, **(_read(local) if local.exists() else {})}
        for source in sorted(folder.glob("*.yaml")):
            if source != local:
                yield folder.parent / f"{source.stem}.json", text_of(expand(_read(source), types))


def _read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(path.read_text())
    return document
