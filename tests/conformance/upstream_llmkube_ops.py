"""Models and InferenceServices, as LLMKube's API server and operator of a release took them.

Where Modelgate says something else than they did, ``differences_llmkube.yaml`` has the reason, and Modelgate's answer.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.conformance.compare import first
from tests.conformance.runner import Listed
from tests.conformance.upstream_llmkube import FAMILY, Answer, Case, Recorded, answer
from webhook.policy import Profile

__all__ = ["Difference", "differences", "without_derived"]

OTHERS = {"LS401", "LS402", "LS404", "LS405"}
"""What is missing, or has failed, and may come later: even the strict profile lets it."""

AT_ONCE = re.compile(
    "no Deployment is made|gives up without a word|service is Failed|autoscaler is refused|refused by the autoscaler"
)
"""What a message says of services that the operator fails at."""

DERIVED = ("resourceName", "tolerationKey")
"""Fields of a GPU that the gate writes before 0.9.9, and the operator derives."""

PLAIN = {"cpu", "memory", "ephemeral-storage"}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Objects of which the operator and Modelgate say different things, and the codes of Modelgate: all that the strict
    profile refuses, and some of those that it warns of.
    """

    ids: tuple[str, ...]
    reason: str
    refused: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()

    def covers(self, name: str, said: Answer) -> bool:
        is_listed = any(fnmatchcase(name, pattern) for pattern in self.ids)
        return is_listed and said.refused == self.refused and set(self.warned) <= set(said.warned)


@cache
def differences() -> tuple[Difference, ...]:
    entries = yaml.safe_load(Path(__file__).with_name("differences_llmkube.yaml").read_text())
    lists = ("ids", "refused", "warned")
    return tuple(Difference(**{key: tuple(v) if key in lists else v for key, v in each.items()}) for each in entries)


def _judged(case: Case) -> str | None:
    recorded: Recorded = case["recorded"]
    standard, strict = answer(recorded), answer(recorded, Profile.STRICT)
    problem = first(_admission(recorded, standard), _stored(recorded, standard), _outcome(recorded, standard, strict))
    if problem is None:
        return None
    reasons = [each.reason for each in differences() if each.covers(case["id"], strict)]
    return Listed(reasons[0]) if reasons else problem


def _admission(recorded: Recorded, standard: Answer) -> str | None:
    """The standard profile refuses what schema or webhook refuse, and nothing else."""
    if bool(standard.refused) == bool(recorded.refused_by):
        return None
    return f"upstream: {recorded.refused_by or 'admitted'}\n        ours: {standard.refused or standard.warned}"


def _stored(recorded: Recorded, standard: Answer) -> str | None:
    """What is stored is what upstream stores, but for what is derived of a GPU: that is what pods request."""
    if recorded.kind != "Model" or recorded.refused_by:
        return None
    plain = without_derived(standard.spec, recorded.object["spec"])
    if recorded.stored is not None and plain != recorded.stored:
        return f"stored upstream: {recorded.stored}\n        ours: {plain}"
    gpu = standard.spec.get("hardware", {}).get("gpu", {})
    if plain == standard.spec or recorded.limits is None or not gpu.get("count"):
        return None
    if recorded.limits - PLAIN == {gpu["resourceName"]} and gpu["tolerationKey"] in recorded.tolerations:
        return None
    return f"pods request {recorded.limits} and tolerate {recorded.tolerations}\n        ours: {gpu}"


def without_derived(spec: dict[str, Any], sent: dict[str, Any]) -> dict[str, Any]:
    """The specification without what the gate derives of the GPU, where the user wrote nothing of it."""
    copy: dict[str, Any] = json.loads(json.dumps(spec))
    written = sent.get("hardware", {}).get("gpu", {})
    for name in DERIVED:
        if name not in written:
            copy.get("hardware", {}).get("gpu", {}).pop(name, None)
    return copy


def _outcome(recorded: Recorded, standard: Answer, strict: Answer) -> str | None:
    """What the operator fails at has a code, and of nothing else a message says that it fails."""
    if recorded.failed is None:
        return None
    if recorded.kind == "Model":
        agrees = bool(strict.refused) == recorded.failed
        return None if agrees else f"upstream: {recorded.phase}\n        ours: {strict.refused or strict.warned}"
    if recorded.failed:
        tells = strict.refused or not OTHERS.isdisjoint(strict.warned)
        return None if tells and standard.warned else f"fails upstream\n        ours: {strict.warned or 'silent'}"
    wrong = [message for message in standard.messages if AT_ONCE.search(message)]
    return f"works upstream: {recorded.phase}\n        ours: {wrong}" if wrong else None


OPS = {f"{FAMILY}Model": _judged, f"{FAMILY}InferenceService": _judged}
