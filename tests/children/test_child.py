"""Where a place in a child comes from, what of the object is judged in it, and which children there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.policy.test_compile import MODEL, compiled
from tests.policy.test_templates import CHILD
from webhook.cel import Budget, BudgetExceeded
from webhook.children import Child, Failure, Origin, children_of
from webhook.cluster import Kind
from webhook.policy import MISSING, PolicyScope, Prepared

OWNER = Kind("inference.llmkube.dev", "Model")
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
DEEP = {**OPEN, "properties": {"deep": OPEN}}
ITEMS = {"type": "array", "items": {"type": "object", "properties": {"any": DEEP}}}
FACTS = {name: {"type": "object", "properties": {"any": DEEP, "items": ITEMS}} for name in ("prefetch", "served")}
SPEC = {"source": "https://h/x.gguf", "files": ["a", "b"], "hardware": {"gpu": {"count": 2, "layers": 3.0}}}
OBJECT = {"metadata": {"name": "m", "namespace": "n", "labels": {"a": "1", "b": "2"}}, "spec": SPEC}


def made_of(
    body: str, obj: Any, fact: Any = None, head: str = CHILD, budget: Budget | None = None, **more: Any
) -> Iterator[Child | Failure]:
    policy = compiled(f"{head}{body}", FACTS)
    bindings = {"object": obj, "oldObject": None, "request": {}}
    scope = PolicyScope(Prepared(policy, MODEL.schema), bindings, lambda _: fact or {}, budget or Budget())
    return children_of(policy.children, scope, OWNER, **more)


def a_child(body: str, obj: Any = OBJECT, fact: Any = None, head: str = CHILD) -> Child:
    (child,) = made_of(body, obj, fact, head)
    assert isinstance(child, Child)
    return child


def test_a_child_is_called_by_its_name_if_it_has_one() -> None:
    child = a_child("      metadata: {name: '${object.metadata.name}'}\n")
    assert child.name == 'ConfigMap "m"'
    for metadata in ({}, {"name": ""}, {"name": 1}, "none", None):
        assert child.of({"metadata": metadata}).name == "ConfigMap"
    assert child.of({}).origin(("metadata", "name")) == child.origin(("metadata", "name"))


TEXTS = {
    "copied": "object.spec.files",
    "gpu": "object.spec.?hardware.?gpu",
    "source": "object.metadata.name + object.spec.source + object.spec.files.join('')",
    "other": "object.metadata.name + object.spec.source",
    "mmproj": "object.spec.source == '' ? 'x' : object.spec.?mmproj.orValue('')",
    "lacking": "object.spec.?mmproj.orValue('') + object.spec.source",
    "gone": "!has(object.spec.mmproj) && object.spec.source != '' ? optional.none() : optional.of('x')",
    "direct": "facts.prefetch.any",
    "all": "facts == facts ? 'a' : 'b'",
    "labels": "object.spec.source + string(object.metadata.labels.size())",
    "format": "object.spec.source == '' ? optional.of('x') : object.spec.?format",
    "layers": "string(object.spec.hardware.gpu.layers) + object.spec.source",
    "fact": "!has(facts.prefetch.any) ? 'a' : 'b'",
    "rival": "!has(facts.served.any) ? 'a' : 'b'",
    "whole": "facts.prefetch != facts.prefetch ? 'a' : 'b'",
    "many": "object.metadata.name + object.metadata.namespace + object.spec.source + object.spec.files.join('')"
    " + string(object.metadata.labels.size()) + string(object.spec.hardware.gpu.count)",
}
LEAVES = """\
      metadata:
        labels: {$all: "${object.metadata.labels}", app: "${object.metadata.name}", own: c}
      data:
        none: constant
