"""Operations on pods: templates of Deployments and Jobs, and parts of them (``pods-corpus/1``)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.conformance.compare import errors_differ, first, warnings_differ
from tests.conformance.pods import FAMILY, PLACES, around, below
from webhook.ground.fieldpath import ROOT
from webhook.kubernetes import template_warnings, validate
from webhook.schema import FieldError

Case = dict[str, Any]
_PATH = "spec.template."


def _message(error: dict[str, Any]) -> str:
    """The recorded error as one text; ``body`` where its value is an object or a list."""
    body = error.get("body") or FieldError(error["type"], "", error["detail"], error.get("badValue", "")).body()
    return f"{error['field']}: {body}"


def _judged(case: Case, template: Any, errors: list[FieldError]) -> str | None:
    """What is refused has no warnings, and what does not decode is not judged."""
    if "decode" in case:
        return None
    wanted = [{"type": error["type"], "message": _message(error)} for error in case["errors"]]
    if case["errors"] or case.get("outside"):
        return errors_differ(wanted, errors)
    told = {f"{field}: {text}" if field else text for field, text, _ in template_warnings(template, ROOT)}
    recorded = {warning.replace(_PATH, "") for warning in case.get("warnings", [])}
    return first(errors_differ(wanted, errors), warnings_differ(recorded, told))


def _certain(template: Any, errors: list[FieldError]) -> str | None:
    """A part says nothing that the whole does not say."""
    said = {str(error) for error in validate("PodTemplateSpec", template, part=True)}
    return first(*(f"only a part says {text}" for text in said - {str(error) for error in errors}))


def pod_template(case: Case, owner: str = "deployment") -> str | None:
    errors = validate("PodTemplateSpec", case["in"], owner=owner)
    return _judged(case, case["in"], errors)


def job_template(case: Case) -> str | None:
    return pod_template(case, "job")


def part(case: Case) -> str | None:
    place = PLACES[case["op"].removeprefix(FAMILY)]
    template = around(place, case["in"])
    errors = validate("PodTemplateSpec", template)
    own = [replace(error, field=path) for error in errors if (path := below(error.field, place)) is not None]
    return first(_judged(case, template, own), _certain(template, errors))


OPS = {
    "pods/podTemplate": pod_template,
    "pods/jobTemplate": job_template,
    **{FAMILY + name: part for name in PLACES},
}
