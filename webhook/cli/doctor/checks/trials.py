"""Dry runs, for each API: one object must come back stamped, another refused or with a warning. Nothing is stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from webhook.admission.stamp import ANNOTATION
from webhook.catalog import POLICIES, Catalog, KnownKind, built_in
from webhook.cli.cases import Case, written
from webhook.cli.doctor.finding import Finding
from webhook.cli.doctor.snapshot import Installation, Object
from webhook.cli.test import read_cases
from webhook.cluster import MemoryView
from webhook.engine import Options, Ruling
from webhook.facts.settings import DEFAULT_SETTINGS
from webhook.library.review import decide
from webhook.policy import MISSING, Profile

__all__ = ["Trial", "check", "trial_of"]

_NAME: Final = "modelgate-doctor"


class Trial(NamedTuple):
    """A kind, an object of which no rule says anything, and one that a rule of the gate refuses or warns of."""

    known: KnownKind
    good: Object
    bad: Object


def check(found: Installation, catalog: Catalog) -> Iterator[Finding]:
    if found.snapshot.cluster is None or found.snapshot.read_only:
        return
    definitions, absent = found.snapshot.definitions(catalog)
    ruling = Ruling(catalog, catalog, Options(Profile(found.flags().profile))).under(definitions, absent)
    installed = {each["metadata"]["name"] for each in definitions}
    for api, pack in built_in().items():
        if found.groups().isdisjoint(pack.groups):
            continue
        trial = trial_of(api, ruling, installed)
        if trial is not None:
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
        manifest = written(case, known)
        request, _, decision = decide(
            manifest, None, known, ruling.catalog, MemoryView(), ruling.options, assigned=True
        )
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
        yield Finding("canary-failed", about, f"a good object is refused: {str(body.get('message')).strip()}")
        return
    if ANNOTATION not in (body["metadata"].get("annotations") or {}):
        yield Finding("canary-unstamped", about, "a good object comes back without a stamp")
    status, body, warnings = cluster.dry_run(_named(trial.bad, found, known), known.plural)
    if status >= 500:
        yield Finding("canary-failed", about, f"the call ends without a decision: {body.get('message')}")
    elif status < 400 and not warnings:
        yield Finding("canary-accepted", about, "an object that rules refuse, or warn of, is accepted without a word")


def _named(obj: Object, found: Installation, known: KnownKind) -> Object:
    place = {"namespace": found.namespace} if known.namespaced else {}
    return {**obj, "metadata": {"name": _NAME, **place}}
