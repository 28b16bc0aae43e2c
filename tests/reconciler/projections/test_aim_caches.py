"""The projections of AIM's caches: states of volume, Job and sources, and the children that follow."""

from pathlib import Path

import pytest
import yaml

from reconciler.projections.aim.caches import controllers, project_model_cache, project_template_cache
from reconciler.resource import APIResource, Kind
from tests.reconciler.world import Gate, World, observed, rules
from webhook.cluster.view import MemoryView

CASES = yaml.safe_load((Path(__file__).parents[1] / "cases" / "aim_caches.yaml").read_text())
AIM = "aim.silogen.ai/v1alpha1"
VOLUMES = APIResource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
JOBS = APIResource("batch", "v1", "jobs", "Job")
DONE = {"succeeded": [{"type": "Complete", "status": "True"}], "failed": [{"type": "Failed", "status": "True"}]}


def named(name, api=AIM, kind="AIMModelCache", **more):
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": name, "namespace": "default", "generation": 1},
        **more,
    }


def cache(name="c", status="", **spec):
    image = "kserve/storage-initializer:v0.16.0-rc0"
    given = {"sourceUri": "hf://a/b", "size": "20Gi", "modelDownloadImage": image, **spec}
    return named(name, spec=given, status={"status": status} if status else {})


def conditions(projection):
    return {each["type"]: [each["status"], each["reason"]] for each in projection.status["conditions"]}


@pytest.mark.parametrize("row", CASES["models"], ids=lambda row: row["name"])
def test_a_model_cache(row):
    objects = []
    if "claim" in row:
        objects.append(named("c-cache", "v1", "PersistentVolumeClaim", status={"phase": row["claim"]}))
    if "job" in row:
        objects.append(named("c-cache-download", "batch/v1", "Job", status={"conditions": DONE.get(row["job"], [])}))
    storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "shared"}}
    objects.append({**storage, "volumeBindingMode": row.get("binding", "Immediate")})
    obj = cache(status=row.get("before", ""), storageClassName="shared")
    projection = project_model_cache(obj, observed(MemoryView(objects)))
    assert projection.status["status"] == row["status"]
    assert conditions(projection).items() >= row["says"].items()
    kinds = {"PersistentVolumeClaim": "claim", "Job": "job"}
    assert [kinds[each["kind"]] for each in projection.children] == row["children"]
    assert projection.status.get("persistentVolumeClaim") == ("c-cache" if "claim" in row else None)


def test_the_default_class_counts_where_none_is_named():
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    default = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "d", "annotations": annotations},
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    claim = named("c-cache", "v1", "PersistentVolumeClaim", status={"phase": "Pending"})
    kinds = [each["kind"] for each in project_model_cache(cache(), observed(MemoryView([default, claim]))).children]
    assert kinds == ["PersistentVolumeClaim", "Job"]


def test_the_job_downloads_the_source_into_the_volume_with_the_users_variables():
    env = [{"name": "UMASK", "value": "0077"}, {"name": "HF_TOKEN", "value": "t"}]
    obj = cache(env=env, imagePullSecrets=[{"name": "s"}])
    claim = named("c-cache", "v1", "PersistentVolumeClaim", status={"phase": "Bound"})
    volume, job = project_model_cache(obj, observed(MemoryView([claim]))).children
    assert volume["spec"] == {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "20Gi"}}}
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["args"] == ["hf://a/b", "/cache"]
    values = {each["name"]: each["value"] for each in container["env"]}
    assert values == {"UMASK": "0077", "HF_TOKEN": "t", "HF_HUB_DISABLE_XET": "1", "HF_HOME": "/cache/.hf"}
    assert pod["volumes"][0]["persistentVolumeClaim"] == {"claimName": "c-cache"}
    assert pod["imagePullSecrets"] == [{"name": "s"}]
    assert (job["spec"]["backoffLimit"], job["spec"]["ttlSecondsAfterFinished"]) == (2, 600)


@pytest.mark.parametrize("length", [40, 57, 63, 253])
def test_names_of_children_have_at_most_63_characters(length):
    claim = named(f"{'x' * length}-cache"[:63].strip("-"), "v1", "PersistentVolumeClaim", status={"phase": "Bound"})
    for child in project_model_cache(cache("x" * length), observed(MemoryView([claim]))).children:
        assert 0 < len(child["metadata"]["name"]) <= 63


def template(*sources):
    models = [{"name": name, "sourceUri": f"hf://a/{name}", "size": "1Gi"} for name in sources]
    return named("t", kind="AIMServiceTemplate", spec={}, status={"modelSources": models})


def template_cache(**spec):
    return named("tc", kind="AIMTemplateCache", spec={"templateRef": "t", "runtimeConfigName": "default", **spec})


@pytest.mark.parametrize("row", CASES["templates"], ids=lambda row: row["name"])
def test_a_template_cache(row):
    names = "ab"[: len(row.get("caches", ()))]
    objects = [] if row.get("template") is False else [template(*names)]
    states = zip(names, row.get("caches", ()), strict=True)
    objects += [cache(f"of-{name}", state, sourceUri=f"hf://a/{name}") for name, state in states if state]
    projection = project_template_cache(template_cache(), observed(MemoryView(objects)))
    assert projection.status["status"] == row["status"]
    assert conditions(projection).items() >= row["says"].items()
    assert [each["metadata"]["name"] for each in projection.children] == row.get("created", [])


def test_the_best_cache_of_a_source_counts_if_its_storage_class_fits():
    slow, fast = cache("slow", "Failed", sourceUri="hf://a/a"), cache("fast", "Available", sourceUri="hf://a/a")
    both = [template("a"), slow, fast]
    assert project_template_cache(template_cache(), observed(MemoryView(both))).status["status"] == "Available"
    other = project_template_cache(template_cache(storageClassName="ssd"), observed(MemoryView(both)))
    assert other.status["status"] == "Pending"
    (child,) = other.children
    assert child["spec"] == {"sourceUri": "hf://a/a", "size": "1Gi", "storageClassName": "ssd"}


def test_from_a_template_to_volumes_and_jobs(server, time):
    world = World(server, time, *controllers(), by=rules("standard"), also=[VOLUMES, JOBS])
    server.admission = Gate(world.rules, world.view)
    server.put("aimservicetemplates", {**template("a.b", "c"), "spec": {"aimImageName": "i"}})
    server.put("aimtemplatecaches", template_cache())
    settle(world)
    assert {each["metadata"]["name"] for each in server.all("aimmodelcaches")} == {"a-b", "c"}
    assert {each["metadata"]["name"] for each in server.all("persistentvolumeclaims")} == {"a-b-cache", "c-cache"}
    for claim in server.all("persistentvolumeclaims"):
        server.put("persistentvolumeclaims", {**claim, "status": {"phase": "Bound"}})
    settle(world)
    assert len(server.all("jobs")) == 2
    for job in server.all("jobs"):
        server.put("jobs", {**job, "status": {"conditions": DONE["succeeded"]}})
    settle(world)
    assert world.obj("aimtemplatecaches", "tc")["status"]["status"] == "Available"
    for job in server.all("jobs"):
        server.delete("jobs", job["metadata"]["name"])
    settle(world)
    assert server.all("jobs") == []
    assert world.obj("aimtemplatecaches", "tc")["status"]["status"] == "Available"


def settle(world):
    for kind in (Kind("", "PersistentVolumeClaim"), Kind("batch", "Job")):
        world.view.resources.setdefault(kind, next(each for each in (VOLUMES, JOBS) if each.kind == kind.kind))
    world.reconcile()
    for _ in range(6):
        world.wait_of(1)
