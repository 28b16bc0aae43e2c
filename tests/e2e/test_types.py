"""What the checkout has of Kubernetes' own types and kinds is what the API server publishes."""

import json

from tools.crds.__main__ import published
from tools.crds.builtin import builtin
from tools.crds.files import BUILTIN, TYPES, kubernetes_names
from tools.crds.openapi import types_of


def test_the_types_and_kinds_are_those_that_the_api_server_publishes(plane):
    schemas = published(plane.kubectl)
    assert types_of(schemas, kubernetes_names()) == json.loads(TYPES.read_text()), "run `make crds`"
    assert builtin(schemas) == json.loads(BUILTIN.read_text()), "run `make crds`"
