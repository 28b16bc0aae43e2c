"""``pack.yaml``: what is said once of an API, beside its policies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from webhook.policy.problems import NO_OTHERS, TextSchema
from webhook.policy.ranges import version

__all__ = ["PackDocument", "Spec"]


def _release(text: str) -> str:
    version(text)
    return text


Name = Annotated[str, TextSchema(least=1, most=60, strip=True)]
Release = Annotated[str, TextSchema(check=_release)]
Group = Annotated[str, TextSchema(r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$", most=253)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """``operator``: its name in texts. ``documented``: the release that rules without a range and the definitions in
    ``crds`` describe; an API without it knows no releases. ``codes``: the two letters with which its codes begin; no
    other pack may have them. ``facts``: the facts of Modelgate that its rules read, which are those of an API.
    ``groups``: the groups of its kinds. ``served``: group → the kinds of the operator that have no rules, of any
    release. ``successors``: a group of such kinds → the one that it replaces. ``images``: what the images of the
    operator are called that writes the status of its kinds. ``charts``: its Helm charts; ``appVersions``: version of a
    chart → release, where they differ; ``tags``: where the values of a chart name the tag of the operator's image.
    ``repositories``: how the addresses of its repositories end. ``retired``: codes of rules that are gone.
    """

    __pydantic_config__ = NO_OTHERS
    operator: Name
    documented: Release | None = None
    codes: list[Annotated[str, TextSchema(r"^[A-Z]{2}$")]] = field(default_factory=list)
    facts: str = ""
    groups: list[Group] = field(default_factory=list)
    served: dict[Group, list[Name]] = field(default_factory=dict)
    successors: dict[Group, Group] = field(default_factory=dict)
    images: list[Name] = field(default_factory=list)
    charts: list[Name] = field(default_factory=list)
    appVersions: dict[Name, Release] = field(default_factory=dict)  # noqa: N815 - Helm's word
    tags: list[Name] = field(default_factory=list)
    repositories: list[Annotated[str, TextSchema(r"^[^/\s]+/[^\s]*[^/\s]$", most=200)]] = field(default_factory=list)
    retired: list[Annotated[str, TextSchema(r"^[A-Z]{2}[0-9]{3}$")]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Metadata:
    __pydantic_config__ = NO_OTHERS
    name: str


@dataclass(frozen=True, slots=True)
class PackDocument:
    __pydantic_config__ = NO_OTHERS
    apiVersion: Literal["modelgate.dev/v1alpha1"]  # noqa: N815 - the spelling of Kubernetes documents
    kind: Literal["Pack"]
    metadata: Metadata
    spec: Spec
