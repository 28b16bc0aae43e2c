"""The reconciler's metrics."""

from __future__ import annotations

import re

from reconciler.guard import Guard
from reconciler.metrics import Metrics
from reconciler.queue import Queue
from reconciler.resource import Item
from tests.shared import ROOT


def test_the_page_names_every_metric_of_the_reconciler() -> None:
    metrics = Metrics(Queue[Item](), Guard(), {}, namespaces=1)
    shown = {each.name + ("_total" if each.type == "counter" else "") for each in metrics.registry.collect()}
    _, _, part = (ROOT / "docs" / "metrics.md").read_text().partition("### The reconciler")
    rows = re.findall(r"^\| `(modelgate_\w+)` \|", part.partition("\n## ")[0], re.MULTILINE)
    assert set(rows) == shown
