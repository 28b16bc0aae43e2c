"""References of admission policies: what their expressions read as ``refs.<name>``, which Kubernetes does not have.

A ValidatingAdmissionPolicy lists them in the annotation :data:`ANNOTATION`, as a Policy does under ``references``.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from webhook import policy as policies
from webhook.admission.errors import CatalogError, LoadError, Problem
from webhook.catalog import facts_of, unfitting
from webhook.cel import CelError
from webhook.cluster import ClusterView
from webhook.engine.context import Incomplete
from webhook.facts import UNSEEN, Fact
from webhook.facts.settings import DEFAULT_SETTINGS
from webhook.manifests import documents
from webhook.manifests.documents import Document
from webhook.policy.document import Reference
from webhook.policy.problems import NO_OTHERS, SOME, checked

__all__ = ["ANNOTATION", "references_of"]

ANNOTATION: Final = "modelgate.dev/references"
_PATH: Final = ("metadata", "annotations", ANNOTATION)
_FIELD: Final = f"metadata.annotations[{ANNOTATION}]"
_MOST: Final = 32
"""References of one policy: each may read 64 objects."""
_ELSEWHERE: Final = "only a ValidatingAdmissionPolicy may have references: remove the annotation"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listed:
    __pydantic_config__ = NO_OTHERS
    references: Annotated[list[Reference], SOME]


class AnnotatedReferences:
    """The references of one policy, as :class:`webhook.vap.context.References`."""

    def __init__(self, listed: tuple[policies.Reference, ...]) -> None:
        self.listed = listed
        self._facts = facts_of(listed)
        self.schema = {"type": "object", "properties": {name: fact.schema for name, fact in self._facts.items()}}

    def over(self, obj: dict[str, Any], view: ClusterView) -> _Read:
        """What an object refers to, in a view."""
        return _Read(self._facts, obj, view)


class _Read(dict[str, Any]):
    """``refs`` for one object: each value is computed when it is first read.

    Reading one that is not known raises CelError. ``unknown`` says why, where the view has not all objects: nothing is
    refused for such a one.
    """

    def __init__(self, facts: Mapping[str, Fact], obj: dict[str, Any], view: ClusterView) -> None:
        super().__init__()
        self._facts, self._object, self._view = facts, obj, view
        self.unknown: tuple[str, ...] = ()

    def __missing__(self, name: str) -> Any:
        value = self._facts[name].value(self._object, self._view, DEFAULT_SETTINGS)
        if UNSEEN in value:
            raise CelError(f"refs.{name} is not known: {value[UNSEEN]}")
        absent = value.get("missing") or ([value["name"]] if value["name"] and not value["found"] else [])
        if absent and isinstance(self._view, Incomplete):
            text = f"refs.{name}: {absent[0]} is not among the files given"
            self.unknown = tuple(dict.fromkeys((*self.unknown, text)))
            raise CelError(text)
        self[name] = value
        return value

    def get(self, name: str, _default: Any = None) -> Any:
        return self[name]  # every reference that an expression names is declared


def references_of(origin: Document) -> AnnotatedReferences | None:
    """The references of a policy; None if it has none.

    Raises:
        CatalogError: with every problem.
    """
    metadata = origin.value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    text = annotations.get(ANNOTATION) if isinstance(annotations, dict) else None
    if text is None:
        return None
    if origin.value["kind"] != "ValidatingAdmissionPolicy":
        raise CatalogError([_problem(origin, "", _ELSEWHERE)])
    try:
        (document,) = documents.parse(f"references:\n{textwrap.indent(str(text), ' ')}\n", origin.source)
        listed = checked(document, _Listed).references
    except LoadError as error:
        raise CatalogError([_problem(origin, problem.path, problem.message) for problem in error.problems]) from None
    problems = [
        _problem(origin, f"references[{index}].{'.'.join(at)}", message)
        for index, reference in enumerate(listed)
        for at, message in unfitting(reference, ())
    ]
    if len(listed) > _MOST:
        problems.append(_problem(origin, "references", f"has {len(listed)} items; use {_MOST} at most"))
    names = [reference.name for reference in listed]
    problems += [_problem(origin, "", f"there are two references {name}") for name in {*names} if names.count(name) > 1]
    if problems:
        raise CatalogError(problems)
    return AnnotatedReferences(tuple(map(policies.Reference.of, listed)))


def _problem(origin: Document, path: str, message: str) -> Problem:
    return Problem(f"{origin.source}:{origin.line_of(*_PATH)}", f"{_FIELD}{f': {path}' if path else ''}", message)
