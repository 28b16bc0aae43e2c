"""The ``modelgate.dev/normalised`` annotation: a verifiable record of what was admitted.

    modelgate.dev/normalised:
      {"catalog":"<digest>","defaulted":{"spec.format":"gguf"},"spec":"<sha256, hex>"}

The hash covers what a user specifies: ``spec``, or, for a kind with other top-level fields, everything except
apiVersion, kind, metadata and status. A stamp has no key: it states something, and proves nothing. The engine writes it
and checks that of a new object (``engine/filling/stamping``), and the reconciler that of a stored one. How strict the
gate was is not part of it, so that a change of that makes no stamp outdated; stamps of older gates also have a
``profile``, which nothing reads.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from webhook.golang.json import settle, settled_text

__all__ = ["ANNOTATION", "UNSTAMPED", "Stamp", "canonical", "specification"]

ANNOTATION = "modelgate.dev/normalised"

# The prefix of each warning about an object that only ratcheting admits.
UNSTAMPED = "not normalised: "

# Not part of the specification: the stamp is in metadata, and status is written after admission.
ENVELOPE = frozenset({"apiVersion", "kind", "metadata", "status"})

_WITH_SPEC = ENVELOPE | {"spec"}

_SHA256 = hashlib.sha256()  # a copy of it takes less than a new one, which OpenSSL looks for among its algorithms

_HEX = re.compile(r"([0-9a-f]{64})?\Z")


@dataclass(slots=True)  # never changed: frozen, it would take twice as long to make
class Stamp:
    """The content of the annotation.

    ``spec`` is the SHA-256 (64 lowercase hex digits) of the canonical specification, "" for an object that only
    ratcheting admits; ``catalog`` is the digest of the rules; ``defaulted`` maps dotted paths to the values that the
    rules filled in.
    """

    spec: str
    catalog: str
    defaulted: dict[str, Any]

    @classmethod
    def of(cls, obj: Mapping[str, Any], catalog_digest: str, defaulted: Mapping[str, Any]) -> Stamp:
        """The stamp of an object."""
        return cls(_digest(obj), catalog_digest, dict(defaulted))

    @classmethod
    def of_tolerated(cls, catalog_digest: str, defaulted: Mapping[str, Any]) -> Stamp:
        """The stamp of an invalid object that only ratcheting admits: it matches no specification."""
        return cls("", catalog_digest, dict(defaulted))

    @classmethod
    def read(cls, obj: Mapping[str, Any]) -> Stamp | None:
        """The stamp of an object, or None. It never raises, because users can write annotations."""
        try:
            content = orjson.loads(obj["metadata"]["annotations"][ANNOTATION])
            stamp = cls(content["spec"], content["catalog"], content["defaulted"])
        except (KeyError, TypeError, ValueError):
            return None
        return stamp if stamp._well_formed() else None

    @classmethod
    def matching(cls, obj: Mapping[str, Any]) -> Stamp | None:
        """The stamp of an object if its specification is the stamped one, else None."""
        stamp = cls.read(obj)
        return stamp if stamp is not None and stamp.matches(obj) else None

    def encode(self) -> str:
        """The annotation's text, canonical JSON: equal stamps encode to equal bytes."""
        content = {"catalog": self.catalog, "defaulted": self.defaulted, "spec": self.spec}
        return canonical(content).decode()

    def matches(self, obj: Mapping[str, Any]) -> bool:
        """Whether the object's specification is the stamped one."""
        try:
            return _digest(obj) == self.spec
        except (RecursionError, TypeError, ValueError):  # nested too deep or not JSON: never stamped
            return False

    def _well_formed(self) -> bool:
        texts = all(isinstance(text, str) for text in (self.spec, self.catalog))
        return texts and isinstance(self.defaulted, dict) and _HEX.match(self.spec) is not None


def specification(obj: Mapping[str, Any]) -> dict[str, Any]:
    """What a user specifies: the object without its envelope and status."""
    return {key: value for key, value in obj.items() if key not in ENVELOPE}


def _digest(obj: Mapping[str, Any]) -> str:
    part = obj["spec"] if "spec" in obj and _WITH_SPEC.issuperset(obj) else specification(obj)
    hashed = _SHA256.copy()
    hashed.update(canonical(part))
    return hashed.hexdigest()


def canonical(value: Any) -> bytes:
    """JSON with sorted keys, compact, UTF-8: the same bytes before and after storage by the API server."""
    text = settled_text(value, orjson.OPT_SORT_KEYS)
    return _written(settle(value)) if text is None else text  # nested too deep, not valid Unicode, or not settled


def _written(settled: Any) -> bytes:
    try:
        return orjson.dumps(settled, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        # orjson writes at most 254 levels; the API server accepts 10,000
        return json.dumps(settled, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
