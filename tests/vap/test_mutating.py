"""Mutating policies: the objects that they return."""

from typing import Any

import pytest

from tests.vap.documents import WIDGET, binding, load, policy, request, widget
from webhook.admission.decision import GroupVersionKind, Request
from webhook.vap import MemoryContext, NativePolicies, PolicyResponse

SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer"},
                "level": {"type": "integer"},
                "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "args": {"type": "array", "items": {"type": "string"}},
                "ports": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "properties": {"name": {"type": "string"}, "port": {"type": "integer"}},
                    },
                },
                "limits": {"type": "object", "additionalProperties": {"type": "string"}},
                "selector": {
                    "type": "object",
                    "x-kubernetes-map-type": "atomic",
                    "additionalProperties": {"type": "string"},
                },
                "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        }
    },
}


class _Widgets:
    """A schema with one default."""

    raw = SCHEMA

    def default(self, obj: dict[str, Any]) -> dict[str, Any]:
        return {**obj, "spec": {"level": 1, **obj["spec"]}}


def apply(name: str, expression: str, **spec: Any) -> list[dict[str, Any]]:
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
    return [policy(name, mutating=True, mutations=[mutation], **spec), binding(name, mutating=True)]


def patch(name: str, expression: str, **spec: Any) -> list[dict[str, Any]]:
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
    return [policy(name, mutating=True, mutations=[mutation], **spec), binding(name, mutating=True)]


def mutate(policies: NativePolicies, obj: dict[str, Any]) -> PolicyResponse:
    return policies.mutate(request(obj), MemoryContext((), {WIDGET: _Widgets()}))


def spec_after(documents: list[dict[str, Any]], **spec: Any) -> Any:
    response = mutate(load(*documents), widget(**spec))
    assert response.denials == ()
    assert response.object is not None
    return {key: value for key, value in response.object["spec"].items() if key != "level"}


@pytest.mark.parametrize(
    ("fields", "before", "after"),
    [
        ("size: 2", {"size": 1}, {"size": 2}),
        ("size: object.spec.size + 1", {"size": 1}, {"size": 2}),
        ("?size: object.spec.?nope", {"size": 1}, {"size": 1}),
        ("tags: ['b', 'c']", {"tags": ["a", "b"]}, {"tags": ["a", "b", "c"]}),
        ("limits: {'cpu': '1'}", {"limits": {"memory": "1Gi"}}, {"limits": {"memory": "1Gi", "cpu": "1"}}),
        (
            "ports: [Object.spec.ports{name: 'http', port: 80}]",
            {"ports": [{"name": "grpc", "port": 1}, {"name": "http", "port": 8}]},
            {"ports": [{"name": "grpc", "port": 1}, {"name": "http", "port": 80}]},
        ),
        (
            "ports: [Object.spec.ports{name: 'b'}, Object.spec.ports{name: 'new'}, Object.spec.ports{name: 'a'}]",
            {"ports": [{"name": "a"}, {"name": "x"}, {"name": "b"}]},
            {"ports": [{"name": "x"}, {"name": "b"}, {"name": "new"}, {"name": "a"}]},
        ),
        (
            "extra: Object.spec.extra{a: Object.spec.extra.a{b: 1}}",
            {"extra": {"c": 1}},
            {"extra": {"c": 1, "a": {"b": 1}}},
        ),
    ],
)
def test_apply_configurations_merge_by_schema(fields: str, before: Any, after: Any) -> None:
    assert spec_after(apply("p", f"Object{{spec: Object.spec{{{fields}}}}}"), **before) == after


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ("args: ['x']", "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.args"),
        ("selector: {'a': 'b'}", "may not mutate atomic arrays, maps or structs: .spec.selector"),
        ("sise: 1", "failed to convert patch object to typed object: .spec.sise: field not declared in schema"),
        ("size: 'big'", ".spec.size: expected numeric (int or float), got string"),
        ("size: null", ".spec.size: expected numeric (int or float), got structpb.NullValue"),
        ("limits: 3", ".spec.limits: expected map, got &{3}"),
        ("limits: {'a': 1}", ".spec.limits.a: expected string, got &value.valueUnstructured{Value:1}"),
        ("tags: ['a', 'a']", '.spec.tags: duplicate entries for key [="a"]'),
        ("tags: [['a']]", ".spec.tags: element 0: not supported: associative list with lists as elements"),
        ("ports: [Object.spec.ports{port: 1}]", "element 0: associative list with keys has an element that omits all"),
        (
            "ports: [Object.spec.port{name: 'a'}]",
            'unexpected type name "Object.spec.port", expected "Object.spec.ports"',
        ),
        ("size: object.spec.nope", "no such key: nope"),
    ],
)
def test_apply_configurations_that_do_not_fit_are_refused(fields: str, error: str) -> None:
    response = mutate(load(*apply("p", f"Object{{spec: Object.spec{{{fields}}}}}")), widget(size=1))
    assert error in response.denials[0].text
    assert response.denials[0].text.startswith("policy 'p' with binding 'p' denied request: ")


