"""The covered kinds: their definitions are installed, of a known shape and with one writer of the status, and a dry run
of two objects of each API is answered as it should be: one comes back stamped, one is refused or warned of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from webhook.admission.stamp import ANNOTATION
from webhook.catalog import POLICIES, Catalog, KnownKind, built_in, groups_of
from webhook.cli.cases import Case, written
from webhook.cli.doctor.checks.state import patch
from webhook.cli.doctor.finding import finding
from webhook.cli.doctor.snapshot import Installation, Object, named
from webhook.cli.test import read_cases
from webhook.cluster import MemoryView
from webhook.engine import DEFAULT_OPTIONS, Options, Ruling
from webhook.facts.settings import DEFAULT_SETTINGS
from webhook.library import Finding
from webhook.library.review import decide
from webhook.policy import MISSING, Profile

_NAME: Final = "modelgate-doctor"


class Trial(NamedTuple):
    """A kind, an object of which no rule says anything, and one that a rule of the gate refuses or warns of."""

    known: KnownKind
    good: Object
    bad: Object


def ruling_of(found: Installation, catalog: Catalog) -> Ruling:
    """The rules of the covered APIs, under the installed definitions; manifests do not show which are installed."""
    covered = catalog.without(groups_of(built_in()) - found.groups())
    ruling, there = Ruling(covered, covered, DEFAULT_OPTIONS), found.snapshot
    if there.cluster is None:
        return ruling
    return ruling.under(there.of("CustomResourceDefinition"), there.absent(ruling.definitions()[1]))


def check(found: Installation, ruling: Ruling) -> Iterator[Finding]:
    yield from _operators(found)
    if found.snapshot.cluster is None:
        return
    yield from _missing(found, ruling.shipped)
    for each in ruling.deviations:
        about = f"CustomResourceDefinition {ruling.shipped.kinds[each.kind].plural}.{each.kind.group}"
        if each.unserved:
            serve = _served(found.snapshot.find(*about.split()) or {}, each.kind.version)
            yield finding("definition-unserved", about, f"it does not serve {each.kind.version}", serve)
        elif each.is_notable:
            writer = _writer(found.snapshot.find(*about.split()) or {})
            yield finding("definition-differs", about, f"{each}{writer}")


def _missing(found: Installation, catalog: Catalog) -> Iterator[Finding]:
    """APIs of which some definitions are installed and others are not; few clusters need all APIs."""
    names = sorted(f"{known.plural}.{gvk.group}" for gvk, known in catalog.kinds.items())
    for group in sorted(found.groups()):
        own = [each for each in names if each.endswith(f".{group}")]
        absent = sorted(found.snapshot.absent(own))
        if absent and len(absent) < len(own):
            yield finding("definition-missing", f"API group {group}", f"not installed: {', '.join(absent)}")
    if len(found.snapshot.absent(names)) == len(names):
        yield finding("definition-missing", "the cluster", "no definition of a covered kind is installed")


def _writer(definition: Mapping[str, Any]) -> str:
    """Who has written the specification last, by the API server's own record."""
    fields = definition.get("metadata", {}).get("managedFields") or []
    written = [each for each in fields if not each.get("subresource")]
    last: Mapping[str, Any] = max(written, key=lambda each: str(each.get("time", "")), default={})
    return f"; {last['manager']} wrote it last" if last.get("manager") else ""


def _served(definition: Mapping[str, Any], version: str) -> str:
    """The command that lets a definition serve a version; "" if it does not have it."""
    for place, one in enumerate(definition.get("spec", {}).get("versions") or []):
        if one["name"] == version:
            return patch(definition, [{"op": "replace", "path": f"/spec/versions/{place}/served", "value": True}])
    return ""


