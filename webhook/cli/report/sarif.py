"""The report as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from webhook.cli.report.finding import CODES, Finding, ObjectReport, Report
from webhook.cli.report.machine import located
from webhook.cli.report.podcodes import KUBERNETES
from webhook.cli.report.tool import rule_page, version

__all__ = ["render"]

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def render(report: Report) -> str:
    rules = sorted({found.code for _, found in report.findings()})
    run = {
        "tool": {
            "driver": {"name": "modelgate", "version": version(), "rules": [_rule(code, report.docs) for code in rules]}
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(each, found, rules) for each, found in report.findings()],
        "invocations": [
            {
                "executionSuccessful": not report.problems,
                "toolExecutionNotifications": [
                    {"level": "error", "message": {"text": str(problem)}, "locations": [_file(*located(problem))]}
                    for problem in report.problems
                ],
            }
        ],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=True, indent=2)


def _rule(code: str, docs: str) -> dict[str, Any]:
    text = {**CODES, **KUBERNETES}.get(code, f"`modelgate rule {code}` explains this rule.")
    page = rule_page(code, docs)
    return {
        "id": code,
        "shortDescription": {"text": text},
        **({"helpUri": page} if page.startswith("http") else {}),
    }


def _result(each: ObjectReport, found: Finding, rules: list[str]) -> dict[str, Any]:
    location = _file(each.document.source, found.place.line)
    location["physicalLocation"]["region"] |= {"startColumn": found.place.column, "endColumn": found.place.end}
    location["logicalLocations"] = [{"fullyQualifiedName": f"{each.title}: {found.field}"}]
    text = "; ".join((found.text, *found.helps))
    identity = f"{each.document.source}\0{each.title}\0{found.code}\0{found.field}"
    return {
        "ruleId": found.code,
        "ruleIndex": rules.index(found.code),
        "level": str(found.severity),
        "message": {"text": text},
        "locations": [location],
        "partialFingerprints": {"modelgate/v1": hashlib.sha256(identity.encode(errors="replace")).hexdigest()},
    }


def _file(name: str, line: int | None) -> dict[str, Any]:
    path = Path(name)
    here = Path.cwd()
    shown = path.relative_to(here) if path.is_absolute() and path.is_relative_to(here) else path
    prefix = "file://" if shown.is_absolute() else ""
    uri = prefix + quote(shown.as_posix(), errors="surrogateescape")
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": line or 1}}}
