"""The objects of a file, and their fields down to the third level."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lsprotocol import types

from webhook.admission import one_line
from webhook.library.review import title_of
from webhook.lsp.texts import TextLines
from webhook.lsp.workspace import MOST, Workspace
from webhook.manifests.places import Spot

_DEEP: Final = 3


def symbols(source: str, workspace: Workspace, lines: TextLines) -> list[types.DocumentSymbol]:
    file = workspace.files.get(source)
    listed = []
    for document in file.documents[:MOST] if file else ():
        if document.tree is not None:
            whole = lines.spot(document.tree)
            start = types.Range(whole.start, whole.start)
            children = [*_fields(document.tree, lines, _DEEP)]
            name = one_line(title_of(document.value)) or "object"
            listed.append(types.DocumentSymbol(name, types.SymbolKind.Object, whole, start, children=children))
    return listed


def _fields(spot: Spot, lines: TextLines, depth: int) -> Iterator[types.DocumentSymbol]:
    entries = spot.value.items() if isinstance(spot.value, dict) and depth else ()
    for name, (key, value) in entries:
        own, whole = lines.spot(key), lines.spot(value)
        if (whole.start.line, whole.start.character) < (own.start.line, own.start.character):
            continue  # an alias: the value stands elsewhere
        kind = types.SymbolKind.Field if value.is_scalar else types.SymbolKind.Struct
        children = [*_fields(value, lines, depth - 1)]
        label = one_line(str(name)) or "''"
        yield types.DocumentSymbol(label, kind, types.Range(own.start, whole.end), own, children=children)
