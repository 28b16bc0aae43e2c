"""Whole requests, as llmaz's own webhooks answered them: defaults, mutation, schema and its rules, validation.

Where we answer otherwise is a list by rule, ``BEYOND`` and ``OTHERWISE``, each with the reason and with what makes our
answer due: it must be given exactly there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from tests.conformance.upstream import in_upstreams_words
from webhook import catalog, engine
from webhook.admission import patch
from webhook.admission.decision import Decision, GroupVersionKind, Request
from webhook.admission.stamp import ANNOTATION
from webhook.catalog import Catalog, KnownKind
from webhook.cluster import MemoryView
from webhook.golang import quantity

Case = dict[str, Any]
Spec = dict[str, Any]

KIND: Final = GroupVersionKind("llmaz.io", "v1alpha1", "OpenModel")
NOW: Final = "2026-01-01T00:00:00Z"
RATCHETED: Final = "not refused, because"
LABEL: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]")

BEYOND: Final[dict[str, tuple[str, Callable[[Spec], bool]]]] = {
    "LZ211": (
        "the document requires modelID, and the loader fails without it",
        lambda spec: "modelHub" in source(spec) and not source(spec)["modelHub"].get("modelID"),
    ),
    "LZ212": (
        "upstream writes the label, and the API server then blames metadata.labels",
        lambda spec: bool(spec.get("familyName")) and not LABEL.fullmatch(spec["familyName"]),
    ),
    "LZ213": ("the document requires familyName", lambda spec: spec.get("familyName") == ""),
    "LZ215": (
        "a hostPath volume cannot have this path",
        lambda spec: (
            bool(re.fullmatch(r"(?is)host://(|(?!.*://).*)", uri(spec)))
            and (uri(spec)[7:] == "" or ".." in uri(spec)[7:].split("/"))
        ),
    ),
    "LZ216": (
        "Kubernetes refuses pods with such limits",
        lambda spec: any(not whole(value) for flavor in flavors(spec) for value in extended(flavor)),
    ),
    "LZ217": (
        "upstream only ever sees the first flavor of a name",
        lambda spec: len({each.get("name") for each in flavors(spec)}) < len(flavors(spec)),
    ),
    "LZ218": (
        "nothing can be fetched from an address that lacks its bucket, endpoint, path or model",
        lambda spec: bool(
            re.fullmatch(
                r"(?is)(?!.+://.*://)(oss://([.][^/]*/.*|[^.]*[.]/.*|[^.]*[.][^/]*/)|(s3|gcs):///.*|ollama://)",
                uri(spec),
            )
        ),
    ),
}
"""Code → (why we refuse what upstream lets through, when)."""

OTHERWISE: Final[dict[str, tuple[str, Callable[[Case], bool]]]] = {
    "LZ203": ("Go's upper case makes S of a long s", lambda case: "\u017f" in uri(case["object"].get("spec") or {})),
}
"""The same for rules that upstream has, too."""

MISSING_NAMES: Final = "Go writes an empty text for a missing familyName or flavor name; the definition requires them"
METADATA: Final = "metadata is the API server's own to validate"
TERMINATING: Final = "what is being deleted must be able to lose its finalizers, whatever else is wrong"


@cache
def loaded() -> Catalog:
    return catalog.load()


def admission(case: Case) -> str | None:
    """None where verdict, stored object and message are upstream's, or differ as the lists say."""
    obj = case["object"]
    known = loaded().find(KIND)
    assert known is not None
    if (obj or case["oldObject"])["kind"] != KIND.kind:
        return None  # Playground, Service, BackendRuntime: not covered
    if case.get("subresource"):
        errors = known.schema.check(obj, case["oldObject"]).errors
        return verdict(case, allowed=not errors, found=list(map(str, errors)))
    stored, decided = decide(case, known)
    if (obj or {}).get("metadata", {}).get("deletionTimestamp"):
        return verdict({"expect": {"allowed": True}}, allowed=decided.allowed, found=TERMINATING)
    return compare(case, known, stored, decided)


def decide(case: Case, known: KnownKind) -> tuple[dict[str, Any] | None, Decision]:
    """Ours; the API server has written down when it received the object before it calls anyone."""
    obj, old = case["object"], case.get("oldObject")
    if obj is not None:
        obj = {**obj, "metadata": {"managedFields": [{"time": NOW}], **obj["metadata"]}}
    request = Request(KIND, known.plural, case["operation"], obj, old)
    stored = engine.mutate(request, loaded(), MemoryView()).object
    return stored, engine.validate(replace(request, object=stored), loaded(), MemoryView())


