"""The content of `.modelgate.yaml`. It is loaded only where there is such a file, because pydantic takes 60 ms."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from webhook.admission.errors import DocumentError, Problem, SettingsError
from webhook.facts.settings import Behaviour, operator_pairs
from webhook.manifests import documents
from webhook.manifests.documents import Document, Scan
from webhook.policy import Profile
from webhook.policy.problems import problems


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)


class Behaviours(_Model):
    """Which behaviour of an API to follow: the flags of `modelgate check` of the same names."""

    ome: Behaviour | None = Field(default=None, description="OME's behaviour, as --ome.")
    ome_migration: bool | None = Field(default=None, description="As --ome-migration.")
    ome_namespace: str | None = Field(default=None, description="As --ome-namespace.")
    aim_documented_precision: bool | None = Field(default=None, description="As --aim-documented-precision.")
    aim_auto_selection: bool | None = Field(default=None, description="Select a template, as --aim-auto-selection.")
    fit: bool | None = Field(default=None, description="Judge nodes, memory, storage and limits, as --fit.")
    nodes: Literal["auto", "fixed", "elastic", "off"] | None = Field(default=None, description="As --nodes.")
    aim_namespace: str | None = Field(default=None, description="Namespace of AIM's operator, as --aim-namespace.")


class Ignored(_Model):
    """Warnings about some objects, in the words of a PolicyException."""

    codes: list[str] = Field(min_length=1, description="Codes of rules (LK305), or groups of them (LK3*).")
    kinds: list[str] = Field(default=[], description="Only objects of these kinds.")
    namespaces: list[str] = Field(default=[], description="Only objects in these namespaces, as the files name them.")
    names: list[str] = Field(default=[], description="Only objects with these names.")
    until: str | None = Field(default=None, description="The time at which it ends, in RFC 3339.")
    reason: str | None = Field(default=None, description="Why, for readers.")


class Configuration(_Model):
    """The file .modelgate.yaml. Paths are relative to it; flags count more, and their lists are added."""

    profile: Profile | None = Field(default=None, description="How strict to be.")
    references: Literal["open", "closed"] | None = Field(default=None, description="As --references.")
    view: list[str] = Field(default=[], description="Manifests or folders of existing objects, as --view.")
    crds: list[str] = Field(default=[], description="CustomResourceDefinitions or folders of them, as --crds.")
    policies: list[str] = Field(default=[], description="Folders of APIs of your own, as --policies.")
    admission_policies: str | None = Field(default=None, description="As --admission-policies.")
    exclude: list[str] = Field(default=[], description="Patterns of paths to skip, as --exclude.")
    ignore: list[str | Ignored] = Field(
        default=[],
        description="Codes of warnings to leave out, as --ignore, or warnings about some objects.",
        examples=[["LK305", {"codes": ["LK3*"], "names": ["llama"], "until": "2027-01-31T00:00:00Z"}]],
    )
    fail_on: Literal["warning", "error", "never"] | None = Field(default=None, description="As --fail-on.")
    docs_url: str | None = Field(
        default=None, pattern=r"^https?://\S+$", description="Address of this site, for links to rules, as --docs-url."
    )
    substitute: dict[str, str] = Field(default={}, description="Values of variables of Flux, as --substitute.")
    unknown_kinds: Literal["skip", "error"] | None = Field(default=None, description="As --unknown-kinds.")
    min_checked: int | None = Field(default=None, ge=0, description="As --min-checked.")
    strict: bool | None = Field(default=None, description="Report every file that cannot be read, as --strict.")
    load_restrictor: Literal["none", "root"] | None = Field(default=None, description="As --load-restrictor.")
    releases: dict[str, str] | None = Field(
        default=None,
        description="The release of each operator, by API, as --release.",
        examples=[{"llmkube": "0.9.19"}],
    )
    operators: Annotated[dict[str, dict[str, Any]], AfterValidator(operator_pairs)] | None = Field(
        default=None,
        description="The settings of each operator that rules read, by API, as --set.",
        examples=[{"llmkube": {"hostPathRoots": ["/srv/models"]}}],
    )
    pins: bool | None = Field(
        default=None, description="Whether what the repository deploys says the releases of operators; no: --no-pins."
    )
    settings: Behaviours = Field(default=Behaviours(), description="Which behaviour of an API to follow.")


def schema() -> dict[str, Any]:
    """The JSON schema of the file, for editors: ``docs/schemas/configuration.schema.json``."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**dialect, **Configuration.model_json_schema(by_alias=True)}


def read(text: bytes, name: str) -> Configuration:
    """The configuration in a text; ``name`` is that of its file.

    Raises:
        SettingsError: it has a mistake.
    """
    try:
        found = _only(documents.decode(text, name), name)
        return Configuration.model_validate(found.value, by_alias=True, by_name=False)
    except DocumentError as error:
        raise SettingsError(error.problems) from None
    except ValidationError as error:
        raise SettingsError([_advised(each) for each in problems(found, error)]) from None


def _only(scan: Scan, name: str) -> Document:
    if scan.faults:
        raise DocumentError(scan.faults)
    found = scan.documents
    if len(found) > 1:
        raise DocumentError([Problem(f"{name}:{found[1].line}", "", "expected one document, got more")])
    return found[0] if found else Document(name, 1, {})


def _advised(problem: Problem) -> Problem:
    """The problem of an unknown key, with the key that may be meant."""
    if problem.path == "kustomize":
        return replace(problem, message="only the flag --kustomize starts a program, not a file of the tree")
    if problem.message != "unknown field":
        return problem
    above, _, key = problem.path.rpartition(".")
    model = Behaviours if above == "settings" else Configuration
    known = [to_camel(name) for name in model.model_fields]
    near = get_close_matches(key, known, 1)
    advice = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
    return Problem(problem.source, problem.path, f"unknown key; {advice}")
