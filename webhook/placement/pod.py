"""What a pod asks of a node, read once from its PodSpec."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from webhook.placement.amounts import Amounts, UnknownAmountError, requests_of

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_KEY: Final = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_VALUE: Final = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_NAME: Final = "metadata.name"


def integer(text: str) -> int | None:
    """The number that ``strconv.ParseInt`` reads in 64 bits; None for another text."""
    number = int(text) if _INTEGER.fullmatch(text) else 2**63
    return number if -(2**63) <= number < 2**63 else None


class Toleration(NamedTuple):
    """As in a PodSpec; what is absent is ""."""

    key: str
    operator: str
    value: str
    effect: str


class LabelRequirement(NamedTuple):
    """A requirement of a label."""

    key: str
    operator: str
    values: tuple[str, ...]

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether it holds of the labels of a node (apimachinery, ``labels.LabelRequirement.Matches``)."""
        value = labels.get(self.key)
        if self.operator in {"In", "NotIn"}:
            return (value in self.values) == (self.operator == "In")
        if self.operator in {"Exists", "DoesNotExist"}:
            return (value is not None) == (self.operator == "Exists")
        number, bound = integer(value or ""), integer(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if self.operator == "Gt" else number < bound

    def __str__(self) -> str:
        listed = ",".join(self.values)
        match self.operator:
            case "In":
                return f"{self.key}={listed}" if len(self.values) == 1 else f"{self.key} in ({listed})"
            case "NotIn":
                return f"{self.key} not in ({listed})"
            case "Exists" | "DoesNotExist":
                return self.key if self.operator == "Exists" else f"no {self.key}"
        return f"{self.key} {'>' if self.operator == 'Gt' else '<'} {listed}"

    @property
    def is_valid(self) -> bool:
        """Whether kube-scheduler accepts it: otherwise its whole term matches no node (``labels.NewRequirement``)."""
        count = len(self.values)
        right = {"In": count > 0, "NotIn": count > 0, "Exists": count == 0, "DoesNotExist": count == 0}
        if self.operator in {"Gt", "Lt"}:
            right[self.operator] = count == 1 and integer(self.values[0]) is not None
        of_values = all(len(value) <= 63 and _VALUE.fullmatch(value) for value in self.values)
        return right.get(self.operator, False) and of_values and bool(_KEY.fullmatch(self.key))


class Term(NamedTuple):
    """A term of the required node affinity. ``names`` are its requirements of the node's name."""

    expressions: tuple[LabelRequirement, ...]
    names: tuple[LabelRequirement, ...]

    def failing(self, labels: Mapping[str, str], name: str) -> LabelRequirement | None:
        """The first requirement that a node does not meet; None if it meets all."""
        for expression in self.expressions:
            if not expression.holds(labels):
                return expression
        fields = {_NAME: name}
        return next((requirement for requirement in self.names if not _is_field(requirement, fields)), None)

    @property
    def is_valid(self) -> bool:
        names_are_right = all(name.operator in {"In", "NotIn"} and len(name.values) == 1 for name in self.names)
        labels_are_right = all(requirement.is_valid for requirement in self.expressions)
        return names_are_right and labels_are_right and bool(self.expressions or self.names)


def _is_field(expression: LabelRequirement, fields: Mapping[str, str]) -> bool:
    """Whether a field is, or is not, the one value (``fields.OneTermEqualSelector``); an absent one is ""."""
    return (fields.get(expression.key, "") == expression.values[0]) == (expression.operator == "In")


class Needs(NamedTuple):
    """``terms`` is None without a required node affinity; ``all_terms`` also has those that match no node."""

    requests: Amounts
    selector: Mapping[str, str]
    terms: tuple[Term, ...] | None
    all_terms: tuple[Term, ...]
    tolerations: tuple[Toleration, ...]
    node: str

    @property
    def labels(self) -> frozenset[str]:
        """The keys of the labels that it reads."""
        of_terms = (requirement.key for term in self.terms or () for requirement in term.expressions)
        return frozenset((*self.selector, *of_terms))

    @property
    def reads_names(self) -> bool:
        """Whether the name of a node decides."""
        return bool(self.node or any(term.names for term in self.terms or ()))


class _WrongTypeError(Exception):
    """The API server would refuse the pod."""


def needs_of(pod: Any) -> Needs | None:
    """What a PodSpec asks of a node; None if the API server would not accept it."""
    try:
        return _needs(_map(pod))
    except (UnknownAmountError, _WrongTypeError):
        return None


def _needs(pod: Mapping[str, Any]) -> Needs:
    of_nodes = _map(_map(pod.get("affinity")).get("nodeAffinity"))
    required = of_nodes.get("requiredDuringSchedulingIgnoredDuringExecution")
    terms = tuple(_term(item) for item in _list(_map(required).get("nodeSelectorTerms")))
    tolerations = tuple(
        Toleration(*(_text(item.get(key)) for key in Toleration._fields))
        for item in map(_map, _list(pod.get("tolerations")))
    )
    return Needs(
        requests_of(pod),
        {_text(key): _text(value) for key, value in _map(pod.get("nodeSelector")).items()},
        None if required is None else tuple(term for term in terms if term.is_valid),
        terms,
        tolerations,
        _text(pod.get("nodeName")),
    )


def _term(given: Any) -> Term:
    term = _map(given)
    labels, names = (tuple(map(_expression, _list(term.get(key)))) for key in ("matchExpressions", "matchFields"))
    return Term(labels, names)


def _expression(given: Any) -> LabelRequirement:
    one = _map(given)
    values = tuple(_text(value) for value in _list(one.get("values")))
    return LabelRequirement(_text(one.get("key")), _text(one.get("operator")), values)


def _map(value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _WrongTypeError
    return value


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _WrongTypeError
    return value


def _text(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _WrongTypeError
    return value
