"""The state of the certificates as a small JSON file beside the leaf, for a server without access to the cluster."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Container, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from certs import rotation
from certs.errors import CertsError, DirectoryError
from certs.issue import Leaf
from certs.keeper import Look
from certs.lifetimes import Lifetimes
from certs.publish import Configuration, Live

__all__ = ["FILE", "summary", "write"]

FILE = "status.json"


def summary(
    look: Look | None,
    faults: Iterable[CertsError],
    now: datetime,
    lifetimes: Lifetimes,
    changed: Container[Configuration] = (),
) -> dict[str, Any]:
    """What the last look found. Without one (``None``) only its time and the faults are known.

    The states of a configuration: ``current`` carries the bundle; ``behind`` carries another that trusts the served
    leaf; ``refusing`` does not trust it; ``changed`` has another field than the chart has; ``absent`` does not exist;
    ``unknown`` could not be read.
    """
    known: dict[str, Any] = {}
    if look is not None and look.state is not None:
        bundle = look.state.bundle
        known = {
            "phase": rotation.phase(look.state, now, lifetimes),
            "ca_not_after": look.state.signer.certificate.not_valid_after_utc.timestamp(),
            "configurations": {
                str(live.configuration): _of(live, bundle, look.leaf, changed=live.configuration in changed)
                for live in look.lives
            },
        }
    reported = [{"reason": each.reason, "message": str(each)} for each in faults]
    return {"looked_at": now.timestamp(), **known, "faults": reported}


def write(directory: Path, content: dict[str, Any]) -> None:
    """Replace the file at once; raises DirectoryError where it cannot be written."""
    try:
        descriptor, temporary = tempfile.mkstemp(prefix="..", dir=directory)
        with os.fdopen(descriptor, "w") as file:
            json.dump(content, file, indent=1)
        Path(temporary).replace(directory / FILE)
    except OSError as error:
        raise DirectoryError(f"directory {directory}: {error}") from error


def _of(live: Live, bundle: bytes, leaf: Leaf | None, *, changed: bool) -> str:
    if live.error:
        return "unknown"
    if not live.webhooks:
        return "absent"
    if not live.carries(bundle) and not (leaf and leaf.issuer in live.trusted):
        return "refusing"
    if changed:
        return "changed"
    return "current" if live.carries(bundle) else "behind"
