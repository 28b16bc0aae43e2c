"""The findings of a scan as reports of OpenReports, one for each object: the same that the reconciler keeps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TextIO

from reconciler import NORMALISED, Condition, owned, report
from webhook.cli.dumping import dumped
from webhook.cli.scan.judging import Judged
from webhook.cluster import APIResource
from webhook.engine import Ruling

_GROUP: Final = ("openreports.io", "v1alpha1")
_REPORT: Final = APIResource(*_GROUP, "reports", "Report")
_CLUSTER_REPORT: Final = APIResource(*_GROUP, "clusterreports", "ClusterReport", False)


def write(judged: Iterable[Judged], rules: Ruling, file: TextIO) -> None:
    """Write a YAML document for each object with findings."""
    for each in judged:
        found = _report(each, rules)
        if found is not None:
            file.write(dumped(found))


def _report(each: Judged, rules: Ruling) -> dict[str, Any] | None:
    obj = each.value
    resource = _REPORT if obj["metadata"].get("namespace") else _CLUSTER_REPORT
    condition = Condition(NORMALISED, each.verdict.clean, "", "")
    found = report(resource, obj, each.verdict, condition, rules.because(obj))
    return None if found is None else owned(found, obj)
