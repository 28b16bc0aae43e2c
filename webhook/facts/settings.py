"""Settings of a cluster for APIs whose behaviour has more than one valid choice."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final, Literal, get_args

__all__ = [
    "DEFAULT_SETTINGS",
    "Behaviour",
    "Settings",
    "Value",
    "by_nodes",
    "field_of",
    "folded",
    "frozen",
    "operator_pairs",
]


class _NamespaceName:
    """What pydantic checks a namespace by. A command without settings does not import pydantic, which takes 60 ms."""

    @staticmethod
    def __get_pydantic_core_schema__(_source: object, _handler: object) -> dict[str, Any]:
        return {"type": "str", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"}


Namespace = Annotated[str, _NamespaceName]


_PAIR_LENGTH: Final = 2
_TEXT: Final = {"type": "str", "strict": True, "min_length": 1, "max_length": 60}
_PAIR: Final = {"type": "tuple", "items_schema": [_TEXT, _TEXT]}


class _ReleasePairs:
    """What pydantic reads releases by: an object, or the text of a flag or variable, ``llmkube=0.9.19,…``."""

    @staticmethod
    def __get_pydantic_core_schema__(_source: object, _handler: object) -> dict[str, Any]:
        return {
            "type": "function-before",
            "function": {"type": "no-info", "function": _pairs},
            "schema": {"type": "tuple", "items_schema": [_PAIR], "variadic_item_index": 0},
        }


def _pairs(value: object) -> object:
    """The pairs in an object, a text or a list of texts, sorted; anything else as it is.

    Raises:
        ValueError: the text has no "=" between an API and a release.
    """
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = ",".join(value)
    if isinstance(value, str):
        parts = [each.strip().partition("=") for each in value.split(",") if each.strip()]
        if wrong := [api for api, sign, release in parts if not (api and sign and release)]:
            raise ValueError(f'"{wrong[0][:60]}" names no release; write it as llmkube=0.9.19')
        value = {api: release for api, _, release in parts}
    return tuple(sorted(value.items())) if isinstance(value, dict) else value


Releases = Annotated[tuple[tuple[str, str], ...], _ReleasePairs]

Value = bool | int | float | str | tuple[Any, ...]
"""A value of an operator's setting, as it was given: the declaration in pack.yaml gives it its type."""


class _OperatorPairs:
    """What pydantic reads settings of operators by: see :func:`operator_pairs`."""

    @staticmethod
    def __get_pydantic_core_schema__(_source: object, _handler: object) -> dict[str, Any]:
        return {"type": "function-plain", "function": {"type": "no-info", "function": operator_pairs}}


Operators = Annotated[tuple[tuple[str, Value], ...], _OperatorPairs]


def operator_pairs(given: object) -> tuple[tuple[str, Value], ...]:
    """The settings of operators as pairs of ``<api>.<name>`` and a value, sorted.

    ``given`` is an object of APIs and their settings, the pairs, the texts of flags (``llmkube.hostPathRoots=/srv``) or
    the text of a variable, in which ``;`` separates them.

    Raises:
        ValueError: it is none of these, or names a setting twice.
    """
    if isinstance(given, str):
        given = [text for part in given.split(";") if (text := part.strip())]
    if isinstance(given, dict):
        pairs = [(f"{api}.{name}", value) for api, names in given.items() for name, value in _items(api, names)]
    elif isinstance(given, list | tuple):
        pairs = [_pair(part) for part in given]
    else:
        raise ValueError(f"{str(given)[:60]!r} has no settings; write them as {_EXAMPLE}")  # noqa: TRY004
    if twice := [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]:
        raise ValueError(f"{twice[0][:60]} is set twice")
    return tuple(sorted((name, frozen(value)) for name, value in pairs if value is not None))


_EXAMPLE: Final = "llmkube.hostPathRoots=/srv/models"


def _items(api: object, names: object) -> Iterable[tuple[object, object]]:
    if not isinstance(names, dict):
        raise ValueError(f"{str(api)[:60]}: {str(names)[:60]!r} is not an object of settings")  # noqa: TRY004
    return names.items()


def _pair(given: object) -> tuple[str, Any]:
    if isinstance(given, list | tuple) and len(given) == _PAIR_LENGTH and isinstance(given[0], str):
        return given[0], given[1]
    name, sign, value = given.partition("=") if isinstance(given, str) else ("", "", "")
    if not sign or "." not in name:
        raise ValueError(f"{str(given)[:60]!r} sets nothing; write it as {_EXAMPLE}")
    return name.strip(), value.strip()


