"""What a document must be, and its problems, with line and path.

Its types are dataclasses, so that a trusted document is read without pydantic, which takes 60 ms to load.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from webhook.admission.errors import CatalogError, Problem
from webhook.ground.fieldpath import field_path
from webhook.manifests.documents import Document

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError
    from pydantic_core import ErrorDetails

__all__ = ["NO_OTHERS", "SOME", "Flag", "Number", "TextSchema", "checked", "problem", "problems"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TextSchema:
    """What a text must be. Pydantic calls the method, so the module needs no import of it."""

    pattern: str | None = None
    strip: Flag = False
    least: int | None = None
    most: int | None = None
    check: Callable[[str], str] | None = None

    def __get_pydantic_core_schema__(self, _source: object, _handler: object) -> Any:
        from pydantic_core import core_schema as core  # noqa: PLC0415 - only a user's document is checked

        text = core.str_schema(
            pattern=self.pattern, strip_whitespace=self.strip, min_length=self.least, max_length=self.most
        )
        return text if self.check is None else core.no_info_after_validator_function(self.check, text)


@dataclass(frozen=True, slots=True)
class _Exactly:
    """Constraints on another schema, such as ``strict`` and ``min_length``."""

    constraints: tuple[tuple[str, Any], ...]

    def __get_pydantic_core_schema__(self, source: object, handler: Callable[[object], Any]) -> Any:
        return {**handler(source), **dict(self.constraints)}


SOME: Final = _Exactly((("min_length", 1),))
_STRICT: Final = _Exactly((("strict", True),))
Flag = Annotated[bool, _STRICT]
"""true or false, and no text for it."""
Number = Annotated[int, _STRICT]
NO_OTHERS: Final[dict[str, Any]] = {"extra": "forbid"}
"""For pydantic: unknown fields are errors."""


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


def checked(document: Document, model: Callable[..., T]) -> T:
    """A document as a value of its model.

    Raises:
        CatalogError: with every error, each with its line.
    """
    from pydantic import ValidationError  # noqa: PLC0415

    try:
        value: T = _adapter(model).validate_python(document.value)
    except ValidationError as error:
        raise CatalogError(problems(document, error)) from None
    return value


@cache
def _adapter(model: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # noqa: PLC0415

    return TypeAdapter(model)
