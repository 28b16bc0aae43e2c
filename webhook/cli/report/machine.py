"""The report as one JSON document: its fields are those of ``check-report.schema.json``, which is versioned."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from webhook.admission.errors import Problem
from webhook.cli.output import inert_json
from webhook.cli.report.report import Report, rule_page
from webhook.cli.shell.version import version
from webhook.library.explained import Change
from webhook.library.findings import Finding
from webhook.library.verdict import Result, Verdict

API_VERSION: Final = "modelgate.dev/v1"


def render(report: Report) -> str:
    return inert_json(json.dumps(document(report), ensure_ascii=True, indent=2))


def document(report: Report) -> dict[str, Any]:
    """The report as JSON values."""
    return {
        "apiVersion": API_VERSION,
        "kind": "CheckReport",
        "tool": {"name": "modelgate", "version": version()},
        "summary": {
            "checked": report.checked,
            "refused": report.count(Result.REFUSED),
            "warned": report.warned,
            "skipped": report.count(Result.SKIPPED),
            "ignoredWarnings": report.ignored,
            "unchangedFindings": report.before,
            "unreadable": len(report.problems),
            "notRead": dict(report.skipped),
        },
        "objects": [_object(each, report.docs) for each in report.objects],
        "problems": [_problem(each) for each in report.problems],
        "remarks": [_problem(each) for each in report.remarks],
        "unread": [_problem(each) for each in report.unread],
        "notes": [_problem(each) for each in report.notes()],
        "assumedReleases": dict(report.assumed),
    }


def located(problem: Problem) -> tuple[str, int | None]:
    """The file of a problem, and its line if that is known."""
    file, colon, line = problem.source.rpartition(":")
    return (file, int(line)) if colon and line.isdecimal() else (problem.source, None)


def _object(each: Verdict, docs: str) -> dict[str, Any]:
    value = each.document.value
    metadata = value["metadata"] if isinstance(value.get("metadata"), dict) else {}
    named = {key: metadata[key] for key in ("namespace", "name") if isinstance(metadata.get(key), str)}
    return {
        "file": each.source,
        "line": each.line,
        "apiVersion": value["apiVersion"],
        "kind": value["kind"],
        **named,
        "verdict": str(each.result),
        **{key: text for key, text in (("note", each.note), ("stamp", each.stamp)) if text},
        "findings": [_finding(found, docs) for found in each.findings],
        "changes": [_change(change) for change in each.filled],
    }


def _finding(found: Finding, docs: str) -> dict[str, Any]:
    return dict(_parts(found, docs))


def _parts(found: Finding, docs: str) -> Iterator[tuple[str, Any]]:
    yield "severity", str(found.severity)
    yield "code", found.code
    yield "field", found.field
    yield "message", found.message
    yield "line", found.place.line
    yield "column", found.place.column
    yield "endColumn", found.place.end
    yield "help", list(found.helps)
    page = rule_page(found.code, docs) if found.is_rule else ""
    optional = {"reason": found.reason, "policy": found.policy, "docs": page}
    yield from ((key, value) for key, value in optional.items() if value)


def _change(change: Change) -> dict[str, Any]:
    value = {} if change.operation == "remove" else {"value": change.value}
    code = {"code": change.code} if change.code else {}
    return {"operation": change.operation, "field": change.path, **value, "reason": change.reason, **code}


def _problem(problem: Problem) -> dict[str, Any]:
    file, line = located(problem)
    where = {} if line is None else {"line": line}
    return {"file": file, **where, **({"field": problem.path} if problem.path else {}), "message": problem.message}
