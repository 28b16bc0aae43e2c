"""Caches: the storage class that their volume gets, and which of them keep a service waiting."""

import pytest

from tests.facts.aim import obj, storage_class, template
from webhook.cluster import MemoryView
from webhook.facts.aim.health import Health, failed_caches, health_of, same_source, template_cache
from webhook.facts.aim.lookup import Storage, storage_of
from webhook.facts.nodes import Referent

DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}
CLASSES = (
    storage_class("shared", "nfs.csi.k8s.io", **{"storageclass.kubernetes.io/is-default-class": "false"}),
    storage_class("disk", "ebs.csi.aws.com", **DEFAULT),
)


@pytest.mark.parametrize(
    ("names", "classes", "expected"),
    [
        (("shared", "disk"), CLASSES, Storage("shared")),
        (("", "shared"), CLASSES, Storage("shared")),
        (("", ""), CLASSES, Storage("disk", one_node="ebs.csi.aws.com")),
        (("gone",), CLASSES, Storage("gone", missing=True)),
        ((), CLASSES[:1], Storage(missing=True)),
        (("gone",), (), Storage("gone")),
    ],
)
def test_a_volume_gets_the_first_class_that_is_named_else_the_default(names, classes, expected):
    assert storage_of(MemoryView(classes), *names) == expected


def cache(name, source, status="Available", namespace="ns", **spec):
    return obj("AIMModelCache", name, namespace, {"status": status}, sourceUri=source, **spec)


def failed(*caches, storage_class=""):
    sources = [{"name": "a", "sourceUri": "hf://a/a"}, {"name": "b", "sourceUri": "hf://a/b"}]
    found = Referent("AIMServiceTemplate", template("t", status={"modelSources": sources}))
    return failed_caches(MemoryView(caches), "ns", found, storage_class)


def test_a_model_is_lost_only_where_its_best_cache_has_failed():
    assert failed(cache("a", "hf://a/a", "Failed"), cache("b", "hf://a/b")) == ["a"]
    assert failed(cache("a", "hf://a/a", "Failed"), cache("a2", "hf://a/a", "Pending")) == []
    assert failed(cache("x", "hf://x/x", "Failed"), cache("y", "hf://a/a", "Failed", "other")) == []
    assert failed() == []


def test_only_caches_on_the_class_that_is_asked_for_count():
    fast = cache("a", "hf://a/a", "Failed", storageClassName="fast")
    assert failed(fast, storage_class="slow") == []
    assert failed(fast, storage_class="fast") == ["a"]


def test_without_a_template_there_is_no_model_to_cache():
    assert failed_caches(MemoryView([cache("a", "hf://a/a", "Failed")]), "ns", None, "") == []


def test_a_service_uses_the_cache_of_its_template_in_its_namespace():
    view = MemoryView([obj("AIMTemplateCache", "c", templateRef="t")])
    assert template_cache(view, "ns", "t")["metadata"]["name"] == "c"
    assert template_cache(view, "other", "t") is None
    assert template_cache(view, "ns", "") is None


def test_caches_of_one_model_on_one_class_are_found():
    mine = cache("m", "hf://a/a")
    view = MemoryView([mine, cache("n", "hf://a/a"), cache("o", "hf://a/a", storageClassName="fast")])
    assert same_source(mine, view)
    assert not same_source(cache("m", "hf://a/b"), view)


def test_the_health_of_a_template_is_its_status_and_what_its_failure_says():
    conditions = [
        {"type": "Ready", "status": "False", "message": "no"},
        {"type": "Failure", "status": "True", "message": "image not found"},
    ]
    ill = template("t", status={"status": "Degraded", "conditions": conditions})
    assert health_of(Referent("AIMServiceTemplate", ill)) == Health("Degraded", "image not found")
    conditions[1]["status"] = "False"
    assert health_of(Referent("AIMServiceTemplate", ill)) == Health("Degraded")
    well = template("t", status={"status": "Available", "modelSources": [{"sourceUri": "hf://a/b"}]})
    assert health_of(Referent("AIMServiceTemplate", well)) == Health("Available", sources=True)
    assert health_of(None) == Health()
