"""The definitions of the covered kinds: installed, of a known shape, and with one writer of the status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from webhook.cli.doctor.finding import Finding
from webhook.cli.doctor.snapshot import Installation, named
from webhook.engine.catalog import Catalog
from webhook.engine.installed import with_installed
from webhook.facts.reads import GROUPS

__all__ = ["OPERATORS", "check"]

OPERATORS: Final[Mapping[str, tuple[str, ...]]] = {
    "aim": ("aim-engine", "aim-operator", "kaiwo"),
    "llmaz": ("llmaz",),
    "llmd": ("workload-variant-autoscaler", "inferno"),
    "llmkube": ("llmkube",),
    "ome": ("ome-manager", "ome-controller"),
}
"""API → what the image of its operator is called. llmaz's operator writes no status of OpenModels."""


def check(found: Installation, catalog: Catalog) -> Iterator[Finding]:
    yield from _operators(found)
    if found.snapshot.cluster is None:
        return
    catalog = catalog.without(set(GROUPS.values()) - found.groups())
    installed = {each["metadata"]["name"]: each for each in found.snapshot.of("CustomResourceDefinition")}
    for gvk in sorted(catalog.kinds):
        name = f"{catalog.kinds[gvk].plural}.{gvk.group}"
        if name not in installed and not any(name in each for each in found.snapshot.unread):
            yield Finding("definition-missing", f"CustomResourceDefinition {name}", "the definition is not installed")
    for each in with_installed(catalog, installed.values())[1]:
        about = f"CustomResourceDefinition {catalog.kinds[each.kind].plural}.{each.kind.group}"
        if each.unserved:
            yield Finding("definition-unserved", about, f"it does not serve {each.kind.version}")
        elif each.is_notable:
            owner = _owner(installed.get(about.rpartition(" ")[2], {}))
            yield Finding("definition-differs", about, f"{each}{owner}")


def _owner(definition: Mapping[str, object]) -> str:
    metadata = definition.get("metadata")
    annotations = metadata.get("annotations") or {} if isinstance(metadata, Mapping) else {}
    release = annotations.get("meta.helm.sh/release-name")
    return f"; it belongs to release {release}" if release else ""


def _operators(found: Installation) -> Iterator[Finding]:
    if found.reconciler is None:
        return
    for api in found.flags("reconciler").apis:
        for each in found.snapshot.of("Deployment"):
            images = [str(c.get("image", "")) for c in each["spec"]["template"]["spec"]["containers"]]
            theirs = [image for image in images if any(word in image for word in OPERATORS[api])]
            if theirs and api != "llmaz":
                what = f"the operator of {api} ({theirs[0]}) runs, and reconciler.apis.{api} is true"
                yield Finding("operator-beside", named(each), what)
