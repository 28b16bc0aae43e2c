"""Objects that belong to another one: created, changed or deleted only if this one is their controller."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from typing import Any, Final

import orjson

from reconciler.resource import Item, reference
from reconciler.seen import Index
from reconciler.writer import Writer
from webhook.cluster import ApiError, Key
from webhook.cluster.live import LiveView
from webhook.cluster.view import Kind

MANAGED: Final = ("app.kubernetes.io/managed-by", "modelgate")
"""The label of every child, by which children are watched."""

APPLIED: Final = "modelgate.dev/applied"
"""The annotation with a digest of what was applied last: only this shows that a field is not wanted any more."""

_FIXED: Final = {Kind("batch", "Job"), Kind("", "PersistentVolumeClaim")}
"""Kinds that Kubernetes does not let be changed: such a child stays as it was created."""

_TERMINATING: Final = "being terminated"
"""Part of the API server's message for a creation in a namespace that is being deleted."""


class Children:
    """The children of all owners. ``view`` follows their kinds."""

    def __init__(self, api: Writer, view: LiveView) -> None:
        self._api = api
        self._view = view
        self._of: Index[str] = Index()

    def changed(self, child: Item, after: dict[str, Any] | None) -> None:
        """Note which owner has a child, as its kind is followed."""
        self._of.note(child, filter(None, [_controller(after or {}).get("uid")]))

    def sync(self, owner: dict[str, Any], wanted: Iterable[dict[str, Any]], kinds: Collection[Kind]) -> list[Item]:
        """Make the children of these ``kinds`` as wanted; those of them that belong to another owner.

        Raises:
            ApiError: a write failed; a namespace that is being deleted does not count.
        """
        made = {Item.of(each): each for each in (owned(child, owner) for child in wanted)}
        conflicts = []
        for item, child in made.items():
            try:
                if not self._made(item, child, owner):
                    conflicts.append(item)
            except ApiError as error:
                if _TERMINATING not in error.message:
                    raise
        # Anyone can name this owner in an object of another namespace, which is then no child of it.
        places = {owner["metadata"].get("namespace", ""), *(each.key.namespace for each in made)}
        found = self._of.of(owner["metadata"]["uid"]) - made.keys()
        for item in sorted(each for each in found if each.kind in kinds and each.key.namespace in places):
            self._delete(*item)
        return conflicts

    def share(self, obj: dict[str, Any]) -> None:
        """Make an object as wanted that has no owner.

        Raises:
            ApiError: a write failed.
        """
        unowned: dict[str, Any] = {"metadata": {}}
        self._made(Item.of(obj), owned(obj, unowned), unowned)

    def _made(self, item: Item, wanted: dict[str, Any], owner: dict[str, Any]) -> bool:
        """Create or change a child, if its API is installed; False if it belongs to another owner."""
        existing, resource = self._view.held(*item), self._view.resource(item.kind)
        if resource is None:
            return True
        if existing is None:
            try:
                self._api.create(resource, wanted)
            except ApiError as error:
                if error.status != 409:
                    raise
                existing = self._api.get(resource, item.key.namespace, item.key.name)
            else:
                return True
        if existing is None or _controller(existing).get("uid") != owner["metadata"].get("uid"):
            return False
        if item.kind not in _FIXED and not covers(existing, wanted):
            uid = {"uid": existing["metadata"]["uid"]}
            self._api.apply(resource, {**wanted, "metadata": {**wanted["metadata"], **uid}})
        return True

    def _delete(self, kind: Kind, key: Key) -> None:
        existing, resource = self._view.held(kind, key), self._view.resource(kind)
        if existing is None or resource is None or APPLIED not in (existing["metadata"].get("annotations") or {}):
            return
        self._api.delete(resource, key.namespace, key.name, existing["metadata"]["uid"])


def owner_of(obj: dict[str, Any] | None) -> Item | None:
    """The controller of an object, in its namespace or, for an owner of cluster scope, in none."""
    found = _controller(obj or {})
    if not found or obj is None:
        return None
    group = found["apiVersion"].rpartition("/")[0]
    return Item(Kind(group, found["kind"]), Key(obj["metadata"].get("namespace", ""), found["name"]))


def covers(existing: Any, wanted: Any) -> bool:
    """Whether everything wanted is present; other keys of a map are ignored."""
    if isinstance(wanted, dict):
        return isinstance(existing, dict) and all(
            key in existing and covers(existing[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(existing, list) and len(existing) == len(wanted) and all(map(covers, existing, wanted))
    return bool(existing == wanted)


def _controller(obj: dict[str, Any]) -> dict[str, Any]:
    references = obj.get("metadata", {}).get("ownerReferences") or ()
    return next((each for each in references if each.get("controller")), {})


def owned(child: dict[str, Any], owner: dict[str, Any]) -> dict[str, Any]:
    """A child as it is written: in its owner's namespace, and with a reference to it if it is in a cluster."""
    metadata = dict(child["metadata"])
    if "namespace" in owner["metadata"]:
        metadata["namespace"] = owner["metadata"]["namespace"]
    if "uid" in owner["metadata"]:
        owning = {key: value for key, value in reference(owner).items() if key != "namespace"}
        metadata["ownerReferences"] = [{**owning, "controller": True}]  # no block: that needs a right on its finalizers
    metadata["labels"] = {**metadata.get("labels", {}), MANAGED[0]: MANAGED[1]}
    metadata["annotations"] = {**metadata.get("annotations", {}), APPLIED: digest(child)}
    return {**child, "metadata": metadata}


def digest(child: dict[str, Any]) -> str:
    """Of the content, for a name or an annotation."""
    return hashlib.sha256(orjson.dumps(child, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
