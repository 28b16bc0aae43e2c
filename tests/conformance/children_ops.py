"""Children that an operator was recorded to make, against those of our description: each place that is not listed.

What the API server refused must be refused by our judgement of that child, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.conformance.children import FAMILY
from tests.conformance.compare import first
from tests.conformance.runner import Listed
from tests.conformance.tables import read
from tests.shared import shared
from webhook import catalog
from webhook.admission import GroupVersionKind, Request, group_version, kind_of
from webhook.catalog import Catalog, check_settings, chosen
from webhook.children import Child, child_errors, children_of, completed, is_builtin, placed
from webhook.cluster import Kind, MemoryView
from webhook.engine import Options
from webhook.engine.review import review_of
from webhook.facts.settings import Behaviour, Settings
from webhook.ground.budget import Budget
from webhook.library.apiserver import receive

Case = dict[str, Any]
Key = tuple[str, str]
"""Kind and name of a child."""

UPDATES = Listed("what an update leaves of earlier children is not described, only what a creation makes")
LATER = Listed("it is made later: the operator waits for a Model that is not Ready")
ENDED = Listed("the operator ended before a workload: the model has no format yet, or the runtime does not exist")


class Unlisted(NamedTuple):
    """Where places are not compared: see ``children.yaml``."""

    api: str
    kind: str
    paths: tuple[re.Pattern[str], ...]

    def covers(self, api: str, kind: str, path: str) -> bool:
        of_kind = self.api in ("", api) and self.kind in ("*", kind)
        return of_kind and any(pattern.match(path) for pattern in self.paths)


@cache
def unlisted() -> tuple[Unlisted, ...]:
    entries = yaml.safe_load(Path(__file__).with_name("children.yaml").read_text())
    return tuple(
        Unlisted(entry.get("api", ""), entry["kind"], tuple(map(_pattern, entry["paths"]))) for entry in entries
    )


def _pattern(path: str) -> re.Pattern[str]:
    """What matches a path and all below it."""
    return re.compile(r"[^.]+".join(map(re.escape, path.split("*"))) + r"(?![^.])")


@cache
def under(api: str, release: str) -> Catalog:
    loaded = catalog.load()
    return loaded.under(chosen(loaded.packs, [(api, release)])) if release else loaded


def settings_of(case: Case) -> Settings:
    """The flags of the operator as settings, by what its pack says of each."""
    flags = (flag.partition("=") for flag in case["row"].get("flags", ()))
    given = {name: value if sign else "true" for name, sign, value in flags}
    pack = under(case["api"], case["release"]).packs[case["api"]]
    names = ((f"{case['api']}.{name}", set(given) & {*setting.arguments}) for name, setting in pack.settings.items())
    pairs = ((name, given[argument]) for name, arguments in names for argument in arguments)
    return check_settings({case["api"]: pack}, Settings(ome=Behaviour.UPSTREAM_HEAD, operators=tuple(pairs)))


def made(case: Case) -> dict[Key, dict[str, Any]]:
    """The children of all objects of a row, as the API server completes them."""
    return dict(_made(case))


def _made(case: Case) -> Iterator[tuple[Key, dict[str, Any]]]:
    loaded, options = under(case["api"], case["release"]), Options(settings=settings_of(case))
    objects = [*_stored(case, loaded)]
    view = MemoryView([*_around(case), *objects])
    for obj in objects[-1:] if case["api"] == "ome" else objects:  # what a runtime shows is not made of it
        kind = GroupVersionKind(*group_version(obj["apiVersion"]), obj["kind"])
        review = review_of(Request(kind, "", "CREATE", obj), loaded, view, options)
        if review is None:
            continue
        scope = review.scope(obj, None)
        for child in children_of(review.kind.policy.children, scope, Kind(kind.group, kind.kind)):
            assert isinstance(child, Child), child
            sent = placed(child.object, obj["metadata"]["namespace"])
            whole = completed(sent) if is_builtin(kind_of(sent)) else sent
            yield (whole["kind"], whole["metadata"]["name"]), whole


def _around(case: Case) -> list[dict[str, Any]]:
    """What else was in the cluster: all models and runtimes of upstream, beside OME's services."""
    if case["api"] != "ome":
        return []
    written = read(shared("corpora-upstream", "ome.json"))
    return [written["objects"][name] for name in written["groups"]["@head"]]


