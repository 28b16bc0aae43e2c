"""The reference for authors of policies: the format of the documents, and every fact and variable, from the code."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Union, cast, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from webhook import catalog
from webhook.cli import cases
from webhook.cluster import Kind
from webhook.facts import Fact, inputs_of
from webhook.policy import document

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_POLICY: Final = (
    document.Spec,
    document.Target,
    document.Reference,
    document.Member,
    document.Variable,
    document.Default,
    document.Validation,
)
_CASES: Final = (cases.CasesDocument, cases.Case, cases.Expectation)


def author_pages() -> Iterator[tuple[str, str]]:
    """The name and the text of each page."""
    yield "authors/format.md", "\n".join(["# Format of policies and cases", "", *_formats()])
    yield "authors/facts.md", "\n".join(["# Facts and variables", "", _ABOUT, "", *_kinds()])


_ABOUT: Final = """\
A rule reads `object`, `oldObject`, `request`, `self` (the node at `at`), the `variables` of its policy, and the facts
of its kind as `facts.<name>`. A fact is what takes an algorithm or other objects. Every fact is typed: a rule that
reads a member that is not below does not load."""


def _formats() -> Iterator[str]:
    yield "`apiVersion` is `modelgate.dev/v1alpha1`. Unknown fields are errors.\n"
    yield "## Policy\n"
    yield from _models(_POLICY)
    yield "## Cases\n"
    yield _code_names(inspect.getdoc(cases) or "").partition("\n\n")[2]
    yield ""
    yield from _models(_CASES)


def _models(models: tuple[type, ...]) -> Iterator[str]:
    for model in models:
        yield f"### {model.__name__}\n"
        own = model.__doc__ if "__doc__" in vars(model) else None
        yield f"{_code_names(inspect.cleandoc(own))}\n" if own and own != BaseModel.__doc__ else ""
        yield "| field | type | default |\n|---|---|---|"
        for name, kind, default in _fields(model):
            yield f"| `{name}` | {_said(kind)} | {default} |"
        yield ""


def _fields(model: type) -> Iterator[tuple[str, Any, str]]:
    """Name, type and default of the fields of a model, or of a dataclass."""
    if issubclass(model, BaseModel):
        for name, field in model.model_fields.items():
            yield name, field.annotation, "required" if field.is_required() else _default(field.default)
        return
    types = get_type_hints(model)
    for each in dataclasses.fields(cast("type[DataclassInstance]", model)):
        if each.default is each.default_factory:
            yield each.name, types[each.name], "required"
        else:
            default = each.default if each.default_factory is dataclasses.MISSING else each.default_factory()
            yield each.name, types[each.name], _default(default)


def _default(value: Any) -> str:
    """A default as YAML; none for what is only absent."""
    simple = isinstance(value, str | bool | list | dict)
    return f"`{json.dumps(value, default=str)}`" if simple else ""


def _said(kind: Any) -> str:
    """A type as people read it."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _said(inner[0])
    if origin is Literal:
        return ", ".join(f"`{each}`" for each in inner)
    if origin in {Union, UnionType}:
        return " or ".join(_said(each) for each in inner if each is not NoneType)
    if origin is list:
        return f"list of {_said(inner[0])}"
    if origin is dict:
        return "object" if inner[1] is Any else f"map to {_said(inner[1])}"
    if kind in _POLICY or (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return f"[{kind.__name__}](#{kind.__name__.lower()})"
    return _NAMES.get(kind, str(getattr(kind, "__name__", kind)))


_NAMES: Final = {str: "string", bool: "boolean", int: "integer", Any: "any value"}


def _kinds() -> Iterator[str]:
    for gvk, known in catalog.load().kinds.items():
        yield f"## {gvk.kind}\n\n`{gvk.group}/{gvk.version}`\n"
        for name, fact in known.own_facts.items():
            yield from _fact(Kind(gvk.group, gvk.kind), name, fact)
        if known.policy.variables:
            yield "### Variables of its policy\n\n```text"
            yield from (f"{name}: {' '.join(each.source.split())}" for name, each in known.policy.variables.items())
            yield "```\n"


MEANINGS: Final = {
    "base": "Whether the base model that the weight names exists.",
    "behaviour": "The setting `ome`: which behaviour of OME to follow.",
    "config": "The runtime configuration that applies, and whether one that is named is missing.",
    "configuration": "What is wrong with the combination of engine, decoder and router; empty if nothing is.",
    "createdAt": "What is wrong with the time of creation that the user writes.",
    "dataset": "How the address of the dataset reads.",
    "deployment": "The deployment mode of the service, and why it cannot be told.",
    "documentedPrecision": "The setting `aimDocumentedPrecision`.",
    "fitsNothing": "Whether no model can ever fit the runtime.",
    "fullRunner": "Whether the engine has a complete container of its own.",
    "gpus": "Whether no node has the GPU that is asked for, and which GPUs the nodes have.",
    "image": "The image that the template names: whether it exists, which is like it, whether a token is missing.",
    "shards": "The first missing shards beside the one file that is downloaded.",
    "made": "The parts of what OME makes of the service: its components with their pods, and what leads to them.",
    "misspelt": "Keys of annotations that OME does not read, and the similar ones that it reads.",
    "layerSplit": "Which of the layer ranges overlap, and which layers no range has.",
    "migration": "What OME derives from the old field `predictor`: engine, model and runtime.",
    "model": "The model that the service names: whether it exists, of which kind, and whether it is disabled.",
    "output": "How the address of the output reads.",
    "pods": "The pods of a service that uses the runtime and writes nothing but its model.",
    "predictorUsed": "Whether the service uses the old field `predictor`.",
    "query": "Which bracket or quote of the PromQL query has no other one; empty if all are paired.",
    "renamed": "Fields with the names that other releases give them, and their names in this one.",
    "operator": "The settings of the operator that `pack.yaml` declares, as they are given or by default.",
    "resolved": "What AIM resolves for the service: image, template, configuration, and the status that follows.",
    "routeTemplate": "What is wrong with the template of the route; empty if nothing is.",
    "runtime": "The runtime that the service names: whether it exists, is disabled, and fits the model.",
    "runtimePods": "Whether the runtime that the service names is known, sets a leader, and names ports.",
    "selection": "The runtime that OME selects for the service, with its score and the other candidates.",
    "service": "Whether the InferenceService that the benchmark names exists.",
    "shape": "Which other shape of this version the object has, and the fields that say so.",
    "sizes": "The model sizes that cannot be read.",
    "source": "How the source reads: its kind, and the parts of its address.",
    "storage": "How the storage address reads; for AIM, the StorageClass that applies.",
    "storedRuntime": "As `runtime`, of the stored object.",
    "strayVersions": "Versions of entries that are not those of their formats, each with the version of the format.",
    "template": "The template of the cache: whether it exists, what failed, and what is not cached.",
    "versions": "The versions that cannot be read.",
}
"""What the facts say whose functions have no docstring."""


def meaning(name: str, fact: Fact) -> str:
    """What a fact says, in a sentence or two."""
    if name in MEANINGS and isinstance(fact.compute, partial):
        return MEANINGS[name]
    text = inspect.getdoc(inspect.unwrap(getattr(fact.compute, "func", fact.compute)))
    return _code_names(text.partition("\n\n")[0]) if text else MEANINGS[name]


def _fact(kind: Kind, name: str, fact: Fact) -> Iterator[str]:
    yield f"### facts.{name}\n\n{meaning(name, fact)}\n"
    notes = {"configurable": "depends on the settings", "stored": "of the object before an update", "raw": _RAW}
    said = [words for word, words in notes.items() if getattr(fact, word)]
    if said:
        yield f"*{'; '.join(said).capitalize()}.*\n"
    yield "```text"
    yield from _outline(f"facts.{name}", fact.schema, 0)
    yield "```\n"
    inputs = sorted({f"`{each.kind.kind}: {'.'.join(map(str, each.keys))}`" for each in inputs_of(kind, name)})
    if inputs:
        yield f"Reads {', '.join(inputs)}\n"


_RAW: Final = "about fields of other releases, so it does not apply where such a release is installed"


def _outline(name: str, schema: Mapping[str, Any], depth: int) -> Iterator[str]:
    """The members of a type, one a line, those of an object below it."""
    items = ""
    while schema.get("type") == "array":
        items, schema = f"{items}list of ", schema["items"]
    inner = schema.get("additionalProperties")
    kind = f"map to {inner.get('type', 'any value')}" if isinstance(inner, Mapping) else schema.get("type", "any value")
    yield f"{'  ' * depth}{name}: {items}{kind}"
    for key, each in schema.get("properties", {}).items():
        yield from _outline(key, each, depth + 1)


def _code_names(text: str) -> str:
    """A docstring as Markdown."""
    return re.sub(r":\w+:`([^`]*)`", r"`\1`", text).replace("``", "`")