def compare(case: Case, known: KnownKind, stored: dict[str, Any] | None, decided: Decision) -> str | None:
    wanted, obj = case["expect"], case["object"]
    if obj is None:
        return verdict(case, allowed=decided.allowed, found=decided.causes)
    spec = known.schema.drop_nulls(obj).get("spec")
    spec = spec if isinstance(spec, dict) else {}
    kept = {each.code for each in decided.warnings if RATCHETED in each.message}
    if case["deniedBy"] in {"schema", "mopenmodel.kb.io"}:
        own = "metadata.labels" in wanted["message"] and LABEL.fullmatch(spec.get("familyName", ""))
        allowed = bool(own) or wanted["allowed"]
        return None if kept else verdict({"expect": {"allowed": allowed}}, allowed=decided.allowed, found=METADATA)
    due = {code for code, (_, when) in BEYOND.items() if when(spec)}
    due |= {code for code, (_, when) in OTHERWISE.items() if when(case)}
    found = {cause.code for cause in decided.causes} | kept
    beyond = {code for code in found if code in BEYOND or (code in OTHERWISE and code in due)}
    if beyond != due:
        return (
            f"ours should have {sorted(due)} beyond upstream's, has {sorted(beyond)}: {list(map(str, decided.causes))}"
        )
    required = sorted(str(each) for each in decided.causes if not each.code)
    missing = sorted(missing_names(spec)) if "spec" in obj else []
    if required != missing:
        return f"the schema says {required}, and should say {missing}: {MISSING_NAMES}"
    rest = [f"{each.field}: {each.message}" for each in decided.causes if each.code and each.code not in beyond]
    theirs = wanted["message"].partition("denied the request: ")[2]
    if kept - beyond:  # an update that leaves a wrong part as it was is not refused for it
        said = all(any(each.startswith(one) for one in errors(theirs)) for each in rest)
        return None if said else f"upstream {theirs!r}, ours {rest}"
    if not are_upstreams_errors(theirs, rest):
        return f"upstream {theirs!r}, ours {rest}"
    if not wanted["allowed"] or not decided.allowed or stored is None:
        return None
    changed = patch.diff(settled(case, wanted["object"]), settled(case, known.schema.decode(stored)[0]))
    return f"stored objects differ: {changed}" if changed else None


def errors(text: str) -> list[str]:
    """The errors of upstream's message: field.ErrorList writes several in brackets."""
    return re.split(r", (?=(?:spec|metadata)\.)", text[1:-1]) if text.startswith("[") else [text]


def are_upstreams_errors(theirs: str, ours: list[str]) -> bool:
    """Whether these are upstream's errors in its order, each followed at most by what to write instead."""
    wanted = errors(theirs) if theirs else []
    return len(wanted) == len(ours) and all(map(in_upstreams_words, wanted, ours))


def verdict(case: Case, *, allowed: bool, found: object) -> str | None:
    return None if case["expect"]["allowed"] == allowed else f"ours is allowed={allowed}: {found}"


def missing_names(spec: Spec) -> Iterator[str]:
    if "familyName" not in spec:
        yield "spec.familyName: Required value"
    for index, flavor in enumerate(flavors(spec)):
        if "name" not in flavor:
            yield f"spec.inferenceConfig.flavors[{index}].name: Required value"


def settled(case: Case, obj: dict[str, Any]) -> dict[str, Any]:
    """The stored object without what Go's round trip does to it, the stamp, and the time at which it was stored."""
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    notes = {key: value for key, value in metadata.pop("annotations", {}).items() if key != ANNOTATION}
    spec = dict(obj["spec"])
    spec["createdAt"] = moment(case, spec.get("createdAt", ""))
    if flavors(spec):
        spec["inferenceConfig"] = {
            **spec["inferenceConfig"],
            "flavors": [{**each, "limits": quantities(each)} for each in flavors(spec)],
        }
    return {**obj, "metadata": {**metadata, "annotations": notes}, "spec": spec}


def moment(case: Case, text: str) -> str:
    """A time to the second, in UTC. What an update leaves out is the stored one with us, the present with upstream."""
    if text == "<now>":
        old = (case.get("oldObject") or {}).get("spec", {}).get("createdAt")
        text = old or NOW
    return datetime.fromisoformat(text).astimezone(UTC).replace(microsecond=0).isoformat()


def quantities(flavor: Spec) -> dict[str, str]:
    return {
        name: f"{quantity.parse(str(value)).amount.normalize():f}"
        for name, value in (flavor.get("limits") or {}).items()
    }


def source(spec: Spec) -> Spec:
    found = spec.get("source")
    return found if isinstance(found, dict) else {}


def uri(spec: Spec) -> str:
    found = source(spec).get("uri")
    return found if isinstance(found, str) else ""


def flavors(spec: Spec) -> list[Spec]:
    return (spec.get("inferenceConfig") or {}).get("flavors") or []


def extended(flavor: Spec) -> list[Any]:
    return [value for name, value in (flavor.get("limits") or {}).items() if "/" in name]


def whole(value: Any) -> bool:
    number = quantity.parse(str(value)).amount
    return number > 0 and number == int(number)


OPS = {"upstream-llmaz": admission}
