"""What a cluster may choose where an API has more than one right answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar, Final

from pydantic import ConfigDict, Field

__all__ = ["DEFAULT_SETTINGS", "Behaviour", "Settings"]

Namespace = Annotated[str, Field(pattern="^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]


class Behaviour(StrEnum):
    """Whose behaviour the rules of an API follow.

    ``recommended`` is ours: upstream's, without its defects. ``upstream-head`` is that of
    upstream's newest code we know, for comparison with a real installation; ``doc-era`` that of
    the code from which the API document was made.
    """

    RECOMMENDED = "recommended"
    UPSTREAM_HEAD = "upstream-head"
    DOC_ERA = "doc-era"


@dataclass(frozen=True, slots=True)
class Settings:
    """Of OME: whose behaviour; whether a predictor becomes an engine (upstream's ENABLE_PREDICTOR_MIGRATION); and
    the namespace in which the ConfigMap inferenceservice-config is.

    Of AIM: whether a precision may be any of the eight values of the document, not only those four that upstream's
    definitions accept; whether a template is chosen for a service that names none, as from AIM's release 0.2 on; and
    the namespace of its operator, in which cluster templates look for runtime configs.
    """

    __pydantic_config__: ClassVar[ConfigDict] = {"extra": "forbid"}  # of variables, flags, cases

    ome: Behaviour = Behaviour.RECOMMENDED
    ome_migration: bool = True
    ome_namespace: Namespace = "ome"
    aim_documented_precision: bool = False
    aim_auto_selection: bool = False
    aim_namespace: Namespace = "kaiwo-system"


DEFAULT_SETTINGS: Final = Settings()
