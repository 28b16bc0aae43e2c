"""The table kinds.yaml: a row for each kind, which test_kinds.py brings before a real API server."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.kubectl import Object


def merged(value: Any, change: Any) -> Any:
    """A JSON merge patch (RFC 7386)."""
    if not isinstance(change, dict):
        return deepcopy(change)
    kept = value if isinstance(value, dict) else {}
    parts = {key: merged(kept.get(key), part) for key, part in change.items() if part is not None}
    return {**{key: deepcopy(part) for key, part in kept.items() if key not in change}, **parts}


@dataclass(frozen=True)
class Row:
    """A good specification, and what is merged into it: a change that is accepted, and something bad that is not.

    ``filled`` is the part of the object that the gate or the schema must have written, None for a value that is not
    known before; ``refusal`` what is said of the bad one; ``status`` one that the kind can have, where it has any.
    """

    apiVersion: str  # noqa: N815  (the field's own name)
    kind: str
    spec: Object
    filled: Object
    change: Object
    bad: Object
    refusal: str
    status: Object = field(default_factory=dict)

    @property
    def resource(self) -> str:
        """As kubectl takes it: other groups may have a kind of the same name."""
        group, version = self.apiVersion.split("/")
        return f"{self.kind}.{version}.{group}"

    def object(self, name: str, change: Object | None = None, **metadata: Any) -> Object:
        spec = merged(self.spec, change or {})
        return {"apiVersion": self.apiVersion, "kind": self.kind, "metadata": {"name": name, **metadata}, "spec": spec}


def row_of(kind: str) -> Row:
    """The row of ``Kind`` or ``api/Kind``; of the two InferenceServices, OME's."""
    api, _, name = kind.rpartition("/")
    return [row for row in KINDS if row.kind == name and api in row.apiVersion][-1]


KINDS = [Row(**row) for row in yaml.safe_load(Path(__file__).with_name("kinds.yaml").read_text())]
