"""The report for CI systems that annotate changes: workflow commands of GitHub, Code Quality of GitLab."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from webhook.admission import one_line
from webhook.admission.errors import Problem
from webhook.cli.output import inert, inert_json
from webhook.cli.report.machine import located
from webhook.cli.report.report import Report
from webhook.library.findings import Finding, Severity
from webhook.library.verdict import Verdict

_GITLAB: Final = {Severity.ERROR: "major", Severity.WARNING: "minor"}
_ESCAPES: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})
"""What separates the properties of a workflow command."""


def github(report: Report) -> Iterator[str]:
    """One workflow command for each finding; texts of users are escaped, so that they cannot be commands."""
    for each, found in report.findings():
        place = found.place
        where = _place(each.source, f",line={place.line},col={place.column},endColumn={place.end}")
        title = _property(f"{found.code} {each.title}")
        text = "; help: ".join((found.text, *found.helps))
        yield f"::{found.severity} {where}title={title}::{_message(text)}"
    for problem in report.problems:
        where = _located(problem)
        text = ": ".join(filter(None, ("" if where else problem.source, problem.path, problem.message)))
        yield f"::error {where}title=unreadable::{_message(text)}"
    for level, problem in _others(report):
        yield f"::{level} {_located(problem)}title=modelgate::{_message(problem.message)}"


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
    issues = [_issue(each, found) for each, found in report.findings()]
    for problem in report.problems:
        file, line = located(problem)
        issues.append(_entry(str(problem), "unreadable", "blocker", file, line or 1))
    for level, problem in _others(report):
        file, line = located(problem)
        if file and Path(file).is_file():  # each issue has a place; the log of the job has the others
            severity = "minor" if level == "warning" else "info"
            issues.append(_entry(problem.message, "modelgate", severity, file, line or 1))
    return inert_json(json.dumps(issues, ensure_ascii=True, indent=2))


def _issue(each: Verdict, found: Finding) -> dict[str, Any]:
    text, file = "; help: ".join((found.text, *found.helps)), each.source
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