def _operators(found: Installation) -> Iterator[Finding]:
    for api in found.flags("reconciler").apis:
        for each in found.snapshot.of("Deployment"):
            images = [str(c.get("image", "")) for c in each["spec"]["template"]["spec"]["containers"]]
            theirs = [image for image in images if built_in()[api].runs(image)]
            if theirs:
                what = f"the operator of {api} ({theirs[0]}) runs, and reconciler.apis.{api} is true"
                yield finding("operator-beside", named(each), what, found.upgrade(f"reconciler.apis.{api}=false"))


def check_trials(found: Installation, ruling: Ruling) -> Iterator[Finding]:
    if found.snapshot.cluster is None or found.snapshot.read_only:
        return
    ruling = replace(ruling, options=Options(Profile(found.flags().profile)))
    installed = {each["metadata"]["name"] for each in found.snapshot.of("CustomResourceDefinition")}
    for api, pack in built_in().items():
        if found.groups().isdisjoint(pack.groups):
            continue
        if (trial := trial_of(api, ruling, installed)) is not None:
            yield from _tried(trial, found)


def trial_of(api: str, ruling: Ruling, installed: set[str]) -> Trial | None:
    """A trial of the first installed kind for which the cases of the policies have one under the definitions there.

    ``api`` is the folder of the API's policies, ``installed`` the names of the definitions that the ruling is by.
    """
    for table in read_cases([POLICIES.joinpath(api)], ruling.shipped):
        known = next((each for gvk, each in ruling.catalog.kinds.items() if gvk.kind == table.target.kind), None)
        if known is None or f"{known.plural}.{known.gvk.group}" not in installed:
            continue
        trial = _among(table.cases, known, ruling)
        if trial is not None:
            return trial
    return None


def _among(cases: Iterable[Case], known: KnownKind, ruling: Ruling) -> Trial | None:
    """The first good object of the cases and the first bad one, by the engine itself: better refused than warned of."""
    good, refused, warned = list[Object](), list[Object](), list[Object]()
    for case in filter(_is_plain, cases):
        manifest, catalog, options = written(case, known), ruling.catalog, ruling.options
        request, _, decision = decide(manifest, None, known, catalog, MemoryView(), options, assigned=True)
        obj = request.object or {}
        codes = [*(each.code for each in decision.causes), *(each.code for each in decision.warnings)]
        if not codes:
            good.append(obj)
        elif all(codes):
            (refused if decision.causes else warned).append(obj)
        if good and refused:
            break
    bad = refused or warned
    return Trial(known, good[0], bad[0]) if good and bad else None


def _is_plain(case: Case) -> bool:
    """Whether it creates one object, alone, by the usual settings, whose metadata may be those of a trial."""
    if case.others or case.oldObject is not None or case.oldSpec is not MISSING:
        return False
    usual = case.profile == "standard" and case.settings == DEFAULT_SETTINGS
    return usual and (case.object is None or "metadata" not in case.object)


def _tried(trial: Trial, found: Installation) -> Iterator[Finding]:
    cluster, known = found.snapshot.cluster, trial.known
    assert cluster is not None
    about = f"dry run of {known.gvk.kind}.{known.gvk.group}"
    status, body, _ = cluster.dry_run(_named(trial.good, found, known), known.plural)
    if status >= 400:
        yield finding("canary-failed", about, f"a good object is refused: {str(body.get('message')).strip()}")
        return
    if ANNOTATION not in (body["metadata"].get("annotations") or {}):
        yield finding("canary-unstamped", about, "a good object comes back without a stamp")
    status, body, warnings = cluster.dry_run(_named(trial.bad, found, known), known.plural)
    if status >= 500:
        yield finding("canary-failed", about, f"the call ends without a decision: {body.get('message')}")
    elif status < 400 and not warnings:
        yield finding("canary-accepted", about, "an object that rules refuse, or warn of, is accepted without a word")


def _named(obj: Object, found: Installation, known: KnownKind) -> Object:
    place = {"namespace": found.namespace} if known.namespaced else {}
    return {**obj, "metadata": {"name": _NAME, **place}}
