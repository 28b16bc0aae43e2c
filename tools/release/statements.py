"""What a release says about itself: checksums of its files, and how they were made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

CHECKSUMS: Final = "SHA256SUMS"
PROVENANCE: Final = "provenance.json"

# The document that tells how the files are made: this folder and the Dockerfile.
_BUILD_TYPE: Final = "https://modelgate.dev/release/v1"


def checksums(folder: Path) -> None:
    """Write the checksums of all files, in the format of ``sha256sum``."""
    lines = [f"{_sha256(path)}  {path.name}\n" for path in _files(folder)]
    (folder / CHECKSUMS).write_text("".join(lines))


def provenance(folder: Path, revision: str, parameters: Mapping[str, str], digests: Mapping[str, str]) -> None:
    """Write an in-toto statement with SLSA provenance, unsigned.

    Args:
        folder: its files are the subjects.
        revision: the commit.
        parameters: what else decides about the result.
        digests: of OCI manifests (``sha256:…``), by the name of what they describe.
    """
    subjects = [{"name": path.name, "digest": {"sha256": _sha256(path)}} for path in _files(folder)]
    subjects += [{"name": name, "digest": {"sha256": each.removeprefix("sha256:")}} for name, each in digests.items()]
    definition: dict[str, Any] = {
        "buildType": _BUILD_TYPE,
        "externalParameters": {"revision": revision, **parameters},
        "resolvedDependencies": [{"uri": "git+modelgate", "digest": {"gitCommit": revision}}],
    }
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {"buildDefinition": definition, "runDetails": {"builder": {"id": _BUILD_TYPE}}},
    }
    (folder / PROVENANCE).write_text(json.dumps(statement, indent=1) + "\n")


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name not in {CHECKSUMS, PROVENANCE})


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
