"""The kinds that the catalog knows: for each version its schema, its policy and its facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.admission import GroupVersionKind
from webhook.facts import FACTS, WHOLES, Fact, WholesOf
from webhook.manifests.documents import Document
from webhook.policy import Policy, Prepared
from webhook.schema import CRD, Structural

if TYPE_CHECKING:
    from webhook.policy import PolicyDocument, TrustedDocument

__all__ = ["NO_POLICY", "KnownKind", "PolicySource", "Preparations", "kinds_of"]

NO_POLICY: Final = Policy("", {}, (), ())


class PolicySource(NamedTuple):
    """A policy as it was read, and where."""

    document: PolicyDocument | TrustedDocument
    origin: Document


@dataclass(frozen=True, slots=True)
class KnownKind:
    """One version of one kind. ``api`` is the folder under ``policies/``; ``plural`` the resource in URLs.

    ``status`` tells whether /status is a subresource: the API server then drops the status on creation. ``sources`` are
    the documents of the policy. ``deviates``: the schema is that of another definition than the catalog's
    (:mod:`webhook.engine.installed`). ``foreign`` is a kind that a user's CRD defines: it has no rules and gets no
    stamp, and only its schema counts. ``wholes`` makes the pods of an object and of others.
    """

    api: str
    gvk: GroupVersionKind
    plural: str
    namespaced: bool
    schema: Structural
    policy: Policy = NO_POLICY
    facts: Mapping[str, Fact] = field(default_factory=dict)
    status: bool = False
    sources: Sequence[PolicySource] = ()
    deviates: bool = False
    foreign: bool = False
    wholes: WholesOf | None = None


class Preparations(dict[GroupVersionKind, Prepared]):
    """What is prepared of each kind in use. Catalogs derived from each other share it, so a reload loses nothing."""

    def of(self, kind: KnownKind) -> Prepared:
        """What is prepared of a kind; made anew for another policy or schema than before."""
        found = self.get(kind.gvk)
        if found is None or found.policy is not kind.policy or found.schema is not kind.schema:
            found = self[kind.gvk] = Prepared(kind.policy, kind.schema)
        return found


def kinds_of(api: str, crd: CRD) -> Iterator[KnownKind]:
    """The served versions of a definition, without policies."""
    facts, wholes = FACTS.get(api, {}).get(crd.kind, {}), WHOLES.get(api, {}).get(crd.kind)
    for version in crd.versions.values():
        if version.served:
            gvk = GroupVersionKind(crd.group, version.name, crd.kind)
            namespaced = crd.scope == "Namespaced"
            known = KnownKind(api, gvk, crd.plural, namespaced, version.schema, facts=facts, status=version.status)
            yield known if wholes is None else replace(known, wholes=wholes)
