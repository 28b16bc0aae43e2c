"""A draft of our definition of a new form: upstream's schema, with our texts where a field is the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tools.crds.text import text_of
from tools.follow.report import Step
from tools.statements import Keys, statements
from webhook.manifests import documents

__all__ = ["draft", "drafts"]

Schema = Mapping[str, Any]
Texts = Mapping[Keys, str]

_TEXTS: Final = ("description", "title", "example", "externalDocs")
_NODES: Final = ("items", "additionalProperties")
_VERSION: Final = ("name", "served", "storage", "subresources", "additionalPrinterColumns")
_NAMES: Final = ("plural", "singular", "kind", "listKind", "shortNames", "categories")


def drafts(folder: Path, step: Step) -> Iterator[tuple[Path, str]]:
    """The files for what a release defines anew, of the kinds that an API's folder defines; those that exist stay."""
    for name in step.changed:
        plural = name.partition(".")[0]
        own = next((each for each in folder.glob(f"crds/{plural}.*")), None)
        old, new = step.old.get(name), step.new.get(name)
        file = folder / "crds" / step.release / f"{plural}.json"
        if own and old and new and draft(old.value, {}) != draft(new.value, {}) and not file.exists():
            (document,) = documents.read(own)
            yield file, draft(new.value, document.value)


def draft(definition: Schema, ours: Schema) -> str:
    """The text of the file, with the descriptions of another definition (which may be empty)."""
    spec = definition["spec"]
    texts = {each["name"]: _texts(each) for each in ours.get("spec", {}).get("versions", ())}
    return text_of(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": definition["metadata"]["name"]},
            "spec": {
                "group": spec["group"],
                "scope": spec["scope"],
                "names": _only(spec["names"], _NAMES),
                "versions": [_version(each, texts.get(each["name"], {})) for each in spec["versions"]],
            },
        }
    )


def _version(version: Schema, texts: Texts) -> dict[str, Any]:
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    return {**_only(version, _VERSION), "schema": {"openAPIV3Schema": _described(schema, texts, ())}}


def _only(fields: Schema, wanted: tuple[str, ...]) -> dict[str, Any]:
    return {key: fields[key] for key in wanted if key in fields}


def _texts(version: Schema) -> Texts:
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    return {keys: own["description"] for keys, own in statements(schema) if "description" in own}


def _described(schema: Schema, texts: Texts, at: Keys) -> dict[str, Any]:
    found: dict[str, Any] = {"description": texts[at]} if at in texts else {}
    found |= {key: value for key, value in schema.items() if key not in _TEXTS}
    if isinstance(schema.get("properties"), Mapping):
        found["properties"] = {key: _described(child, texts, (*at, key)) for key, child in schema["properties"].items()}
    for key in _NODES:
        if isinstance(schema.get(key), Mapping):
            found[key] = _described(schema[key], texts, (*at, "*"))
    return found
