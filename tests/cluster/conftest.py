import pytest

from tests.reconciler.apiserver import ApiServer


@pytest.fixture
def server():
    with ApiServer() as started:
        yield started
