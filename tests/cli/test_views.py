"""References as views: several objects, constant names, labels, in reverse, values of lists; by data alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modelgate import Gate
from tests.cli.test_packs import PACK
from tests.crds import crd, spec_schema
from tests.files import written
from tests.laws import examples
from webhook.cluster import Kind, MemoryView
from webhook.facts import Looked, Member, referenced

STRING: dict[str, Any] = {"type": "string"}
STRINGS = {"type": "array", "items": STRING}
LABELS = {"type": "object", "additionalProperties": STRING}
BACKENDS = {"type": "array", "items": {"type": "object", "properties": {"ref": STRING, "port": {"type": "integer"}}}}
POLICY = """\
apiVersion: modelgate.dev/v1alpha1
kind: Policy
metadata: {name: acme-route}
spec:
  target: {group: acme.example.com, versions: [v1], kind: Route}
  references:
  - name: services
    kind: Service
    path: spec.backends[*].ref
    namespacePath: spec.namespace
    fields:
      ports: {path: "spec.ports[*].port", type: integers}
  - name: settings
    kind: ConfigMap
    named: [operator-settings]
    namespace: acme-system
    fields:
      most: {path: data.most, type: string, default: "9"}
  - {name: nodes, kind: Node, labelsPath: spec.nodes, namespaced: false}
  - {name: fast, kind: Node, labels: {speed: fast}, namespaced: false}
  - {name: rivals, group: acme.example.com, kind: Route, path: "spec.paths[*]", by: "spec.paths[*]"}
  - {name: users, group: acme.example.com, kind: Route, path: metadata.name, by: spec.parent}
  validations:
  - code: AC401
    at: spec.backends[*].ref
    rule: "!(self in facts.services.missing)"
    messageExpression: "'there is no Service ' + shown(self) + ': create it'"
    docs: A backend is a Service.
  - code: AC402
    at: spec.backends[*]
    when: has(self.ref) && has(self.port)
    rule: facts.services.items.all(item, item.name != self.ref || !item.found || self.port in item.ports)
    messageExpression: "'the Service has no port ' + string(self.port) + ': use one that it has'"
    docs: A Service forwards its ports only.
  - code: AC403
    at: spec.backends
    when: facts.settings.found
    rule: self.size() <= int(facts.settings.most)
    messageExpression: "'the operator takes ' + facts.settings.most + ' at most: use fewer'"
    docs: The operator ignores the rest.
  - code: AC404
    at: spec.nodes
    rule: facts.nodes.found
    messageExpression: "'no node has these labels: use others; fast are ' + facts.fast.names.join(', ')"
    docs: Nothing runs then.
  - code: AC405
    at: spec.paths
    rule: facts.rivals.count == 0
    messageExpression: "facts.rivals.names.join(', ') + ' have one of these paths: use others'"
    docs: The operator takes the first.
  - code: AC406
    at: spec.parent
    rule: facts.users.count == 0
    messageExpression: "string(facts.users.count) + ' routes have this one as parent: remove its own'"
    docs: Parents have none.
