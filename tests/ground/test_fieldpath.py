"""Paths of fields: as values, as keys and as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.ground.fieldpath import ROOT, FieldPath, field_keys, field_path

NAMES = st.from_regex(r"[a-z][a-zA-Z0-9]{0,5}", fullmatch=True)
MAP_KEYS = st.from_regex(r"[a-z]{1,3}[./][a-z/.]{0,5}", fullmatch=True)
KEYS = st.lists(NAMES | MAP_KEYS | st.integers(0, 99))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (ROOT, ""),
        (ROOT.child("spec"), "spec"),
        (ROOT.child("spec", "files").index(0).child("name"), "spec.files[0].name"),
        (ROOT.child("metadata", "labels").key("a.b/c"), "metadata.labels[a.b/c]"),
        (ROOT.key("a").key(""), "[a][]"),
        (ROOT.index(0).child("a.b"), "[0].a.b"),
    ],
)
def test_a_path_prints_as_in_kubernetes(path: FieldPath, text: str) -> None:
    assert str(path) == f"{path}" == text
    assert repr(path) == f"<FieldPath {text}>"


def test_a_path_has_its_parent() -> None:
    path = ROOT.child("spec", "env").index(3)
    assert str(path.parent) == "spec.env"
    assert ROOT.parent is None


@given(KEYS)
def test_a_value_and_its_keys_print_alike(keys: list[str | int]) -> None:
    path = ROOT
    for key in keys:
        step = path.index if isinstance(key, int) else path.child if key.isalnum() else path.key
        path = step(key)  # type: ignore[operator]
    assert str(path) == field_path(keys)


@given(KEYS)
def test_what_is_printed_is_parsed(keys: list[str | int]) -> None:
    assert field_keys(field_path(keys)) == keys


def test_a_long_path_is_printed_and_not_remembered() -> None:
    assert field_path(["a" * 300, "b"]) == f"{'a' * 300}.b"
    assert field_path(["spec", "a b", "c"]) == "spec[a b].c"
