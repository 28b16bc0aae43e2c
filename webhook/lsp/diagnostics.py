"""Findings as an editor shows them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from lsprotocol import types

from webhook.admission.errors import Problem
from webhook.library.apiserver import kind_of
from webhook.library.findings import Finding, Severity
from webhook.library.verdict import Verdict
from webhook.lsp.texts import Shift, TextLines
from webhook.lsp.workspace import LARGEST, MOST, ManifestFile, Workspace
from webhook.manifests.places import Place

SOURCE: Final = "modelgate"
_LINE: Final = re.compile(r":(?P<line>\d+)$")
_SEVERITIES: Final = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
}
_MOST: Final = 500
"""Findings of a file: an editor does not help anyone with more."""


def diagnostics(source: str, workspace: Workspace, lines: TextLines) -> list[types.Diagnostic]:
    """What an editor shows of a file, whose text is in ``lines``."""
    file = workspace.files.get(source)
    if file is None:
        return [_unjudged(f"more than {LARGEST >> 20} MiB of text")] if len(lines.text) > LARGEST else []
    listed = [*_of_problems(file, lines)]
    if len(file.every_document) > MOST:
        listed.append(_unjudged(f"all objects of this file but the first {MOST}"))
    for verdict in workspace.verdicts(source):
        shift = shift_of(verdict, file)
        listed += _of_unchecked(verdict, workspace, lines, shift)
        listed += [diagnostic(finding, workspace, lines, shift) for finding in verdict.findings]
    return listed[:_MOST]


def shift_of(verdict: Verdict, file: ManifestFile) -> Shift | None:
    """Where the lines of a verdict are now; None if they are where they were."""
    return Shift(verdict.document.text, file.text) if verdict.document in file.left else None


def place_now(place: Place, shift: Shift | None) -> Place:
    return place if shift is None else shift.place(place)


def diagnostic(
    finding: Finding, workspace: Workspace, lines: TextLines, shift: Shift | None = None
) -> types.Diagnostic:
    page = workspace.desk.page(finding.code)
    return types.Diagnostic(
        range=lines.place(place_now(finding.place, shift)),
        message="\n".join((finding.text, *finding.helps)),
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(page) if page else None,
        source=SOURCE,
        data={"code": finding.code, "field": finding.field},
    )


def _unjudged(what: str) -> types.Diagnostic:
    """A remark that something is not judged, as `modelgate check` does."""
    start = types.Range(types.Position(0, 0), types.Position(0, 0))
    return _note(start, f"not judged here: {what}; `modelgate check` judges them")


def _note(where: types.Range, message: str) -> types.Diagnostic:
    return types.Diagnostic(where, message, types.DiagnosticSeverity.Information, code="note", source=SOURCE)


def _of_unchecked(
    verdict: Verdict, workspace: Workspace, lines: TextLines, shift: Shift | None
) -> Iterator[types.Diagnostic]:
    """Why an object of an API with rules is not judged, such as one of another version, in the words of `check`."""
    document = verdict.document
    group = kind_of(document.value).group
    if not verdict.checked and any(gvk.group == group for gvk in workspace.ruling(document).catalog.kinds):
        yield _note(lines.place(place_now(document.place("apiVersion"), shift)), f"not checked: {verdict.note}")


def _of_problems(file: ManifestFile, lines: TextLines) -> Iterator[types.Diagnostic]:
    """What cannot be read. It is a warning: the text may be half written, or a template that something fills in."""
    for problem in file.problems:
        yield types.Diagnostic(
            range=lines.place(_place_of(problem, lines)),
            message=_message(problem, file),
            severity=types.DiagnosticSeverity.Warning,
            code="unreadable",
            source=SOURCE,
        )


def _message(problem: Problem, file: ManifestFile) -> str:
    message = f"{problem.path}: {problem.message}" if problem.path else problem.message
    return f"{message}\nJudged as it was when it could be read." if file.left else message


def _place_of(problem: Problem, lines: TextLines) -> Place:
    """The text of the line that a problem names."""
    match = _LINE.search(problem.source)
    number = int(match["line"]) if match else 1
    start, end = lines.line(number - 1)
    text = lines.text[start:end]
    begin = len(text) - len(text.lstrip())
    return Place(number, begin + 1, max(len(text.rstrip()), begin + 1) + 1)
