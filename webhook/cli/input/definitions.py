"""Which CustomResourceDefinitions decide: those beside the files, and those among them if the files may say so."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from webhook.admission.errors import Problem
from webhook.engine.catalog import Catalog
from webhook.manifests.documents import Document
from webhook.offline import Definitions, is_definition

__all__ = ["Deciding", "deciding", "defined"]


class Deciding(NamedTuple):
    """``documents`` decide about objects. ``checked`` has the causes of all invalid definitions, and the valid ones of
    ``documents``. ``remarks`` name the definitions among the files that do not decide.
    """

    documents: list[Document]
    checked: Definitions
    remarks: list[Problem]


def deciding(
    options: argparse.Namespace,
    beside: Sequence[Document],
    among: Sequence[Document],
    before: Sequence[Document],
    catalog: Catalog,
) -> Deciding:
    """The definitions by which objects are judged.

    Under --git and --untrusted the files are a stranger's: a definition ``among`` them decides only about kinds that
    neither the catalog, a definition ``beside`` them, nor one at the commit (``before``) has.
    """
    beside, among, before = (list(filter(_defines, each)) for each in (beside, among, before))
    if options.commit is None and not options.untrusted:
        decided = [*beside, *among]
        return Deciding(decided, Definitions.among(decided), [])
    known = [*beside, *before]
    taken = {defined(each.value) for each in known} | {(gvk.group, gvk.kind) for gvk in catalog.kinds}
    decided = [*(each for each in among if defined(each.value) not in taken), *known]
    left = [each for each in among if defined(each.value) in taken]
    checked = Definitions.among([*left, *decided])
    names = {defined(each.value) for each in decided}
    checked = replace(checked, crds={name: crd for name, crd in checked.crds.items() if name in names})
    return Deciding(decided, checked, _remarks(left, known, options))


def _defines(document: Document) -> bool:
    return is_definition(document.value)


def _remarks(left: Sequence[Document], known: Collection[Document], options: argparse.Namespace) -> list[Problem]:
    """A remark about each definition that differs from the one that decides."""
    same = [each.value for each in known]
    by = "that of " + options.commit.name if options.commit else "Modelgate's own"
    text = f"this definition does not decide about objects: {by} does"
    return [Problem(f"{each.source}:{each.line}", "", text) for each in left if each.value not in same]


def defined(definition: Mapping[str, Any]) -> tuple[str, str]:
    """The group and the kind of a definition, as far as it names them."""
    spec = definition.get("spec")
    names = spec.get("names") if isinstance(spec, dict) else None
    return (
        (str(spec.get("group")), str(names.get("kind")))
        if isinstance(spec, dict) and isinstance(names, dict)
        else ("", "")
    )
