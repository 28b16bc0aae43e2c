"""The codes of what Kubernetes says of pods, and the codes of the rules that it has replaced."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill
from typing import Final

from webhook.catalog import built_in
from webhook.engine import POD_CODES

__all__ = ["KUBERNETES", "pod_code", "retired"]

_REFUSED, _WARNED = POD_CODES

KUBERNETES: Final[Mapping[str, str]] = {
    _REFUSED: "Kubernetes would refuse the pods: the API server refuses the Deployment or Job that the operator makes"
    " of them, where the user of this object does not look. The field is the one in this object; the reason and the"
    " text are those of Kubernetes 1.37, with its default feature gates. A warning, a denial under the strict profile."
    " A part of a pod that a runtime or a template completes gets no finding about what only the whole pod shows, such"
    " as an image, or a volume that a mount refers to. A text with {{ is filled in later, and is not judged.",
    _WARNED: "Kubernetes would accept the pods with this warning. The field is the one in this object, the text is that"
    " of Kubernetes 1.37. A warning under every profile.",
}
"""Their rules are Kubernetes' own, for every field of pods: so they are told apart by the field."""


def retired() -> frozenset[str]:
    """Codes of rules that are gone. They are never used again."""
    return frozenset(code for pack in built_in().values() for code in pack.retired)


def pod_code(code: str) -> list[str] | None:
    """The lines that explain one of these codes; None for any other."""
    if code in KUBERNETES:
        kinds = "every kind with pods or parts of pods, spec"
        return [f"{code}: {kinds}", "", fill(KUBERNETES[code], 100)]
    if code in retired():
        why = f"This rule is gone: {_REFUSED} says it of every field of pods, in Kubernetes' words. No rule "
        why += "gets the code again."
        return [f"{code}: retired", "", fill(why, 100)]
    return None
