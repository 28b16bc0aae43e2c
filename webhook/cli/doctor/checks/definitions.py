"""The definitions of the covered kinds: installed, of a known shape, and with one writer of the status."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from webhook.catalog import Catalog, built_in, groups_of, with_installed
from webhook.cli.doctor.finding import Finding
from webhook.cli.doctor.snapshot import Installation, named

__all__ = ["check"]


def check(found: Installation, catalog: Catalog) -> Iterator[Finding]:
    yield from _operators(found)
    if found.snapshot.cluster is None:
        return
    catalog = catalog.without(groups_of(built_in()) - found.groups())
    documents, absent = found.snapshot.definitions(catalog)
    installed = {each["metadata"]["name"]: each for each in documents}
    yield from _missing(found, catalog, installed.keys())
    for each in with_installed(catalog, documents, absent=absent)[1]:
        about = f"CustomResourceDefinition {catalog.kinds[each.kind].plural}.{each.kind.group}"
        if each.unserved:
            yield Finding("definition-unserved", about, f"it does not serve {each.kind.version}")
        elif each.is_notable:
            writer = _writer(installed.get(about.rpartition(" ")[2], {}))
            yield Finding("definition-differs", about, f"{each}{writer}")


def _missing(found: Installation, catalog: Catalog, installed: Collection[str]) -> Iterator[Finding]:
    """APIs of which some definitions are installed and others are not; few clusters need all APIs."""
    names = sorted(f"{known.plural}.{gvk.group}" for gvk, known in catalog.kinds.items())
    unread = " ".join(found.snapshot.unread)
    for group in sorted(found.groups()):
        own = [each for each in names if each.endswith(f".{group}")]
        absent = [each for each in own if each not in installed and each not in unread]
        if absent and len(absent) < len(own):
            yield Finding("definition-missing", f"API group {group}", f"not installed: {', '.join(absent)}")
    if not any(each in installed or each in unread for each in names):
        yield Finding("definition-missing", "the cluster", "no definition of a covered kind is installed")


def _writer(definition: Mapping[str, Any]) -> str:
    """Who has written the specification last, by the API server's own record."""
    fields = definition.get("metadata", {}).get("managedFields") or []
    written = [each for each in fields if not each.get("subresource")]
    last: Mapping[str, Any] = max(written, key=lambda each: str(each.get("time", "")), default={})
    return f"; {last['manager']} wrote it last" if last.get("manager") else ""


def _operators(found: Installation) -> Iterator[Finding]:
    if found.reconciler is None:
        return
    for api in found.flags("reconciler").apis:
        for each in found.snapshot.of("Deployment"):
            images = [str(c.get("image", "")) for c in each["spec"]["template"]["spec"]["containers"]]
            theirs = [image for image in images if any(word in image for word in built_in()[api].images)]
            if theirs:
                what = f"the operator of {api} ({theirs[0]}) runs, and reconciler.apis.{api} is true"
                yield Finding("operator-beside", named(each), what)
