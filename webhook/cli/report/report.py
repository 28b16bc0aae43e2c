"""A report: what is said of each object, and what is said of the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from webhook.admission.errors import Problem
from webhook.catalog import built_in
from webhook.cli.output import counted
from webhook.library.findings import Finding, Severity
from webhook.library.kinds import NOT_KNOWN
from webhook.library.rulings import JudgedAs, Moved
from webhook.library.verdict import Result, Verdict

_SHOWN: Final = 5
"""Policies that are named in a note."""
_LISTED: Final = 5
"""Kinds of objects that are not checked, by which a brief summary names them."""


@dataclass(slots=True)
class Report:
    """All objects; ``remarks`` are warnings about policies and definitions, ``problems`` what cannot be read.

    ``skipped`` counts what is not read, by its reason; ``unread`` is the part of it that is not YAML or JSON.
    ``before`` counts the findings that are not new and not listed. ``unjudged`` says which values are not judged, a
    sentence for each reason. ``clean`` counts the objects without findings that are not listed. ``docs`` is the address
    of the site with a page for each rule, "" if it is not known. ``packs`` are folders of further rules.
    ``bases`` counts the objects by the release by which they are judged; ``moved`` are changes of it since a commit.
    ``children``: the objects that operators make are named.
    """

    objects: list[Verdict]
    remarks: list[Problem] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    ignored: int = 0
    clean: int = 0
    docs: str = ""
    unread: list[Problem] = field(default_factory=list)
    unjudged: list[Problem] = field(default_factory=list)
    before: int = 0
    packs: Sequence[Path] = ()
    bases: Counter[JudgedAs] = field(default_factory=Counter)
    moved: Sequence[Moved] = ()
    children: bool = False

    def count(self, result: Result) -> int:
        return sum(verdict.result is result for verdict in self.objects)

    @property
    def refused(self) -> str:
        """How many objects are refused, and how many of them have no new error."""
        refused = [verdict for verdict in self.objects if verdict.result is Result.REFUSED]
        before = sum(not verdict.errors for verdict in refused)
        return f"{len(refused):,} refused" + (f" ({before:,} as before)" if before else "")

    @property
    def checked(self) -> int:
        return self.clean + len(self.objects) - self.count(Result.SKIPPED)

    @property
    def warned(self) -> int:
        """How many objects have a warning."""
        return sum(any(found.severity is Severity.WARNING for found in each.findings) for each in self.objects)

    def notes(self, *, brief: bool = False) -> Iterator[Problem]:
        """What is not judged: a sentence for each reason, with counts, and the first place. ``brief``: objects of many
        kinds that are not known are only counted.
        """
        reasons: dict[str, list[Verdict]] = {}
        for each in self.objects:
            if each.result is Result.SKIPPED:
                reasons.setdefault(each.note, []).append(each)
        for reason, objects in sorted(reasons.items()):
            kinds = Counter(f"{each.document.value['apiVersion']} {each.document.value['kind']}" for each in objects)
            named = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
            if brief and len(kinds) > _LISTED and reason == NOT_KNOWN:
                named = f"{len(objects):,} objects of {len(kinds)} kinds (-v lists them)"
            yield Problem(f"{objects[0].source}:{objects[0].line}", "", f"not checked: {named}: {reason}")
        yield from self.unjudged
        for moved in self.moved:
            text = f"the release by which objects are judged changes: {moved.before} → {moved.after}"
            yield Problem(next(iter(moved.after.places), ""), "", text)
        if muted := [finding for verdict in self.objects for finding in verdict.muted]:
            by = ", ".join(sorted({f"{finding.action} by {finding.by}" for finding in muted})[:_SHOWN])
            yield Problem("", "", f"counts for nothing: {len(muted)} findings ({by}); -v lists them")
        if self.before:
            yield Problem("", "", f"not reported: {counted(self.before, 'finding')} as before (--all)")
        if self.skipped:
            counts = ", ".join(f"{count} {reason}" for reason, count in sorted(self.skipped.items()))
            yield Problem(self.unread[0].source if self.unread else "", "", f"not read: {counts}")

    @property
    def assumed(self) -> Mapping[str, str]:
        """The releases of operators by which objects are judged, where nothing names them, by API."""
        return {basis.api: basis.release for basis in self.ordered_bases if basis.by == "documented"}

    @property
    def ordered_bases(self) -> list[JudgedAs]:
        return sorted(self.bases, key=lambda basis: (basis.api, basis.by, basis.release, basis.places))

    @property
    def split(self) -> frozenset[str]:
        """The APIs of which objects are judged by more than one release, or by pins in different files."""
        counts = Counter(basis.api for basis in self.bases)
        return frozenset(api for api, count in counts.items() if count > 1)

    def basis(self, verdict: Verdict) -> str:
        """By which release an object is judged, if a pin says so, or not all objects of its API are judged by one."""
        judged_as = verdict.judged_as
        is_said = judged_as is not None and (judged_as.by == "pin" or judged_as.api in self.split)
        return f"judged as of {judged_as}" if is_said else ""

    def judgements(self) -> Iterator[Problem]:
        """By which release objects are judged: one that is pinned, with its place, or the documented one, and how to
        name another. The documented ones of several APIs are one sentence.
        """
        documented = [basis.release for basis in self.ordered_bases if basis.by == "documented"]
        if len(documented) > 1:
            how = "for another release, --release API=RELEASE, or --crds with its definitions"
            yield Problem("", "", f"judged as of {', '.join(documented)}: {how}")
        for basis in self.ordered_bases:
            count = f": {counted(self.bases[basis], 'object')}" if basis.api in self.split else ""
            if basis.by == "pin":
                yield Problem(basis.places[0], "", f"judged as of {basis}{count}")
            elif documented == [basis.release]:
                how = f"for another release, --release {basis.api}=RELEASE, or --crds with its definitions"
                yield Problem("", "", f"judged as of {basis.release}{count}: {how}")
            elif basis.by == "shape":
                yield Problem("", "", f"judged as of {basis}{count}: for one release, --release {basis.api}=RELEASE")

    def findings(self) -> Iterator[tuple[Verdict, Finding]]:
        for each in self.objects:
            yield from ((each, found) for found in each.findings)


def rule_page(code: str, docs: str) -> str:
    """The page of a rule on the site, if its address is known; otherwise the API's page in the repository.

    The address may also be the folder ``docs`` of the repository on a server of Git, which shows the page of an API.
    """
    page = next((api for api, pack in built_in().items() if code[:2] in pack.codes), "")
    if not page:
        return ""
    if "/blob/" in docs:
        return f"{docs.rstrip('/')}/rules/{page}.md"
    return f"{docs.rstrip('/')}/codes/{code.lower()}.html" if docs else f"docs/rules/{page}.md"
