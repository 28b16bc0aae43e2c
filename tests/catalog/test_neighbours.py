"""The definitions of neighbours: whole for what a child says, small, and from files that are named."""

import hashlib
import json
import lzma
from pathlib import Path

import pytest

from tests.shared import shared
from tools.neighbours import FOLDER, SOURCES, definitions, file_of, shipped
from webhook.admission import GroupVersionKind
from webhook.catalog import load, neighbour
from webhook.schema import load_crd

FILES = sorted(FOLDER.glob("*.json.xz"))
LARGEST = 300_000
PREDICTOR = {"minReplicas": 1, "model": {"modelFormat": {"name": "aim"}, "runtime": "t"}}


def read(file: Path):
    return json.loads(lzma.decompress(file.read_bytes()))


def service(**predictor):
    kind = {"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": {"name": "a"}}
    return {**kind, "spec": {"predictor": {**PREDICTOR, **predictor}}}


def route(**rule):
    kind = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "a"}}
    return {**kind, "spec": {"rules": [rule]}}


ROW = {"filters": [{"type": "URLRewrite", "urlRewrite": {"path": {"type": "ReplacePrefixMatch"}}}]}
CHILDREN = [
    service(),
    service(minReplicas="one"),
    service(maxReplicas=-1, scaleMetric="gpu"),
    service(model={"modelFormat": {"name": "aim"}, "env": [{"name": "A"}, {"name": "A"}]}),
    service(model={"modelFormat": {}, "resources": {"limits": {"amd.com/gpu": "two"}}}),
    route(matches=[{"path": {"type": "PathPrefix", "value": "/a"}}]),
    route(matches=[{"path": {"type": "PathPrefix", "value": "a//b"}}]),
    route(**ROW),
    route(backendRefs=[{"name": "a"}, {"name": "b", "port": 0}]),
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_definition_is_one_that_an_api_server_accepts(file):
    kind, group = file.name.removesuffix(".json.xz").split(".", 1)
    crd = load_crd(read(file))
    (version,) = crd.versions
    known = neighbour(GroupVersionKind(group, version, kind))
    assert known is not None
    assert (known.gvk.kind, known.plural, known.foreign) == (crd.kind, crd.plural, True)


def test_they_are_small():
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < LARGEST / 10


def test_each_has_a_source_and_no_file_is_left_over():
    sources = json.loads(SOURCES.read_text())
    assert {read(file)["metadata"]["name"] for file in FILES} == sources.keys()
    assert all(row.keys() - {"open"} == {"licence", "source", "version", "sha256"} for row in sources.values())


def test_they_are_made_of_the_files_that_are_named():
    sources = json.loads(SOURCES.read_text())
    made = set()
    for content, definition in definitions(shared("neighbour-crds")):
        row = sources.get(definition["metadata"]["name"])
        if row is not None:
            assert row["sha256"] == hashlib.sha256(content).hexdigest()
            assert read(file_of(definition)) == shipped(definition, row.get("open", ()))
            made.add(definition["metadata"]["name"])
    assert made == sources.keys()


@pytest.mark.parametrize("child", CHILDREN)
def test_the_whole_definition_says_the_same_of_a_child(child):
    group, _, version = child["apiVersion"].partition("/")
    gvk = GroupVersionKind(group, version, child["kind"])
    whole = next(
        load_crd(definition)
        for _, definition in definitions(shared("neighbour-crds"))
        if (definition["spec"]["group"], definition["spec"]["names"]["kind"]) == (gvk.group, gvk.kind)
    )
    ours = neighbour(gvk).schema
    theirs = whole.versions[gvk.version].schema
    assert ours.check(ours.default(child)) == theirs.check(theirs.default(child))


def test_two_of_them_are_right():
    right = [child for child in CHILDREN if not _errors(child)]
    assert right == [service(), route(matches=[{"path": {"type": "PathPrefix", "value": "/a"}}])]


def _errors(child):
    group, _, version = child["apiVersion"].partition("/")
    schema = neighbour(GroupVersionKind(group, version, child["kind"])).schema
    return schema.check(schema.default(child)).errors


@pytest.mark.parametrize(
    "gvk",
    [
        ("serving.kserve.io", "v1", "InferenceService"),
        ("example.com", "v1", "InferenceService"),
        ("../../etc", "v1", "passwd"),
        ("kserve.io.json.xz", "v1", "\0"),
        ("", "v1", "sources"),
    ],
)
def test_other_kinds_have_none(gvk):
    assert neighbour(GroupVersionKind(*gvk)) is None


def test_the_catalog_does_not_cover_them():
    catalog = load()
    for file in FILES:
        kind, group = file.name.removesuffix(".json.xz").split(".", 1)
        assert not catalog.versions(GroupVersionKind(group, "", kind))
