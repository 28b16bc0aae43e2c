import pytest

from tests.reconciler.apiserver import ApiServer
from tests.reconciler.models import Time


@pytest.fixture
def clock():
    return Time()


@pytest.fixture
def server():
    with ApiServer() as started:
        yield started
