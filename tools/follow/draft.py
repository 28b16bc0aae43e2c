"""The forms of our definitions in all releases: upstream's, without its texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tools.follow.definitions import Defined
from webhook.admission import patch
from webhook.catalog import FORMS

Node = Mapping[str, Any]

_APPROVED: Final = "api-approved.kubernetes.io"
_TEXTS: Final = ("description", "title", "example", "externalDocs")
_NODES: Final = ("items", "additionalProperties")
_VERSION: Final = ("name", "served", "storage", "subresources", "additionalPrinterColumns")


def drafts(folder: Path, releases: Mapping[str, Mapping[str, Defined]]) -> Iterator[tuple[Path, str]]:
    """The files of an API's folder with the forms of its kinds in all releases, the oldest first, where they differ.

    ``releases`` are the definitions of each by name. Only kinds that the folder defines have a file.
    """
    for name in dict.fromkeys(name for found in releases.values() for name in found):
        plural = name.partition(".")[0]
        file = folder / FORMS / f"{plural}.jsonl"
        if any(folder.glob(f"crds/{plural}.*")):
            text = "".join(_lines({each: found[name] for each, found in releases.items() if name in found}))
            if not file.exists() or file.read_text() != text:
                yield file, text


def _lines(definitions: Mapping[str, Defined]) -> Iterator[str]:
    """A line for each release that defines a kind in another way than the one before it, texts aside."""
    last: Defined | None = None
    before: Node | None = None
    for release, defined in definitions.items():
        if last is not None and defined.value is last.value:  # the same file
            continue
        since, definition = "head" if release.startswith("head") else release, draft(defined.value)
        if before is None:
            yield _json({"since": since, "definition": definition})
        elif operations := patch.diff(before, definition):
            yield _json({"since": since, "patch": operations})
        last, before = defined, definition


def _json(value: Node) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def draft(definition: Node) -> dict[str, Any]:
    """A definition without texts, and without what does not decide about objects."""
    spec = definition["spec"]
    return {
        "apiVersion": definition["apiVersion"],
        "kind": definition["kind"],
        "metadata": {"name": definition["metadata"]["name"], **_approved(definition)},
        "spec": {key: spec[key] for key in ("group", "scope", "names") if key in spec}
        | {"versions": [_version(each) for each in spec["versions"]]},
    }


def _approved(definition: Node) -> dict[str, Any]:
    """The annotation without which a definition of a protected group is not accepted."""
    text = (definition["metadata"].get("annotations") or {}).get(_APPROVED)
    return {"annotations": {_APPROVED: text}} if text and definition["spec"]["group"].endswith("k8s.io") else {}


def _version(version: Node) -> dict[str, Any]:
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    kept = {key: version[key] for key in _VERSION if key in version}
    return {**kept, "schema": {"openAPIV3Schema": _bare(schema)}}


def _bare(schema: Node) -> dict[str, Any]:
    """The schema without texts; ``description`` may also be the name of a field."""
    found = {key: value for key, value in schema.items() if key not in _TEXTS}
    if isinstance(schema.get("properties"), Mapping):
        found["properties"] = {key: _bare(child) for key, child in schema["properties"].items()}
    return found | {key: _bare(schema[key]) for key in _NODES if isinstance(schema.get(key), Mapping)}
