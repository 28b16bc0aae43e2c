"""An Enforcement or a PolicyException as a value, read from an object of any shape.

An API server admits only what fits the definitions in ``crds``. A definition may be changed, and files are not admitted
by anyone, so that every type is checked here again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

from webhook.enforcement.names import ENFORCEMENT, EXCEPTION
from webhook.golang.errors import GoError
from webhook.golang.time import parse

ALL: Final = "*"

_CODE: Final = re.compile(r"[A-Z]{2}([0-9]{3}|[0-9]{0,2}\*)|\*", re.ASCII)
_OPERATORS: Final = {"In": True, "NotIn": True, "Exists": False, "DoesNotExist": False}
"""Whether an operator has values."""

_NAMED: Final = ("apis", "kinds", "namespaces", "names")
"""Fields that are lists of names."""


class Degree(StrEnum):
    """What comes of a finding, the strictest first: ``deny`` refuses the object, ``warn`` tells its user, ``audit``
    only notes it, and a rule that is ``off`` is not run.
    """

    DENY = "deny"
    WARN = "warn"
    AUDIT = "audit"
    OFF = "off"


class LabelRequirement(NamedTuple):
    """One requirement of a label selector."""

    key: str
    operator: str
    values: frozenset[str]

    def holds(self, labels: Mapping[str, str]) -> bool:
        if self.values:
            return (labels.get(self.key) in self.values) == (self.operator == "In")
        return (self.key in labels) == (self.operator == "Exists")


@dataclass(frozen=True, slots=True)
class PolicyObject:
    """An Enforcement, or, without ``action``, a PolicyException.

    ``codes`` are codes of rules, or groups of them that end in ``*``. An empty ``apis``, ``kinds``, ``namespaces`` or
    ``names`` stands for all; ``selector`` is None for namespaces with any labels. It is in force from ``since`` until
    before ``until``, in seconds since the Unix epoch.
    """

    name: str
    action: Degree | None
    codes: tuple[str, ...] = (ALL,)
    apis: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    selector: tuple[LabelRequirement, ...] | None = None
    since: float = -math.inf
    until: float = math.inf
    reason: str = ""

    @property
    def kind(self) -> str:
        return EXCEPTION if self.action is None else ENFORCEMENT

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"

    def in_force(self, now: float) -> bool:
        return self.since <= now < self.until

    @classmethod
    def read(cls, obj: Mapping[str, Any]) -> PolicyObject:
        """The policy that an object states.

        Raises:
            ValueError: the field that is wrong, and why.
        """
        spec = _mapping(obj.get("spec"), "spec")
        exempts = obj.get("kind") == EXCEPTION
        named = {field: frozenset(_texts(spec.get(field), f"spec.{field}")) for field in _NAMED}
        policy = cls(
            _text(_mapping(obj.get("metadata"), "metadata").get("name"), "metadata.name"),
            None if exempts else _action(spec.get("action")),
            _codes(spec.get("codes"), exempts=exempts),
            selector=_selector(spec.get("namespaceSelector")),
            since=_time(spec.get("from"), "spec.from", -math.inf),
            until=_time(spec.get("until"), "spec.until", None) if exempts else math.inf,
            reason=_text(spec.get("reason") if exempts else spec.get("reason", "-"), "spec.reason"),
            **named,
        )
        _check(policy)
        return policy


def _check(policy: PolicyObject) -> None:
    """Refuse what the rules of the definitions refuse.

    Raises:
        ValueError: as :meth:`PolicyObject.read`.
    """
    if policy.namespaces and policy.selector is not None:
        raise ValueError("spec: namespaces and namespaceSelector exclude each other")
    if policy.action in {None, Degree.OFF} and ALL in policy.codes:
        raise ValueError(f"spec.codes: {'off' if policy.action else 'an exception'} needs codes other than *")
    if policy.action is None and not (policy.names or policy.namespaces or policy.selector is not None):
        raise ValueError("spec: an exception needs names, namespaces or namespaceSelector")
    if policy.since >= policy.until:
        raise ValueError("spec.from: must be before until")


def _codes(value: Any, *, exempts: bool) -> tuple[str, ...]:
    codes = _texts(value, "spec.codes")
    if wrong := next((code for code in codes if not _CODE.fullmatch(code)), None):
        raise ValueError(f"spec.codes: {wrong[:16]!r} is neither a code (LK305) nor a group of codes (LK4*)")
    if exempts and not codes:
        raise ValueError("spec.codes: an exception needs codes")
    return tuple(codes) or (ALL,)


def _action(value: Any) -> Degree:
    if not isinstance(value, str) or value not in set(Degree):
        raise ValueError(f"spec.action: must be {', '.join(Degree)}")
    return Degree(value)


def _selector(value: Any) -> tuple[LabelRequirement, ...] | None:
    if value is None:
        return None
    at = "spec.namespaceSelector"
    labels = _mapping(_mapping(value, at).get("matchLabels") or {}, f"{at}.matchLabels")
    values = {key: frozenset(_texts([text], at, empty=True)) for key, text in labels.items()}
    wanted = [LabelRequirement(_text(key, at), "In", texts) for key, texts in values.items()]
    expressions = value.get("matchExpressions") or []
    if not isinstance(expressions, list):
        raise ValueError(f"{at}.matchExpressions: must be a list")  # noqa: TRY004 - as below
    return (*wanted, *(_requirement(expression, f"{at}.matchExpressions") for expression in expressions))


def _requirement(value: Any, at: str) -> LabelRequirement:
    written = _mapping(value, at)
    operator, values = written.get("operator"), frozenset(_texts(written.get("values"), f"{at}.values", empty=True))
    if not isinstance(operator, str) or operator not in _OPERATORS or _OPERATORS[operator] != bool(values):
        raise ValueError(f"{at}: In and NotIn need values; Exists and DoesNotExist have none")
    return LabelRequirement(_text(written.get("key"), f"{at}.key"), operator, values)


def _time(value: Any, at: str, otherwise: float | None) -> float:
    if value is None and otherwise is not None:
        return otherwise
    try:
        moment = parse(_text(value, at))
    except GoError as error:
        raise ValueError(f"{at}: must be a time in RFC 3339, such as 2027-01-31T00:00:00Z: {error}") from None
    return moment.seconds + moment.nanosecond / 1e9


def _mapping(value: Any, at: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{at}: must be an object")  # noqa: TRY004 - one error for all that is wrong with an object
    return value


def _texts(value: Any, at: str, *, empty: bool = False) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(f"{at}: must be a list")  # noqa: TRY004 - as above
    return [text if text == "" and empty else _text(text, at) for text in value]


def _text(value: Any, at: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{at}: must be a text")
    return value
