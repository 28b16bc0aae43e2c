"""The ``modelgate.dev/normalised`` annotation: what the gate let through, written so that it can be verified.

    modelgate.dev/normalised: {"catalog":"<digest>","defaulted":{"spec.format":"gguf"},"spec":"<sha256, hex>"}

The hash covers what a user specifies: ``spec``, or, for a kind that has top-level fields
beside or instead of it, everything but apiVersion, kind, metadata and status.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from webhook.golang.json import has_unsettled, settle

__all__ = ["ANNOTATION", "UNSTAMPED", "Stamp", "canonical"]

ANNOTATION = "modelgate.dev/normalised"

# Begins each warning about an object that the gate only tolerates.
UNSTAMPED = "not normalised: "

# The API server keeps these for itself: the stamp lies in one of them, and status is written after admission.
ENVELOPE = frozenset({"apiVersion", "kind", "metadata", "status"})

_HEX = re.compile(r"([0-9a-f]{64})?\Z")


@dataclass(frozen=True, slots=True)
class Stamp:
    """One reading of the annotation.

    ``spec`` is the SHA-256 (64 lowercase hex digits) of the canonical specification, "" where
    the gate has only tolerated it; ``catalog`` the digest of the rules that made it,
    ``defaulted`` what they filled in: dotted path to value.
    """

    spec: str
    catalog: str
    defaulted: dict[str, Any]

    @classmethod
    def of(cls, obj: Mapping[str, Any], catalog_digest: str, defaulted: Mapping[str, Any]) -> Stamp:
        """The stamp of an object as it stands."""
        return cls(_digest(obj), catalog_digest, dict(defaulted))

    @classmethod
    def of_tolerated(cls, catalog_digest: str, defaulted: Mapping[str, Any]) -> Stamp:
        """The stamp of an object that is wrong, and may stay so because it was: a record that matches nothing."""
        return cls("", catalog_digest, dict(defaulted))

    @classmethod
    def read(cls, obj: Mapping[str, Any]) -> Stamp | None:
        """The stamp an object carries, None where there is none. Never raises: users can write annotations."""
        try:
            content = orjson.loads(obj["metadata"]["annotations"][ANNOTATION])
            stamp = cls(content["spec"], content["catalog"], content["defaulted"])
        except (KeyError, TypeError, IndexError, ValueError):
            return None
        return stamp if stamp._well_formed() else None

    def encode(self) -> str:
        """The annotation's text: equal stamps encode to equal bytes."""
        content = {"spec": self.spec, "catalog": self.catalog, "defaulted": self.defaulted}
        return canonical(content).decode()

    def matches(self, obj: Mapping[str, Any]) -> bool:
        """Whether the object's specification is exactly the one that was stamped."""
        try:
            return _digest(obj) == self.spec
        except (RecursionError, TypeError, ValueError):  # nested too deep, or no JSON: nothing the gate has stamped
            return False

    def _well_formed(self) -> bool:
        texts = isinstance(self.spec, str) and isinstance(self.catalog, str)
        return texts and isinstance(self.defaulted, dict) and _HEX.match(self.spec) is not None


def _digest(obj: Mapping[str, Any]) -> str:
    part = {key: value for key, value in obj.items() if key not in ENVELOPE}
    return hashlib.sha256(canonical(part["spec"] if part.keys() == {"spec"} else part)).hexdigest()


def canonical(value: Any) -> bytes:
    """JSON with sorted keys, compact, UTF-8: the same bytes before and after a way through the API server."""
    text = _compact(value)
    return text if text is not None and not has_unsettled(text) else _written(settle(value))


def _written(settled: Any) -> bytes:
    text = _compact(settled)
    if text is not None:
        return text
    # orjson writes no more than 254 levels; the API server takes 10,000
    return json.dumps(settled, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _compact(value: Any) -> bytes | None:
    """None where orjson cannot write it: too deep, or text that is no Unicode."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        return None