""" + "".join(f'        {name}: "${{{text}}}"\n' for name, text in TEXTS.items())
LEAVES += f"        more: {{mmproj: '${{{TEXTS['lacking'].replace(chr(39), chr(39) * 2)}}}'}}\n"


@pytest.mark.parametrize(
    ("place", "value", "field", "others"),
    [
        ("copied", MISSING, "spec.files", ()),
        ("gpu", MISSING, "spec.hardware.gpu", ()),
        ("none", MISSING, "", ()),
        ("source", MISSING, "spec.source", ("spec.files", "metadata.name")),  # of the same name
        ("source", "m", "metadata.name", ()),  # it has the value, whatever else is read
        ("source", "a", "spec.files", ()),
        ("source", "c", "spec.source", ("spec.files", "metadata.name")),
        ("other", MISSING, "spec.source", ("metadata.name",)),  # the name of the object comes last
        ("labels", MISSING, "metadata.labels", ("spec.source",)),
        ("labels", "b", "metadata.labels", ()),  # it has the key
        ("labels", "2", "metadata.labels", ()),  # or the value
        ("labels", 2, "metadata.labels", ("spec.source",)),
        ("labels", "https://h/x.gguf", "spec.source", ()),
        ("format", MISSING, "spec.format", ("spec.source",)),  # the child lacks it, and so may the object
        ("format", "MISSING", "spec.format", ("spec.source",)),
        ("mmproj", MISSING, "spec.mmproj", ("spec.source",)),  # the child has an empty one
        ("lacking", MISSING, "spec.source", ()),  # the object has no other
        ("gone", MISSING, "spec.source", ()),
        ("layers", 3, "spec.hardware.gpu.layers", ()),  # as Go writes a whole float
        ("layers", "3.5", "spec.hardware.gpu.layers", ("spec.source",)),
    ],
)
def test_of_several_fields_one_is_the_cause(place: str, value: Any, field: str, others: tuple[str, ...]) -> None:
    origin = a_child(LEAVES).origin(("data", place), value)
    assert (origin.field, {*origin.others}) == (field, {*others})
    assert origin.exact is (place in {"copied", "gpu"})


def test_what_a_fact_reads_of_the_object_decides_and_its_namespace_and_others_do_not() -> None:
    child = a_child(LEAVES)
    reads = {"metadata.name", "spec.files", "spec.hardware.gpu.resourceClaims", "spec.mmproj", "spec.source", "status"}
    for place in ("fact", "whole", "direct"):
        assert {*child.origin(("data", place)).reads} == reads
    assert child.origin(("data", "rival")).reads == ("metadata.name",)
    assert child.origin(("data", "none")) == child.origin(("data", "all")) == Origin()
    assert child.origin(("data", "more", "mmproj")).field == "spec.source", "the child has a value"


def test_at_most_three_others_are_named() -> None:
    origin = a_child(LEAVES).origin(("data", "many"))
    assert (len(origin.others), len(origin.reads)) == (3, 6)


@pytest.mark.parametrize(
    ("value", "field", "exact"),
    [
        ("b", "metadata.labels", True),  # of the key
        ("2", "metadata.labels", True),  # of its value
        ("app", "metadata.name", False),
        ("m", "metadata.name", False),
        ("own", "", False),
    ],
)
def test_a_fault_of_an_entry_comes_from_where_the_entry_is_from(value: str, field: str, exact: bool) -> None:
    origin = a_child(LEAVES).origin(("metadata", "labels"), value)
    assert (origin.field, origin.exact) == (field, exact)
    assert {"metadata.labels", "metadata.name"} <= {*origin.reads}


def test_a_value_that_no_entry_has_is_that_of_the_map() -> None:
    child = a_child(LEAVES)
    assert child.origin(("metadata", "labels"), "z").field == "metadata.labels"
    assert child.origin(("metadata", "labels"), 1).field == "metadata.labels"
    assert child.origin(("data", "gpu"), "z") == Origin("spec.hardware.gpu", exact=True)
    assert child.origin(("data", "copied", "z")) == Origin("spec.files.z", exact=True)
    named = a_child(LEAVES, {**OBJECT, "spec": {**SPEC, "source": "MISSING"}})
    assert named.origin(("data", "other")).others == ("metadata.name",)


MERGED = "      data: ${facts.prefetch.any}\n"


def merged_child(value: Any, node: Any, *, at: str = "spec.hardware", fields: str = MERGED, **told: Any) -> Child:
    """A child whose data is a value in which a fact has merged the node of an object with a runtime."""
    spec = {"source": "a"} | ({} if node is MISSING else {"hardware": node})
    fact = {"any": value, "merged": {"any": {"at": at, "with": "the runtime", **told}}}
    return a_child(fields, {"metadata": {"name": "m"}, "spec": spec}, fact)


VALUE = {
    "env": [{"name": "A"}, {"name": "B", "value": "1"}, {"name": "C"}],
    "image": "i",
    "args": ["name", "y"],
    "containers": [{"name": "runner", "image": "r", "env": [{"name": "A"}, {"name": "B"}]}],
    "model": {"name": "m"},
    "pod": {"containers": [{"name": "runner"}]},
}
NODE = {
    "env": [{"name": "B", "value": "2"}, {"name": "A"}],
    "image": "i",
    "args": ["name"],
    "runner": {"image": "q", "env": [{"name": "B"}]},
    "model": {"name": "m"},
    "pod": {"containers": [{"name": "runner"}]},
}


@pytest.mark.parametrize(
    ("keys", "field", "exact", "rest"),
    [
        ((), "spec.hardware", True, ""),
        (("image",), "spec.hardware.image", True, ""),
        (("env",), "spec.hardware.env", True, ""),
        (("env", 0), "spec.hardware.env[1]", True, ""),
        (("env", 0, "name"), "spec.hardware.env[1].name", True, ""),
        (("env", 1, "value"), "spec.hardware.env[0].value", False, ""),
        (("env", 1, "valueFrom"), "spec.hardware.env[0]", False, "valueFrom"),
        (("env", 2, "name"), "spec.hardware.env", False, "[2].name"),
        (("args", 0), "spec.hardware.args[0]", True, ""),
        (("args", 1), "spec.hardware.args", False, "[1]"),
        (("containers", 0), "spec.hardware.runner", True, ""),
        (("containers", 0, "image"), "spec.hardware.runner.image", False, ""),
        (("containers", 0, "ports", 0, "name"), "spec.hardware.runner", False, "ports[0].name"),
        (("volumes", 0), "spec.hardware", False, "volumes[0]"),
        (("containers", 0, "env", 1, "name"), "spec.hardware.runner.env[0].name", True, ""),
        (("pod", "containers", 0), "spec.hardware.pod.containers[0]", True, ""),
        (("model", "name"), "spec.hardware.model.name", True, ""),
    ],
)
def test_a_place_in_what_is_merged_is_that_of_the_object_or_the_nearest_that_it_has(
    keys: tuple[Any, ...], field: str, exact: bool, rest: str
) -> None:
    origin = merged_child(VALUE, NODE, beside={"containers[0]": "runner"}).origin(("data", *keys))
    assert origin == Origin(field, (), exact, rest, "the runtime")


def test_an_object_that_lacks_the_node_or_what_is_beside_it_has_the_place_above() -> None:
    beside = {"containers[0]": "runner"}
    without = merged_child(VALUE, {}, beside=beside).origin(("data", "containers", 0, "image"))
    assert (without.field, without.exact, without.rest) == ("spec.hardware", False, "runner.image")
    absent = merged_child(VALUE, MISSING, beside=beside)
    for keys, rest in (((), "hardware"), (("env", 0), "hardware.env[0]")):
        origin = absent.origin(("data", *keys))
        assert (origin.field, origin.exact, origin.rest) == ("spec", False, rest)
    far = merged_child(VALUE, {}, at="nothing.at.all").origin(("data", "image"))
    assert (far.field, far.rest) == ("", "nothing.at.all.image")


OTHER = {"name": "v"}
KEYED = {
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "ports": "containerPort",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
}


@pytest.mark.parametrize(
    ("name", "key"),
    [
        *KEYED.items(),
        ("ports", "name"),
        *(("list", key) for key in ("name", "mountPath", "containerPort", "key", "devicePath", "topologyKey", "ip")),
    ],
)
def test_an_item_of_a_merged_list_is_found_by_what_tells_it_apart(name: str, key: str) -> None:
    same = OTHER if name in KEYED and key != "name" else {}
    items = [{**same, key: "b"}, {**same, key: "c"}]
    child = merged_child({name: items}, {name: [{**same, key: "a"}, "odd", {**same, key: "c"}, {**same, key: "b"}]})
    fields = [child.origin(("data", name, index)).field for index in range(2)]
    assert fields == [f"spec.hardware.{name}[3]", f"spec.hardware.{name}[2]"]


@pytest.mark.parametrize(
    ("items", "node", "field"),
    [
        ([{"other": 1}, {"other": 2}], [{"other": 2}, {"other": 1}], "spec.hardware.list[1]"),  # by its index
        ([{"name": "b"}, {"name": "a"}], [{"name": "a"}, {"name": "a"}], "spec.hardware.list[0]"),  # the first of two
        ([{"name": "b"}, {"name": []}], [{"name": []}, {"name": []}], "spec.hardware.list"),
        (
            [{"name": "b"}, {"port": 80, "targetPort": 8080}],
            [{"containerPort": 8080}, {"containerPort": 80}],
            "spec.hardware.list[0]",
        ),
        (["b", "a"], ["a", "b"], "spec.hardware.list[1]"),
        ([{"name": "b"}, {"key": "a"}], {"name": "a"}, "spec.hardware.list"),
    ],
)
def test_an_item_that_nothing_tells_apart_has_its_index(items: Any, node: Any, field: str) -> None:
    assert merged_child({"list": items}, {"list": node}).origin(("data", "list", 1)).field == field


def test_two_lists_of_a_child_are_searched_each_for_itself() -> None:
    lists = {"a": [{"name": "x"}, {"name": "y"}], "b": [{"name": "y"}, {"name": "x"}]}
    child = merged_child({"a": lists["b"], "b": lists["a"]}, lists)
    assert [child.origin(("data", name, 0)).field for name in "ab"] == ["spec.hardware.a[1]", "spec.hardware.b[1]"]
    mixed = [{"name": "x"}, {"key": "x"}]
    child = merged_child({"c": mixed[::-1]}, {"c": mixed})
    assert [child.origin(("data", "c", at)).field for at in (0, 1)] == ["spec.hardware.c[1]", "spec.hardware.c[0]"]


def test_what_is_copied_and_what_stands_alone_is_judged_in_the_child() -> None:
    fields = '      metadata: {labels: "${object.metadata.?labels}"}\n' + MERGED
    alone = merged_child({"a": 1, "b": 2}, {"a": 1}, fields=fields, alone={"b": 2}, beside={"containers[0]": "runner"})
    assert {*alone.judged()} == {
        ("metadata", "labels"),
        *(("spec", "hardware", key) for key in ("", "runner", "a", "b")),
    }
    assert alone.alone()["data"] == {"b": 2}
    assert {*merged_child({"a": 1}, {"a": 1}).judged()} == set()
    assert {*a_child(MERGED, OBJECT, {"any": {"a": 1}}).judged()} == set(), "nothing is merged"
    assert {*merged_child("text", {"a": 1}, alone={}).judged()} == {("spec", "hardware", "")}


def test_a_member_of_what_is_merged_is_judged_at_its_place_and_so_is_an_item() -> None:
    body = '      data: {one: "${facts.prefetch.any.deep}"}\n'
    fact = {"any": {"deep": {"x": 1}}, "merged": {"any": {"at": "spec.hardware", "alone": {}}}}
    assert {*a_child(body, OBJECT, fact).judged()} == {
        ("spec", "hardware", "deep", ""),
        ("spec", "hardware", "deep", "x"),
    }
    head = CHILD.replace("becomes", "each: facts.prefetch.items\n    becomes")
    child = a_child('      data: {one: "${self.any.deep}"}\n', OBJECT, {"items": [fact]}, head)
    assert {*child.judged()} == {("spec", "hardware", "deep", ""), ("spec", "hardware", "deep", "x")}


def test_a_child_that_reads_what_is_hidden_is_left_out_and_the_next_is_made() -> None:
    second = CHILD.removeprefix("  children:\n").replace("name: a", "name: b")
    body = f'      data: {{x: "${{facts.prefetch.any}}"}}\n{second}      data: {{}}\n'
    assert [child.rule.name for child in made_of(body, OBJECT)] == ["a", "b"]
    assert [child.rule.name for child in made_of(body, OBJECT, hidden=frozenset({"prefetch"}))] == ["b"]
    assert [child.rule.name for child in made_of(body, OBJECT, hidden=frozenset({"served"}))] == ["a", "b"]


def test_a_description_without_a_value_is_a_failure_with_its_reason_and_a_spent_budget_is_none() -> None:
    second = CHILD.removeprefix("  children:\n").replace("name: a", "name: b")
    body = f'      data: {{x: "${{10 / (object.spec.files.size() - 2)}}"}}\n{second}      data: {{}}\n'
    failure, child = made_of(body, OBJECT)
    assert isinstance(failure, Failure)
    assert (failure.rule.name, failure.reason) == ("a", "division by zero")
    assert isinstance(child, Child)
    many = {"metadata": {}, "spec": {"files": ["a"] * 10_001}}
    (failure,) = made_of("      data: {x: [{$each: spec.files, a: b}]}\n", many)
    assert isinstance(failure, Failure)
    assert "has 10,001 items" in failure.reason
    with pytest.raises(BudgetExceeded):
        list(made_of(body, OBJECT, budget=Budget(0)))


def test_of_a_rule_at_most_two_hundred_children_are_made() -> None:
    head = CHILD.replace("becomes", "each: spec.files\n    becomes")
    for number in (199, 201):
        obj = {"metadata": {}, "spec": {"files": list(map(str, range(number)))}}
        assert len([*made_of("      data: {x: '${self}'}\n", obj, head=head)]) == min(number, 200)
