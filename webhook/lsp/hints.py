"""What the gate and the definition would fill in, beside the object that they would fill it into."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from lsprotocol import types

from webhook.ground.fieldpath import field_keys
from webhook.library.explained import Change
from webhook.library.verdict import Verdict
from webhook.lsp.texts import TextLines
from webhook.lsp.workspace import Workspace

_SHOWN: Final = 3
"""Fields in the text of a hint; a look at it shows all."""
_LONGEST: Final = 40


def hints(source: str, workspace: Workspace, lines: TextLines, wanted: types.Range) -> list[types.InlayHint]:
    """A hint at the end of each line that names an object with fields to fill in."""
    file = workspace.files.get(source)
    if file is None:
        return []
    listed = []
    for verdict in workspace.verdicts(source):
        if verdict.document not in file.left and verdict.document.is_yaml:
            listed += [*_of_object(verdict, lines)]
    return [hint for hint in listed if wanted.start.line <= hint.position.line <= wanted.end.line]


def _of_object(verdict: Verdict, lines: TextLines) -> Iterator[types.InlayHint]:
    by_line = dict[int, list[Change]]()
    for change in verdict.filled:
        if change.operation == "add":
            by_line.setdefault(verdict.document.line_at(change.path), []).append(change)
    for number, changes in by_line.items():
        _, end = lines.line(number - 1)
        yield types.InlayHint(
            position=lines.position(end),
            label=_label(changes),
            padding_left=True,
            tooltip=types.MarkupContent(types.MarkupKind.Markdown, "\n".join(map(_reason, changes))),
        )


def _label(changes: Sequence[Change]) -> str:
    texts = [f"{field_keys(change.path)[-1]}: {_shown(change.value)}" for change in changes[:_SHOWN]]
    more = f", and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
    return f"+ {', '.join(texts)}{more}"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)
    text = text.lower() if isinstance(value, bool) else text
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _reason(change: Change) -> str:
    code = f" ({change.code})" if change.code else ""
    return f"- `{change.path}: {_shown(change.value).replace('`', '')}`: {change.reason}{code}"
