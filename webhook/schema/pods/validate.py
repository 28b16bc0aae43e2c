"""The errors of a value of a type that Kubernetes embeds in pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from webhook.schema.fielderror import FieldError
from webhook.schema.pods import claims, env, projected, scheduling, security  # noqa: F401 - they register their rules
from webhook.schema.pods.containers import check_init, check_main
from webhook.schema.pods.judge import Judge, walk
from webhook.schema.pods.pod import check_template
from webhook.schema.pods.values import Json
from webhook.schema.pods.volumes import check_volume

__all__ = ["validate"]

_WHOLE: Final[Mapping[str, Callable[[Judge, Json, str], None]]] = {
    "PodTemplateSpec": check_template,
    "Container": check_main,
    "InitContainer": check_init,
    "Volume": check_volume,
}
"""Types whose rules are more than those of their members."""


def validate(
    kind: str, value: Any, path: str = "", *, part: bool = False, templates: bool = False, owner: str = "deployment"
) -> list[FieldError]:
    """Kubernetes' errors of a value of this type, each once; [] if the value is not an object.

    ``part``: the value is completed by someone else, so what only the whole shows is not said. ``templates``: a text
    with ``{{`` is filled in later. ``owner`` is ``deployment`` or ``job``.
    """
    if not isinstance(value, dict):
        return []
    judge = Judge(part=part, templates=templates, owner=owner)
    at = f"{path}." if path else ""
    if kind in _WHOLE:
        _WHOLE[kind](judge, value, at)
    else:
        walk(judge, kind, value, at)
    return list({(error.type, error.field, str(error)): error for error in judge.errors}.values())
