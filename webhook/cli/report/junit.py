"""Reports as JUnit XML: a suite for each file, a case for each object or test case."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from webhook.admission import one_line
from webhook.cli.output import inert_xml
from webhook.cli.report.report import Report
from webhook.library.findings import Finding, Severity
from webhook.library.verdict import Result, Verdict


@dataclass(frozen=True, slots=True)
class TestCase:
    """``failure`` and ``error`` are texts of lines; "" if there is no failure. ``skipped`` says why."""

    __test__ = False  # pytest would take it for a test class

    suite: str
    name: str
    failure: str = ""
    error: str = ""
    skipped: str = ""
    output: str = ""


def render(report: Report, failing: Collection[Severity]) -> str:
    """A check: an object fails if it has a finding of one of these severities."""
    cases = [_case(each, failing) for each in report.objects]
    cases += [TestCase(problem.source, "read", error=str(problem)) for problem in report.problems]
    cases += [TestCase("not judged", each.message, skipped=str(each)) for each in (*report.unread, *report.notes())]
    cases += [TestCase("not applied", each.source, output=str(each)) for each in report.remarks]
    return render_cases(cases)


def render_cases(cases: Iterable[TestCase]) -> str:
    suites: dict[str, list[TestCase]] = {}
    for case in cases:
        suites.setdefault(case.suite, []).append(case)
    root = Element("testsuites", name="modelgate")
    for name, members in suites.items():
        counts = {
            "tests": len(members),
            "failures": sum(bool(case.failure) for case in members),
            "errors": sum(bool(case.error) for case in members),
            "skipped": sum(bool(case.skipped) for case in members),
        }
        suite = SubElement(root, "testsuite", {key: str(count) for key, count in counts.items()}, name=_text(name))
        for case in members:
            _add(suite, case)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{inert_xml(tostring(root, encoding="unicode"))}'


def _add(suite: Element, case: TestCase) -> None:
    element = SubElement(suite, "testcase", name=_text(case.name), classname=_text(case.suite))
    for kind, text in (("failure", case.failure), ("error", case.error), ("skipped", case.skipped)):
        if text:
            SubElement(element, kind, message=_text(text.split("\n", 1)[0])).text = _text(text)
    if case.output:
        SubElement(element, "system-out").text = _text(case.output)


def _case(each: Verdict, failing: Collection[Severity]) -> TestCase:
    failures = "\n".join(_line(each, found) for found in each.findings if found.severity in failing)
    others = [_line(each, found) for found in each.findings if found.severity not in failing]
    others += [one_line(f"judged as of {each.judged_as}")] if each.judged_as else []
    note = each.note if each.result is Result.SKIPPED else ""
    name = f"{each.line}: {each.title}"
    return TestCase(each.source, name, failures, skipped=note, output="\n".join(others))


def _line(each: Verdict, found: Finding) -> str:
    where = f"{each.source}:{found.place.line}:{found.place.column}"
    return one_line(f"{where}: {found.code} {found.severity}: {found.text_with_helps}")


def _text(text: str) -> str:
    """The text on lines of its own making, in characters that XML 1.0 has."""
    return "\n".join(map(one_line, text.split("\n")))
