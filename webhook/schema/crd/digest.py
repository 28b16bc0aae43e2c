"""The digest of a definition's schemas: the same of the file and of what an API server returns.

It covers ``spec.versions[*].schema`` with all texts, in the order of the versions' names, and nothing else: an API
server adds metadata, a status, a conversion and names, and changes nothing below a schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

_EXACT: Final = 1e21
"""An API server writes whole numbers below this without an exponent (``encoding/json``), so that it reads them as
integers."""


def digest(definition: Mapping[str, Any]) -> str:
    """SHA-256, in hexadecimal, of the schemas of a CustomResourceDefinition as JSON: keys sorted, no spaces.

    Raises:
        ValueError: the definition has no list of versions with names, or is nested too deeply.
    """
    try:
        schemas = [_whole(version.get("schema") or {}) for version in sorted(_versions(definition), key=_name)]
        text = json.dumps(schemas, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    except RecursionError:
        message = "the definition is nested too deeply"
        raise ValueError(message) from None
    return sha256(text.encode(errors="replace")).hexdigest()


def _versions(definition: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    spec = definition.get("spec")
    versions = spec.get("versions") if isinstance(spec, Mapping) else None
    if not isinstance(versions, list) or not all(isinstance(_name(version), str) for version in versions):
        message = "spec.versions must be a list of versions with names"
        raise ValueError(message)
    return versions


def _name(version: Any) -> Any:
    return version.get("name") if isinstance(version, Mapping) else None


def _whole(value: Any) -> Any:
    """The value with 1.0 as 1: YAML, JSON and an API server differ in how they write it."""
    if isinstance(value, Mapping):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT else value
