"""Render a routeTemplate: a path with JSONPath expressions over an AIMService in braces."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from webhook.facts.aim.expression import Missing, Unreadable, Value, evaluate

__all__ = ["LONGEST", "Route", "as_segment", "normalised", "render", "template_error"]

LONGEST: Final = 200
"""The maximum length of a path, in bytes. The operator's message calls them characters."""
SEGMENT: Final = 63
_PLACEHOLDER: Final = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True, slots=True)
class Route:
    """A rendered path, or the operator's ``error``. Both are empty if only the operator can compute the path."""

    path: str = ""
    error: str = ""


def render(template: str, service: dict[str, Any]) -> Route:
    """Render the path of a service's route."""
    parts: list[str] = []
    known = True
    position = 0
    for match in _PLACEHOLDER.finditer(template):
        expression = match[1].strip()
        try:
            value = evaluate(expression, service)
        except Unreadable as error:
            return Route(error=f'failed to evaluate route template "{expression}": {error}')
        known = known and value is not None
        parts += [template[position : match.start()], _inserted(value)]
        position = match.end()
    return normalised("".join([*parts, template[position:]])) if known else Route()


def template_error(template: str) -> str:
    """The reason why this template fails for every service, "" if it works for some service."""
    for match in _PLACEHOLDER.finditer(template):
        expression = match[1].strip()
        try:
            evaluate(expression, {})
        except Missing:
            continue
        except Unreadable as error:
            return f'failed to evaluate route template "{expression}": {error}'
    return _shortest(template).error if template else ""


def _shortest(template: str) -> Route:
    """The path if every expression is empty."""
    literal = _PLACEHOLDER.sub("", template)
    return normalised(literal if literal == template else literal.strip() or "/")


def normalised(path: str) -> Route:
    """Normalise a path as the operator does: each segment is a DNS label, without a trailing slash."""
    path = path.strip()
    if not path:
        return Route(error="route template produced an empty path")
    path = "/" + path.removeprefix("/").rstrip("/")
    if len(path.encode(errors="replace")) > LONGEST:
        return Route(error=f'route path "{path}" exceeds {LONGEST} characters')
    return Route("/" + "/".join(filter(None, map(as_segment, path.split("/")))))


def as_segment(text: str) -> str:
    """Convert text into a DNS label: ``Meta/Llama-3-8B`` → ``meta-llama-3-8b``."""
    text = re.sub(r"[^a-z0-9.-]+", "-", text.lower()).strip("-.")
    return re.sub(r"[-.]{2,}", "-", text)[:SEGMENT].rstrip("-")


def _inserted(value: Value | None) -> str:
    if value is None:
        return ""
    return value.text.strip() if value.raw else as_segment(value.text.strip())
