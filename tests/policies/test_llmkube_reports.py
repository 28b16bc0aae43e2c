"""What users of LLMKube reported of objects that were accepted and wrong: it is said at admission, or it cannot be."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from modelgate import Gate
from webhook.facts.settings import Settings

GROUP = "inference.llmkube.dev/v1alpha1"
ROWS = yaml.safe_load(Path(__file__).with_name("llmkube_reports.yaml").read_text())
JUDGED = [row for row in ROWS if "explained" not in row]


def objects(row: dict[str, Any]) -> list[dict[str, Any]]:
    model = {"source": "https://example.com/m.gguf", **row.get("model", {})}
    service = {"modelRef": "m", **row["service"]} if "service" in row else None
    named = [("Model", "m", model), *([("InferenceService", "s", service)] if service else [])]
    return [
        {"apiVersion": GROUP, "kind": kind, "metadata": {"name": name, "namespace": "team"}, "spec": spec}
        for kind, name, spec in named
    ]


@pytest.mark.parametrize("row", JUDGED, ids=lambda row: row["thread"])
def test_what_was_reported_is_said(row: dict[str, Any]) -> None:
    for release in row["releases"]:
        gate = Gate(settings=Settings(releases=(("llmkube", release),)))
        verdicts = gate.check_all(yaml.safe_dump_all(objects(row)))
        said = {finding.code if finding.is_rule else finding.field for each in verdicts for finding in each.findings}
        assert said & {*row["codes"]}, f"under {release}: {said}"


def test_every_report_has_an_answer() -> None:
    assert len(ROWS) >= 30
    assert all(("explained" in row) != ("codes" in row) for row in ROWS)
