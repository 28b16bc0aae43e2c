"""The admission request as the engine reads it, independent of wire format and HTTP."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from webhook.admission.stamp import canonical, specification


class GroupVersionKind(NamedTuple):
    """A version of a kind. A tuple, because it is looked up several times for each request."""

    group: str
    version: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.version}.{self.group}"


def group_version(api_version: str) -> tuple[str, str]:
    """``"apps/v1"`` → ``("apps", "v1")``, ``"v1"`` → ``("", "v1")``."""
    group, _, version = api_version.rpartition("/")
    return group, version


@dataclass(slots=True)  # frozen, it would take six times as long to make
class Request:
    """One admission request (``admission.k8s.io/v1`` AdmissionRequest).

    ``operation`` is CREATE, UPDATE, DELETE or CONNECT. ``resource`` is the plural name in the
    URL, ``subresource`` "" for the object itself. ``object`` is None on DELETE, ``old_object``
    None on CREATE. ``name`` may be "" on CREATE with generateName. ``resource_api`` is group and version of the
    resource, None if they are the kind's: a Scale of ``autoscaling/v1`` is a subresource of ``apps/v1``.
    ``size`` is a bound of the bytes of ``object``, 0 if none is known.
    """

    kind: GroupVersionKind
    resource: str
    operation: str
    object: dict[str, Any] | None
    old_object: dict[str, Any] | None = None
    uid: str = ""
    name: str = ""
    namespace: str = ""
    subresource: str = ""
    dry_run: bool = False
    user: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    resource_api: tuple[str, str] | None = None
    size: int = field(default=0, compare=False)

    @property
    def deleting(self) -> bool:
        """Whether the stored object is being deleted: its finalizers must stay removable.

        Only the stored object counts: a client may write a deletionTimestamp, which the API server ignores.
        """
        metadata = (self.old_object or {}).get("metadata")
        return isinstance(metadata, dict) and bool(metadata.get("deletionTimestamp"))

    @property
    def same_specification(self) -> bool:
        """Whether an update leaves everything but metadata and status as it is stored."""
        if self.object is None or self.old_object is None:
            return False
        try:
            return canonical(specification(self.object)) == canonical(specification(self.old_object))
        except (RecursionError, TypeError, ValueError):  # nested too deep or not JSON: never stored
            return False
