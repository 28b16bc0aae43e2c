"""What the rules make of a release: the cases that do not hold, and upstream's samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tools.follow.definitions import Defined, Definition
from webhook.catalog import Catalog, KnownKind, with_installed
from webhook.cli.cases import Case, CasesDocument, Expectation, parse_cases, run
from webhook.library.apiserver import kind_of, placed
from webhook.manifests import documents
from webhook.manifests.documents import Document
from webhook.schema import load_crd

_SHOWN: Final = 200
"""Characters to show of a failure: some quote a whole specification."""


@dataclass(slots=True)
class Judge:
    """The rules of a pack under one release after another, each in a cluster with its definitions.

    Releases are compared in pairs, so what was made for the last two is kept. ``catalog`` need not have the releases in
    its table; ``definitions`` are those of each release by name, which an API server accepts.
    """

    folder: Path
    catalog: Catalog
    definitions: Mapping[str, Mapping[str, Defined]]
    _catalogs: dict[str, Catalog] = field(default_factory=dict)
    _failing: dict[str, dict[str, str]] = field(default_factory=dict)
    _tables: list[tuple[Document, CasesDocument]] | None = None

    @property
    def api(self) -> str:
        return self.folder.name

    def under(self, release: str) -> Catalog:
        """The catalog in a cluster with a release."""
        if release not in self._catalogs:
            released = self.catalog.under({self.api: self.catalog.packs[self.api].under(release)})
            _keep(self._catalogs, release, with_installed(released, self._installed(release))[0])
        return self._catalogs[release]

    def failing(self, release: str) -> dict[str, str]:
        """The cases of the pack that do not hold in a release, each with its first failure.

        The releases for which cases are written do not count.
        """
        if release not in self._failing:
            _keep(self._failing, release, dict(self._failures(self.under(release))))
        return self._failing[release]

    def findings(self, objects: Sequence[Document], release: str) -> Iterator[str]:
        """A line for each error and warning about the objects of one cluster that are of a kind of the catalog, or of
        one that the release defines.
        """
        catalog = self.under(release)
        own = {(gvk.group, gvk.kind) for gvk in catalog.kinds}
        foreign = [
            each
            for each in self._installed(release)
            if (each["spec"]["group"], each["spec"]["names"]["kind"]) not in own
        ]
        catalog = catalog.extended(load_crd(dict(each), trusted=True) for each in foreign)
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

    def _installed(self, release: str) -> list[Definition]:
        return [each.value for each in self.definitions[release].values()]

    def _failures(self, catalog: Catalog) -> Iterator[tuple[str, str]]:
        if self._tables is None:
            read = [each for file in sorted(self.folder.glob("cases/*.yaml")) for each in documents.read(file)]
            self._tables = [(each, parse_cases(each)) for each in read]
        for document, table in self._tables:
            target = table.target
            known = catalog.find(target.gvk)
            for index, case in enumerate(table.cases):
                if failure := _failure(case, known, catalog):
                    place = f"{Path(document.source).name}:{document.line_of('cases', index)}"
                    yield f"{place}: {target.kind}: {case.name}", failure


def _failure(case: Case, known: KnownKind | None, catalog: Catalog) -> str:
    """The first failure of a case; "" if it holds."""
    if known is None:
        return "the release does not serve this version"
    failures = run(case.model_copy(update={"release": None}), known, catalog).failures
    return failures[0][:_SHOWN] if failures else ""


def _keep(kept: dict[str, Any], release: str, value: Any) -> None:
    """Keep a value beside that of the release before it."""
    for older in [*kept][:-1]:
        del kept[older]
    kept[release] = value
