"""Built-in policies are read without checks, and are the same as with them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.shared import ROOT
from webhook.catalog import Pack
from webhook.manifests import documents
from webhook.policy import parse_policy, trusted_policy


@pytest.mark.parametrize(
    "file",
    sorted(
        {*ROOT.glob("policies/*/*.yaml")}
        - {file for name in ("pack", "follow") for file in ROOT.glob(f"policies/*/{name}.yaml")}
    ),
    ids=lambda file: f"{file.parent.name}-{file.stem}",
)
def test_every_built_in_policy_is_the_same_as_when_it_is_checked(file: Any) -> None:
    for each in documents.read(file):
        assert trusted_policy(each) == parse_policy(each)


@pytest.mark.parametrize("file", sorted(ROOT.glob("policies/*/pack.yaml")), ids=lambda file: file.parent.name)
def test_every_built_in_pack_is_the_same_as_when_it_is_checked(file: Any) -> None:
    checked, plain = (Pack.of(file.parent, trusted=trusted) for trusted in (False, True))
    assert checked == plain
    assert checked.documented in {None, *checked.releases}
    assert checked.facts in {"", file.parent.name}
