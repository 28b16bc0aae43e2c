"""Templates of children: what they make, where each place comes from, and which ones are refused."""

from types import MappingProxyType
from typing import Any

import pytest

from tests.policy.test_compile import MODEL, compiled, problems
from webhook.catalog import pickling
from webhook.cel import Budget
from webhook.policy import MISSING, Built, Frame, Inputs, PolicyScope, Prepared, TooManyError
from webhook.policy.environments import Environments

CHILD = """\
  children:
  - name: a
    becomes: it is refused
    object:
      apiVersion: v1
      kind: ConfigMap
"""
OBJECT = {
    "metadata": {"name": "m", "labels": {"a": "1", "b": "2"}},
    "spec": {"source": "https://h/x.gguf", "files": ["a", "b"], "hardware": {"gpu": {"count": 2, "enabled": True}}},
}
FACTS = {
    "known": {
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
            "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
}
KNOWN = {"items": [{"name": "x"}, {"name": "y"}], "any": {"deep": [1]}}


def made(body: str, variables: str = "", obj: dict[str, Any] = OBJECT) -> tuple[Any, Any]:
    """What a template makes, and the rule and frame to ask where it comes from."""
    policy = compiled(f"{variables}{CHILD}{body}", FACTS)
    (rule,) = policy.children
    bindings = {"object": obj, "oldObject": None, "request": {}}
    scope = PolicyScope(Prepared(policy, MODEL.schema), bindings, lambda _: KNOWN, Budget())
    (frame,) = rule.frames(scope)
    return rule.object.build(frame), (rule, frame)


@pytest.mark.parametrize(
    ("leaf", "value"),
    [
        ("${object.spec.source}", "https://h/x.gguf"),
        ("${object.spec.files}", ["a", "b"]),
        ("${object.spec.?mmproj.orValue('none')}", "none"),
        ("${object.spec.files.size() + 1}", 3),
        ("of ${object.metadata.name}, ${object.spec.files.size()} files", "of m, 2 files"),
        ("plain", "plain"),
        ("$${object} stays", "${object} stays"),
        ("${'}' + object.metadata.name}", "}m"),
        ("${facts.known.any}", {"deep": [1]}),
        ("${{'k': object.metadata.name}}", {"k": "m"}),
        ("${has(object.spec.hardware)}", True),
        ("${has(object.spec.mmproj)}", False),
    ],
)
def test_a_leaf_is_an_expression_a_text_or_both(leaf: str, value: Any) -> None:
    found, _ = made(f'      data: {{x: "{leaf}"}}\n')
    assert found == {"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": value}}


@pytest.mark.parametrize("leaf", ["${object.spec.?mmproj}", "${optional.none()}", "${object.spec.mmproj}"])
def test_what_is_absent_is_left_out(leaf: str) -> None:
    assert made(f"      data: {{x: '{leaf}'}}\n")[0]["data"] == {}


def test_maps_and_lists_join_and_later_entries_win() -> None:
    found, _ = made("""\
      metadata:
        labels: {b: "0", $all: "${object.metadata.labels}", a: last}
      data:
        list: [first, {$all: "${object.spec.files}"}, {$when: "${1 > 2}", never: x}, {$when: "${1 < 2}", name: z}]
        each: [{$each: spec.files, file: "${self}"}]
        named: [{$each: facts.known.items, is: "${self.name}"}]
""")
    assert found["metadata"]["labels"] == {"b": "2", "a": "last"}
    assert found["data"]["list"] == ["first", "a", "b", {"name": "z"}]
    assert found["data"]["each"] == [{"file": "a"}, {"file": "b"}]
    assert found["data"]["named"] == [{"is": "x"}, {"is": "y"}]


VARIABLES = """\
  variables:
  - {name: mmproj, expression: "object.spec.?mmproj.orValue('none')"}
  - {name: known, expression: facts.known}
"""


