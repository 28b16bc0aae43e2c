"""A rate for many keys: who waits keeps the turn."""

import pytest

from reconciler.pace import Pace


class Key:
    """As what the process knows of an object, it is told from others by its identity."""


@pytest.fixture
def keys():
    return [Key() for _ in range(5)]


def test_a_burst_goes_at_once_and_the_rest_at_the_rate(time, keys):
    pace = Pace(4, 3, time)
    assert [pace.turn(key) for key in keys] == [0, 0, 0, 0.25, 0.5]
    time.seconds += 0.25
    assert [pace.turn(key) for key in keys[3:]] == [0, 0.25]


def test_a_key_that_waits_is_not_sent_to_the_end_of_the_line(time, keys):
    pace = Pace(1, 1, time)
    pace.turn(keys[0])
    for _ in range(5):
        assert pace.turn(keys[1]) == 1
    assert pace.turn(keys[2]) == 2


def test_a_key_that_is_gone_is_not_remembered(time, keys):
    pace = Pace(1, 1, time)
    for key in keys:
        pace.turn(key)
    assert len(pace._turns) == 4
    del key
    keys.clear()
    assert len(pace._turns) == 0


def test_a_turn_is_used_once(time, keys):
    pace = Pace(1, 1, time)
    assert pace.turn(keys[0]) == 0
    assert pace.turn(keys[0]) == 1
