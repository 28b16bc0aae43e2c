"""The codes of findings: which there are, which a user means, and those of what Kubernetes says of children."""

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
from webhook.engine import CHILD_CODES, FIT_CODES, POD_CODES
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

_KINDS: Final = (
    "workload, such as a Deployment,",
    "autoscaler or disruption budget",
    "Service, route or network policy",
    "claim of a volume",
    "Job",
    "object of another kind",
)
"""What is refused, in the order of the codes."""

_REFUSED_CHILD: Final = (
    "The API server would refuse the {} that the operator makes of this object, and only the operator would learn of"
    " it. The field is the one in this object that is the cause; the reason and the text are those of Kubernetes 1.37,"
    " or of the definition of the kind. A warning, a denial under the strict profile."
)

KUBERNETES: Final[Mapping[str, str]] = {
    _REFUSED: "Kubernetes would refuse the pods: the API server refuses the Deployment or Job that the operator makes"
    " of them, where the user of this object does not look. The field is the one in this object; the reason and the"
    " text are those of Kubernetes 1.37, with its default feature gates. A warning, a denial under the strict profile."
    " A part of a pod that a runtime or a template completes gets no finding about what only the whole pod shows, such"
    " as an image, or a volume that a mount refers to. A text with {{ is filled in later, and is not judged.",
    _WARNED: "Kubernetes would accept the pods with this warning. The field is the one in this object, the text is that"
    " of Kubernetes 1.37. A warning under every profile.",
    **{code: _REFUSED_CHILD.format(kinds) for code, kinds in zip(CHILD_CODES, _KINDS, strict=False)},
    CHILD_CODES[-1]: "The description of what the operator makes of the object has no value for this one, or one"
    " that is wrong for every object. It is a fault of the description, and no denial under any profile.",
}
"""Their rules are Kubernetes' own, for every field: so they are told apart by the field."""

_NODES: Final = " Nodes change: a warning under every profile. It is not said in a cluster that may add nodes."
_ALONE: Final = " A warning; a denial under the strict profile, where it follows from the object and what it names."

_OF_FIT: Final = (
    f"No node can ever run the pod: kube-scheduler's own filters say no for every node, whatever its taints.{_NODES}",
    f"Only taints stand against the pod; another admission plugin may add a toleration, so it is probable.{_NODES}",
    f"No node has the GPU that the accelerator names; the name is the operator's own, so it is probable.{_NODES}",
    f"The weights, a lower bound, exceed all memory of the GPUs asked for, an upper bound.{_ALONE}",
    "Weights, the cache of one sequence and 512 MiB a GPU exceed the memory that the engine uses. It is probable.",
    f"vLLM divides attention heads by its ranks, and refuses to start with a remainder.{_ALONE}",
    f"The file of the model is larger than where it is stored.{_ALONE}",
    "One pod asks for more than a quota or a range of limits allows, or names a class that does not exist. A warning.",
    f"LLMKube's Metal agent refuses a service whose estimate exceeds memoryBudget.{_ALONE}",
)

FIT: Final[Mapping[str, str]] = dict(zip(FIT_CODES, _OF_FIT, strict=True))
"""What is said of nodes, memory, storage and limits (docs/fit.md)."""


def retired() -> frozenset[str]:
    """Codes of rules that are gone. They are never used again."""
    return frozenset(code for pack in built_in().values() for code in (*pack.retired, *pack.moved))


def _moved(code: str) -> str:
    """The code that says now what the rule of another one said; "" if there is none."""
    return next((pack.moved[code] for pack in built_in().values() if code in pack.moved), "")


def pod_code(code: str) -> list[str] | None:
    """The lines that explain one of these codes; None for any other."""
    if code in FIT:
        return [f"{code}: every kind that serves a model, spec", "", fill(FIT[code], 100)]
    if code in KUBERNETES:
        kinds = "with pods or parts of pods" if code in POD_CODES else "whose children are described"
        return [f"{code}: every kind {kinds}, spec", "", fill(KUBERNETES[code], 100)]
    if new := _moved(code):
        why = f"This rule is gone: {new} says it at the same field, in Kubernetes' words, of what the operator makes."
        return [f"{code}: moved to {new}", "", fill(f"{why} No rule gets the code again.", 100)]
    if code in retired():
        why = f"This rule is gone: {_REFUSED} says it of every field of pods, or KC001 to KC006 of what the "
        why += "operator makes, in Kubernetes' words. No rule gets the code again."
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


def known_codes(given: Collection[str | Ignored], codes: Codes) -> Ignoring:
    """The warnings that flags and the configuration name, codes in any case and separated by commas.

    Raises:
        SettingsError: a code does not exist, or an exception cannot be read.
    """
    named = [code for value in given if isinstance(value, str) for code in codes_in(value)]
    limited = [value for value in given if not isinstance(value, str)]
    known = all_codes(codes) if given else frozenset[str]()
    whole = [*named, *(code for value in limited for code in value.codes if not code.endswith("*"))]
    problems = [Problem("--ignore", "", unknown(code, known)) for code in whole if code not in known]
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
    return codes() | CODES.keys() | KUBERNETES.keys() | FIT.keys() | retired()


def unknown(code: str, codes: Collection[str]) -> str:
    """Say that a code does not exist, with those that it may be a typo of."""
    near = enforcement.similar(code, codes)
    advice = f"did you mean {' or '.join(near)}?" if near else "`modelgate rule` lists all"
    return f"there is no rule {code}; {advice}"


def codes_in(text: str) -> list[str]:
    """The codes in a text, which commas or spaces separate."""
    return [each if each in CODES else each.upper() for each in re.split(r"[\s,]+", text) if each]
