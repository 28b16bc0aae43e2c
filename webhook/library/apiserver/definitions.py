"""The CustomResourceDefinitions among files: the kinds that they define, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from webhook.admission import Cause, GroupVersionKind, kind_of
from webhook.admission.errors import CatalogError, Problem
from webhook.manifests import folders
from webhook.manifests.documents import Document
from webhook.manifests.files import Contents
from webhook.schema import CRD, SchemaError, load_crd

DEFINITION: Final = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


def is_definition(value: Mapping[str, Any]) -> bool:
    """Whether an object is a CustomResourceDefinition of apiextensions.k8s.io/v1."""
    return kind_of(value) == DEFINITION


@dataclass(frozen=True, slots=True)
class Definitions:
    """``crds`` are the valid definitions, by group and kind. The last one of a kind counts.

    ``refused`` are the causes of each invalid definition, by the identity of its document. ``contested`` says why
    objects of a kind are not judged: it is defined in several ways.
    """

    crds: Mapping[tuple[str, str], CRD]
    refused: Mapping[int, tuple[Cause, ...]]
    contested: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @classmethod
    def among(cls, documents: Iterable[Document]) -> Definitions:
        """The definitions among documents; other documents are skipped."""
        crds: dict[tuple[str, str], CRD] = {}
        refused: dict[int, tuple[Cause, ...]] = {}
        for document in documents:
            if is_definition(document.value):
                try:
                    crd = load_crd(document.value)
                except SchemaError as error:
                    found = (Cause(each.field, each.type, each.body()) for each in error.errors)
                    refused[id(document)] = tuple(found)
                else:
                    crds[crd.group, crd.kind] = crd
        return cls(crds, refused)


def read_definitions(paths: Iterable[Path | Contents]) -> list[Document]:
    """The definitions in files and folders.

    Raises:
        CatalogError: a file cannot be read, a definition is invalid, or a path has no definition.
    """
    found: list[Document] = []
    problems: list[Problem] = []
    for path in paths:
        documents, unreadable = folders.scan([path])
        problems += unreadable
        definitions = [document for document in documents if is_definition(document.value)]
        if not definitions and not unreadable:
            problems.append(Problem(str(path), "", "no CustomResourceDefinition found"))
        for document in definitions:
            causes = Definitions.among([document]).refused.get(id(document), ())
            problems += [Problem(document.where, cause.field, cause.message) for cause in causes]
        found += definitions
    if problems:
        raise CatalogError(problems)
    return found