"""
PROPERTIES = {
    "backends": BACKENDS,
    "nodes": LABELS,
    "paths": STRINGS,
    "parent": STRING,
    "namespace": STRING,
}


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    definition = crd("acme.example.com", "Route", spec_schema(**PROPERTIES))
    files = {"crds/routes.yaml": definition, "route.yaml": POLICY, "pack.yaml": PACK % ""}
    return written(tmp_path_factory.mktemp("packs") / "acme", files)


def route(name: str = "a", namespace: str = "team", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "acme.example.com/v1", "kind": "Route", "metadata": metadata, "spec": spec}


def core(
    kind: str, name: str, namespace: str = "", labels: dict[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    metadata = {
        "name": name,
        **({"namespace": namespace} if namespace else {}),
        **({"labels": labels} if labels else {}),
    }
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **more}


SERVICES = [
    core("Service", "one", "team", spec={"ports": [{"port": 80}, {"port": 443}]}),
    core("Service", "two", "team", spec={}),
    core("Service", "three", "other", spec={"ports": [{"port": 80}]}),
]


def findings(pack: Path, obj: dict[str, Any], *view: dict[str, Any]) -> dict[str, str]:
    verdict = Gate(policies=pack, view=view, complete=True).check(obj)
    return {each.code: f"{each.field}: {each.message}" for each in verdict.findings}


def test_each_name_of_a_list_is_looked_up(pack: Path) -> None:
    good = route(backends=[{"ref": "one", "port": 80}, {"ref": "two"}, {}])
    assert findings(pack, good, *SERVICES) == {}
    bad = findings(pack, route(backends=[{"ref": "one"}, {"ref": "four"}, {"ref": "one", "port": 8080}]), *SERVICES)
    assert bad.keys() == {"AC401", "AC402"}
    assert bad["AC401"].startswith("spec.backends[1].ref: ")
    assert 'there is no Service "four"' in bad["AC401"]
    assert "the Service has no port 8080" in bad["AC402"]


def test_a_namespace_may_be_named_by_the_object(pack: Path) -> None:
    there = route(backends=[{"ref": "three", "port": 80}], namespace="other")
    assert findings(pack, there, *SERVICES) == {}
    assert findings(pack, route(backends=[{"ref": "three"}]), *SERVICES).keys() == {"AC401"}


def test_an_object_of_a_constant_name_and_namespace_is_read(pack: Path) -> None:
    backends = [{"ref": "one"}, {"ref": "two"}]
    limits = core("ConfigMap", "operator-settings", "acme-system", data={"most": "1"})
    assert findings(pack, route(backends=backends), *SERVICES, limits).keys() == {"AC403"}
    elsewhere = core("ConfigMap", "operator-settings", "team", data={"most": "1"})
    assert findings(pack, route(backends=backends), *SERVICES, elsewhere) == {}


def test_others_are_selected_by_labels(pack: Path) -> None:
    nodes = [core("Node", "n1", labels={"gpu": "a", "speed": "fast"}), core("Node", "n2", labels={"gpu": "b"})]
    assert findings(pack, route(nodes={"gpu": "a", "speed": "fast"}), *nodes) == {}
    missing = findings(pack, route(nodes={"gpu": "b", "speed": "fast"}), *nodes)
    assert missing["AC404"].endswith("use others; fast are n1")


def test_who_else_has_one_of_my_values_and_who_points_at_me_are_told(pack: Path) -> None:
    others = [route("b", paths=["/x", "/y"]), route("c", paths=["/z"]), route("d", "elsewhere", paths=["/x"])]
    assert findings(pack, route(paths=["/w"]), *others) == {}
    assert findings(pack, route("b", paths=["/x"]), *others) == {}  # itself
    assert "b, c have one of these paths" in findings(pack, route(paths=["/x", "/z"]), *others)["AC405"]
    children = [route("b", parent="a"), route("c", parent="a"), route("d", parent="b")]
    assert "2 routes have this one as parent" in findings(pack, route(parent="z"), *children)["AC406"]


def test_what_is_looked_at_is_bounded() -> None:
    kind = Kind("", "Service")
    names = [f"s{number}" for number in range(1_000)]
    value = referenced(kind, Looked(("spec", "names", "*")), {}).compute({"spec": {"names": names}}, MemoryView())
    assert value["missing"] == names[:64]
    services = [core("Service", name, "n", labels={"a": "b"}) for name in names]
    value = referenced(kind, Looked(labels=(("a", "b"),)), {}).compute(route(namespace="n"), MemoryView(services))
    assert (value["count"], len(value["names"])) == (64, 5)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab*"), inner, max_size=3),
    max_leaves=10,
)
PATHS = st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=3).map(tuple)
NAMED = st.builds(Looked, named_by=PATHS, namespace_at=PATHS | st.just(()), namespaced=st.booleans())
BY = st.builds(Looked, named_by=PATHS, by=PATHS, namespaced=st.booleans())
BY_LABELS = st.builds(Looked, labels_at=PATHS) | st.just(Looked(labels=(("a", "b"),), namespaced=False))
MEMBERS = st.dictionaries(
    st.sampled_from("xy"),
    st.builds(
        Member,
        PATHS,
        st.sampled_from(["boolean", "integer", "integers", "number", "string", "strings"]),
        st.none(),
        st.none(),
    ),
    max_size=2,
)


@settings(max_examples=examples(1_000))
@given(
    NAMED | BY | BY_LABELS,
    MEMBERS,
    st.dictionaries(st.sampled_from("ab"), VALUES, max_size=2),
    st.dictionaries(st.sampled_from("ab"), VALUES, max_size=2),
    VALUES,
)
def test_a_reference_never_raises_and_keeps_its_types(
    looked: Looked, members: dict[str, Member], mine: dict[str, Any], theirs: dict[str, Any], labels: Any
) -> None:
    other = {**theirs, "apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "labels": labels}}
    fact = referenced(Kind("", "Service"), looked, members)
    value = fact.compute({**mine, "metadata": labels}, MemoryView([other]))
    assert value.keys() == fact.schema["properties"].keys()
    kinds = {"boolean": bool, "integer": int, "number": float, "string": str, "array": list}
    for name, schema in fact.schema["properties"].items():
        assert isinstance(value[name], kinds[schema["type"]])
