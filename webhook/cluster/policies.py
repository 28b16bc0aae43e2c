"""Enforcements and PolicyExceptions as they change, and the labels of the namespaces that they select."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable
from typing import Any, Final

from webhook.cluster.api import Reader
from webhook.cluster.informer import Following, Informer, join
from webhook.cluster.view import APIResource, Key, Kind
from webhook.enforcement import ENFORCEMENT, EXCEPTION, GROUP, VERSION, Degrees, PolicyMemory

log = logging.getLogger("modelgate")

KINDS: Final = (Kind(GROUP, ENFORCEMENT), Kind(GROUP, EXCEPTION))
NAMESPACE: Final = Kind("", "Namespace")


class FollowedPolicies:
    """Follows both kinds from :meth:`start` to :meth:`stop`, and namespaces as soon as one of them is installed.

    ``changed`` is called at each change, in any thread. ``heard`` is as that of :class:`Following`: what follows the
    definitions calls :meth:`appeared` with the name of each that changes. ``memory`` has the policies that were read.
    """

    def __init__(
        self, api: Reader, changed: Callable[[], object], heard: Callable[[], float] = lambda: math.inf
    ) -> None:
        self._changed = changed
        labelled = Following(version="v1", reduce=_labelled, listener=self._tell)
        following = Following(version=VERSION, heard=heard, listener=self._tell)
        self._policies = [Informer(api, kind, following=following) for kind in KINDS]
        self._namespaces = Informer(api, NAMESPACE, following=labelled)
        self.memory = PolicyMemory()
        self._threads: list[threading.Thread] = []
        self._labels_followed = False
        self._stopped = False

    def start(self) -> None:
        """Begin to follow; a second call does nothing."""
        if not self._threads:
            for informer in self._policies:
                self._run(informer)

    def stop(self, grace: float = 0.0) -> None:
        """End all threads, and wait so many seconds for them."""
        self._stopped = True
        for informer in (*self._policies, self._namespaces):
            informer.stop()
        if grace:
            join(self._threads, grace)

    def appeared(self, definition: str) -> None:
        """A definition of this name was added or changed: look for its kind at once."""
        if definition.endswith(f".{GROUP}"):
            for informer in self._policies:
                informer.recheck()

    @property
    def installed(self) -> bool:
        """Whether the definition of one of the kinds is installed."""
        return any(informer.resource is not None for informer in self._policies)

    def unready(self) -> str:
        """Why nothing is known yet; empty when all is listed, is known to be missing, or may not be read."""
        if self.installed and not self._labels_followed and not self._stopped:
            self._labels_followed = True
            self._run(self._namespaces)
        followed = [*self._policies, *([self._namespaces] if self._labels_followed else ())]
        waiting = (informer for informer in followed if not informer.synced and not informer.denied)
        return next((informer.unready(math.inf) for informer in waiting), "")

    def denied(self) -> str:
        """What may not be read; empty if all may."""
        followed = (*self._policies, *([self._namespaces] if self._labels_followed else ()))
        return "; ".join(informer.unready(math.inf) for informer in followed if informer.denied)

    def degrees(self, now: float) -> Degrees:
        """What is in force at a time, in seconds since the Unix epoch. ``memory`` has what cannot be read."""
        self.memory.take(self.objects())
        namespaces = self._namespaces.store.list(None)
        labels = {obj["metadata"]["name"]: obj["metadata"]["labels"] for obj in namespaces}
        return Degrees.of(self.memory.policies, labels, now)

    def objects(self) -> list[dict[str, Any]]:
        """All Enforcements and PolicyExceptions."""
        return [obj for informer in self._policies for obj in informer.store.list(None)]

    def _tell(self, _kind: Kind, _key: Key, before: dict[str, Any] | None, after: dict[str, Any] | None) -> None:
        """Tell of a change that counts: of a namespace, only that of its labels."""
        if before is None or after is None or _content(before) != _content(after):
            self._changed()

    def _run(self, informer: Informer) -> None:
        thread = threading.Thread(target=informer.run, name=f"informer {informer}", daemon=True)
        self._threads.append(thread)
        thread.start()


def _content(obj: dict[str, Any]) -> object:
    return obj.get("spec"), obj["metadata"].get("labels")


def _labelled(obj: dict[str, Any], _: APIResource) -> dict[str, Any]:
    """A namespace with nothing but its name and its labels."""
    metadata = obj["metadata"]
    kept = {key: metadata[key] for key in ("name", "resourceVersion") if key in metadata}
    return {"metadata": {**kept, "labels": metadata.get("labels") or {}}}
