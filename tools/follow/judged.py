"""What the rules make of a release: the cases that do not hold, and upstream's samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from webhook.admission import GroupVersionKind
from webhook.catalog import Catalog, with_installed
from webhook.cli.cases import Case, Expectation, parse_cases, run
from webhook.library.apiserver import kind_of, placed
from webhook.manifests import documents
from webhook.manifests.documents import Document
from webhook.schema import SchemaError, load_crd

_SHOWN: Final = 200
"""Characters to show of a failure: some quote a whole specification."""

Definition = Mapping[str, Any]


def under(catalog: Catalog, api: str, release: str, definitions: Iterable[Definition]) -> Catalog:
    """The catalog in a cluster with a release and its definitions; the table need not have the release."""
    return with_installed(catalog.under({api: catalog.packs[api].under(release)}), definitions, trusted=False)[0]


def failing(folder: Path, catalog: Catalog) -> dict[str, str]:
    """The cases of an API's folder that do not hold in a catalog, each with its first failure.

    The releases for which cases are written do not count.
    """
    return dict(_failing(sorted(folder.glob("cases/*.yaml")), catalog))


def _failing(files: Iterable[Path], catalog: Catalog) -> Iterator[tuple[str, str]]:
    for document in (each for file in files for each in documents.read(file)):
        table = parse_cases(document)
        target = table.target
        known = catalog.find(GroupVersionKind(target.group, target.version, target.kind))
        for index, case in enumerate(table.cases):
            here = f"{Path(document.source).name}:{document.line_of('cases', index)}: {target.kind}: {case.name}"
            if known is None:
                yield here, "the release does not serve this version"
            elif failures := run(case.model_copy(update={"release": None}), known, catalog).failures:
                yield here, failures[0][:_SHOWN]


def findings(objects: Sequence[Document], catalog: Catalog, definitions: Iterable[Definition]) -> Iterator[str]:
    """A line for each error and warning about the objects of one cluster that are of a kind of the catalog, or of one
    that is defined.
    """
    crds = []
    for each in definitions:
        with suppress(SchemaError):
            crds.append(load_crd(dict(each)))
    catalog = catalog.extended(crds)
    kinds = {gvk: catalog.find(gvk) for gvk in {kind_of(each.value) for each in objects}}
    placed_objects = [(each, placed(each.value, kinds[kind_of(each.value)])) for each in objects]
    cluster = [value for _, value in placed_objects if "name" in value["metadata"]]
    for document, value in placed_objects:
        known = kinds[kind_of(value)]
        if known is None:
            continue
        others = [each for each in cluster if each is not value]
        result = run(Case(name="", object=value, others=others, expect=Expectation()), known, catalog).validation
        name = f"{document.source}:{document.line}: {value['kind']} {value['metadata'].get('name', '')}"
        yield from (f"{name}: refused: {each}" for each in result.causes)
        yield from (f"{name}: warning: {each}" for each in result.warnings)
