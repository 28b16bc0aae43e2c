"""Substitute the variables of Flux in an object (``postBuild``), and find the values that stay unknown.

The values are those of the Kustomizations of Flux among the files.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml

from webhook.facts.nodes import at, items, mapping
from webhook.manifests.documents import Document, scan_text

Keys = tuple[str | int, ...]

Values = Mapping[str, str | None]

_OPT_OUT: Final = "kustomize.toolkit.fluxcd.io/substitute"
"""A label or annotation; ``disabled`` keeps the object as it is."""
_VARIABLE: Final = re.compile(
    r"(?P<escaped>\$\$)(?=\{)|\$\{(?P<name>[A-Za-z_]\w*)(?:(?P<default>:?[=-])(?P<value>[^${}]*))?\}"
)
"""A variable, with its default if it has one, or the ``$$`` that stands for a dollar sign."""
_ANY: Final = re.compile(r"(?<!\$)\$\{[^{}]*\}")
"""Also the forms that are not evaluated here, such as ``${NAME^^}``."""
_ENCRYPTED: Final = re.compile(r"ENC\[[A-Z0-9_]+,data:.*\]", re.DOTALL)
_FLUX: Final = "kustomize.toolkit.fluxcd.io/"
_DEEP: Final = 1_000
"""Levels that are looked at: an object that the API server takes has fewer."""


@dataclass(frozen=True, slots=True)
class Substitutions:
    """``given`` are values for all files; ``folders`` are those of the Kustomizations that apply a folder."""

    given: Mapping[str, str]
    folders: Mapping[Path, Values]

    @classmethod
    def of(cls, documents: Iterable[Document], top: Path, given: Mapping[str, str]) -> Substitutions:
        """The values of the Kustomizations among documents, whose paths start at the ``top`` of the repository.

        Where two Kustomizations apply one folder, such as for two clusters, only what they agree on is known.
        """
        every = list(documents)
        found: dict[Path, Values] = {}
        for document in filter(substitutes, every):
            spec = document.value["spec"]
            folder = _normal(top / str(spec.get("path") or ".").lstrip("/"))
            values = dict(_values_of(document.value, every))
            before = found.get(folder, values)
            found[folder] = {
                key: values.get(key) if before.get(key) == values.get(key) else None for key in {**before, **values}
            }
        return cls(given, found)

    def values(self, applied: Path) -> Values:
        """The values for a file, or for the files of a folder that is built: those of the nearest folder above it."""
        place = _normal(applied)
        nearest = next((each for each in (place, *place.parents) if each in self.folders), None)
        return self.given if nearest is None else {**self.folders[nearest], **self.given}


def _normal(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - it follows no link


def _values_of(kustomization: Mapping[str, Any], documents: Iterable[Document]) -> Iterator[tuple[str, str]]:
    """The values of one Kustomization: of ConfigMaps first, its own count more. Secrets stay unknown."""
    build = kustomization["spec"]["postBuild"]
    for source in items(build, "substituteFrom"):
        if source.get("kind") == "ConfigMap":
            yield from _data(str(source.get("name")), _namespace(kustomization), documents)
    for key, value in mapping(build, "substitute").items():
        if isinstance(value, str):
            yield key, value


def _data(name: str, namespace: str, documents: Iterable[Document]) -> Iterator[tuple[str, str]]:
    for document in documents:
        value = document.value
        named = at(value, "metadata", "name") == name and _namespace(value) in (namespace, "")
        if value["kind"] == "ConfigMap" and named:
            yield from ((key, item) for key, item in mapping(value, "data").items() if isinstance(item, str))


def _namespace(value: Mapping[str, Any]) -> str:
    return str(at(value, "metadata", "namespace") or "")


def is_encrypted(text: str) -> bool:
    """Whether SOPS has encrypted a value."""
    return text.startswith("ENC[") and _ENCRYPTED.fullmatch(text) is not None


def variables_of(text: str) -> list[str]:
    """The variables in a text, as they are written."""
    return _ANY.findall(text)


def substitutes(document: Document) -> bool:
    """Whether an object is a Kustomization of Flux that substitutes variables."""
    is_kustomization = str(document.value.get("apiVersion")).startswith(_FLUX)
    return is_kustomization and isinstance(at(document.value, "spec", "postBuild"), dict)


def prepared(document: Document, values: Values | None = None) -> Document:
    """The document as Flux applies it: decrypted and substituted, as far as the values are known.

    ``values`` are those of variables, None where it depends on the cluster; a variable with a default needs none. The
    document itself is returned if it has nothing to substitute.
    """
    value = document.value
    if isinstance(value.get("sops"), dict) and "mac" in value["sops"]:
        value = {key: item for key, item in value.items() if key != "sops"}
    if not _opts_out(value):
        value = _substituted(value, values or {})
    return document if value is document.value else replace(document, value=value)


def unknown_in(value: Mapping[str, Any]) -> dict[Keys, str]:
    """The paths of the unknown values of an object, and their texts. A map with an unknown key is unknown itself."""
    return {} if _opts_out(value) else dict(_unknown(value, ()))


def _unknown(value: Any, at: Keys) -> Iterator[tuple[Keys, str]]:
    if len(at) > _DEEP:
        return
    if isinstance(value, dict):
        key = next((each for each in value if _ANY.search(each)), None)
        if key is not None and at:
            yield at, key
            return
        for name, item in value.items():
            yield from _unknown(item, (*at, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown(item, (*at, index))
    elif isinstance(value, str) and (_ANY.search(value) or is_encrypted(value)):
        yield at, value


def _opts_out(value: Mapping[str, Any]) -> bool:
    return any(at(value, "metadata", part, _OPT_OUT) == "disabled" for part in ("labels", "annotations"))


def _substituted(value: Any, values: Values, depth: int = 0) -> Any:
    """The value with the known variables replaced; itself if there are none."""
    if depth > _DEEP:
        return value
    if isinstance(value, str):
        return _text(value, values) if "${" in value else value
    if isinstance(value, list):
        items = [_substituted(item, values, depth + 1) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if isinstance(value, dict):
        entries = {_key(key, values): _substituted(item, values, depth + 1) for key, item in value.items()}
        same = entries.keys() == value.keys() and all(entries[key] is value[key] for key in value)
        return value if same else entries
    return value


def _key(key: str, values: Values) -> str:
    return str(_text(key, values)) if "${" in key else key


def _text(text: str, values: Values) -> Any:
    """A text after the substitution, which Flux does in YAML: ``${COUNT}`` may become a number."""
    known = (_evaluated(found, values) for found in _VARIABLE.finditer(text))
    texts: Sequence[str | None] = list(known)
    if None in texts or len(_ANY.findall(text)) > sum(found["name"] is not None for found in _VARIABLE.finditer(text)):
        return text
    parts = iter(texts)
    result = _VARIABLE.sub(lambda _: next(parts) or "", text)
    return _read(result) if _is_plain(text) else result


def _evaluated(found: re.Match[str], values: Values) -> str | None:
    if found["escaped"]:
        return "$$"  # a single one would make a variable of it
    value = values.get(found["name"], "")
    return found["value"] if found["default"] and value == "" else value if found["name"] in values else None


def _is_plain(text: str) -> bool:
    """Whether YAML has the text without quotes: what replaces a part of it can then be another type."""
    return bool(yaml.SafeDumper(io.StringIO()).analyze_scalar(text).allow_block_plain)


def _read(text: str) -> Any:
    found = scan_text(f"value: {text}\n", "")
    return found.documents[0].value.get("value") if len(found.documents) == 1 and not found.faults else text
