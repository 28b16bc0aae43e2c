"""Ranges of releases: which releases are in them, which ranges exclude each other, and what is not a range."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.policy.ranges import Range, version

RELEASES = ["0.8.9", "0.8.18", "0.9.0-rc1", "0.9.0", "0.9.7", "0.9.8", "0.9.10", "0.10.0", "1.0", "head-2026-08-22"]


@pytest.mark.parametrize(
    ("text", "held"),
    [
        (">=0.8.18 <0.9.8", ["0.8.18", "0.9.0-rc1", "0.9.0", "0.9.7"]),
        (">0.9.7 <=0.10", ["0.9.8", "0.9.10", "0.10.0"]),
        ("==0.9.8", ["0.9.8"]),
        ("==head", ["head-2026-08-22"]),
        ("<head >=0.10.0", ["0.10.0", "1.0"]),
        (">=0.9.0 <0.9.1", ["0.9.0"]),
        ("  >=0.9.8   ==0.9.8 ", ["0.9.8"]),
    ],
)
def test_a_range_holds_of_the_releases_in_it(text: str, held: list[str]) -> None:
    assert [each for each in RELEASES if Range.parse(text).holds(each)] == held


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (">=0.8.18 <0.9.8", "0.8.18 to 0.9.7"),
        (">=0.9.8", "0.9.8 and later"),
        ("<0.9.0", "up to 0.9.0-rc1"),
        ("==0.9.8", "0.9.8"),
        ("==7", "==7"),
    ],
)
def test_a_range_is_said_by_the_releases_that_are_known(text: str, said: str) -> None:
    assert Range.parse(text).words(RELEASES) == said


def test_a_head_is_newer_than_every_number_and_a_candidate_older_than_its_release() -> None:
    assert sorted(RELEASES, key=version) == RELEASES
    assert version("1.0.0") == version("1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("LLMKube before 0.9.8", '"LLMKube before 0.9.8" is not a range of releases; write terms such as >=0.8.18'),
        ("0.9.8", "write ==0.9.8, or >=0.9.8 for it and all later releases"),
        ("=0.9.8", "write ==0.9.8"),
        ("=>0.9.8", "write >=0.9.8"),
        ("~>0.9.8", "use >=, >, <, <= or =="),
        (">= 0.9.8", "write >=0.9.8"),
        (">=0.9.x", '"0.9.x" is not a release; write it as 0.9.8, or head'),
        (">=0.9.8 <0.9.6", 'no release is in the range ">=0.9.8 <0.9.6"'),
        (">0.9.8 <0.9.8", "no release is in the range"),
        ("", '"" is not a range of releases'),
        (">=0" + " >=0" * 1_000, "is not a range of releases"),
        (">=" + "9" * 10_000, "is not a range of releases"),
    ],
)
def test_what_is_not_a_range_is_an_error_that_says_what_to_write(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared
        Range.parse(text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 600


signs, releases = st.sampled_from([">=", ">", "<", "<=", "=="]), st.sampled_from([*RELEASES, "0.8.17", "0.9.9"])
texts = st.lists(st.builds("{}{}".format, signs, releases), min_size=1, max_size=3).map(" ".join)


@given(texts, texts)
def test_ranges_overlap_wherever_a_release_is_in_both(one: str, other: str) -> None:
    try:
        ranges = Range.parse(one), Range.parse(other)
    except ValueError:  # nothing is in one of them
        return
    both = [each for each in RELEASES if all(found.holds(each) for found in ranges)]
    assert ranges[0].overlaps(ranges[1]) == ranges[1].overlaps(ranges[0])
    assert ranges[0].overlaps(ranges[1]) or not both