def test_a_variable_that_is_a_path_stands_for_it() -> None:
    body = '      data: {x: "${variables.mmproj}", each: [{$each: variables.known.items, is: "${self.name}"}]}\n'
    found, (rule, frame) = made(body, VARIABLES)
    assert found["data"] == {"x": "none", "each": [{"is": "x"}, {"is": "y"}]}
    assert rule.object.source(frame, ("data", "each", 1, "is"), Built()).paths == (
        ("facts", "known", "items", 1, "name"),
    )


def test_a_variable_that_is_not_a_path_gives_no_list() -> None:
    variables = "  variables:\n  - {name: both, expression: object.spec.files + object.spec.files}\n"
    body = f"{variables}{CHILD}      data: {{each: [{{$each: variables.both, is: x}}]}}\n"
    assert "variables.both is not a path; use a variable that is the path of a list" in problems(body)[0]


@pytest.mark.parametrize(
    ("place", "paths", "exact"),
    [
        (("data", "list", 2), {("object", "spec", "files", 1)}, True),
        (("data", "list", 0), set(), False),
        (("data", "each", 1, "file"), {("object", "spec", "files", 1)}, True),
        (("data", "named", 1, "is"), {("facts", "known", "items", 1, "name")}, True),
        (("data", "gpu", "count"), {("object", "spec", "hardware", "gpu", "count")}, True),
        (("data", "sum"), {("object", "spec", "files"), ("object", "metadata", "name")}, False),
        (("metadata", "labels", "a"), {("object", "metadata", "labels", "a")}, True),
        (("metadata", "labels", "c"), set(), False),
    ],
)
def test_each_place_tells_where_it_comes_from(place: tuple[Any, ...], paths: set[Any], exact: bool) -> None:
    _, (rule, frame) = made(
        """\
      metadata: {labels: {$all: "${object.metadata.labels}", c: own}}
      data:
        list: [first, {$all: "${object.spec.files}"}]
        each: [{$each: spec.files, file: "${self}"}]
        named: [{$each: facts.known.items, is: "${self.name}"}]
        gpu: ${variables.gpu}
        sum: ${object.metadata.name + string(object.spec.files.size())}
""",
        "  variables: [{name: gpu, expression: object.spec.?hardware.?gpu}]\n",
    )
    source = rule.object.source(frame, place, Built())
    assert (set(source.paths), source.exact) == (paths, exact)


def test_however_many_places_are_asked_about_each_item_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    body = '      data: {each: [{$each: spec.files, $when: "${self == \'b\'}", file: "${self}"}]}\n'
    _, (rule, frame) = made(body)
    asked, at = list[Any](), PolicyScope.at
    monkeypatch.setattr(PolicyScope, "at", lambda scope, node: asked.append(node) or at(scope, node))
    built = Built()
    places = [rule.object.source(frame, ("data", "each", 0, "file"), built).paths for _ in range(5)]
    assert (set(places), asked) == ({(("object", "spec", "files", 1),)}, ["a", "b"])


def test_an_item_that_is_a_text_may_have_a_condition() -> None:
    found, (rule, frame) = made(
        '      data: {each: [{$each: spec.files, $when: "${self == \'b\'}", $all: "${self}"}]}\n'
    )
    assert found["data"] == {"each": ["b"]}
    source = rule.object.source(frame, ("data", "each", 0), Built())
    assert (source.paths, source.exact) == ((("object", "spec", "files", 1),), True)


def test_what_a_merged_map_lacks_comes_from_the_node_that_could_have_it() -> None:
    body = '      data: {$all: "${facts.known.any}", $over: spec.hardware, own: "${object.metadata.name}"}\n'
    _, (rule, frame) = made(body)
    for key in ("deep", "absent"):
        source = rule.object.source(frame, ("data", key), Built())
        assert source.over is not None
        assert (source.over.at, source.below) == (("spec", "hardware"), (key,))
    assert rule.object.source(frame, ("data", "own"), Built()).over is None


