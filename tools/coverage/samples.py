"""Review real manifests: each folder is one cluster, and each of its documents a new object in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from webhook import engine
from webhook.admission import Decision, Request, kind_of
from webhook.catalog import Catalog, KnownKind
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.manifests import documents
from webhook.manifests.documents import Document

HEAD: Final = """\
# Real manifests before the gate

`make docs` generates this page if the manifests of the upstream repositories are beside the checkout
(`../shared/samples`); a test fails when it is stale. The files of a folder form one cluster, and each document is a new
object in it, with strict field validation. The last column is the number of warnings about an accepted document, on
average. Folders whose names end in `-docs` come from examples in Markdown, most of
which are fragments. `g1-older-shape` and `g3-newer-shape` are other shapes of llm-d's API. Some upstream manifests are
not included, so references to their objects fail.
"""

_OPTIONS: Final = Options(strict_fields=True)
_SHOWN: Final = 150
"""Characters to show of a reason: some name several runtimes."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The review of one document: its line, the object, and both decisions."""

    line: int
    value: dict[str, Any]
    mutation: Decision
    validation: Decision


def verdicts(file: Path, catalog: Catalog) -> Iterator[Verdict]:
    """Review each document of a file, as for ``kubectl apply``."""
    others = [_placed(each.value, catalog)[1] for path in sorted(file.parent.glob("*.yaml")) for each in _read(path)]
    view = MemoryView(value for value in others if "name" in value["metadata"])
    for document in _read(file):
        yield _verdict(document, catalog, view)


@cache
def _read(file: Path) -> list[Document]:
    """Cached: each file is read for every other file of its folder."""
    return documents.read(file)


def _placed(value: dict[str, Any], catalog: Catalog) -> tuple[KnownKind, dict[str, Any]]:
    """The kind, and the object, in the namespace ``default`` if it names none."""
    known = catalog.find(kind_of(value))
    assert known is not None, f"samples of {value['kind']}, which is not in the catalog"
    if known.namespaced:
        value = {**value, "metadata": {"namespace": "default", **value.get("metadata", {})}}
    return known, value


def _verdict(document: Document, catalog: Catalog, view: MemoryView) -> Verdict:
    known, value = _placed(document.value, catalog)
    request = Request(known.gvk, known.plural, "CREATE", value)
    mutation = engine.mutate(request, catalog, view, _OPTIONS)
    validation = engine.validate(replace(request, object=mutation.object), catalog, view, _OPTIONS)
    return Verdict(document.line, value, mutation, validation)


def made_page(folder: Path, catalog: Catalog) -> str:
    """The page of all samples: counts per file, then each denial with its reasons."""
    found = {file.relative_to(folder): list(verdicts(file, catalog)) for file in sorted(folder.glob("*/*/*.yaml"))}
    parts = [HEAD, "\n", *_counts(found)]
    for file, of_file in found.items():
        denied = [verdict for verdict in of_file if not verdict.validation.allowed]
        if denied:
            parts.append(f"\n## {file}\n\n| line | object | refused for |\n|---|---|---|\n")
            parts += [_denial(verdict) for verdict in denied]
    return "".join(parts)


def _counts(found: dict[Path, list[Verdict]]) -> Iterator[str]:
    yield "| file | documents | accepted | refused | with warnings | warnings each |\n|---|---|---|---|---|---|\n"
    for api in sorted({file.parts[0] for file in found}):
        of_api = {file: of_file for file, of_file in found.items() if file.parts[0] == api}
        for file, of_file in of_api.items():
            yield _row(f"`{file}`", of_file)
        yield _row(f"**{api}**", [each for of_file in of_api.values() for each in of_file])


def _row(name: str, found: list[Verdict]) -> str:
    refused = sum(not each.validation.allowed for each in found)
    warned = sum(bool(each.validation.warnings) for each in found)
    average = warnings_each(found)
    return f"| {name} | {len(found)} | {len(found) - refused} | {refused} | {warned} | {average:.2f} |\n"


def warnings_each(found: Iterable[Verdict]) -> float:
    """The number of warnings about an accepted document, on average."""
    accepted = [each.validation for each in found if each.validation.allowed]
    return sum(len(each.warnings) for each in accepted) / max(len(accepted), 1)


def _denial(verdict: Verdict) -> str:
    reasons = [f"{cause.code} {cause.field}: {cause.message}".strip() for cause in verdict.validation.causes]
    name = verdict.value["metadata"].get("name", "without a name")
    return f"| {verdict.line} | {verdict.value['kind']} {name} | {'<br>'.join(map(_shown, sorted(reasons)))} |\n"


def _shown(text: str) -> str:
    plain = " ".join(text.split())
    short = plain if len(plain) <= _SHOWN else plain[:_SHOWN] + "…"
    return short.replace("|", "\\|").replace("<", "&lt;")
