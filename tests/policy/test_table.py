"""The table of releases: which of them install some definitions, and what a table may not say."""

import json
from typing import Any

import pytest

from tests.shared import ROOT
from webhook.admission.errors import CatalogError
from webhook.policy.table import Table

A, B, C, D = ("abcd"[index] * 64 for index in range(4))
GOOD: dict[str, Any] = {
    "releases": ["0.1.0", "0.2.0", "0.3.0", "0.4.0", "head-2026-01-01"],
    "digests": {
        "models.x.io": [[A, "0.1.0", "0.2.0"], [B, "0.3.0", "0.3.0"], [A, "0.4.0", "head-2026-01-01"]],
        "services.x.io": [[C, "0.1.0", "0.1.0"], [D, "0.2.0", "head-2026-01-01"]],
        "pools.x.io": [[C, "0.4.0", "head-2026-01-01"]],
    },
}


def table(**changed: Any) -> Table:
    return Table.parse(json.dumps({**GOOD, **changed}).encode(), "x/releases.json")


@pytest.mark.parametrize(
    ("seen", "absent", "releases"),
    [
        ({"models.x.io": B}, (), ["0.3.0"]),
        ({"models.x.io": A}, (), ["0.1.0", "0.2.0", "0.4.0", "head-2026-01-01"]),  # a digest may come back
        ({"models.x.io": A, "services.x.io": C}, (), ["0.1.0"]),
        ({"models.x.io": A, "pools.x.io": C}, (), ["0.4.0", "head-2026-01-01"]),
        ({"models.x.io": A, "services.x.io": D}, ["pools.x.io"], ["0.2.0"]),
        ({"models.x.io": B}, ["services.x.io"], ["0.3.0"]),  # not everything is installed
        ({"models.x.io": B, "services.x.io": C}, (), []),
        ({"models.x.io": D}, (), []),
    ],
)
def test_the_releases_are_those_that_have_every_definition(
    seen: dict[str, str], absent: list[str], releases: list[str]
) -> None:
    assert list(table().of(seen, absent)) == releases


def test_a_release_is_found_by_its_name_its_tag_or_as_the_head() -> None:
    assert [table().named(each) for each in ("0.2.0", "v0.2.0", "head")] == ["0.2.0", "0.2.0", "head-2026-01-01"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("0.2", '"0.2" is not a known release; use 0.2.0'),
        ("latest", '"latest" is not a known release; the known ones are 0.1.0 to head-2026-01-01'),
    ],
)
def test_an_unknown_release_is_an_error_with_those_that_are_like_it(name: str, message: str) -> None:
    with pytest.raises(ValueError, match="is not a known release") as caught:
        table().named(name)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"releases": ["0.2.0", "0.1.0"]}, "releases: 0.1.0 must not come after 0.2.0: the oldest is the first"),
        ({"releases": ["0.1.0", "0.1"]}, "releases: 0.1 must not come after 0.1.0"),
        ({"releases": ["newest"]}, 'releases[0]: "newest" is not a release'),
        ({"releases": []}, "releases: must be a list of releases"),
        ({"digests": []}, "digests: must be an object"),
        ({"digests": {"m": {}}}, "digests.m: must be a list of rows"),
        ({"digests": {"m": [[A, "0.1.0"]]}}, "digests.m[0]: must be a list of a digest, the first and the last"),
        ({"digests": {"m": [["ABC", "0.1.0", "0.1.0"]]}}, "digests.m[0]: the digest must have 64 hexadecimal digits"),
        ({"digests": {"m": [[A, "0.1.0", "0.30"]]}}, 'digests.m[0]: "0.30" is not one of the releases; use 0.3.0'),
        ({"digests": {"m": [[A, "0.3.0", "0.1.0"]]}}, "digests.m[0]: 0.3.0 comes after 0.1.0"),
        (
            {"digests": {"m": [[A, "0.1.0", "0.3.0"], [B, "0.2.0", "0.4.0"]]}},
            "digests.m[1]: 0.2.0 has another digest in digests.m[0]",
        ),
        (
            {"digests": {"m": [[A, "0.1.0", "0.2.0"], [A, "0.2.0", "0.2.0"]]}},
            "digests.m[1]: 0.2.0 has another digest in digests.m[0]",
        ),
    ],
)
def test_what_a_table_may_not_say_is_named(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(CatalogError) as caught:
        table(**changed)
    assert f"x/releases.json: {message}" in str(caught.value)


@pytest.mark.parametrize("content", [b"{", b"[]", b"{}", b'{"releases": ["1.0"]}', b"\xff"])
def test_what_does_not_have_the_form_of_a_table_is_an_error(content: bytes) -> None:
    with pytest.raises(CatalogError, match=r"x/releases\.json"):
        Table.parse(content, "x/releases.json")


@pytest.mark.parametrize("file", sorted(ROOT.glob("policies/*/releases.json")), ids=lambda file: file.parent.name)
def test_every_built_in_table_is_good(file: Any) -> None:
    assert len(Table.parse(file.read_bytes(), str(file)).releases) > 1
