"""``pack.yaml``: what is said once of an API, beside its policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, ValidationError

from webhook.admission.errors import CatalogError
from webhook.manifests.documents import Document
from webhook.policy.problems import problems
from webhook.policy.ranges import version

__all__ = ["PackDocument", "parse_pack"]


def _release(text: str) -> str:
    version(text)
    return text


Text = Annotated[str, StringConstraints(min_length=1, max_length=60, strip_whitespace=True)]
Group = Annotated[str, StringConstraints(max_length=253, pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$")]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Spec(_Model):
    """``operator``: its name in texts. ``documented``: the release that rules without a range and the definitions in
    ``crds`` describe; an API without it knows no releases. ``codes``: the two letters with which its codes begin; no
    other pack may have them. ``facts``: the facts of Modelgate that its rules read, which are those of an API.
    ``groups``: the groups of its kinds. ``served``: group → the kinds of the operator that have no rules, of any
    release. ``successors``: a group of such kinds → the one that it replaces. ``images``: what the images of the
    operator are called that writes the status of its kinds. ``retired``: codes of rules that are gone.
    """

    operator: Text
    documented: Annotated[str, AfterValidator(_release)] | None = None
    codes: list[Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")]] = []
    facts: str = ""
    groups: list[Group] = []
    served: dict[Group, list[Text]] = {}
    successors: dict[Group, Group] = {}
    images: list[Text] = []
    retired: list[Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}[0-9]{3}$")]] = []


class Metadata(_Model):
    name: str


class PackDocument(_Model):
    apiVersion: Literal["modelgate.dev/v1alpha1"]  # noqa: N815 - the spelling of Kubernetes documents
    kind: Literal["Pack"]
    metadata: Metadata
    spec: Spec


def parse_pack(document: Document) -> Mapping[str, Any]:
    """The specification of a pack, checked.

    Raises:
        CatalogError: with every error, each with its line.
    """
    try:
        return PackDocument.model_validate(document.value).spec.model_dump()
    except ValidationError as error:
        raise CatalogError(problems(document, error)) from None
