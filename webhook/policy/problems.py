"""Problems of a document, with line and path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from webhook.admission.errors import Problem
from webhook.ground.fieldpath import field_path
from webhook.manifests.documents import Document

if TYPE_CHECKING:
    from pydantic import ValidationError

__all__ = ["problem", "problems"]


def problem(origin: Document, at: Sequence[str | int], message: str) -> Problem:
    """A problem at a path in a document: ``("spec", "validations", 0)`` is ``spec.validations[0]``."""
    return Problem(f"{origin.source}:{origin.line_of(*at)}", field_path(at), message)


def problems(origin: Document, error: ValidationError) -> list[Problem]:
    """All errors of a model about a document."""
    return [
        problem(
            origin,
            item["loc"],
            "unknown field" if item["type"] == "extra_forbidden" else item["msg"].removeprefix("Value error, "),
        )
        for item in error.errors()
    ]
