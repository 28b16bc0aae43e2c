"""The definitions of a cluster are read when they change, and only then."""

import pytest

from webhook.cluster.api import ApiError, Reader
from webhook.cluster.definitions import Definitions

NAMES = ["as.example.com", "bs.example.com"]


def definition(name, **spec):
    return {"apiVersion": "apiextensions.k8s.io/v1", "metadata": {"name": name}, "spec": spec}


def test_a_definition_is_read_when_it_is_new_changed_or_gone(server):
    definitions = Definitions(Reader(server.client()))
    assert not definitions.refresh(NAMES, 5)
    server.put("customresourcedefinitions", definition("as.example.com", scope="Cluster"))
    assert definitions.refresh(NAMES, 5)
    assert list(definitions.documents()) == [{"spec": {"scope": "Cluster"}}]
    server.put("customresourcedefinitions", definition("as.example.com", scope="Namespaced"))
    assert definitions.refresh(NAMES, 5)
    assert list(definitions.documents()) == [{"spec": {"scope": "Namespaced"}}]
    server.delete("customresourcedefinitions", "as.example.com", "")
    assert definitions.refresh(NAMES, 5)
    assert list(definitions.documents()) == []


def test_an_unchanged_definition_is_not_read_again(server):
    server.put("customresourcedefinitions", definition("as.example.com", scope="Cluster"))
    definitions = Definitions(Reader(server.client()))
    assert definitions.refresh(NAMES, 5)
    del server.requests[:]
    assert not definitions.refresh(NAMES, 5)
    assert len(server.requests) == len(NAMES)  # the metadata of each


def test_a_refusal_changes_nothing(server):
    server.put("customresourcedefinitions", definition("as.example.com", scope="Cluster"))
    definitions = Definitions(Reader(server.client()))
    definitions.refresh(NAMES, 5)
    server.fail("GET", "bs.example.com", 403)
    with pytest.raises(ApiError, match="403"):
        definitions.refresh(NAMES, 5)
    assert list(definitions.documents()) == [{"spec": {"scope": "Cluster"}}]
