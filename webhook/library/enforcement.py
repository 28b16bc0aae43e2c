"""Enforcements and PolicyExceptions among objects: how strict they make the judgement, and what is odd about them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webhook import enforcement
from webhook.admission import Warn
from webhook.admission.errors import CatalogError, Problem
from webhook.catalog import Catalog
from webhook.engine import vocabulary
from webhook.library.apiserver import kind_of
from webhook.manifests.documents import Document
from webhook.manifests.files import content
from webhook.schema import CRD, load_crd

if TYPE_CHECKING:
    from webhook.enforcement import Degrees, PolicyObject

_KINDS = {enforcement.ENFORCEMENT, enforcement.EXCEPTION}


def is_policy(value: dict[str, Any]) -> bool:
    """Whether an object is an Enforcement or a PolicyException."""
    gvk = kind_of(value)
    return gvk.group == enforcement.GROUP and gvk.kind in _KINDS


def degrees_of(documents: Iterable[Document]) -> Degrees | None:
    """How strict the policies among documents are now, by the labels of the namespaces among them.

    Raises:
        CatalogError: one cannot be read.
    """
    documents = [*documents]
    policies: list[PolicyObject] = []
    problems: list[Problem] = []
    for document in documents:
        if is_policy(document.value):
            try:
                policies.append(enforcement.PolicyObject.read(document.value))
            except ValueError as error:
                field, _, why = str(error).partition(": ")
                problems.append(Problem(document.where, field, why))
    if problems:
        raise CatalogError(problems)
    labels = labels_of(document.value for document in documents)
    if not policies:
        return None
    return enforcement.Degrees.of(policies, labels, time.time()) or None


def labels_of(objects: Iterable[Mapping[str, Any]]) -> Mapping[str, Mapping[str, str]]:
    """The labels of the Namespaces among objects, by name."""
    namespaces = dict[str, Mapping[str, str]]()
    for value in objects:
        metadata = value.get("metadata")
        if value.get("kind") == "Namespace" and value.get("apiVersion") == "v1" and isinstance(metadata, dict):
            labels, name = metadata.get("labels"), metadata.get("name")
            if isinstance(name, str):
                texts = labels.items() if isinstance(labels, dict) else ()
                namespaces[name] = {key: text for key, text in texts if isinstance(text, str)}
    return namespaces


@cache
def own_definitions() -> tuple[CRD, ...]:
    """Modelgate's own definitions of the kinds."""
    from webhook.manifests import documents  # noqa: PLC0415 - few files have such an object

    files = sorted((Path(enforcement.__file__).parent / "crds").glob("*.yaml"))
    scans = [documents.decode(content(file), file.name) for file in files]
    return tuple(load_crd(scan.documents[0].value, trusted=True) for scan in scans)


def odd_words(value: Mapping[str, Any], catalog: Catalog) -> Iterator[Warn]:
    """What is odd about an object that is a policy by itself; nothing of one that its definition refuses."""
    try:
        policy = enforcement.PolicyObject.read(value)
    except ValueError:
        return
    for remark in enforcement.remarks_on(policy, vocabulary(catalog), time.time()):
        yield Warn(remark.field, remark.text)


def remarks_about(degrees: Degrees | None, catalog: Catalog) -> list[Problem]:
    """What is odd about policies that decide."""
    if degrees is None:
        return []
    words = vocabulary(catalog)
    odd = [remark for policy in degrees.policies for remark in enforcement.remarks_on(policy, words, 0.0)]
    odd += enforcement.contradictions(degrees.policies)
    return [Problem(str(remark.policy), remark.field, remark.text) for remark in odd]
