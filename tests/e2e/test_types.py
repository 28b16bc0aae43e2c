"""The types of Kubernetes that definitions embed are those of the API server."""

import json

from tools.crds.__main__ import GROUPS
from tools.crds.files import TYPES, kubernetes_names
from tools.crds.openapi import types_of


def test_the_types_are_those_that_the_api_server_publishes(plane):
    documents = [json.loads(plane.kubectl("get", "--raw", f"/openapi/v3/{group}")) for group in GROUPS]
    published = {name: schema for document in documents for name, schema in document["components"]["schemas"].items()}
    assert types_of(published, kubernetes_names()) == json.loads(TYPES.read_text()), "run `make crds`"
