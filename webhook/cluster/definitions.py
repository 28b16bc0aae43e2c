"""The CustomResourceDefinitions of some kinds, as a cluster has them installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

from webhook.cluster.api import METADATA_ONLY, Reader

__all__ = ["Definitions"]

_PATH: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"

Seen = tuple[str, int]
"""UID and generation: the generation counts the changes of the specification."""


class Definitions:
    """Reads the definitions again when they change. ``names`` are ``<plural>.<group>``.

    They are kept as JSON text: the definition of a kind with pods in it has a megabyte, and ten as Python objects.
    """

    def __init__(self, api: Reader) -> None:
        self._api = api
        self._held: dict[str, tuple[Seen, bytes]] = {}

    def refresh(self, names: Iterable[str], timeout: float) -> bool:
        """Look for changes; True if a definition was added, changed or removed. ``timeout`` in seconds per request.

        Raises:
            ApiError: the API server refuses or does not answer; nothing is changed then.
        """
        held: dict[str, tuple[Seen, bytes]] = {}
        for name in names:
            found = self._read(name, timeout)
            if found is not None:
                held[name] = found
        changed = held != self._held
        self._held = held
        return changed

    def documents(self) -> Iterator[dict[str, Any]]:
        """The definitions that are installed."""
        for _, text in self._held.values():
            yield orjson.loads(text)

    def _read(self, name: str, timeout: float) -> tuple[Seen, bytes] | None:
        summary = self._api.document(_PATH + name, timeout, METADATA_ONLY.format(""))
        if summary is None:
            return None
        held = self._held.get(name)
        if held is not None and held[0] == _seen(summary):
            return held
        document = self._api.document(_PATH + name, timeout)
        return None if document is None else (_seen(document), orjson.dumps({"spec": document["spec"]}))


def _seen(document: dict[str, Any]) -> Seen:
    metadata = document["metadata"]
    return metadata["uid"], metadata["generation"]
