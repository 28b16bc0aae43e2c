"""What is said of a field: its text, its default and who sets it, and why a rule finds fault with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from webhook.admission import one_line
from webhook.catalog import KnownKind
from webhook.facts import Table
from webhook.ground.fieldpath import field_keys, field_path
from webhook.library.verdict import Verdict
from webhook.lsp.cursor import Cursor, schema_keys
from webhook.lsp.workspace import Workspace
from webhook.policy import node_at

_ENUM: Final = 20
"""Values of an enumeration that are listed."""
_ROWS: Final = 10
_LIMITS: Final = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern", "format")


def hover(cursor: Cursor, index: int, source: str, workspace: Workspace) -> str:
    """Markdown about a field of the object with this index in its file; "" if there is nothing to say."""
    verdict = workspace.verdicts(source)[index]
    kind = workspace.kind(verdict.document)
    if cursor.path in (("apiVersion",), ("kind",)):
        return "\n\n".join(_of_object(verdict, index, source, workspace)) if verdict.checked else ""
    parts = [*_findings(cursor, verdict, workspace)]
    if kind is not None:
        parts = [*_of_field(cursor.path, kind, verdict), *parts]
    return "\n\n".join(parts)


def _of_object(verdict: Verdict, index: int, source: str, workspace: Workspace) -> Iterator[str]:
    """What the object is judged by, and what is chosen for it among others."""
    as_of = f", judged as of {verdict.judged_as}" if verdict.judged_as else ""
    yield f"**{_plain(verdict.title)}**{_plain(as_of)}: {verdict.result}"
    for table in workspace.explained(workspace.reviews(source)[index]).tables:
        yield _table(table)


def _table(table: Table) -> str:
    rows = [table.header, ("---",) * len(table.header), *table.rows[:_ROWS]]
    lines = ["| " + " | ".join(_plain(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([f"{_plain(table.title)}", "", *lines])


def _of_field(path: Sequence[str | int], kind: KnownKind, verdict: Verdict) -> Iterator[str]:
    keys = schema_keys(path)
    node = field_of(kind, keys)
    if node is None:
        return
    yield f"`{_code(field_path(path))}`: {type_of(node)}"
    yield from described(node)
    filled = next((change for change in verdict.filled if change.path == field_path(path)), None)
    if "default" in node:
        yield f"Default: `{_json(node['default'])}`, which the API server sets by the definition."
    for rule in kind.policy.defaults:
        if list(rule.path.keys) == keys:
            yield f"Where it is absent, Modelgate may set it: {_plain(rule.because)} ({rule.code}). {_plain(rule.docs)}"
    if filled is not None and filled.operation == "add":
        yield f"Here it would be `{_json(filled.value)}`: {_plain(filled.reason)}."


def field_of(kind: KnownKind, keys: Sequence[str]) -> Mapping[str, Any] | None:
    """A field of the definition in force. One of another release has no texts: those of the documented one count."""
    node = node_at(kind.schema.raw, keys)
    texts = node_at(kind.documented.schema.raw, keys) if kind.documented else None
    return {**texts_of(texts), **node} if node is not None else None


def texts_of(node: Mapping[str, Any] | None) -> dict[str, Any]:
    """The description of a field alone."""
    return {"description": node["description"]} if node is not None and "description" in node else {}


def type_of(node: Mapping[str, Any]) -> str:
    """The type of a field in words."""
    if node.get("x-kubernetes-int-or-string"):
        return "integer or string"
    kind = node.get("type", "any value")
    if kind == "array":
        return f"list of {type_of(node.get('items') or {})}"
    limits = ", ".join(f"{name} {one_line(str(node[name]))}" for name in _LIMITS if name in node)
    return f"{kind} ({limits})" if limits else str(kind)


def described(node: Mapping[str, Any]) -> Iterator[str]:
    """The text of a field, and its values."""
    if node.get("description"):
        yield _plain(str(node["description"]))
    if values := node.get("enum"):
        more = f" and {len(values) - _ENUM} more" if len(values) > _ENUM else ""
        yield f"Values: {', '.join(f'`{_json(value)}`' for value in values[:_ENUM])}{more}"


def _findings(cursor: Cursor, verdict: Verdict, workspace: Workspace) -> Iterator[str]:
    """The findings at a field, each with the reason of its rule."""
    because = workspace.because(verdict.document) if verdict.findings else {}
    for finding in verdict.findings:
        if tuple(field_keys(finding.field)) == cursor.path:
            page = workspace.desk.page(finding.code)
            code = f"[{finding.code}]({page})" if page else finding.code
            yield " ".join(map(_plain, (f"**{finding.severity} {code}**: {finding.message}", *finding.helps)))
            yield from [_plain(because[finding.code])] if finding.code in because else ()


def _plain(text: str) -> str:
    return " ".join(one_line(text).split())


def _code(text: str) -> str:
    return one_line(text).replace("`", "'")


def _json(value: Any) -> str:
    return _code(json.dumps(value, ensure_ascii=False))
