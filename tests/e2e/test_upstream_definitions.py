"""The reconciler where upstream's definitions are installed instead of Modelgate's: it heals and reports all the same.

Needs the shared material. The definitions of the checkout are installed again at the end.
"""

from __future__ import annotations

import pytest

from reconciler.audit import outlet
from tests.e2e.crds import install_crds
from tests.e2e.kinds import KINDS
from tests.e2e.processes import wait_until
from tests.e2e.reconciling import Reconciler, condition, events
from tests.e2e.seeing import with_view
from tests.reconciler.world import rules
from tests.shared import shared
from webhook.admission.stamp import Stamp

CLEAN = ("AIMImage", "AIMModelCache", "BaseModel", "BenchmarkJob", "Model", "OpenModel", "ServingRuntime")
"""Kinds whose row in kinds.yaml refers to no other object, and that are in all of upstream's definitions."""

ROWS = [row for row in KINDS if row.kind in CLEAN]
NAMESPACE = "upstream"
NAMESPACED = {each.kind: each.namespaced for each in rules().kinds()}


@pytest.fixture(scope="module")
def theirs(plane, gate):
    plane.kubectl("create", "namespace", NAMESPACE)
    kubectl = plane.kubectl.within(NAMESPACE)
    for path in sorted(shared("upstream-crds").glob("*/*.yaml")):
        plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(path))
    with with_view(plane, gate):
        with gate.absent():
            kubectl.send_all("create", [row.object(f"of-{row.kind.lower()}") for row in ROWS])
        with Reconciler(plane, "--profile=standard", "--apis=llmaz", name="upstream"):
            yield kubectl
    kubectl("delete", "openmodels.llmaz.io", "--all", "--wait=false")
    plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")
    install_crds(plane.kubectl)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kind)
def test_an_object_is_healed_and_gets_the_condition_that_its_definition_has_room_for(theirs, row):
    name = f"of-{row.kind.lower()}"

    def healed():
        obj = theirs.find(row.resource, name)
        stamp = Stamp.read(obj)
        return obj if stamp is not None and stamp.matches(obj) else None

    wait_until(healed, f"a stamp on {name}")
    resource = next(each for each in rules().kinds() if each.kind == row.kind)
    if outlet(rules(), resource).name != "NONE":
        wait_until(lambda: condition(theirs.find(row.resource, name), "Normalised"), f"a condition on {name}")
    told = theirs if NAMESPACED[row.kind] else theirs.within("default")
    assert [each for each in events(told, name) if each[0] == "Warning"] == []
