import pytest

from reconciler.projections.llmkube import controller
from tests.reconciler.apiserver import ApiServer
from tests.reconciler.looping import REPORTS
from tests.reconciler.models import Time
from tests.reconciler.world import Gate, World, rules


@pytest.fixture
def server():
    with ApiServer() as started:
        yield started


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def world(server, time):
    found = World(server, time, by=rules("strict"), also=[REPORTS])
    server.admission = Gate(found.rules, found.view)
    return found


@pytest.fixture
def acting(server, time):
    """A world in which the status of Models is projected."""
    found = World(server, time, controller(), by=rules("strict"))
    server.admission = Gate(found.rules, found.view)
    return found
