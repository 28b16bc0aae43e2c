"""The steps of one judgement: when it looks up, what a text costs, and where it ends."""

from __future__ import annotations

import pytest

from webhook.ground.budget import STEPS, Budget, SpentError, Stretch


def test_it_looks_up_every_512_steps_and_ends_after_the_last_one() -> None:
    looks: list[tuple[int, str]] = []
    budget = Budget(lambda place: looks.append((1536 - budget.left, place)), 1536)
    for number in range(1536):
        budget.spend(1, number)
    assert looks == [(513, "512"), (1026, "1025")]
    with pytest.raises(SpentError, match=r"^judging the object takes more than 1,536 steps, at spec\.a$") as error:
        budget.spend(1, "spec.a")
    assert (error.value.place, error.value.limit) == ("spec.a", 1536)


@pytest.mark.parametrize(("limit", "looks"), [(511, 0), (512, 0), (513, 1)])
def test_a_small_one_ends_without_a_look(limit: int, looks: int) -> None:
    seen: list[str] = []
    budget = Budget(seen.append, limit)
    for _ in range(limit):
        budget.spend(1, "a")
    assert len(seen) == looks
    with pytest.raises(SpentError):
        budget.spend(1, "a")


def test_many_steps_at_once_are_one_look() -> None:
    seen: list[str] = []
    budget = Budget(seen.append, 10_000)
    budget.spend(5_000, "all of it")
    budget.spend(512, "the next")
    assert seen == ["all of it"]


def test_sixteen_characters_of_a_text_are_a_step_and_a_round_of_a_loop_is_one() -> None:
    budget = Budget()
    assert budget.left == STEPS == 2_000_000
    for text, steps in (("", 1), ("a" * 15, 1), ("a" * 16, 2), ("a" * 33, 3)):
        before = budget.left
        budget.write(text, "a")
        assert before - budget.left == steps
    before = budget.left
    assert budget.tick() is False
    assert before - budget.left == 1
    with pytest.raises(SpentError, match="at an expression"):
        Budget(limit=0).tick()


def test_the_place_of_a_whole_object_is_its_root() -> None:
    with pytest.raises(SpentError, match="more than 5 steps, at its root"):
        Budget(limit=5).spend(6, "")


def test_a_step_that_takes_long_at_a_stretch_says_so_before_it_is_made() -> None:
    seen: list[str] = []
    budget = Budget(seen.append)
    for steps in (8_192, 8_193):
        budget.spend(steps, "Deployment")
    assert seen == ["Deployment"] * 2
    assert [isinstance(place, Stretch) for place in seen] == [False, True]
