"""The report for machines: JSON, workflow commands of GitHub and Code Quality of GitLab.

The fields of the JSON document are those of ``check-report.schema.json``, which is versioned.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from webhook.admission import Muted, one_line
from webhook.admission.errors import Problem
from webhook.children import Child
from webhook.cli.output import inert, inert_json
from webhook.cli.report.report import Report, rule_page
from webhook.cli.shell.version import version
from webhook.library.explained import Change
from webhook.library.findings import Finding, Severity
from webhook.library.rulings import JudgedAs
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
        "objects": [_object(each, report) for each in report.objects],
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


def _object(each: Verdict, report: Report) -> dict[str, Any]:
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
        **({"judgedAs": _basis(each.judged_as)} if each.judged_as else {}),
        "findings": [_finding(found, report.docs) for found in each.findings],
        "changes": [_change(change) for change in each.filled],
        **({"children": [_child(child) for child in each.children]} if report.children else {}),
        **({"muted": [_muted(finding) for finding in each.muted]} if each.muted else {}),
    }


def _muted(muted: Muted) -> dict[str, str]:
    finding = muted.finding
    return {
        "code": finding.code,
        "field": finding.field,
        "message": finding.message,
        "action": muted.action,
        "by": muted.by,
    }


def _child(child: Child) -> dict[str, str]:
    """What identifies an object that an operator makes."""
    metadata = child.object["metadata"]
    named = {key: metadata[key] for key in ("namespace", "name") if isinstance(metadata.get(key), str)}
    return {"apiVersion": child.object["apiVersion"], "kind": child.object["kind"], **named}


def _basis(judged_as: JudgedAs) -> dict[str, Any]:
    places = {"places": list(judged_as.places)} if judged_as.places else {}
    return {"release": judged_as.release, "by": judged_as.by, **places}


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


_GITLAB: Final = {Severity.ERROR: "major", Severity.WARNING: "minor"}
_ESCAPES: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})
"""What separates the properties of a workflow command."""


def github(report: Report) -> Iterator[str]:
    """One workflow command for each finding; texts of users are escaped, so that they cannot be commands."""
    for each, found in report.findings():
        place = found.place
        where = _place(each.source, f",line={place.line},col={place.column},endColumn={place.end}")
        title = _property(f"{found.code} {each.title}")
        text = _whole_text(report, each, found)
        yield f"::{found.severity} {where}title={title}::{_message(text)}"
    for problem in report.problems:
        where = _located(problem)
        text = ": ".join(filter(None, ("" if where else problem.source, problem.path, problem.message)))
        yield f"::error {where}title=unreadable::{_message(text)}"
    pinned = (("notice", judgement) for judgement in report.judgements() if judgement.source)
    for level, problem in (*_others(report), *pinned):
        yield f"::{level} {_located(problem)}title=modelgate::{_message(problem.message)}"


def _whole_text(report: Report, verdict: Verdict, finding: Finding) -> str:
    return "; ".join(filter(None, (finding.text_with_helps, report.basis(verdict))))


def _others(report: Report) -> Iterator[tuple[str, Problem]]:
    """What is not judged or not applied."""
    yield from (("warning", each) for each in report.remarks)
    yield from (("notice", each) for each in (*report.unread, *report.notes()))


def _place(file: str, rest: str = "") -> str:
    """The properties of a command that name a place, if that is in a file."""
    return f"file={_property(file)}{rest}," if file and Path(file).is_file() else ""


def _located(problem: Problem) -> str:
    file, line = located(problem)
    return _place(file, "" if line is None else f",line={line}")


def _property(text: str) -> str:
    return inert(one_line(text)).translate(_ESCAPES)


def _message(text: str) -> str:
    return inert(one_line(text)).replace("%", "%25")


def gitlab(report: Report) -> str:
    """Code Quality: a JSON array of issues."""
    issues = [_issue(report, each, found) for each, found in report.findings()]
    for problem in report.problems:
        file, line = located(problem)
        issues.append(_entry(str(problem), "unreadable", "blocker", file, line or 1))
    for level, problem in _others(report):
        file, line = located(problem)
        if file and Path(file).is_file():  # each issue has a place; the log of the job has the others
            severity = "minor" if level == "warning" else "info"
            issues.append(_entry(problem.message, "modelgate", severity, file, line or 1))
    return inert_json(json.dumps(issues, ensure_ascii=True, indent=2))


def _issue(report: Report, each: Verdict, found: Finding) -> dict[str, Any]:
    text, file = _whole_text(report, each, found), each.source
    return _entry(text, found.code, _GITLAB[found.severity], file, found.place.line, f"{each.title}\0{found.field}")


def _entry(text: str, check: str, severity: str, file: str, line: int, identity: str = "") -> dict[str, Any]:
    fingerprint = hashlib.sha256("\0".join((file, check, identity or text)).encode(errors="replace")).hexdigest()
    return {
        "description": text,
        "check_name": check,
        "fingerprint": fingerprint,
        "severity": severity,
        "location": {"path": file.removeprefix("./"), "lines": {"begin": line}},
    }
