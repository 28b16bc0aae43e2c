"""Children of a projection: made, changed and deleted only if the object is their controller."""

import copy

import pytest

from reconciler.projection import Projection
from reconciler.projections import aim, llmaz, ome
from reconciler.resource import Kind
from tests.reconciler.looping import CONFIG_MAPS, projecting, stored
from tests.reconciler.models import model
from webhook.facts.settings import DEFAULT_SETTINGS


def child(name="child", **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@pytest.fixture
def parent(world):
    world.view.resources[Kind("", "ConfigMap")] = CONFIG_MAPS
    stored(world, model())
    return world


def wanting(world, *children):
    return projecting(world, Projection({"phase": "Ready"}, children), (CONFIG_MAPS,))


def test_a_child_is_created_in_the_namespace_of_its_owner_and_owned_by_it(parent):
    wanting(parent, child(a="1")).reconcile()
    made = parent.obj("configmaps", "child")
    (reference,) = made["metadata"]["ownerReferences"]
    assert (reference["kind"], reference["name"], reference["controller"]) == ("Model", "m", True)
    assert made["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "modelgate"}
    parent.server.requests.clear()
    parent.wait_of(4000)
    assert parent.server.writes() == []


@pytest.mark.parametrize("data", [{"a": "2"}, {"b": "1"}])
def test_a_child_that_should_be_different_is_changed(parent, data):
    wanting(parent, child(a="1")).reconcile()
    wanting(parent, child(**data)).wait_of(4000)
    assert parent.obj("configmaps", "child")["data"].items() >= data.items()


def test_a_child_that_is_not_wanted_any_more_is_deleted_and_others_are_not(parent):
    wanting(parent, child(a="1"), child("other")).reconcile()
    parent.server.put("configmaps", {**child("theirs"), "metadata": {"name": "theirs", "namespace": "default"}})
    wanting(parent, child("other")).wait_of(4000)
    assert {each["metadata"]["name"] for each in parent.server.all("configmaps")} == {"other", "theirs"}


def test_a_child_of_another_owner_is_not_touched_and_that_is_said(parent):
    theirs = {**child(a="theirs"), "metadata": {"name": "child", "namespace": "default"}}
    before = parent.server.put("configmaps", theirs)
    wanting(parent, child(a="1")).reconcile()
    assert parent.obj("configmaps", "child") == before
    assert ("Warning", "ChildConflict") in parent.events()


def test_a_child_deleted_by_hand_comes_back(parent):
    wanting(parent, child(a="1")).reconcile()
    parent.server.delete("configmaps", "child")
    parent.reconcile()
    parent.wait_of(1)
    assert parent.obj("configmaps", "child")["data"] == {"a": "1"}


def test_a_child_without_its_label_is_found_by_its_name_and_gets_the_label_back(parent, monkeypatch):
    """Children are followed by their label, which a user of the namespace can remove."""
    wanting(parent, child(a="1")).reconcile()
    bare = copy.deepcopy(parent.obj("configmaps", "child"))
    del bare["metadata"]["labels"]
    parent.server.put("configmaps", {**bare, "data": {"a": "other"}})
    held = parent.view.held
    followed = lambda obj: obj if obj is None or "labels" in obj["metadata"] or obj["kind"] != "ConfigMap" else None  # noqa: E731
    monkeypatch.setattr(parent.view, "held", lambda kind, key: followed(held(kind, key)))
    parent.wait_of(4000)
    found = parent.obj("configmaps", "child")
    assert found["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "modelgate"}
    assert found["data"] == {"a": "1"}


def test_a_namespace_that_is_being_deleted_is_not_an_error(parent, caplog):
    message = 'configmaps "child" is forbidden: unable to create new content in namespace default because it is being '
    parent.server.fail("POST", "/configmaps", 403, f"{message}terminated")
    wanting(parent, child(a="1")).reconcile()
    assert caplog.text == ""
    assert parent.status()["phase"] == "Ready"


def test_an_object_of_another_namespace_that_names_this_owner_is_left_alone(parent):
    """Its tenant may write any owner: the API server does not check that it exists."""
    wanting(parent, child()).reconcile()
    theirs = copy.deepcopy(parent.obj("configmaps", "child"))
    theirs["metadata"] |= {"name": "theirs", "namespace": "another"}
    parent.server.put("configmaps", theirs)
    parent.reconcile()
    wanting(parent).wait_of(4000)
    found = {(each["metadata"]["namespace"], each["metadata"]["name"]) for each in parent.server.all("configmaps")}
    assert found == {("another", "theirs")}


def test_an_object_of_a_namespace_has_children_of_this_namespace_only():
    """A child of cluster scope could have the name of another tenant's."""
    settings = DEFAULT_SETTINGS
    made = [*aim.controllers(settings, lambda *_: ""), *ome.controllers(settings, list), llmaz.controller()]
    named = [each for each in made if each.resource.namespaced]
    assert len(named) >= 6
    assert not [child for each in named for child in each.children if not child.namespaced]
