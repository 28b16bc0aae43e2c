"""Built-in policies are read without checks, and are the same as with them."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace
from typing import Any

import pytest
from pydantic import BaseModel

from tests.shared import ROOT
from webhook.catalog import Pack
from webhook.manifests import documents
from webhook.policy import document, parse_policy, trusted, trusted_policy


@pytest.mark.parametrize(
    "name", ["Target", "Variable", "Member", "Reference", "Default", "Validation", "Spec", "Metadata"]
)
def test_the_fields_and_their_defaults_are_those_of_the_models(name: str) -> None:
    model, plain = getattr(document, name), getattr(trusted, name)
    assert {each.name: default(each) for each in fields(plain)} == {
        key: None if each.is_required() else [each.get_default()] for key, each in model.model_fields.items()
    }


def default(field: Any) -> list[Any] | None:
    """The default in a list; None where the field is required."""
    if field.default_factory is not MISSING:
        return [field.default_factory()]
    return None if field.default is MISSING else [field.default]


@pytest.mark.parametrize(
    "file",
    sorted({*ROOT.glob("policies/*/*.yaml")} - {*ROOT.glob("policies/*/pack.yaml")}),
    ids=lambda file: f"{file.parent.name}-{file.stem}",
)
def test_every_built_in_policy_is_the_same_as_when_it_is_checked(file: Any) -> None:
    for each in documents.read(file):
        assert same(trusted_policy(each), parse_policy(each))


def same(plain: Any, checked: Any) -> bool:
    if isinstance(checked, BaseModel):
        return all(same(getattr(plain, name), getattr(checked, name)) for name in type(checked).model_fields)
    if isinstance(checked, dict):
        return plain.keys() == checked.keys() and all(same(plain[key], checked[key]) for key in checked)
    if isinstance(checked, list):
        return len(plain) == len(checked) and all(map(same, plain, checked))
    return bool(plain == checked)


@pytest.mark.parametrize("file", sorted(ROOT.glob("policies/*/pack.yaml")), ids=lambda file: file.parent.name)
def test_every_built_in_pack_is_the_same_as_when_it_is_checked(file: Any) -> None:
    checked, plain = (Pack.of(file.parent, trusted=trusted) for trusted in (False, True))
    assert replace(checked, trusted=True) == plain
    assert checked.documented in {None, *checked.releases}
    assert checked.facts in {"", file.parent.name}
