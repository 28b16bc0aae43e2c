"""The short form of ``python -m tests.fuzz.calls``: the ways of a call give the same bytes."""

from tests.fuzz.calls import Ways


def test_the_ways_of_a_call_give_the_same_bytes() -> None:
    result = Ways(7).run(60)
    assert result.different == []
    assert result.counts["short"]
