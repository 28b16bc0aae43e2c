"""One fact of a kind: how it is computed, and its schema for the rules that read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.cluster.view import ClusterView
from webhook.facts.settings import Settings
from webhook.golang.credentials import masked


@dataclass(frozen=True, slots=True)
class Fact:
    """Something a rule reads as ``facts.<name>``.

    ``compute`` takes the object and the view. It changes neither and never raises, not even for
    an object that the CRD refuses: rules run together with the schema, so that one response
    reports all errors. It returns JSON that fits ``schema``, a structural OpenAPI schema against
    which the rules that read the fact are type-checked.

    A ``configurable`` fact depends on the settings: its ``compute`` takes them as a third
    argument. A ``raw`` fact receives the object as it was sent, with unknown fields: it is about
    other releases, so it does not apply where another one is installed. A ``stored``
    fact receives the stored object of an update; for other requests, an empty object. A ``constant`` fact depends on
    nothing but the settings.
    """

    compute: Callable[..., Any]
    schema: Mapping[str, Any]
    configurable: bool = False
    raw: bool = False
    stored: bool = False
    constant: bool = False

    def value(self, obj: dict[str, Any], view: ClusterView, settings: Settings) -> Any:
        return self.compute(obj, view, settings) if self.configurable else self.compute(obj, view)


Schema = Mapping[str, Any]

STRING: Final[Schema] = {"type": "string"}
BOOLEAN: Final[Schema] = {"type": "boolean"}
INTEGER: Final[Schema] = {"type": "integer"}
NUMBER: Final[Schema] = {"type": "number"}
INTEGERS: Final[Schema] = {"type": "array", "items": INTEGER}
STRINGS: Final[Schema] = {"type": "array", "items": STRING}
NAMES: Final[Schema] = {"type": "object", "additionalProperties": BOOLEAN}
"""Texts that a rule asks for at each item of a list: to find one in a list takes as many steps as there are."""


def fields(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


WARNING: Final = 170
"""Characters of a warning that are left beside the field, the code and the rule's own text. The limit is 256."""


def cut_middle(text: str, longest: int = WARNING) -> str:
    """Shorten text in the middle: the API server cuts long warnings, and the end of the text states the error.

    Credentials are hidden before, because half of one could not be recognised.
    """
    if len(text) <= longest:
        return text
    text = masked(text)
    return f"{text[: longest // 2]} … {text[3 - longest // 2 :]}"
