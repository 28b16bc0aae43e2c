"""The short form of lifecycle.py: a release under load, from its installation to its end."""

from __future__ import annotations

import pytest

from tests.e2e.given import GivenCluster
from tests.e2e.lifecycle import SHORT, lived, living, unexcused


def test_whatever_is_done_to_a_release_no_call_fails_but_where_a_webhook_cannot_be_called_yet(node, image):
    if isinstance(node, GivenCluster):
        pytest.skip("needs a node of its own: the load and the metrics are inside it")
    with living(node, image) as life:
        spans, calls = lived(life, SHORT)
    for span in spans:
        print(span.row(calls))
    assert unexcused(spans, calls) == []
    assert len(calls) > 1000
