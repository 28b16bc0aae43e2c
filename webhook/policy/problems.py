"""Problems of a document, with line and path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from webhook.admission.errors import Problem
from webhook.ground.fieldpath import field_path
from webhook.manifests.documents import Document

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

__all__ = ["problem", "problems"]


def problem(origin: Document, at: Sequence[str | int], message: str) -> Problem:
    """A problem at a path in a document: ``("spec", "validations", 0)`` is ``spec.validations[0]``."""
    return Problem(f"{origin.source}:{origin.line_of(*at)}", field_path(at), message)


_TEXTS: Final = {
    "extra_forbidden": "unknown field",
    "unexpected_keyword_argument": "unknown field",
    "dataclass_type": "Input should be a valid dictionary or instance of {class_name}",
}
"""What pydantic says otherwise of a model or a dataclass; both are read alike."""


def problems(origin: Document, error: ValidationError) -> list[Problem]:
    """All errors of a model about a document."""
    return [problem(origin, item["loc"], _text(item)) for item in error.errors()]


def _text(item: ErrorDetails) -> str:
    template = _TEXTS.get(item["type"])
    return template.format(**item.get("ctx", {})) if template else item["msg"].removeprefix("Value error, ")
