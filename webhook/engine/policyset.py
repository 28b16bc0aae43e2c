"""A folder of Kubernetes' own policies: the compiled documents, and the objects beside them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from webhook.admission import GroupVersionKind, group_version
from webhook.admission.errors import CatalogError, Problem
from webhook.catalog import Catalog
from webhook.engine.context import Offline
from webhook.engine.references import references_of
from webhook.manifests import folders
from webhook.manifests.documents import Document
from webhook.manifests.files import Contents
from webhook.policy import Reference
from webhook.vap import GroupVersionResource, NativePolicies, is_native, published

_FOREIGN_GROUPS: Final = ("kyverno.io", "gatekeeper.sh", "kubewarden.io")
"""The groups, or their ends, of policies that other programs evaluate."""
_WEBHOOKS: Final = "admissionregistration.k8s.io"


@dataclass(frozen=True, slots=True)
class PolicySet:
    """Policies and bindings, and the user's ``objects``: params, namespaces, definitions.

    ``digest`` identifies the documents. ``foreign`` names the policies of other programs among
    the objects: they are not evaluated.
    """

    policies: NativePolicies
    objects: tuple[dict[str, Any], ...]
    documents: tuple[Document, ...]
    digest: str
    foreign: tuple[Problem, ...] = ()

    def __bool__(self) -> bool:
        """Whether the set has a policy."""
        return bool(self.policies.validators or self.policies.mutators)

    def over(self, catalog: Catalog) -> Offline:
        """The offline context of the policies."""
        return Offline(catalog, self.objects)

    def remarks(self, catalog: Catalog) -> list[Problem]:
        """Warnings for the authors: type errors against the kinds of the catalog, and policies without a binding."""
        origins = {(each.value["kind"], each.value["metadata"]["name"]): each for each in self.documents}
        found = list(self.foreign)
        for kind, name in self.policies.unbound:
            origin = origins[kind, name]
            found.append(Problem(origin.where, "", f"{kind} {name} has no binding: it never applies"))
        for name, warning in self.policies.warnings(_kinds_in(catalog), _schemas_of(catalog)):
            origin = origins["ValidatingAdmissionPolicy", name]
            where = f"{origin.source}:{origin.line_at(warning.field)}"
            found.append(Problem(where, f"ValidatingAdmissionPolicy {name}: {warning.field}", warning.text.rstrip()))
        return found


def load(folder: Path | Contents) -> PolicySet:
    """Load a folder, or a file.

    Raises:
        CatalogError: with every problem of every document.
    """
    documents, problems = folders.scan([folder])
    native = [each for each in documents if is_native(each)]
    others = [each for each in documents if not is_native(each)]
    problems += _nameless(others)
    policies = NativePolicies()
    try:
        policies = NativePolicies.load(native, references=references_of)
    except CatalogError as error:
        problems += error.problems
    if problems:
        raise CatalogError(problems)
    digest = hashlib.sha256(json.dumps([each.value for each in documents], sort_keys=True).encode()).hexdigest()[:16]
    values = tuple(each.value for each in others)
    return PolicySet(policies, values, tuple(native), digest, tuple(_foreign(others)))


def annotated(documents: Iterable[Document]) -> Iterator[tuple[str, Reference]]:
    """The references of policies, each with the name of its policy; none of a policy that is refused for them."""
    for document in filter(is_native, documents):
        try:
            references = references_of(document)
        except CatalogError:
            continue
        for reference in references.listed if references else ():
            yield str(document.value["metadata"].get("name")), reference


def _foreign(documents: Iterable[Document]) -> Iterator[Problem]:
    """A warning for each policy that another program evaluates."""
    for each in documents:
        api, kind = each.value["apiVersion"], each.value["kind"]
        group = group_version(api)[0]
        if group.endswith(_FOREIGN_GROUPS) or (group == _WEBHOOKS and kind.endswith("WebhookConfiguration")):
            title = f"{api} {kind} {each.value['metadata']['name']}"
            yield Problem(each.where, "", f"{title} is not evaluated: Modelgate does not run this kind")


def _nameless(documents: Iterable[Document]) -> Iterator[Problem]:
    for each in documents:
        metadata = each.value.get("metadata")
        names = [metadata.get("name"), metadata.get("namespace", "")] if isinstance(metadata, dict) else [None]
        if not names[0] or not all(isinstance(name, str) for name in names):
            title = f"{each.value.get('kind')} without a name; set metadata.name"
            yield Problem(each.where, "metadata.name", title)


def _kinds_in(catalog: Catalog) -> Any:
    by_resource: dict[GroupVersionResource, list[GroupVersionKind]] = {}
    for gvk, known in catalog.kinds.listed.items():
        by_resource.setdefault(GroupVersionResource(gvk.group, gvk.version, known.plural), []).append(gvk)
    return lambda resource: by_resource.get(resource, [])


def _schemas_of(catalog: Catalog) -> Any:
    def schema_of(kind: GroupVersionKind) -> Any:
        known = catalog.kinds.listed.get(kind)
        return None if known is None else published(known.schema.raw)

    return schema_of
