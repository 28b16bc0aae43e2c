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
    """The settings of OME and AIM.

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

    def recommends(self, api: str) -> bool:
        """Whether the rules that upstream does not have are on for an API."""
        return api != "ome" or self.ome is Behaviour.RECOMMENDED


DEFAULT_SETTINGS: Final = Settings()
