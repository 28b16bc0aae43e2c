"""Objects of 1.4 MiB through the real API server: what was created can be labelled, in the webhook's time."""

from __future__ import annotations

import orjson
import pytest

from tests.e2e.client import connected
from tests.e2e.large import KINDS, SIZE, large


@pytest.fixture
def client(plane, gate):  # noqa: ARG001  (behind the gate)
    with connected(plane.kubeconfig) as found:
        yield found


@pytest.mark.parametrize("kind", KINDS)
def test_a_large_object_that_was_created_can_be_labelled_within_the_time_of_the_webhook(kind, client, kubectl, gate):
    known, obj = large(kind)
    assert 0.96 * SIZE < len(orjson.dumps(obj)) < 1.02 * SIZE
    obj["metadata"]["namespace"] = kubectl.flags[-1]
    created = client.create(known, obj, dry=False)
    assert created.code == 201, created.body
    before = gate.metrics()
    labelled = kubectl.patch(f"{known.plural}.{known.gvk.group}", "large", {"metadata": {"labels": {"a": "b"}}})
    after = gate.metrics()
    assert labelled["metadata"]["labels"]["a"] == "b"
    assert labelled["spec"] == created.body["spec"]
    for call in ("mutate", "validate"):
        key = f'modelgate_requests_total{{call="{call}",kind="{kind}",operation="UPDATE",outcome="allowed"}}'
        assert after[key] == before.get(key, 0) + 1, "the mutating webhook fails open: a late answer would not be seen"
