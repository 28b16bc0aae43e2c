"""Compiled policies of the built-in kinds, kept in files: compiling one takes 10 to 200 ms, and loading it 1 to 5.

There are two places. An image has them beside the policies, made when it is built
(:mod:`webhook.engine.kept.ship`); they are trusted as its modules are. A command keeps them in the cache folder of its
user, where only that user can write (:mod:`webhook.manifests.private`). What is stale, damaged or not to be trusted is
not used, and compiled again.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from functools import cache
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from typing import Any, Final

from webhook.admission import GroupVersionKind
from webhook.engine.kept import pickling
from webhook.manifests.private import PrivateFolder
from webhook.policy import MISSING, Prepared
from webhook.schema import Structural

__all__ = ["POLICIES", "SHIPPED", "Kept", "code_digest"]

SHIPPED: Final = ".compiled"
"""The folder beside the built-in policies, in an image."""
_LIMIT: Final = 32 * 1024 * 1024
"""Bytes of a file: the largest has 0.9 MiB."""
_DIGEST: Final = 32
_PARTS: Final = ("admission", "cel", "engine", "facts", "golang", "manifests", "policy", "schema")
_CODE: Final = (".py", ".lark", ".tables")
_PACKAGE: Final = Path(__file__).parent.parent.parent
POLICIES: Final = _PACKAGE.parent / "policies"


class Kept:
    """The files. ``digest`` is of the policies and definitions; ``folder`` is the user's, if there is one."""

    def __init__(self, digest: bytes, folder: PrivateFolder | None) -> None:
        self.digest = digest
        self._key = hashlib.sha256(code_digest() + digest).digest()
        self._folder = folder

    def read(self, gvk: GroupVersionKind, schema: Structural) -> Prepared | None:
        """The prepared policy of a kind with this schema; None if none is kept for this code and these policies."""
        name = _name(gvk)
        found = self._checked(_shipped(name))
        if found is None and self._folder is not None:
            found = self._checked(self._folder.read(name, _LIMIT))
        try:
            prepared = None if found is None else pickling.loaded(found, _shared(schema))
        except Exception:  # noqa: BLE001 - any fault of an old file is the same: the policy is compiled again
            return None
        return prepared if isinstance(prepared, Prepared) else None

    def write(self, gvk: GroupVersionKind, prepared: Prepared) -> bool:
        """Keep a policy, if the folder can be written to."""
        return self._folder is not None and self._folder.write(_name(gvk), self.content(prepared))

    def content(self, prepared: Prepared) -> bytes:
        found = pickling.dumped(prepared, _shared(prepared.schema))
        return self._key + hashlib.sha256(found).digest() + found

    def _checked(self, content: bytes | None) -> memoryview | None:
        """The pickle in a file, if it is of this code and these policies, and complete."""
        if content is None or content[:_DIGEST] != self._key:
            return None
        found = memoryview(content)[2 * _DIGEST :]
        return found if hashlib.sha256(found).digest() == content[_DIGEST : 2 * _DIGEST] else None


@cache
def code_digest() -> bytes:
    """Of Python's byte code format and the modules that generated functions are made by, or call."""
    digest = hashlib.sha256(MAGIC_NUMBER + sys.version.encode())
    for part in _PARTS:
        for folder, folders, names in os.walk(_PACKAGE / part):
            folders.sort()
            for name in sorted(names):
                if name.endswith(_CODE):
                    content = Path(folder, name).read_bytes()
                    digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.digest()


def _shipped(name: str) -> bytes | None:
    try:
        return (POLICIES / SHIPPED / name).read_bytes()
    except OSError:
        return None


def _name(gvk: GroupVersionKind) -> str:
    """One file for each kind and Python: a new release replaces those of the one before."""
    return f"{gvk.kind}.{gvk.version}.{gvk.group}.{sys.implementation.cache_tag}"


def _shared(schema: Structural) -> Mapping[str, Any]:
    return {"schema": schema, "missing": MISSING}
