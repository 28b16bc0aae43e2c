"""What users' own rules refer to: the rules of packs, and the admission policies that the gate evaluates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from webhook.admission import GroupVersionKind
from webhook.catalog import Catalog, built_in
from webhook.cli.doctor.finding import finding
from webhook.cli.doctor.snapshot import Installation, policy_maps
from webhook.cluster import Kind
from webhook.engine.policyset import annotated
from webhook.facts import Looked
from webhook.library import Finding
from webhook.manifests.documents import Document, scan_text
from webhook.policy import Reference
from webhook.vap import resource_of_kind


class Referral(NamedTuple):
    """What a reference reads, and the verb that this takes. ``name`` is for the user."""

    name: str
    kind: Kind
    verb: str


def check(installation: Installation) -> Iterator[Finding]:
    """Admission policies that refer to a kind which the cluster does not serve; those of packs may be optional."""
    for referral in _of_policies(installation):
        if resource(installation, referral.kind) is None:
            kind = ".".join(filter(None, reversed(referral.kind)))
            what = f"it reads {kind}, which this cluster does not serve: correct the reference, or install the kind"
            yield finding("definition-missing", referral.name, what)


def referrals(installation: Installation, catalog: Catalog) -> Iterator[Referral]:
    """Of the rules in force; rules of added packs are given by --policies, to the gate and to doctor."""
    covered = installation.groups()
    for gvk, known in catalog.kinds.items():
        if gvk.group in covered or known.api not in built_in():
            for reference in known.policy.references:
                yield _referral(f"facts.{reference.name} of {gvk.kind}", reference)
    yield from _of_policies(installation)


def resource(installation: Installation, kind: Kind) -> str | None:
    """The resource of a kind; None if the cluster does not serve it. It is guessed where no cluster answers."""
    cluster = installation.snapshot.cluster
    name = "" if cluster is None else cluster.resource(kind)
    return resource_of_kind(GroupVersionKind(kind.group, "", kind.kind)).name if name == "" else name


def _of_policies(installation: Installation) -> Iterator[Referral]:
    documents = _documents(installation) if installation.flags().admission_policies else []
    for policy, reference in annotated(documents):
        yield _referral(f"refs.{reference.name} of ValidatingAdmissionPolicy {policy}", reference)


def _referral(name: str, reference: Reference) -> Referral:
    verb = "list" if Looked(*reference.looked).searches else "get"
    return Referral(name, Kind(reference.group, reference.kind), verb)


def _documents(installation: Installation) -> list[Document]:
    """The policies that are given to doctor, or those in the ConfigMaps that the gate mounts, if they can be read."""
    there = installation.snapshot
    if there.policies:
        return list(there.policies)
    maps = (there.find("ConfigMap", name, installation.namespace) for name in policy_maps(installation.gate))
    files = (file for mounted in maps for file in ((mounted or {}).get("data") or {}).items())
    documents = (document for name, text in files for document in scan_text(str(text), name).documents)
    return [document for document in documents if isinstance(document.value, dict)]
