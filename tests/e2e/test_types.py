"""What the checkout has of Kubernetes' own types and kinds is what the API server publishes."""

import contextlib
import json

import pytest

from tests.e2e.kubectl import Refused
from tests.e2e.processes import wait_until
from tests.e2e.recipes import KUBERNETES
from tests.e2e.test_recording import RECORDED_WITH
from tools.crds.__main__ import published
from tools.crds.builtin import builtin
from tools.crds.files import BUILTIN, TYPES, kubernetes_names
from tools.crds.openapi import types_of


@pytest.fixture(scope="module")
def schemas(plane):
    def settled():
        """The schemas; None while a group is still listed whose definitions another test has just deleted."""
        with contextlib.suppress(Refused):
            return published(plane.kubectl)
        return None

    return wait_until(settled, "the API server to publish what it lists")


def test_a_newer_api_server_has_every_field_that_our_definitions_embed(schemas):
    present = types_of(schemas, kubernetes_names())
    for name, ours in json.loads(TYPES.read_text()).items():
        theirs = present[name]
        fields = theirs.get("properties", {})
        assert ours.get("properties", {}).items() <= fields.items(), name
        assert {**ours, "properties": fields} == {**theirs, "properties": fields}, name


def test_the_kinds_are_those_that_the_api_server_publishes(schemas):
    if RECORDED_WITH != KUBERNETES:
        pytest.skip(f"the kinds are those of Kubernetes {RECORDED_WITH}; this is {KUBERNETES}")
    assert builtin(schemas) == json.loads(BUILTIN.read_text()), "run `make crds`"
