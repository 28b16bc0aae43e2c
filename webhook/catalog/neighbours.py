"""Definitions of kinds that others define, and of which operators make objects: KServe, the Gateway API, KEDA.

``policies/_neighbours`` has them, made by ``python -m tools.neighbours``. A child of such a kind is judged by the
definition that is installed or given, else by this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Final

import orjson

from webhook.admission import GroupVersionKind
from webhook.catalog.kept import POLICIES
from webhook.catalog.kinds import KnownKind, kinds_of
from webhook.schema import load_crd

_FOLDER: Final = POLICIES / "_neighbours"
_SUFFIX: Final = ".json.xz"


def neighbour(gvk: GroupVersionKind) -> KnownKind | None:
    """A kind that others define, in the version that its definition stores; None if Modelgate has no definition."""
    name = f"{gvk.kind}.{gvk.group}{_SUFFIX}"
    return _read(name).get(gvk) if name in _names() else None


@cache
def _names() -> frozenset[str]:
    """The files: a description of a user may name any kind."""
    return frozenset(file.name for file in _FOLDER.glob(f"*{_SUFFIX}"))


@cache
def _read(name: str) -> Mapping[GroupVersionKind, KnownKind]:
    """The kinds of a file. The largest definition takes 20 ms and 6 MiB, the others a tenth of that."""
    import lzma  # noqa: PLC0415 - most runs read none of them

    definition = orjson.loads(lzma.decompress((_FOLDER / name).read_bytes()))
    kinds = kinds_of("", load_crd(definition, trusted=True))
    return {kind.gvk: replace(kind, foreign=True) for kind in kinds}
