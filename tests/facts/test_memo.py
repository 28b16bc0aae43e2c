"""What was computed of an object is kept, but only of this object, and not of all objects for ever."""

from webhook.facts.nodes import Memo


def test_an_object_is_looked_at_once_and_an_equal_one_by_itself():
    seen = []

    def names(obj):
        seen.append(obj)
        return obj["name"]

    remembered, first, second = Memo(names), {"name": "a"}, {"name": "a"}
    assert [remembered(each) for each in (first, first, second, first)] == ["a"] * 4
    assert len(seen) == 2


def test_no_more_is_kept_than_the_limit():
    calls = []
    remembered, objects = Memo(lambda obj: calls.append(obj) or len(calls), limit=2), [{}, {}, {}]
    assert [remembered(each) for each in objects] == [1, 2, 3]
    assert remembered(objects[0]) == 4
