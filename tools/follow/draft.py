"""A draft of our definition of a new form: upstream's, without its texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tools.follow.report import Step
from webhook.policy.ranges import version

Node = Mapping[str, Any]

_TEXTS: Final = ("description", "title", "example", "externalDocs")
_NODES: Final = ("items", "additionalProperties")
_VERSION: Final = ("name", "served", "storage", "subresources", "additionalPrinterColumns")


def drafts(folder: Path, step: Step, documented: str | None) -> Iterator[tuple[Path, str]]:
    """The files of an API's folder for what a release defines in another way than the one before it, texts aside.

    Only releases after the ``documented`` one, and kinds that the folder defines, have one. A file with the same
    definition stays as it is.
    """
    if documented is None or version(step.release) <= version(documented):
        return
    release = "head" if step.release.startswith("head") else step.release
    for name in step.changed:
        plural, old, new = name.partition(".")[0], step.old.get(name), step.new.get(name)
        if old and new and any(folder.glob(f"crds/{plural}.*")) and draft(old.value) != draft(new.value):
            file = folder / "crds" / release / f"{plural}.json"
            if not file.exists() or draft(json.loads(file.read_text())) != draft(new.value):
                yield file, json.dumps(draft(new.value), ensure_ascii=False, separators=(",", ":")) + "\n"


def draft(definition: Node) -> dict[str, Any]:
    """A definition without texts, and without what does not decide about objects."""
    spec = definition["spec"]
    return {
        "apiVersion": definition["apiVersion"],
        "kind": definition["kind"],
        "metadata": {"name": definition["metadata"]["name"]},
        "spec": {key: spec[key] for key in ("group", "scope", "names") if key in spec}
        | {"versions": [_version(each) for each in spec["versions"]]},
    }


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
