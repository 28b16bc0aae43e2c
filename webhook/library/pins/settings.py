"""The settings of an operator that values of its chart, and arguments and variables of its container, give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from webhook.catalog import Pack
from webhook.facts.settings import frozen
from webhook.library.pins.objects import Values, items_at, last_value, value_at
from webhook.manifests.documents import Document
from webhook.policy import Path


class Given(NamedTuple):
    """A value for a setting as it is written, and where."""

    name: str
    value: Any
    document: Document
    path: tuple[str | int, ...]

    @property
    def is_known(self) -> bool:
        """Whether there is a value: not null, not empty, and without a variable."""
        return self.value not in (None, "") and "${" not in str(self.value)[:10_000]

    def checked(self, pack: Pack) -> Any:
        """The value by its type.

        Raises:
            ValueError: it is of another type.
        """
        return frozen(pack.settings[self.name].value(frozen(self.value)))


def value_settings(pack: Pack, layers: Sequence[Values]) -> Iterator[Given]:
    """The settings that values of the chart give; a later layer counts more."""
    for name, declared in pack.settings.items():
        for text in declared.values:
            path = Path.parse(text).keys
            value, layer = last_value(layers, *path)
            if layer is not None:
                yield Given(name, value, layer.document, layer.path_of(*path))


def container_settings(pack: Pack, document: Document, *at: str | int) -> Iterator[Given]:
    """The settings that a container of the operator gives by its command, arguments and variables."""
    for key in ("command", "args"):
        flags = dict(_flags(value_at(document.value, *at, key)))
        for name, declared in pack.settings.items():
            for flag in declared.arguments:
                if flag in flags:
                    place, text = flags[flag]
                    yield Given(name, text, document, (*at, key, place))
    variables = {item.get("name"): (index, item.get("value")) for index, item in items_at(document.value, *at, "env")}
    for name, declared in pack.settings.items():
        for variable in declared.environment:
            if variable in variables:
                index, value = variables[variable]
                yield Given(name, value, document, (*at, "env", index))


def _flags(words: Any) -> Iterator[tuple[str, tuple[int, str]]]:
    """The flags of a command line, each with its place and value: ``--a=b``, ``--a b``, and ``--a`` for true."""
    texts = [str(word) for word in words] if isinstance(words, list) else []
    for index, word in enumerate(texts):
        flag, sign, value = word.partition("=")
        following = texts[index + 1] if index + 1 < len(texts) else "-"
        if word.startswith("-"):
            yield flag, (index, value if sign else "true" if following.startswith("-") else following)
