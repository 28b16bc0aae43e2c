"""Which fields name other objects: those by which a fact of the kind looks one up.

A field is a reference if a fact looks for an object of the name that the field has. Whether it is this field, and not
another one with the same text, is seen when the field gets a name that no object has. So references need no table: what
rules read of other objects, built in or by the ``references`` of a policy, can be followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from webhook.cluster import ClusterView, Kind
from webhook.library.explained import leaves
from webhook.lsp.workspace import Workspace
from webhook.manifests.documents import Document

_PROBE: Final = "modelgate-looks-for-this-name"
"""The name that a field gets to see what is looked up by it. No object has it."""

Keys = tuple[str | int, ...]


class NamedObject(NamedTuple):
    """An object that may be there; ``namespace`` is "" for cluster scope."""

    kind: Kind
    namespace: str
    name: str


class NameField(NamedTuple):
    """A field of a document that names another object. It may be one of several kinds: the first that is there."""

    document: Document
    path: Keys
    targets: tuple[NamedObject, ...]


class _Recording:
    """A view that notes which objects are looked up."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self.targets = dict[NamedObject, None]()

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        self.targets[NamedObject(kind, namespace, name)] = None
        return self._view.get(kind, namespace, name)

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        return self._view.list(kind, namespace)


def target_of(document: Document, workspace: Workspace) -> NamedObject:
    """What an object is for those that refer to it."""
    value = workspace.stored(document)
    metadata, group = value["metadata"], str(value["apiVersion"]).rpartition("/")[0]
    return NamedObject(Kind(group, value["kind"]), metadata.get("namespace", ""), metadata.get("name", ""))


def looked_up(value: Mapping[str, Any], document: Document, workspace: Workspace) -> list[NamedObject]:
    """The objects that the facts of a document's kind look up for a value of it."""
    kind = workspace.kind(document)
    if kind is None:
        return []
    view, settings = _Recording(workspace.view(document)), workspace.ruling(document).options.settings
    placed = workspace.stored(document)["metadata"]
    seen = kind.seen({**value, "metadata": {**placed, **_mapping(value.get("metadata"))}})
    for fact in kind.facts.values():
        if not fact.stored:
            fact.value(seen, view, settings)
    return [*view.targets]


def targets_at(path: Keys, document: Document, workspace: Workspace) -> list[NamedObject]:
    """The objects that would be looked up by the name in a field, whatever that is; each has the name of the probe."""
    probed = _with(document.value, path, _PROBE)
    return [target for target in looked_up(probed, document, workspace) if target.name == _PROBE]


def references_in(document: Document, workspace: Workspace, name: str = "") -> Iterator[NameField]:
    """The fields of a document that name others, or those with this name."""
    names = {target.name for target in looked_up(document.value, document, workspace)}
    wanted = names & {name} if name else names
    for path, value in leaves((), document.value, lists=True) if wanted else ():
        if isinstance(value, str) and value in wanted and path != ("metadata", "name"):
            targets = targets_at(path, document, workspace)
            if targets:
                yield NameField(document, path, tuple(target._replace(name=value) for target in targets))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _with(value: Any, path: Keys, new: Any) -> Any:
    """A copy of a value with another one at a path, which need not be there."""
    if not path:
        return new
    step, *rest = path
    if isinstance(step, int):
        items = [*value] if isinstance(value, list) else []
        items += [None] * (step + 1 - len(items))
        items[step] = _with(items[step], tuple(rest), new)
        return items
    fields = value if isinstance(value, dict) else {}
    return {**fields, step: _with(fields.get(step), tuple(rest), new)}
