"""A rate for many keys: who waits keeps the turn."""

from reconciler.pace import Pace


def test_a_burst_goes_at_once_and_the_rest_at_the_rate(time):
    pace = Pace(4, 3, time)
    assert [pace.turn(key) for key in "abc"] == [0, 0, 0]
    assert [pace.turn(key) for key in "de"] == [0.25, 0.5]
    time.seconds += 0.25
    assert pace.turn("d") == 0
    assert pace.turn("e") == 0.25


def test_a_key_that_waits_is_not_sent_to_the_end_of_the_line(time):
    pace = Pace(1, 1, time)
    pace.turn("a")
    for _ in range(5):
        assert pace.turn("b") == 1
    assert pace.turn("c") == 2


def test_a_key_that_is_forgotten_waits_anew(time):
    pace = Pace(1, 1, time)
    pace.turn("a")
    assert pace.turn("b") == 1
    pace.forget("b")
    assert pace.turn("b") == 2


def test_a_turn_is_used_once(time):
    pace = Pace(1, 1, time)
    assert pace.turn("a") == 0
    assert pace.turn("a") == 1
