"""The report as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from webhook import catalog
from webhook.admission import GroupVersionKind
from webhook.catalog import Catalog, KnownKind
from webhook.cli.output import inert_json
from webhook.cli.report.codes import FIT, KUBERNETES
from webhook.cli.report.machine import located
from webhook.cli.report.report import Report, rule_page
from webhook.cli.rule import name_of, page_of
from webhook.cli.shell.version import version
from webhook.library.apiserver import kind_of
from webhook.library.findings import CODES, Finding
from webhook.library.verdict import Verdict

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def render(report: Report) -> str:
    kinds: dict[str, GroupVersionKind] = {}
    for each, found in report.findings():
        kinds.setdefault(found.code, kind_of(each.document.value))
    rules, loaded = sorted(kinds), catalog.load(packs=report.packs)
    run = {
        "tool": {
            "driver": {
                "name": "modelgate",
                "version": version(),
                "rules": [_rule(code, loaded, loaded.find(kinds[code]), report.docs) for code in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(each, found, rules) for each, found in report.findings()],
        "invocations": [
            {"executionSuccessful": not report.problems, "toolExecutionNotifications": list(_notifications(report))}
        ],
    }
    return inert_json(json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=True, indent=2))


def _notifications(report: Report) -> Iterator[dict[str, Any]]:
    """What is not judged, and why; and by which release, where nothing names one."""
    levels = (
        ("error", report.problems),
        ("warning", report.remarks),
        ("note", [*report.unread, *report.notes(), *report.judgements()]),
    )
    for level, problems in levels:
        for problem in problems:
            place = _file(*located(problem))
            text = ": ".join(filter(None, (problem.path, problem.message))) if place else str(problem)
            yield {"level": level, "message": {"text": text}, **({"locations": [place]} if place else {})}


def _rule(code: str, loaded: Catalog, known: KnownKind | None, docs: str) -> dict[str, Any]:
    title, page = page_of(code, known, loaded) if known else ("", "")
    page = page or {**CODES, **KUBERNETES, **FIT}.get(code, f"`modelgate rule {code}` explains this rule.")
    title, link = title or page.partition(". ")[0].rstrip("."), rule_page(code, docs)
    return {
        "id": code,
        "name": name_of(code if code in CODES else title),
        "shortDescription": {"text": f"{title}."},
        "fullDescription": {"text": page},
        "help": {"text": page},
        **({"helpUri": link} if link.startswith("http") else {}),
    }


def _result(each: Verdict, found: Finding, rules: list[str]) -> dict[str, Any]:
    location = _file(each.source, found.place.line)
    if location:
        location["physicalLocation"]["region"] |= {"startColumn": found.place.column, "endColumn": found.place.end}
    location["logicalLocations"] = [{"fullyQualifiedName": f"{each.title}: {found.field}"}]
    text = "; ".join((found.text, *found.helps))
    identity = f"{each.source}\0{each.title}\0{found.code}\0{found.field}"
    properties = {"properties": {"judgedAs": str(each.judged_as)}} if each.judged_as else {}
    return {
        "ruleId": found.code,
        "ruleIndex": rules.index(found.code),
        "level": str(found.severity),
        "message": {"text": text},
        "locations": [location],
        "partialFingerprints": {"modelgate/v1": hashlib.sha256(identity.encode(errors="replace")).hexdigest()},
        **properties,
    }


def _file(name: str, line: int | None) -> dict[str, Any]:
    """A place in a file; nothing if there is no such file, such as for standard input."""
    path = Path(name)
    if not name or not path.exists():
        return {}
    here = Path.cwd()
    shown = path.relative_to(here) if path.is_absolute() and path.is_relative_to(here) else path
    prefix = "file://" if shown.is_absolute() else ""
    uri = prefix + quote(shown.as_posix(), errors="surrogateescape")
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": line or 1}}}
