"""Built-in policies are read without checks, and are the same as with them."""

from __future__ import annotations

import json
import os
from typing import Any

import jsonschema
import pytest
import yaml
from pydantic import TypeAdapter

from tests.shared import ROOT
from webhook.catalog import Pack
from webhook.manifests import documents
from webhook.policy import parse_policy, trusted_policy
from webhook.policy.pack import PackDocument


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


def test_the_schema_of_packs_in_the_repository_is_that_of_the_code() -> None:
    made = {"$schema": "https://json-schema.org/draft/2020-12/schema", **TypeAdapter(PackDocument).json_schema()}
    kept = ROOT / "docs" / "schemas" / "pack.schema.json"
    if os.environ.get("MODELGATE_SNAPSHOTS") == "write":
        kept.write_text(json.dumps(made, indent=2) + "\n")
    assert json.loads(kept.read_text()) == json.loads(json.dumps(made)), "run it with MODELGATE_SNAPSHOTS=write"
    for file in ROOT.glob("p*/*/pack.yaml"):
        jsonschema.validate(yaml.safe_load(file.read_text()), made)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"kind": "Pack"}, made)


@pytest.mark.parametrize("file", sorted(ROOT.glob("policies/*/pack.yaml")), ids=lambda file: file.parent.name)
def test_every_built_in_pack_is_the_same_as_when_it_is_checked(file: Any) -> None:
    checked, plain = (Pack.of(file.parent, trusted=trusted) for trusted in (False, True))
    assert checked == plain
    assert checked.documented in {None, *checked.releases}
    assert checked.facts in {"", file.parent.name}
