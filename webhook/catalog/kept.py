"""Compiled policies of the built-in kinds, kept in files: compiling one takes 10 to 200 ms, and loading it 1 to 5.

An image has them beside the policies, made when it is built (:func:`webhook.catalog.ship`), and a checkout those that
the Makefile made. Only the installer writes there, and they are trusted as its modules are. Nothing is kept for a user:
a folder of a user can be one that a checkout of others' files has filled. What is stale or damaged is not used, and
compiled again.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from functools import cache, cached_property
from importlib import import_module
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from webhook.admission import GroupVersionKind
from webhook.policy import MISSING, Prepared
from webhook.schema import Structural

SHIPPED: Final = ".compiled"
"""The folder beside the built-in policies, in an image."""
_READABLE: Final = 0o644
_DIGEST: Final = 32
_PARTS: Final = (
    *("admission", "catalog", "cel", "children", "cluster", "enforcement", "engine", "facts"),
    *("golang", "ground", "kubernetes", "manifests", "placement", "policy", "schema"),
)
_CODE: Final = (".py", ".lark", ".tables")
_PACKAGE: Final = Path(__file__).parent.parent
POLICIES: Final = _PACKAGE.parent / "policies"


class Kept:
    """The files in a folder. ``digest`` is of the policies and definitions."""

    def __init__(self, digest: bytes, folder: Path = POLICIES / SHIPPED) -> None:
        self.digest = digest
        self._folder = folder

    def read(self, gvk: GroupVersionKind, schema: Structural) -> Prepared | None:
        """The prepared policy of a kind with this schema; None if none is kept for this code and these policies."""
        try:
            content = self._checked((self._folder / _name(gvk)).read_bytes())
            prepared = None if content is None else _pickling().loaded(content, _shared(schema))
        except Exception:  # noqa: BLE001 - any fault of an old file is the same: the policy is compiled again
            return None
        return prepared if isinstance(prepared, Prepared) else None

    def write(self, gvk: GroupVersionKind, prepared: Prepared) -> None:
        """Keep a policy; every user may read it.

        Raises:
            OSError: the folder cannot be written to.
        """
        content = _pickling().dumped(prepared, _shared(prepared.schema))
        file = self._folder / _name(gvk)
        file.write_bytes(self._key + hashlib.sha256(content).digest() + content)
        file.chmod(_READABLE)

    @cached_property
    def _key(self) -> bytes:
        """It is computed for a file that is there: reading all code takes 10 ms."""
        return hashlib.sha256(code_digest() + self.digest).digest()

    def _checked(self, content: bytes) -> memoryview | None:
        """The pickle in a file, if it is of this code and these policies, and complete."""
        if content[:_DIGEST] != self._key:
            return None
        pickled = memoryview(content)[2 * _DIGEST :]
        return pickled if hashlib.sha256(pickled).digest() == content[_DIGEST : 2 * _DIGEST] else None


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


def _pickling() -> ModuleType:
    """The format of the files, which most commands do not find."""
    return import_module("webhook.catalog.pickling")


def _name(gvk: GroupVersionKind) -> str:
    """One file for each kind and Python: a new release replaces those of the one before."""
    return f"{gvk.kind}.{gvk.version}.{gvk.group}.{sys.implementation.cache_tag}"


def _shared(schema: Structural) -> Mapping[str, Any]:
    return {"schema": schema, "missing": MISSING}