@pytest.mark.parametrize(
    ("operations", "after"),
    [
        ("JSONPatch{op: 'replace', path: '/spec/size', value: 5}", {"size": 5}),
        ("JSONPatch{op: 'add', path: '/spec/args', value: ['a']}", {"size": 1, "args": ["a"]}),
        (
            "JSONPatch{op: 'test', path: '/spec/size', value: 2}, JSONPatch{op: 'remove', path: '/spec/size'}",
            {"size": 1},
        ),
        ("JSONPatch{op: 'test', path: '/spec/size', value: 1}, JSONPatch{op: 'remove', path: '/spec/size'}", {}),
        (
            "JSONPatch{op: 'add', path: '/spec/a', value: null}, JSONPatch{op: 'test', path: '/spec/a', value: null}",
            {"size": 1, "a": None},
        ),
        (
            "JSONPatch{op: 'add', path: '/spec/extra', value: Object.spec.extra{a: 1.0, b: duration('90s')}}",
            {"size": 1, "extra": {"a": 1, "b": "90s"}},
        ),
        (
            "JSONPatch{op: 'add', path: '/spec/limits', value: {jsonpatch.escapeKey('a/b'): '1'}}",
            {"size": 1, "limits": {"a~1b": "1"}},
        ),
    ],
)
def test_json_patches_are_applied(operations: str, after: Any) -> None:
    assert spec_after(patch("p", f"[{operations}]"), size=1) == after


def test_a_json_patch_that_does_not_fit_is_refused() -> None:
    response = mutate(load(*patch("p", "[JSONPatch{op: 'remove', path: '/spec/nope'}]")), widget(size=1))
    assert "JSON Patch: error in remove for path: '/spec/nope': Unable to remove nonexistent key: nope" in (
        response.denials[0].text
    )


def test_an_unchanged_object_is_the_object_of_the_request() -> None:
    obj = widget(size=1, level=1)
    response = mutate(load(*apply("p", "Object{}")), obj)
    assert response.object is obj
    assert response.evaluated == ("p",)


def test_defaults_follow_a_mutation_and_the_request_does_not_change() -> None:
    obj = widget(size=1)
    response = mutate(load(*apply("p", "Object{spec: Object.spec{size: 2}}")), obj)
    assert response.object == widget(size=2, level=1)
    assert obj == widget(size=1)


def test_policies_see_the_mutations_of_earlier_policies() -> None:
    documents = apply("a", "Object{spec: Object.spec{size: 10}}") + patch(
        "b", "[JSONPatch{op: 'replace', path: '/spec/size', value: object.spec.size + 1}]"
    )
    assert spec_after(documents, size=1) == {"size": 11}


COUNT = "Object{spec: Object.spec{size: object.spec.size + 1}}"


@pytest.mark.parametrize(
    ("first", "second", "size"),
    [("Never", "Never", 2), ("IfNeeded", "Never", 3), ("Never", "IfNeeded", 3), ("IfNeeded", "IfNeeded", 4)],
)
def test_policies_with_reinvocation_run_at_most_twice(first: str, second: str, size: int) -> None:
    documents = apply("a", COUNT, reinvocationPolicy=first) + apply("b", COUNT, reinvocationPolicy=second)
    assert spec_after(documents, size=0) == {"size": size}


def test_a_policy_is_not_invoked_again_when_nothing_was_mutated() -> None:
    documents = apply("a", COUNT, reinvocationPolicy="IfNeeded", matchConditions=[{"name": "c", "expression": "false"}])
    assert spec_after(documents, size=0) == {"size": 0}


def test_failure_policy_ignore_skips_a_failing_policy() -> None:
    broken = "Object{spec: Object.spec{size: object.spec.nope}}"
    documents = apply("a", broken, failurePolicy="Ignore") + apply("b", COUNT)
    assert spec_after(documents, size=0) == {"size": 1}
    refused = mutate(load(*apply("a", broken), *apply("b", COUNT)), widget(size=0))
    assert refused.object == widget(size=0)
    assert len(refused.denials) == 1


def test_an_object_without_a_schema_is_merged_by_the_types_of_its_values() -> None:
    loaded = load(*apply("p", "Object{metadata: Object.metadata{labels: {'a': 'b'}}, spec: Object.spec{x: 1}}"))
    merged = loaded.mutate(request(widget(y=2)), MemoryContext()).object
    assert merged is not None
    assert (merged["metadata"]["labels"], merged["spec"]) == ({"tier": "gold", "a": "b"}, {"y": 2, "x": 1})


