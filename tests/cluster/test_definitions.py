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
    for where, status, times in (("bs.example.com", 500, 1), ("example.com", 403, len(NAMES))):
        server.fail("GET", where, status, times=times)
        with pytest.raises(ApiError, match=str(status)):
            definitions.refresh(NAMES, 5)
        assert list(definitions.documents()) == [{"spec": {"scope": "Cluster"}}]


def test_one_that_may_not_be_read_is_named_and_the_others_are_read(server):
    for name in NAMES:
        server.put("customresourcedefinitions", definition(name, scope="Cluster"))
    definitions = Definitions(Reader(server.client()))
    server.fail("GET", "bs.example.com", 403, "no rights")
    assert definitions.refresh(NAMES, 5)
    assert len(list(definitions.documents())) == len(NAMES) - 1
    assert definitions.trouble.startswith("the installed definitions of bs.example.com cannot be read: 403")
    assert "bs.example.com" in definitions.installed  # it may be: the rules of its kinds are compiled
    assert definitions.refresh(NAMES, 5)
    assert definitions.trouble == ""
    assert len(list(definitions.documents())) == len(NAMES)