def _stored(case: Case, loaded: Catalog) -> Iterator[dict[str, Any]]:
    """The objects that were sent, as they are stored: those of a kind that was rejected are not."""
    rejected = {one["kind"] for one in case["row"].get("rejected", ())}
    for sent in case["row"]["objects"]:
        obj = {**sent, "metadata": {**sent["metadata"], "namespace": "t"}}  # as all rows are recorded
        if obj["kind"] in rejected:
            continue
        known = loaded.find(GroupVersionKind(*group_version(obj["apiVersion"]), obj["kind"]))
        yield obj if known is None else known.schema.default(receive(obj, known).object)


def _judged(case: Case) -> str | None:
    row, ours = case["row"], made(case)
    refused = {_key(one["object"]): one["object"] for one in row.get("refused", ()) if one["verb"] == "create"}
    theirs = {**{_key(child): child for child in row["children"]}, **refused}
    absent = ours.keys() - theirs.keys()
    if absent and _waits(row):
        return first(*_differences(case, ours, theirs)) or LATER
    if absent and case["api"] == "ome" and not refused and {kind for kind, _ in theirs} <= {"ConfigMap"}:
        return first(*_differences(case, ours, theirs)) or ENDED
    if refused:  # the operator ends at the first refusal, and makes nothing after it
        absent = set()
    missing = [f"not described: {kind} {name}" for kind, name in theirs.keys() - ours.keys()]
    surplus = [f"described, but never made: {kind} {name}" for kind, name in absent]
    return first(*missing, *surplus, *_differences(case, ours, theirs), *_refusals(ours, theirs, refused))


def _key(child: Mapping[str, Any]) -> Key:
    return child["kind"], child["metadata"]["name"]


def _waits(row: Case) -> bool:
    """Whether a Model that is not Ready, or not there, holds a service back."""
    return bool(row.get("rejected")) or any(
        status["kind"] == "Model" and status.get("phase") != "Ready" for status in row["status"]
    )


def _differences(case: Case, ours: Mapping[Key, Any], theirs: Mapping[Key, Any]) -> Iterator[str]:
    for key in ours.keys() & theirs.keys():
        left, right = dict(_leaves(theirs[key])), dict(_leaves(ours[key]))
        for path in sorted(left.keys() | right.keys()):
            if left.get(path) != right.get(path) and not any(
                one.covers(case["api"], key[0], path) for one in unlisted()
            ):
                yield f"{key[0]} {path}\n        theirs {left.get(path)!r}\n        ours   {right.get(path)!r}"


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Paths and values; empty maps and lists count as absent, as the API server stores them."""
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else None
    if pairs is None:
        if value is not None and path not in ("apiVersion", "kind"):
            yield path, value
        return
    for key, item in pairs:
        yield from _leaves(item, f"{path}.{key}" if path else str(key))


def _refusals(ours: Mapping[Key, Any], theirs: Mapping[Key, Any], refused: Mapping[Key, Any]) -> Iterator[str]:
    for key in ours.keys() & theirs.keys():
        child = ours[key]
        errors = [*child_errors(child, Budget())] if is_builtin(kind_of(child)) else []
        if errors and key not in refused:
            yield f"not refused upstream: {key[0]}: {errors[0]}"
        if key in refused and not errors:
            yield f"refused upstream: {key[0]}"


def _updates(_: Case) -> str:
    return UPDATES


OPS = {
    f"{FAMILY}llmkube": _judged,
    f"{FAMILY}llmkube-updates": _updates,
    f"{FAMILY}ome": _judged,
}
