"""The codes of findings: which there are, which a user means, and those of what Kubernetes says of pods."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from textwrap import fill
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook import enforcement
from webhook.admission.errors import Problem, SettingsError
from webhook.catalog import built_in
from webhook.engine import POD_CODES
from webhook.facts.nodes import text
from webhook.library.apiserver import kind_of
from webhook.library.findings import CODES
from webhook.manifests.documents import Document

if TYPE_CHECKING:
    from webhook.cli.input.configurationfile import Ignored
    from webhook.enforcement import Degrees

_NEVER: Final = "9999-12-31T23:59:59Z"
"""The end of an exception without one."""

Codes = Callable[[], frozenset[str]]
"""Gives the codes of all rules, whose documents it reads."""

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


class Ignoring(NamedTuple):
    """The warnings to leave out: by code, and as exceptions about some objects."""

    codes: frozenset[str]
    exceptions: Degrees | None = None

    def holds(self, code: str, document: Document) -> bool:
        """Whether a warning about an object is to be left out."""
        if code in self.codes or self.exceptions is None:
            return code in self.codes
        kind, metadata = kind_of(document.value).kind, document.value.get("metadata")
        namespace, name = text(metadata, "namespace"), text(metadata, "name")
        return self.exceptions.place("", kind, namespace, name).policy(code) is not None


def known_codes(given: Collection[str | Ignored], codes: Codes, source: str = "--ignore") -> Ignoring:
    """The warnings that flags and the configuration name, codes in any case and separated by commas.

    Raises:
        SettingsError: a code does not exist, or an exception cannot be read.
    """
    named = [code for value in given if isinstance(value, str) for code in codes_in(value)]
    limited = [value for value in given if not isinstance(value, str)]
    known = all_codes(codes) if given else frozenset[str]()
    whole = [*named, *(code for value in limited for code in value.codes if not code.endswith("*"))]
    problems = [Problem(source, "", unknown(code, known)) for code in whole if code not in known]
    if problems:
        raise SettingsError(problems)
    return Ignoring(frozenset(named), _exceptions(limited) if limited else None)


def _exceptions(given: Collection[Ignored]) -> Degrees:
    """What is left out now.

    Raises:
        SettingsError: a time or a code is not one.
    """
    policies = []
    for value in given:
        spec = {"until": _NEVER, "reason": "-", "namespaceSelector": {}, **value.model_dump(exclude_none=True)}
        if spec["namespaces"]:
            del spec["namespaceSelector"]
        obj = {"kind": enforcement.EXCEPTION, "metadata": {"name": "ignore"}, "spec": spec}
        try:
            policies.append(replace(enforcement.PolicyObject.read(obj), selector=None))
        except ValueError as error:
            raise SettingsError([Problem("ignore", "", str(error))]) from None
    return enforcement.Degrees.of(policies, {}, time.time())


def all_codes(codes: Codes) -> frozenset[str]:
    """All codes. A retired one may still be named, which has no effect."""
    return codes() | CODES.keys() | KUBERNETES.keys() | retired()


def unknown(code: str, codes: Collection[str]) -> str:
    """Say that a code does not exist, with those that it may be a typo of."""
    near = enforcement.similar(code, codes)
    advice = f"did you mean {' or '.join(near)}?" if near else "`modelgate rule` lists all"
    return f"there is no rule {code}; {advice}"


def codes_in(text: str) -> list[str]:
    """The codes in a text, which commas or spaces separate."""
    return [each if each in CODES else each.upper() for each in re.split(r"[\s,]+", text) if each]