def test_a_child_may_be_made_for_each_item() -> None:
    head = CHILD.replace("becomes", "each: spec.files\n    when: self != 'b'\n    becomes")
    policy = compiled(f"{head}      data: {{x: '${{self}}'}}\n")
    (rule,) = policy.children
    bindings = {"object": OBJECT, "oldObject": None, "request": {}}
    scope = PolicyScope(Prepared(policy, MODEL.schema), bindings, lambda _: MISSING, Budget())
    assert [rule.object.build(frame)["data"] for frame in rule.frames(scope)] == [{"x": "a"}]


def test_too_many_items_are_an_error_of_their_own() -> None:
    many = {"metadata": {}, "spec": {"files": ["a"] * 10_001}}
    with pytest.raises(TooManyError, match="has 10,001 items"):
        made("      data: {each: [{$each: spec.files, file: '${self}'}]}\n", obj=many)


def test_a_frame_without_an_item_has_none() -> None:
    _, (_, frame) = made("      data: {}\n")
    assert frame == Frame(frame.scope)
    assert frame.item is MISSING


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("      data: {x: '${object.spec.nope}'}\n", "children[0].object.data.x: undefined field 'nope'"),
        ("      data: {x: '${object.spec'}\n", "children[0].object.data.x: ${ without the }"),
        ("      data: {$when: 'true'}\n", "data.$when: must be an expression in ${…} that is true or false"),
        ("      data: {$when: '${object.spec.source}'}\n", "data.$when: must evaluate to bool"),
        ("      data: {$whn: '${true}'}\n", "unknown word $whn: use one of $all, $each, $over, $when"),
        ("      data: {$all: {}}\n", "data.$all: must be an expression in ${…} whose value is a map or a list"),
        ("      data: {$all: x}\n", "data.$all: must be an expression in ${…} whose value is a map or a list"),
        ("      data: {$all: '${object.spec.source}'}\n", "whose value is a map or a list, not string"),
        ("      data: {$all: '${object.metadata.name}${1}'}\n", "whose value is a map or a list, not string"),
        ("      data: {x: [{$all: '${object.spec.files.size()}'}]}\n", "whose value is a map or a list, not int"),
        ("      data: {x: [{$each: spec.files, $when: x, a: b}]}\n", "x[0].$when: must be an expression in ${…} that"),
        ("      data: {$over: spec.x}\n", "says what $all is merged over; add $all"),
        ("      data: {$each: spec.files}\n", "data.$each: is for the items of a list"),
        ("      data: {x: [{$each: spec.nope, a: b}]}\n", "no 'nope' in spec of the schema"),
        ("      data: {x: [{$each: facts.other, a: b}]}\n", "no list facts.other"),
        ("      data: {x: [{$each: 'a..b', a: b}]}\n", "is not a valid path at column"),
    ],
)
def test_a_wrong_template_is_refused_when_it_is_loaded(body: str, message: str) -> None:
    assert any(message in problem for problem in problems(CHILD + body)), problems(CHILD + body)


def test_a_kind_is_a_text_and_a_name_is_used_once() -> None:
    (kind,) = problems(CHILD.replace("ConfigMap", "${object.kind}"))
    assert "object.kind must be a text without an expression" in kind
    twice = CHILD + CHILD.removeprefix("  children:\n")
    assert "name a is used twice" in problems(twice)[0]


def test_a_template_is_not_nested_without_end() -> None:
    deep = "{a: " * 70 + "x" + "}" * 70
    assert any("is nested more than 60 deep" in problem for problem in problems(f"{CHILD}      data: {deep}\n"))


def test_what_is_computed_of_the_items_of_a_fact_can_be_stored() -> None:
    environment = Environments(Inputs(MODEL.schema, FACTS)).of_item(("known", "items"))
    program = environment.program(environment.check("self.name + '-data'"), name="of the test")
    shared = {"schema": MODEL.schema}  # which other tests have given functions that are not stored
    again = pickling.loaded(pickling.dumped(program, shared), shared)
    assert again.evaluate({"self": {"name": "a"}}) == "a-data"
    assert again.tree()
    read_only = pickling.loaded(pickling.dumped(MappingProxyType({"a": 1}), {}), {})
    assert isinstance(read_only, MappingProxyType)
    assert read_only == {"a": 1}
