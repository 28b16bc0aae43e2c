"""Where the CA lives: all replicas of the gate take it from the same place, and change it one at a time."""

from __future__ import annotations

import base64
import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Protocol

from certs import files
from certs.api import Api
from certs.errors import ApiServerError, StoreError
from certs.state import FILES


@dataclass(frozen=True, slots=True)
class Stored:
    """What a store held at one moment. ``version`` is the store's own: it tells whether that is still so."""

    files: Mapping[str, bytes] = field(repr=False)  # one of them is a key
    version: Any = field(repr=False)


class Store(Protocol):
    """One place for the CAs of one gate. ``str(store)`` names it in messages; ``path`` is its object in the API."""

    @property
    def path(self) -> str:
        """The REST path of the object; "" for a place outside the cluster."""
        ...

    def read(self) -> Stored | None:
        """What is stored; None when there is nothing yet."""
        ...

    def write(self, content: Mapping[str, bytes], before: Stored | None) -> bool:
        """Replace what was read before, or create; False, and nothing changed, when another writer was first."""
        ...


class DirectoryStore:
    """A directory, for a gate without a cluster. Processes of one machine may share it."""

    path = ""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __str__(self) -> str:
        return f"directory {self._directory}"

    def read(self) -> Stored | None:
        try:
            found = files.read(self._directory, FILES)
        except OSError as error:
            raise StoreError(f"{self}: cannot be read: {error}") from error
        return Stored(found, found) if found else None

    def write(self, content: Mapping[str, bytes], before: Stored | None) -> bool:
        try:
            with self._locked():
                if (files.read(self._directory, FILES) or None) != (before and before.version):
                    return False
                files.replace(self._directory, content)
        except OSError as error:
            raise StoreError(f"{self}: cannot be written: {error}") from error
        return True

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """For one writer at a time; the kernel frees the lock of a process that dies."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self._directory / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


class SecretStore:
    """A Secret of type ``kubernetes.io/tls``; the API server decides who was first, by its resourceVersion."""

    def __init__(self, namespace: str, name: str, api: Api) -> None:
        self._namespace, self._name, self._api = namespace, name, api

    def __str__(self) -> str:
        return f"Secret {self._namespace}/{self._name}"

    def read(self) -> Stored | None:
        try:
            secret = self._api.get(self.path)
        except ApiServerError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise
        data = secret.get("data") or {}
        return Stored({name: base64.b64decode(data[name]) for name in FILES if name in data}, secret)

    def write(self, content: Mapping[str, bytes], before: Stored | None) -> bool:
        data = {name: base64.b64encode(each).decode() for name, each in content.items()}
        try:
            if before is None:
                self._api.create(self._collection, self._new(data))
            else:
                self._api.replace(self.path, _changed(before.version, data))
        except ApiServerError as error:
            if error.status == HTTPStatus.CONFLICT or (before and error.status == HTTPStatus.NOT_FOUND):
                return False
            raise
        return True

    @property
    def path(self) -> str:
        return f"{self._collection}/{self._name}"

    @property
    def _collection(self) -> str:
        return f"/api/v1/namespaces/{self._namespace}/secrets"

    def _new(self, data: dict[str, str]) -> dict[str, Any]:
        labels = {"app.kubernetes.io/name": "modelgate", "app.kubernetes.io/component": "certs"}
        metadata = {"name": self._name, "namespace": self._namespace, "labels": labels}
        return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": metadata, "data": data}


def _changed(secret: dict[str, Any], data: dict[str, str]) -> dict[str, Any]:
    """The Secret with our keys replaced. Its resourceVersion stays: the API server refuses a change to a newer one."""
    others = {name: text for name, text in (secret.get("data") or {}).items() if name not in FILES}
    return {**secret, "data": {**others, **data}}
