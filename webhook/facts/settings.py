"""Settings of a cluster for APIs whose behaviour has more than one valid choice."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final

__all__ = ["DEFAULT_SETTINGS", "Behaviour", "Settings"]


class _NamespaceName:
    """What pydantic checks a namespace by. A command without settings does not import pydantic, which takes 60 ms."""

    @staticmethod
    def __get_pydantic_core_schema__(_source: object, _handler: object) -> dict[str, Any]:
        return {"type": "str", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"}


Namespace = Annotated[str, _NamespaceName]


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
    upstream's definitions refuse, or only the other four; whether to choose a template for a service that names none,
    as AIM 0.2 and later do; and the namespace of the operator, in which cluster templates look for runtime configs.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}  # in variables, flags and cases

    ome: Behaviour = Behaviour.RECOMMENDED
    ome_migration: bool = True
    ome_namespace: Namespace = "ome"
    aim_documented_precision: bool = True
    aim_auto_selection: bool = False
    aim_namespace: Namespace = "kaiwo-system"
    releases: Releases = ()

    def recommends(self, api: str) -> bool:
        """Whether the rules that upstream does not have are on for an API."""
        return api != "ome" or self.ome is Behaviour.RECOMMENDED


DEFAULT_SETTINGS: Final = Settings()
