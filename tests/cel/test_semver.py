import pytest

from tests.cel.calls import call, error
from webhook.cel.library.semver import to_semver

ASCENDING = [
    "0.0.1",
    "1.0.0-1",
    "1.0.0-2",
    "1.0.0-10",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-rc.1",
    "1.0.0",
    "1.2.0",
    "1.10.0",
    "18446744073709551615.0.0",
]


def test_the_order_of_versions():
    versions = [to_semver(text) for text in ASCENDING]
    for i, a in enumerate(versions):
        for j, b in enumerate(versions):
            assert call("compareTo", a, b) == (i > j) - (i < j)
            assert call("isLessThan", a, b) is (i < j)
            assert call("isGreaterThan", a, b) is (i > j)


def test_build_metadata_orders_nothing():
    assert call("_==_", to_semver("1.2.3+a"), to_semver("1.2.3+b"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Version string empty"),
        ("1.2", "No Major.Minor.Patch elements found"),
        ("v1.2.3", 'Invalid character(s) found in major number "v1"'),
        ("1.x.3", 'Invalid character(s) found in minor number "x"'),
        ("1.2.3 ", 'Invalid character(s) found in patch number "3 "'),
        ("01.2.3", 'Major number must not contain leading zeroes "01"'),
        ("1.2.3-", "Prerelease is empty"),
        ("1.2.3-01", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        ("1.2.3-a_b", 'Invalid character(s) found in prerelease "a_b"'),
        ("1.2.3+", "Build meta data is empty"),
        ("1.2.3+\u00e9", 'Invalid character(s) found in build meta data "\u00e9"'),
        ("1..3", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("9" * 30 + ".0.0", f'strconv.ParseUint: parsing "{"9" * 30}": value out of range'),
    ],
)
def test_invalid_versions(text, message):
    assert error("semver", text) == message
    assert call("isSemver", text) is False


@pytest.mark.parametrize(
    ("text", "shown"),
    [("v1.2", "1.2.0"), ("1", "1.0.0"), ("01.02.03", "1.2.3"), ("001.02.03-rc1", "1.2.3-rc1"), ("0.00.0", "0.0.0")],
)
def test_normalisation(text, shown):
    assert str(call("semver", text, True)) == shown
    assert call("isSemver", text, False) is False


def test_versions_that_normalisation_cannot_correct():
    assert error("semver", "1.2-a", True) == "short version cannot contain PreRelease/Build meta data"
    assert error("semver", "\u00e9", True) == 'Invalid character(s) found in major number "0\u00e9"'
    assert error("semver", "1.2.3", 1) == "no such overload: semver(string, int)"


def test_the_numbers_of_a_version():
    version = to_semver("1.2.3-a.1+b.c")
    assert [call(name, version) for name in ("major", "minor", "patch")] == [1, 2, 3]
    assert str(version) == "1.2.3-a.1+b.c"
    assert call("major", to_semver("18446744073709551615.0.0")) == -1
