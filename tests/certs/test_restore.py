"""A webhook configuration with another field than the chart has is reported, and one as the chart has it is not.

That a deleted one is put back is in tests/e2e/test_restore.py.
"""

import base64
import json
from copy import deepcopy
from datetime import timedelta

import pytest

from certs import status
from certs.errors import ApiServerError, ChangedError
from certs.keeper import Look
from certs.lifetimes import Lifetimes
from certs.publish import Configuration, read
from certs.restore import Restorer
from certs.rotation import Seen, begin
from tests.certs.material import NOW

GATE = Configuration("validating", "gate")
TEMPLATE = "/api/v1/namespaces/ns/configmaps/gate-webhooks"
LATE = NOW + timedelta(seconds=10)
STATE = begin(Seen(None, (), complete=True), NOW, Lifetimes())
WEBHOOK = {
    "name": "validate.modelgate.dev",
    "clientConfig": {"service": {"name": "gate", "namespace": "ns", "path": "/validate", "port": 443}},
    "rules": [{"apiGroups": ["a"], "apiVersions": ["v1"], "resources": ["xs"], "operations": ["CREATE"], "scope": "*"}],
    "failurePolicy": "Fail",
    "namespaceSelector": {},
}
CHANGES = {
    "matchConditions": [{"name": "no", "expression": "false"}],
    "namespaceSelector": {"matchLabels": {"a": "b"}},
    "objectSelector": {"matchLabels": {"a": "b"}},
    "failurePolicy": "Ignore",
    "rules": [{**WEBHOOK["rules"][0], "scope": "Cluster"}],
    "clientConfig": {"service": {**WEBHOOK["clientConfig"]["service"], "port": 9440}},
    "matchPolicy": "Exact",
}
FIELDS = {"rules": "rules[0].scope", "clientConfig": "clientConfig.service.port"}


class Cluster:
    """An API server that only reads; ``calls`` are what was asked for."""

    def __init__(self):
        data = {"validating.gate": json.dumps({"webhooks": [WEBHOOK]}), "owner": "gate"}
        self.objects = {TEMPLATE: {"metadata": {}, "data": data}, GATE.path: {"metadata": {}, "webhooks": []}}
        self.calls = []
        self.restorer = Restorer(self, ("ns", "gate-webhooks"), timedelta(seconds=1))
        self.change()

    def change(self, **fields):
        changed = {**deepcopy(WEBHOOK), **fields}
        changed["clientConfig"] = {**changed["clientConfig"], "caBundle": "eA=="}
        before = self.objects[GATE.path]["metadata"].get("resourceVersion", "0")
        self.objects[GATE.path] = {"metadata": {"resourceVersion": str(int(before) + 1)}, "webhooks": [changed]}

    def get(self, path):
        self.calls.append(path)
        if path not in self.objects:
            raise ApiServerError(404, "not found", path)
        return self.objects[path]

    def look(self):
        return Look(STATE, None, (read(GATE, self),))

    def settle(self, now):
        """The faults that are reported."""
        notes, faults = self.restorer.settle(self.look(), now)
        assert notes == []
        return [str(fault) for fault in faults]


@pytest.fixture
def cluster():
    return Cluster()


def test_of_a_configuration_as_the_chart_has_it_nothing_is_said(cluster):
    assert (cluster.settle(NOW), cluster.settle(LATE)) == ([], [])


@pytest.mark.parametrize("field", CHANGES)
def test_a_field_that_was_changed_is_reported_after_the_time_of_an_upgrade(cluster, field):
    cluster.change(**{field: CHANGES[field]})
    assert cluster.settle(NOW) == []
    (fault,) = cluster.settle(LATE)
    assert fault.startswith(
        f"validating/gate: not as the release has it: webhooks[0].{FIELDS.get(field, field)} changed."
    )
    assert cluster.restorer.changed == {GATE}


def test_another_webhook_is_reported(cluster):
    cluster.objects[GATE.path]["webhooks"].append({**WEBHOOK, "name": "b"})
    cluster.settle(NOW)
    assert "not as the release has it: webhooks[1] changed." in cluster.settle(LATE)[0]


def test_what_was_restored_is_reported_no_longer(cluster):
    cluster.change(matchPolicy="Exact")
    cluster.settle(NOW)
    assert cluster.settle(LATE)
    cluster.change()
    assert cluster.settle(LATE) == []
    assert cluster.restorer.changed == frozenset()


def test_an_upgrade_that_changes_the_configuration_before_its_text_is_not_reported(cluster):
    cluster.change(failurePolicy="Ignore")
    assert cluster.settle(NOW) == []
    cluster.objects[TEMPLATE]["data"]["validating.gate"] = json.dumps(
        {"webhooks": [{**WEBHOOK, "failurePolicy": "Ignore"}]}
    )
    assert cluster.settle(LATE) == []


def test_without_the_text_there_is_nothing_to_compare_with(cluster):
    del cluster.objects[TEMPLATE]
    cluster.change(matchPolicy="Exact")
    assert (cluster.settle(NOW), cluster.settle(LATE)) == ([], [])


def test_the_state_for_the_server_says_so(cluster):
    def state(changed):
        look = cluster.look()
        return status.summary(look, [], NOW, Lifetimes(), changed)["configurations"][str(GATE)]

    assert state(()) == state({GATE}) == "refusing", "which is worse"
    bundle = base64.b64encode(STATE.bundle).decode()
    cluster.objects[GATE.path]["webhooks"][0]["clientConfig"]["caBundle"] = bundle
    assert (state(()), state({GATE})) == ("current", "changed")


def test_the_fault_is_an_event_about_the_configuration():
    fault = ChangedError("x", GATE.path)
    assert (fault.reason, fault.path) == ("ConfigurationChanged", GATE.path)