def test_lists_of_a_kind_without_a_schema_are_not_merged() -> None:
    obj = widget(ports=[{"name": "a"}])
    response = load(*apply("p", "Object{spec: Object.spec{ports: [Object.spec.ports{name: 'b'}]}}")).mutate(
        request(obj), MemoryContext()
    )
    (denial,) = response.denials
    assert denial.message.startswith("error applying patch: .spec.ports: the schema of Widget")
    assert response.object is obj


POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
SPEC = "Object{spec: Object.spec{%s}}"
VARIABLE = "Object.spec.containers.env{name: 'X', value: '2'}"


@pytest.mark.parametrize(
    ("made", "live", "outcome"),
    [
        (
            "containers: [Object.spec.containers{name: 'b', image: 'b'}]",
            {"containers": [{"name": "a", "image": "a"}]},
            {"containers": [{"name": "a", "image": "a"}, {"name": "b", "image": "b"}]},
        ),
        (
            f"containers: [Object.spec.containers{{name: 'a', env: [{VARIABLE}]}}]",
            {"containers": [{"name": "a", "image": "a", "env": [{"name": "W"}, {"name": "X", "value": "1"}]}]},
            {"containers": [{"name": "a", "image": "a", "env": [{"name": "W"}, {"name": "X", "value": "2"}]}]},
        ),
        (
            "containers: [Object.spec.containers{name: 'a', ports: [Object.spec.containers.ports{containerPort: 1}]}]",
            {"containers": [{"name": "a", "ports": [{"containerPort": 1, "protocol": "TCP", "name": "x"}]}]},
            {"containers": [{"name": "a", "ports": [{"containerPort": 1, "protocol": "TCP", "name": "x"}]}]},
        ),
        ("containers: []", {}, {"containers": []}),
        ("containers: []", {"containers": [{"name": "a"}]}, {"containers": [{"name": "a"}]}),
        ("hostNetwork: true", {"fieldOfALaterVersion": [1]}, {"fieldOfALaterVersion": [1], "hostNetwork": True}),
        ("tolerations: [Object.spec.tolerations{key: 'a'}]", {}, "may not mutate atomic arrays, maps or structs"),
        ("nodeSelector: {'a': 'b'}", {}, "maps or structs: .spec.nodeSelector"),
        ("hostNetwerk: true", {}, ".spec.hostNetwerk: field not declared in schema"),
        ("hostNetwork: 'yes'", {}, ".spec.hostNetwork: expected boolean"),
    ],
)
def test_built_in_kinds_merge_as_in_the_api_server(made: str, live: dict[str, Any], outcome: Any) -> None:
    obj = {**POD, "spec": live}
    asked = Request(GroupVersionKind("", "v1", "Pod"), "pods", "CREATE", obj, name="p", namespace="team")
    response = load(*apply("p", SPEC % made)).mutate(asked, MemoryContext())
    if isinstance(outcome, str):
        (denial,) = response.denials
        assert outcome in denial.message
    else:
        assert response.denials == ()
        assert response.object == {**POD, "spec": outcome}


@pytest.mark.parametrize(
    ("kind", "made", "outcome"),
    [
        (GroupVersionKind("", "v1", "Secret"), "data: {'a': 1}", ".data.a: expected string"),
        (GroupVersionKind("apps", "v1", "ControllerRevision"), "data: {'a': 1}", "maps or structs: .data"),
        (GroupVersionKind("batch", "v1", "Job"), "status: Object.status{startTime: 1}", {"status": {"startTime": 1}}),
    ],
)
def test_formats_and_raw_objects_merge_by_their_go_types(kind: GroupVersionKind, made: str, outcome: Any) -> None:
    obj = {"apiVersion": f"{kind.group}/v1".lstrip("/"), "kind": kind.kind, "metadata": {"name": "a"}}
    found = load(*apply("p", f"Object{{{made}}}")).mutate(Request(kind, "", "CREATE", obj), MemoryContext())
    if isinstance(outcome, str):
        (denial,) = found.denials
        assert outcome in denial.message
    else:
        assert (found.denials, found.object) == ((), {**obj, **outcome})


def test_mutations_can_read_params() -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    documents = apply("p", "Object{spec: Object.spec{size: int(params.data.size)}}", paramKind=kind)
    documents[1] = binding("p", mutating=True, paramRef={"name": "c", "namespace": "ns"})
    config = kind | {"metadata": {"name": "c", "namespace": "ns"}, "data": {"size": "7"}}
    merged = load(*documents).mutate(request(widget(size=1)), MemoryContext([config])).object
    assert merged == widget(size=7)
