"""``python -m tools.neighbours FOLDER``: write ``policies/_neighbours`` from the definitions in a folder.

Operators make objects of kinds that others define, such as an InferenceService of KServe. Modelgate has the definitions
of those kinds that descriptions of children name, so that such a child is judged without a cluster, too. Each is one
file, ``<Kind>.<group>.json.xz``: the version that is stored, without texts, columns and status.
``sources.json`` says of each where it is from, and which parts are left open.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import sys
from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, Final

import orjson

from tools.crds.text import text_of
from webhook.manifests import documents

FOLDER: Final = Path(__file__).parents[1] / "policies" / "_neighbours"
SOURCES: Final = FOLDER / "sources.json"
_APPROVAL: Final = "api-approved.kubernetes.io"
_OPEN: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def shipped(definition: dict[str, Any], open_parts: Sequence[str] = ()) -> dict[str, Any]:
    """What is kept of a definition: nothing is lost that decides about the specification of an object.

    ``open_parts`` are paths of parts that no operator here uses. They are left open, so that nothing is said of them.
    """
    spec = definition["spec"]
    version = next(each for each in spec["versions"] if each["storage"])
    schema = _without_texts(version["schema"]["openAPIV3Schema"])
    for path in (*open_parts, *(["status"] if "status" in schema["properties"] else [])):
        *parents, last = path.split(".")
        reduce(lambda node, key: node["properties"][key], parents, schema)["properties"][last] = _OPEN
    kept = {"name": version["name"], "served": True, "storage": True}
    kept |= {"subresources": version["subresources"]} if "subresources" in version else {}
    names = {key: spec["names"][key] for key in ("kind", "listKind", "plural", "singular")}
    return {
        **{key: definition[key] for key in ("apiVersion", "kind")},
        "metadata": _metadata(definition["metadata"]),
        "spec": {
            "group": spec["group"],
            "scope": spec["scope"],
            "names": names,
            "versions": [{**kept, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def _metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """The name, and the approval that groups of Kubernetes need."""
    approval = {key: value for key, value in metadata.get("annotations", {}).items() if key == _APPROVAL}
    return {"name": metadata["name"], **({"annotations": approval} if approval else {})}


def _without_texts(node: Any) -> Any:
    """A schema without descriptions; a property may have that name."""
    if isinstance(node, list):
        return [_without_texts(each) for each in node]
    if not isinstance(node, dict):
        return node
    kept = {key: value for key, value in node.items() if not (key == "description" and isinstance(value, str))}
    return {
        key: {name: _without_texts(each) for name, each in value.items()}
        if key == "properties"
        else _without_texts(value)
        for key, value in kept.items()
    }


def definitions(folder: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """The definitions in a folder, each with the content of its file."""
    for file in sorted(folder.glob("*.yaml")):
        for document in documents.parse(file.read_text(encoding="utf-8"), str(file)):
            yield file.read_bytes(), document.value


def file_of(definition: dict[str, Any]) -> Path:
    spec = definition["spec"]
    return FOLDER / f"{spec['names']['kind']}.{spec['group']}.json.xz"


def main(folder: Path) -> None:
    """Write those of the folder that ``sources.json`` names, and the digests of their files there."""
    sources = json.loads(SOURCES.read_text(encoding="utf-8"))
    for content, definition in definitions(folder):
        row = sources.get(definition["metadata"]["name"])
        if row is not None:
            row["sha256"] = hashlib.sha256(content).hexdigest()
            file_of(definition).write_bytes(
                lzma.compress(orjson.dumps(shipped(definition, row.get("open", ()))), preset=9)
            )
    SOURCES.write_text(text_of(sources), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
