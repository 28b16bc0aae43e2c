"""The JSONPath expressions of a routeTemplate, as far as their outcome is certain before the operator runs them.

The operator evaluates them over Go's structures: a text that is not set is empty there, a block that is not set is nil.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["ANY_SERVICE", "Unreadable", "Value", "evaluate", "is_entry"]

_MAP: Final = re.compile(r"""\.metadata\.(label|annotation)s\[(?:'([^']*)'|"([^"]*)")\]\Z""")
_STEP: Final = re.compile(r"""\.([A-Za-z_][\w-]*)|\['([^']*)'\]|\["([^"]*)"\]""")

_TEXTS: Final = {
    "spec": {"aimImageName", "templateRef", "runtimeConfigName"},
    "metadata": {"name", "namespace", "generateName", "uid", "resourceVersion"},
}
_BLOCKS: Final = {
    "resources": {"requests", "limits", "claims"},
    "overrides": {"metric", "precision", "gpuSelector"},
    "routing": {"enabled", "gatewayRef", "annotations", "routeTemplate"},
}
_OTHERS: Final = {
    "spec": {"cacheModel", "replicas", "env", "imagePullSecrets", *_BLOCKS},
    "metadata": {
        *("labels", "annotations", "generation", "selfLink", "creationTimestamp", "deletionTimestamp"),
        *("deletionGracePeriodSeconds", "ownerReferences", "finalizers", "managedFields"),
    },
}
_ROOTS: Final = {"apiVersion", "kind", "metadata", "spec", "status"}

ANY_SERVICE: Final[dict[str, Any]] = {"metadata": {"name": "s"}, "spec": {block: {} for block in _BLOCKS}}
"""A service that has every block: what has no value here has none in any."""


class Unreadable(Exception):
    """What the operator says of an expression that has no value."""


@dataclass(frozen=True, slots=True)
class Value:
    """``raw``: inserted as it is, as only annotations are, so that their slashes stay."""

    text: str
    raw: bool = False


def evaluate(expression: str, service: dict[str, Any]) -> Value | None:
    """The value, or None where it is not certain.

    Raises:
        Unreadable: there is none, in the operator's words.
    """
    if match := _MAP.match(expression):
        return _entry(match[1], match[2] if match[2] is not None else match[3], service)
    if expression.count("[") != expression.count("]"):
        raise Unreadable("invalid jsonpath expression: unterminated array")
    steps = _steps(expression)
    return _walk(steps, service) if steps else None


def is_entry(expression: str) -> bool:
    """Whether it reads one label or annotation, which a service may have or not."""
    return _MAP.match(expression) is not None


def _entry(kind: str, key: str, service: dict[str, Any]) -> Value:
    entries = _member(_member(service, "metadata"), f"{kind}s")
    value = _member(entries, key)
    if not isinstance(value, str):
        raise Unreadable(f'jsonpath evaluation error: {kind} "{key}" not found')
    return Value(value, raw=kind == "annotation")


def _steps(expression: str) -> list[str]:
    """The names of a plain path; none where it is something else, such as a filter."""
    steps: list[str] = []
    position = 0
    while position < len(expression):
        match = _STEP.match(expression, position)
        if match is None:
            return []
        steps.append(next(filter(None, match.groups()), ""))
        position = match.end()
    return steps


def _walk(steps: list[str], service: dict[str, Any]) -> Value | None:
    root, *below = steps
    if root not in _ROOTS:
        raise Unreadable(f"jsonpath evaluation error: {root} is not found")
    if root not in _TEXTS or not below:
        return None
    name, *deeper = below
    if name not in _TEXTS[root] | _OTHERS[root]:
        raise Unreadable(f"jsonpath evaluation error: {name} is not found")
    value = _member(_member(service, root), name)
    return _in_block(name, deeper, value) if deeper else _leaf(name, value, is_text=name in _TEXTS[root])


def _leaf(name: str, value: Any, *, is_text: bool) -> Value | None:
    if name in {"uid", "resourceVersion", "generateName"} and not value:
        return None  # the API server sets it after the gate has seen the object
    if isinstance(value, bool):
        return Value(str(value).lower())
    if isinstance(value, str | int):
        return Value(str(value))
    if name in _BLOCKS and value is None:
        raise Unreadable("jsonpath returned nil value")
    return Value("") if is_text else None


def _in_block(name: str, deeper: list[str], value: Any) -> Value | None:
    if name not in _BLOCKS:
        return None
    if value is None or deeper[0] not in _BLOCKS[name]:
        raise Unreadable(f"jsonpath evaluation error: {deeper[0]} is not found")
    leaf = _member(value, deeper[0])
    return Value(leaf) if isinstance(leaf, str) and len(deeper) == 1 else None


def _member(node: Any, key: str) -> Any:
    return node.get(key) if isinstance(node, dict) else None
