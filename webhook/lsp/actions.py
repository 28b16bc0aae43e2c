"""What an editor offers at a finding: to repair it, or to leave a warning out with a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from lsprotocol import types

from webhook.library.edits import Edit, Repair, amount_meant
from webhook.library.findings import Finding, Severity
from webhook.library.verdict import Verdict
from webhook.lsp.diagnostics import diagnostic
from webhook.lsp.showing import EXPLAIN, showing_actions
from webhook.lsp.texts import TextLines
from webhook.lsp.workspace import Workspace
from webhook.manifests.documents import Document
from webhook.manifests.places import Spot, find

_IGNORE: Final = "modelgate.dev/ignore"
_WHY: Final = "# because: "
_MEANT: Final = re.compile(r"did you mean (?P<name>[\w.-]+)\?$")
FIX_ALL: Final = f"{types.CodeActionKind.SourceFixAll.value}.modelgate"
"""The kind of the action that repairs a file: editors ask for it when they save."""


def actions(
    uri: str, source: str, workspace: Workspace, lines: TextLines, params: types.CodeActionParams
) -> list[types.CodeAction]:
    """The actions at a range of a file, of the kinds that the editor asks for."""
    file = workspace.files.get(source)
    if file is None or not file.documents:
        return []
    only = params.context.only
    start, end = (lines.yaml_line(lines.offset(place)) for place in (params.range.start, params.range.end))
    offered = list[types.CodeAction]()
    if _wants(only, types.CodeActionKind.QuickFix.value):
        offered += _repairs(uri, source, workspace, lines, range(start, end + 1))
        for number, verdict in enumerate(workspace.verdicts(source)[: len(file.documents)]):
            offered += _amounts(uri, source, number, workspace, lines, range(start, end + 1))
            offered += _at_warnings(uri, verdict, workspace, lines, range(start, end + 1))
    if _wants(only, EXPLAIN):
        offered += showing_actions(uri, source, workspace, range(start, end + 1))
    if only and _wants(only, FIX_ALL):
        offered += _all_repairs(uri, source, workspace, lines)
    return offered


def _wants(only: Sequence[types.CodeActionKind | str] | None, kind: str) -> bool:
    """Whether an editor asks for a kind of actions: by its name, or by the beginning of it."""
    return not only or any(f"{kind}.".startswith(f"{wanted}.") for wanted in map(_text, only))


def _text(kind: types.CodeActionKind | str) -> str:
    return kind.value if isinstance(kind, types.CodeActionKind) else kind


def _repair(source: str, workspace: Workspace) -> Repair:
    reviews = workspace.reviews(source)[: len(workspace.files[source].documents)]
    return Repair(reviews, lambda document: workspace.review(workspace.desk.settled(document)))


def _repairs(uri: str, source: str, workspace: Workspace, lines: TextLines, rows: range) -> Iterator[types.CodeAction]:
    """The edits on these lines that help."""
    repair = _repair(source, workspace)

    def is_wanted(edit: Edit) -> bool:
        return lines.yaml_line(edit.start) in rows

    for number, verdict in enumerate(workspace.verdicts(source)[: len(repair.reviews)]):
        near = [finding for finding in verdict.errors if finding.place.line - 1 in rows]
        for edit in repair.helpful(number, is_wanted) if verdict.errors else ():
            old = lines.text[edit.start : edit.end]
            change = types.TextEdit(lines.span(edit.start, edit.end), edit.text)
            yield types.CodeAction(
                title=f"Replace {old} by {edit.text}",
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[diagnostic(finding, workspace, lines) for finding in near if finding.field == edit.about],
                is_preferred=True,
                edit=types.WorkspaceEdit({uri: [change]}),
            )


def _all_repairs(uri: str, source: str, workspace: Workspace, lines: TextLines) -> Iterator[types.CodeAction]:
    """All edits of the file that help, as one change of its text."""
    repair = _repair(source, workspace)
    repair.repair()
    if repair.done:
        change = types.TextEdit(lines.span(0, len(lines.text)), repair.text)
        edit = types.WorkspaceEdit({uri: [change]})
        yield types.CodeAction("Repair all that is unambiguous", FIX_ALL, edit=edit)


def _amounts(
    uri: str, source: str, number: int, workspace: Workspace, lines: TextLines, rows: range
) -> Iterator[types.CodeAction]:
    """To take ``16Gi`` for ``16GB``, where nothing more is said of the field then."""
    verdict = workspace.verdicts(source)[number]
    near = {finding.field: finding for finding in reversed(verdict.findings) if finding.place.line - 1 in rows}
    for finding in near.values():
        spot = verdict.document.written(finding.field) if verdict.document.is_yaml else None
        meant = amount_meant(spot.text) if spot is not None and spot.is_scalar else ""
        if spot is None or not meant:
            continue
        start, end = lines.yaml_offset(spot.line, spot.column), lines.yaml_offset(spot.end_line, spot.end_column)
        quote = "" if spot.plain else lines.text[start]
        edit = Edit(start, end, f"{quote}{meant}{quote}", finding.field)
        judged = _repair(source, workspace).judged(number, edit)
        if judged is not None and all(after.field != finding.field for after in Verdict.of(judged).findings):
            change = types.TextEdit(lines.span(start, end), edit.text)
            yield _at_finding(uri, finding, workspace, lines, f"Replace by {meant}", change)


def _at_warnings(
    uri: str, verdict: Verdict, workspace: Workspace, lines: TextLines, rows: range
) -> Iterator[types.CodeAction]:
    """To take the name that is meant, or to leave the warnings on these lines out: of their field, or of the whole
    object. An error cannot be left out.
    """
    if not verdict.document.is_yaml:
        return
    for finding in verdict.findings:
        if finding.severity is not Severity.WARNING or finding.place.line - 1 not in rows:
            continue
        if change := _name_meant(finding, verdict.document, lines):
            yield _at_finding(uri, finding, workspace, lines, f"Replace by {change.new_text}", change)
        yield _at_finding(uri, finding, workspace, lines, f"Ignore {finding.code} here", _comment(finding, lines))
        if change := _annotation(finding.code, verdict.document, lines):
            yield _at_finding(uri, finding, workspace, lines, f"Ignore {finding.code} in this object", change)


def _name_meant(finding: Finding, document: Document, lines: TextLines) -> types.TextEdit | None:
    """The name that a reference to a missing object may mean, in its place."""
    meant, spot = _MEANT.search(finding.message), document.written(finding.field)
    if meant is None or spot is None or not spot.plain or f" {spot.text} " not in finding.message:
        return None
    return types.TextEdit(lines.spot(spot), meant["name"])


def _at_finding(
    uri: str, finding: Finding, workspace: Workspace, lines: TextLines, title: str, change: types.TextEdit
) -> types.CodeAction:
    return types.CodeAction(
        title=title,
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[diagnostic(finding, workspace, lines)],
        edit=types.WorkspaceEdit({uri: [change]}),
    )


def _comment(finding: Finding, lines: TextLines) -> types.TextEdit:
    """A comment above the line of a finding, with room for the reason."""
    start, end = lines.line(finding.place.line - 1)
    text = lines.text[start:end]
    indent = text[: len(text) - len(text.lstrip())]
    return types.TextEdit(lines.span(start, start), f"{indent}# modelgate: ignore {finding.code} because \n")


def _annotation(code: str, document: Document, lines: TextLines) -> types.TextEdit | None:
    """The annotation that leaves a code out, added to the others of the object, with room for the reason."""
    _, written, there = find(document.tree, ("metadata", "annotations", _IGNORE))
    if there and written is not None and written.is_scalar:
        end = lines.yaml_offset(written.end_line, written.end_column)
        end -= 0 if written.plain else 1
        return types.TextEdit(lines.span(end, end), f",{code}")
    key, annotations, there = find(document.tree, ("metadata", "annotations"))
    if there and key is not None and annotations is not None and isinstance(annotations.value, dict):
        return _added(f"{_IGNORE}: {code}", key, annotations, lines)
    key, metadata, there = find(document.tree, ("metadata",))
    if there and key is not None and metadata is not None and isinstance(metadata.value, dict):
        if metadata.first is None:
            return _added(f"annotations: {{{_IGNORE}: {code}}}", key, metadata, lines)
        return _added(f"annotations:\n{' ' * (metadata.column + 2)}{_IGNORE}: {code}", key, metadata, lines)
    return None


def _added(entry: str, key: Spot, mapping: Spot, lines: TextLines) -> types.TextEdit | None:
    """An entry before the first one of a mapping, in a block or in braces."""
    start = lines.yaml_offset(mapping.line, mapping.column)
    if mapping.first is not None and mapping.line > key.line:
        begin, _ = lines.line(mapping.line)
        return types.TextEdit(lines.span(begin, begin), f"{' ' * mapping.column}{entry}  {_WHY}\n")
    if lines.text[start : start + 1] == "{":
        separator = ", " if mapping.value else ""
        return types.TextEdit(lines.span(start + 1, start + 1), f"{entry}{separator}")
    return None
