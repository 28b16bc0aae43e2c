"""API resources: group, version and plural, and their paths."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote


def is_name(name: object) -> bool:
    """Whether a name is a valid path segment (apimachinery, IsValidPathSegmentName)."""
    return isinstance(name, str) and 0 < len(name) <= 253 and name not in {".", ".."} and not {"/", "%"} & set(name)


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """One object of a resource; ``namespace`` is "" for cluster scope."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @classmethod
    def of(cls, obj: dict[str, Any]) -> Key:
        metadata = obj["metadata"]
        return cls(metadata.get("namespace", ""), metadata["name"])


@dataclass(frozen=True, slots=True)
class APIResource:
    """One served resource; ``group`` is "" for the core API. ``namespaced`` defaults to True."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = field(default=True, compare=False)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of a collection (no name), an object, or its subresource; without a namespace, of all namespaces.

        Raises:
            ValueError: not a valid name, so that the path would be that of another resource.
        """
        if wrong := [each for each in (namespace, name) if each and not is_name(each)]:
            raise ValueError(f"{wrong[0]!r} is not a valid object name")
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        inside = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
        tail = (part for part in (quote(name, safe=""), subresource) if part)
        return "/".join((f"{root}{inside}/{self.plural}", *tail))
