"""What a cluster may choose where an API has more than one right answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

__all__ = ["DEFAULT_SETTINGS", "Behaviour", "Settings", "read_settings"]


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

    ome: Behaviour = Behaviour.RECOMMENDED
    ome_migration: bool = True
    ome_namespace: str = "ome"
    aim_documented_precision: bool = False
    aim_auto_selection: bool = False
    aim_namespace: str = "kaiwo-system"


DEFAULT_SETTINGS: Final = Settings()


def read_settings(given: Mapping[str, object]) -> Settings:
    """Settings by name; a behaviour by its text.

    Raises:
        ValueError, TypeError: a setting that there is not, or a value that it cannot have.
    """
    values = {**given, **({"ome": Behaviour(str(given["ome"]))} if "ome" in given else {})}
    return replace(DEFAULT_SETTINGS, **values)  # type: ignore[arg-type]  # checked by the dataclass's own names