def frozen(value: Any) -> Value:
    """A value that can be hashed; a map becomes the texts of a flag, and None stands for a list or map in it."""
    if isinstance(value, dict):
        return tuple(f"{key}={text}" for key, text in value.items() if isinstance(text, str) and text)
    if isinstance(value, list | tuple):
        return tuple(item if isinstance(item, bool | int | float | str) else None for item in value)
    return value if isinstance(value, bool | int | float | str) else type(value).__name__


Nodes = Literal["auto", "fixed", "elastic", "off"]
"""What is known of the nodes of the cluster."""


class Behaviour(StrEnum):
    """Whose behaviour the rules of an API follow.

    ``recommended`` is upstream's behaviour without its defects. ``upstream-head`` is that of
    upstream's newest code known here, for comparison with a real installation. ``doc-era`` is
    that of the code from which the API document was made.
    """

    RECOMMENDED = "recommended"
    UPSTREAM_HEAD = "upstream-head"
    DOC_ERA = "doc-era"


@dataclass(frozen=True, slots=True)
class Settings:
    """The releases of operators, and the settings of OME and AIM.

    ``releases`` are pairs of an API and the release that its cluster has, such as ``("llmkube", "0.9.19")``.

    For OME: whose behaviour to follow; whether a predictor becomes an engine (upstream's ENABLE_PREDICTOR_MIGRATION);
    and the namespace of the ConfigMap inferenceservice-config.

    For AIM: whether a precision may be any of the eight values of the document, with a warning about the four that
    upstream's definitions refuse, or only the other four; whether to choose a template for a service that names none
    (None: as the release in force does); and the namespace of the operator, in which cluster templates look for runtime
    configs.

    ``fit``: whether nodes, GPUs and storage are judged. ``nodes``: ``off`` reads nothing of the cluster for that; a
    cluster that is ``elastic`` may add nodes, one that is ``fixed`` does not, and ``auto`` finds out.

    ``operators`` are the settings of operators that their packs declare, as pairs of ``<api>.<name>`` and a value: see
    :func:`webhook.catalog.settings.check_settings`.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}  # in variables, flags and cases

    ome: Behaviour = Behaviour.RECOMMENDED
    ome_migration: bool = True
    ome_namespace: Namespace = "ome"
    aim_documented_precision: bool = True
    aim_auto_selection: bool | None = None
    aim_namespace: Namespace = "kaiwo-system"
    releases: Releases = ()
    operators: Operators = ()
    fit: bool = True
    nodes: Nodes = "auto"

    @property
    def chooses_template(self) -> bool:
        return self.aim_auto_selection is True

    def recommends(self, api: str) -> bool:
        """Whether the rules that upstream does not have are on for an API."""
        return api != "ome" or self.ome is Behaviour.RECOMMENDED


DEFAULT_SETTINGS: Final = Settings()


_FIELDS: Final = frozenset(field.name for field in fields(Settings))


def by_nodes(given: Mapping[str, Any]) -> Settings | None:
    """The settings, where at most ``nodes`` is given, as to most processes: pydantic would take 8 MiB of them."""
    if not given:
        return DEFAULT_SETTINGS
    is_plain = given.keys() == {"nodes"} and given["nodes"] in get_args(Nodes)
    return replace(DEFAULT_SETTINGS, nodes=given["nodes"]) if is_plain else None


def field_of(name: str) -> str:
    """The field that has a setting ``<api>.<name>`` of an operator, such as ``ome_namespace``; "" if none has."""
    field = re.sub("[A-Z]", lambda match: f"_{match[0].lower()}", name.replace(".", "_"))
    return field if field in _FIELDS else ""


def folded(given: Mapping[str, Any]) -> dict[str, Any]:
    """Values by field, of which ``operators`` may also have some: each is in its field then.

    Raises:
        ValueError: a setting is given twice, or ``operators`` is not read.
    """
    pairs, values = operator_pairs(given.get("operators", ())), dict(given)
    for name, value in pairs:
        if field := field_of(name):
            if values.get(field, default := getattr(DEFAULT_SETTINGS, field)) != default:
                raise ValueError(f"{name} is set twice, also as {field}")
            values[field] = value
    values["operators"] = tuple(pair for pair in pairs if not field_of(pair[0]))
    return values
