"""The merge of lists by key: the order of the elements, and how the work grows."""

from __future__ import annotations

import pytest

from webhook.vap.mutating.merge import in_order


class Key:
    """A key that counts how often it is compared or hashed."""

    uses = 0

    def __init__(self, name: int) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        Key.uses += 1
        return isinstance(other, Key) and self.name == other.name

    def __hash__(self) -> int:
        Key.uses += 1
        return hash(self.name)


@pytest.mark.parametrize(
    ("live", "new", "merged"),
    [
        ("", "ab", "AB"),
        ("ab", "", "ab"),
        ("ab", "cd", "abCD"),
        ("abc", "bd", "aBcD"),
        ("abc", "db", "aDBc"),
        ("abc", "ca", "bCA"),
        ("axbycz", "cab", "xyCzAB"),
        ("bab", "b", "Ba"),
        ("babx", "bac", "BACx"),
        ("aab", "b", "aaB"),
    ],
)
def test_a_merged_list_keeps_the_order_of_both_and_the_new_one_wins(live: str, new: str, merged: str) -> None:
    elements = [(name, name) for name in live]
    assert "".join(in_order(elements, {name: name.upper() for name in new})) == merged


@pytest.mark.parametrize("step", [1, -1])
def test_twice_as_many_elements_take_twice_the_comparisons(step: int) -> None:
    def uses(size: int) -> int:
        live = [(Key(name), name) for name in range(size)]
        merged = {Key(name): name for name in range(size)[::step]}
        Key.uses = 0
        assert sum(1 for _ in in_order(live, merged)) == size
        return Key.uses

    assert uses(4000) <= 2 * uses(2000) + 10
