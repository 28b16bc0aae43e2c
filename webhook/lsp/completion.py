"""What can be written at a position: fields, values of enumerations, kinds, and names of objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from lsprotocol import types

from webhook.catalog import Catalog, KnownKind
from webhook.library.apiserver import kind_of
from webhook.lsp.cursor import Outline, outline_at
from webhook.lsp.hover import described, field_of, type_of
from webhook.lsp.references import targets_at
from webhook.lsp.texts import TextLines
from webhook.lsp.workspace import Workspace
from webhook.manifests.documents import Document
from webhook.policy import node_at

_TOP: Final = ("apiVersion", "kind", "metadata", "spec")
_METADATA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "namespace": {"type": "string"},
        "labels": {"type": "object"},
        "annotations": {"type": "object"},
    },
}
_MOST: Final = 500
"""Names of objects that are offered."""


def completions(
    source: str, workspace: Workspace, lines: TextLines, position: types.Position
) -> list[types.CompletionItem]:
    """What can be written at a position of a file."""
    offset = lines.offset(position)
    texts = lines.text.split("\n")
    row = lines.text.count("\n", 0, offset)
    outline = outline_at(texts, row, offset - (lines.text.rfind("\n", 0, offset) + 1))
    if outline is None:
        return []
    span = lines.span(offset - len(outline.word), offset)
    document = _document(source, workspace, row, outline)
    catalog = workspace.ruling(document).catalog
    if outline.is_value and outline.path in (["apiVersion"], ["kind"]):
        return [_value(text, span, outline) for text in _kinds(outline, catalog)]
    kind = catalog.find(kind_of(document.value))
    if kind is None:
        return _items_of_keys({key: {} for key in _TOP}, (), outline, span) if not outline.path else []
    return [*_of_kind(outline, kind, document, workspace, span)]


def _document(source: str, workspace: Workspace, row: int, outline: Outline) -> Document:
    """The document at a line as it was last read, of the kind that is written there now."""
    file = workspace.files.get(source)
    document = Document(source, row + 1, {})
    for candidate in file.every_document if file else ():
        if candidate.line <= row + 1 and candidate.line >= (document.line if document.value else 0):
            document = candidate
    head = {"apiVersion": "", "kind": "", **outline.head}
    if any(document.value.get(key) != text for key, text in head.items()):
        return Document(source, row + 1, {**head, "metadata": {"name": "x"}})
    return document


def _kinds(outline: Outline, catalog: Catalog) -> Iterable[str]:
    """The values of apiVersion and kind, each by the other one if that is written."""
    key = outline.path[0]
    pairs = {(gvk.api_version, gvk.kind) for gvk in catalog.kinds}
    own, other = (0, 1) if key == "apiVersion" else (1, 0)
    written = outline.head.get("kind" if key == "apiVersion" else "apiVersion", "")
    fitting = {pair[own] for pair in pairs if pair[other] == written}
    return sorted(fitting or {pair[own] for pair in pairs})


def _of_kind(
    outline: Outline, kind: KnownKind, document: Document, workspace: Workspace, span: types.Range
) -> Iterator[types.CompletionItem]:
    node = _node(kind, outline.path)
    is_item = not outline.is_value and outline.path[-1:] == ["*"]
    if node is not None and not outline.is_value and not (is_item and _is_scalar(node)):
        properties = (node.get("properties") or {}).items()
        fields = {name: field_of(kind, [*outline.path, name]) or field for name, field in properties}
        yield from _items_of_keys(fields, node.get("required") or (), outline, span)
        return
    for text in _values(node or {}):
        yield _value(text, span, outline)
    path = tuple(0 if key == "*" else key for key in outline.path)
    for name in _names(path, document, workspace):
        yield _value(name, span, outline, types.CompletionItemKind.Reference)


def _node(kind: KnownKind, path: list[str]) -> Mapping[str, Any] | None:
    if path[:1] == ["metadata"]:
        return node_at({"type": "object", "properties": {"metadata": _METADATA}}, path)
    return node_at(kind.schema.raw, path)


def _is_scalar(node: Mapping[str, Any]) -> bool:
    return node.get("type") not in {"object", "array"}


def _values(node: Mapping[str, Any]) -> Iterator[str]:
    """The values that a definition names."""
    if node.get("enum"):
        yield from (str(value) for value in node["enum"] if isinstance(value, str | int) and str(value))
    elif node.get("type") == "boolean":
        yield from ("true", "false")
    elif isinstance(node.get("default"), str | int) and str(node["default"]):
        yield str(node["default"])


def _names(path: tuple[str | int, ...], document: Document, workspace: Workspace) -> Iterable[str]:
    """The names of the objects that a field can name."""
    names = dict[str, None]()
    for target in targets_at(path, document, workspace):
        for obj in workspace.view(document).list(target.kind, target.namespace):
            names[obj["metadata"]["name"]] = None
    return [*names][:_MOST]


def _value(
    text: str,
    span: types.Range,
    outline: Outline,
    kind: types.CompletionItemKind = types.CompletionItemKind.EnumMember,
) -> types.CompletionItem:
    new = text if outline.is_quoted or text[:1].isalnum() else f'"{text}"'
    return types.CompletionItem(label=text, kind=kind, filter_text=text, text_edit=types.TextEdit(span, new))


def _items_of_keys(
    fields: Mapping[str, Any], required: Iterable[str], outline: Outline, span: types.Range
) -> list[types.CompletionItem]:
    """The fields of an object that it does not have yet; those that it must have come first."""
    first = frozenset(required)
    return [
        types.CompletionItem(
            label=name,
            kind=types.CompletionItemKind.Property,
            detail=f"{type_of(node)}{', required' if name in first else ''}",
            documentation=types.MarkupContent(types.MarkupKind.Markdown, "\n\n".join(described(node))),
            sort_text=f"{name not in first:d}{name}",
            text_edit=types.TextEdit(span, f"{name}:{_after(node, outline)}"),
        )
        for name, node in fields.items()
        if name not in outline.siblings
    ]


def _after(node: Mapping[str, Any], outline: Outline) -> str:
    """What comes behind a key: the line of its first field, or room for a value."""
    if outline.is_flow:
        return " "
    below = f"\n{' ' * (outline.column + 2)}"
    return below if node.get("type") == "object" else f"{below}- " if node.get("type") == "array" else " "
