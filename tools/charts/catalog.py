"""What the chart knows of each API: ``python -m tools.charts.catalog`` writes ``chart/templates/_catalog.tpl``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import yaml

from webhook import catalog
from webhook.admission import GroupVersionKind
from webhook.catalog import Catalog, built_in
from webhook.cluster import Kind
from webhook.facts import KNOWN, Knowledge
from webhook.vap import resource_of_kind

FILE: Final = Path(__file__).parents[2] / "chart" / "templates" / "_catalog.tpl"
HEAD: Final = """{{/*
Made from policies and facts by `make docs`. API → the group, versions and plural names of its kinds; "cluster" are
those without a namespace. "marks" are further definitions by which the gate tells the releases of the operator apart.
"watched" and "fetched" are what its rules read: all objects, or one by name.
*/}}
{{- define "modelgate.catalog" -}}
"""
END: Final = "{{- end -}}\n"


def template() -> str:
    """The file, as text."""
    loaded = catalog.load()
    known = {api: _api(api, loaded) for api in built_in()}
    return HEAD + yaml.safe_dump(known, sort_keys=False, width=110) + END


def _api(api: str, loaded: Catalog) -> dict[str, Any]:
    pack = built_in()[api]
    facts = KNOWN.get(pack.facts, Knowledge({}))
    (group,) = pack.groups
    kinds = [loaded.uncompiled(gvk) for gvk in loaded.kinds if gvk.group == group]
    resources = {each.plural: each.namespaced for each in kinds}
    own = {f"{plural}.{group}" for plural in resources}
    found: dict[str, Any] = {"group": group, "versions": sorted({each.gvk.version for each in kinds})}
    found["resources"] = sorted(resources)
    found["cluster"] = sorted(plural for plural, namespaced in resources.items() if not namespaced)
    found["marks"] = sorted(set(pack.table.rows) - own) if pack.documented else []
    found["watched"] = list(_by_group(facts.watched))
    anywhere = [each.kind for each in facts.fetched if not each.name]
    named = [(each.kind, each.name) for each in sorted(facts.fetched) if each.name]
    found["fetched"] = [
        *_by_group(anywhere),
        *({"group": kind.group, "resources": [_plural(kind)], "names": [name]} for kind, name in named),
    ]
    return {key: value for key, value in found.items() if value}


def _by_group(kinds: Iterable[Kind]) -> Iterator[dict[str, Any]]:
    for group, found in groupby(sorted(kinds), key=lambda kind: kind.group):
        yield {"group": group, "resources": sorted(_plural(kind) for kind in found)}


def _plural(kind: Kind) -> str:
    return resource_of_kind(GroupVersionKind(kind.group, "", kind.kind)).name


if __name__ == "__main__":
    FILE.write_text(template())
