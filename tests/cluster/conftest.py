import pytest

from tests.reconciler.apiserver import ApiServer


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def server():
    with ApiServer() as started:
        yield started
