"""Whole requests, as upstream's webhooks answered them: defaults, mutation, schema and its rules, validation."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

from tests.conformance.upstream import Difference, difference_for, in_upstreams_words
from webhook import catalog, engine
from webhook.admission import patch
from webhook.admission.decision import Decision, GroupVersionKind, Request, group_version
from webhook.admission.stamp import ANNOTATION
from webhook.catalog import Catalog, KnownKind
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.facts.settings import Behaviour, Settings
from webhook.golang.json import settle

Case = dict[str, Any]
WEBHOOK = "denied the request: "
NEWER = {
    "acceleratorConfig",
    "acceleratorOverride",
    "acceleratorRequirements",
    "acceleratorSelector",
    "apiCapabilities",
    "authModes",
    "authenticationRef",
    "diffusionPipeline",
    "downloadPolicy",
    "maxUnavailable",
    "minAvailable",
    "weight",
}
"""Fields of OME that came after the API document."""
FORMAT = {"name", "version", "operator", "weight"}


@cache
def loaded() -> Catalog:
    return catalog.load()


def admission(case: Case) -> str | None:
    """None where verdict, stored object and message are upstream's, or differ as the list of differences says."""
    obj = case["object"] or case["oldObject"]
    gvk = GroupVersionKind(*group_version(obj["apiVersion"]), obj["kind"])
    known = loaded().find(gvk)
    if known is None:
        return None  # AcceleratorClass, Playground …: not covered
    stored, decided = _ours(case, obj, known)
    difference = difference_for(case)
    if difference is not None:
        return _as_listed(difference, case, known, stored, decided)
    wanted = case["expect"]
    if decided.allowed != wanted["allowed"]:
        return (
            f"upstream {wanted['allowed']} {wanted['message'][:300]!r}, ours {[str(each) for each in decided.causes]}"
        )
    if not decided.allowed:
        return _message_differs(case, decided)
    paths = _changed(case, known, stored)
    return f"stored objects differ at {sorted(paths)}" if paths else None


def _ours(case: Case, obj: dict[str, Any], known: KnownKind) -> tuple[dict[str, Any] | None, Decision]:
    env = case.get("env") or {}
    settings = Settings(
        ome=Behaviour.UPSTREAM_HEAD,
        ome_migration=env.get("ENABLE_PREDICTOR_MIGRATION") != "false",
        ome_namespace=env.get("POD_NAMESPACE", "ome"),
    )
    request = Request(
        known.gvk,
        known.plural,
        case["operation"],
        case["object"],
        case.get("oldObject"),
        subresource=case.get("subresource") or "",
        namespace=obj["metadata"].get("namespace", ""),
        name=obj["metadata"].get("name", ""),
    )
    view, options = MemoryView(case["view"]), Options(settings=settings)
    stored = engine.mutate(request, loaded(), view, options).object
    return stored, engine.validate(replace(request, object=stored), loaded(), view, options)


def _as_listed(
    listed: Difference, case: Case, known: KnownKind, stored: dict[str, Any] | None, decided: Decision
) -> str | None:
    found = [str(cause) for cause in decided.causes]
    if decided.allowed != listed.allowed:
        return f"listed as {'allowed' if listed.allowed else 'denied'}, ours {found}"
    if missing := [text for text in listed.causes if not any(text in cause for cause in found)]:
        return f"no cause contains {missing}: {found}"
    if listed.allowed and case["expect"]["allowed"]:
        changed = _changed(case, known, stored)
        outside = {path for path in changed if not any(re.fullmatch(pattern, path) for pattern in listed.paths)}
        return f"stored objects differ at {sorted(outside)}" if outside else None
    return None


def _message_differs(case: Case, decided: Decision) -> str | None:
    """A webhook's message must be that of our first cause; the API server's own is told by the fields it names."""
    wanted = case["expect"]["message"]
    if WEBHOOK not in wanted:
        return None
    theirs, first = wanted.partition(WEBHOOK)[2], decided.causes[0].message
    if "Excluded runtimes: " in theirs:
        head = theirs.partition("Excluded runtimes: ")[0]
        excluded = case["expect"]["excluded"]
        more = re.search(r"; and (\d+) more: ", first)
        if head in first and (more or " … " in first):
            return _counted_differs(excluded, first, int(more[1]) if more else 0)
        missing = [each for each in excluded if each not in first]
        return f"excluded: ours has no {missing}" if missing or head not in first else None
    return None if in_upstreams_words(theirs, first) else f"upstream {theirs!r}, ours {first!r}"


def _counted_differs(excluded: list[str], ours: str, more: int) -> str | None:
    """Of a long list the nearest runtimes are named with a shortened reason, and the others counted."""
    names = {each.partition(" (")[0] for each in excluded}
    named = [name for name in names if f" {name} (" in ours]
    counted = sum(map(int, re.findall(r"(\d+) by ", ours)))
    if (len(named) + more, counted) != (len(names), more):
        return f"excluded: {len(names)} by upstream, ours names {named} and counts {more}: {ours}"
    return None


def _changed(case: Case, known: KnownKind, stored: dict[str, Any] | None) -> set[str]:
    """Where the stored objects differ, but for zero values, the stamp, and fields of later releases."""
    wanted = case["expect"].get("object")
    if wanted is None or stored is None or case.get("subresource"):
        return set()
    ours, theirs = _plain(settle(known.schema.decode(stored)[0])), _plain(wanted)
    for each in (ours, theirs):
        each.pop("status", None)
    return {operation["path"] for operation in patch.diff(theirs, ours)}


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    is_format = value.keys() <= FORMAT
    kept = {key: _plain(item) for key, item in value.items() if key not in NEWER and key != ANNOTATION}
    return {k: v for k, v in kept.items() if v not in (None, "", {}, []) and not (is_format and k == "operator")}


OPS = {"upstream-ome": admission}
