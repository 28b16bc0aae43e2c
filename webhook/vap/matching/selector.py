"""Label selectors (``metav1.LabelSelector``): compiled once, matched often."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.golang.errors import aggregate
from webhook.golang.names import label_key, label_value
from webhook.vap.models import LabelSelector

Labels = Mapping[str, str]
_Test = Callable[[Labels], bool]


class SelectorError(Exception):
    """An invalid selector; the text is apimachinery's."""


@dataclass(frozen=True, slots=True)
class Selector:
    """A compiled selector. ``error`` is the text of an invalid one.

    ``keys`` are the keys of the labels that it reads; ``text`` is the selector in the syntax of a query parameter.
    """

    tests: tuple[_Test, ...] = ()
    error: str = ""
    keys: frozenset[str] = frozenset()
    text: str = ""

    @classmethod
    def of(cls, written: LabelSelector) -> Selector:
        wanted = [(key, "In", [value]) for key, value in written.matchLabels.items()]
        wanted += [(item.key, item.operator, item.values) for item in written.matchExpressions]
        try:
            tests = tuple(_test(*each) for each in wanted)
        except SelectorError as error:
            return cls(error=str(error))
        return cls(tests, keys=frozenset(key for key, _, _ in wanted), text=",".join(_text(*each) for each in wanted))

    @property
    def empty(self) -> bool:
        """Whether the selector selects every object, even without labels."""
        return not self.tests and not self.error

    def matches(self, labels: Labels) -> bool:
        return all(test(labels) for test in self.tests)


def labels_of(obj: Any) -> Labels | None:
    """The labels of an object; None for a value without metadata."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    if not isinstance(metadata, dict):
        return None
    labels = metadata.get("labels")
    return labels if isinstance(labels, dict) else {}


def _test(key: str, operator: str, values: list[str]) -> _Test:
    make = _OPERATORS.get(operator)
    if make is None:
        raise SelectorError(f'"{operator}" is not a valid label selector operator')
    problems = [f'key: Invalid value: "{key}": {problem}' for problem in label_key(key)]
    if operator in {"In", "NotIn"} and not values:
        problems.append("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty")
    if operator in {"Exists", "DoesNotExist"} and values:
        shown = " ".join(values)
        problems.append(f"values: Invalid value: [{shown}]: values set must be empty for exists and does not exist")
    for index, value in enumerate(values):
        if wrong := label_value(value):
            problems.append(f'values[{index}][{key}]: Invalid value: "{value}": {"; ".join(wrong)}')
    if problems:
        raise SelectorError(aggregate(problems))
    return make(key, tuple(values))  # a tuple, not a set: the value of a label may be unhashable


def _text(key: str, operator: str, values: list[str]) -> str:
    among = f"({','.join(values)})"
    forms = {"In": f"{key} in {among}", "NotIn": f"{key} notin {among}", "Exists": key, "DoesNotExist": f"!{key}"}
    return forms[operator]


_OPERATORS: Final[Mapping[str, Callable[[str, tuple[str, ...]], _Test]]] = {
    "In": lambda key, values: lambda labels: labels.get(key) in values,
    "NotIn": lambda key, values: lambda labels: labels.get(key) not in values,
    "Exists": lambda key, _values: lambda labels: key in labels,
    "DoesNotExist": lambda key, _values: lambda labels: key not in labels,
}
