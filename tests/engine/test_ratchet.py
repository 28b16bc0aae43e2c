"""Which rules an update is spared: those of which it changes nothing that they read, or only what the gate derives."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.test_packs import PACK
from tests.crds import crd, spec_schema
from tests.files import written
from webhook import catalog, engine
from webhook.admission import GroupVersionKind, Request
from webhook.catalog import Catalog
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.engine.findings import SPARED

Json = dict[str, Any]
KIND = GroupVersionKind("acme.example.com", "v1", "Widget")
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
PART = {"type": "object", "properties": {"name": TEXT, "size": NUMBER}}
WIDGET = crd(
    "acme.example.com",
    "Widget",
    spec_schema(
        text=TEXT,
        note=TEXT,
        queue=TEXT,
        size=NUMBER,
        colour={**TEXT, "default": "red"},
        limits={"type": "object", "additionalProperties": NUMBER},
        options={"type": "object", "additionalProperties": NUMBER},
        parts={"type": "array", "items": PART},
    ),
)
QUEUE = crd("acme.example.com", "Queue", spec_schema(most=NUMBER))
SETTING = ", settings: {most: {type: integer, default: 1, values: [most], docs: The most.}}"
RULES = {
    "AC201": ("spec.text", "self != 'bad'"),
    "AC202": ("spec", "!has(self.note) || !has(object.spec.text)"),
    "AC203": ("spec.parts[*]", "self.size < 10"),
    "AC204": ("spec.parts[*]", "object.spec.text != 'mean'"),
    "AC205": ("spec.size", "self < 9"),
    "AC206": ("spec.limits", "self.all(key, self[key] < 9)"),
    "AC207": ("spec.colour", "self == 'green'"),
    "AC208": ("metadata", "!has(object.metadata.labels) || !has(object.metadata.annotations)"),
    "AC209": ("metadata", "object.metadata.?annotations.?a.orValue('') != 'bad'"),
    "AC210": ("spec.note", "facts.operator.most > 1"),
    "AC211": ("spec", "!has(self.options)"),
    "AC401": ("spec.text", "facts.queue.most > 3"),
    "AC402": ("spec", "facts.queue.most > 3"),
}
LENGTH = {"when": "has(object.spec.text)", "value": "size(object.spec.text)", "because": "as long as the text"}
POLICY = {
    "apiVersion": "modelgate.dev/v1alpha1",
    "kind": "Policy",
    "metadata": {"name": "acme-widget"},
    "spec": {
        "target": {"group": KIND.group, "versions": [KIND.version], "kind": KIND.kind},
        "references": [
            {
                "name": "queue",
                "group": KIND.group,
                "kind": "Queue",
                "path": "spec.queue",
                "fields": {"most": {"path": "spec.most", "type": "integer", "default": 9}},
            }
        ],
        "defaults": [
            {"code": "AC101", "path": "spec.size", **LENGTH},
            {"code": "AC102", "path": "spec.limits.cpu", **LENGTH},
            {
                "code": "AC103",
                "path": "spec.colour",
                "when": "object.spec.text == 'sea'",
                "value": "'blue'",
                "overSchemaDefault": True,
                "because": "the sea is blue",
            },
        ],
        "validations": [
            {"code": code, "at": at, "rule": rule, "message": "is wrong", "docs": "A rule."}
            for code, (at, rule) in RULES.items()
        ],
    },
}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    files = {"crds/a.yaml": WIDGET, "crds/b.yaml": QUEUE, "widget.yaml": POLICY, "pack.yaml": PACK % SETTING}
    return catalog.load(packs=[written(tmp_path_factory.mktemp("packs") / "acme", files)])


def queue(name: str, most: int) -> Json:
    metadata = {"name": name, "namespace": "n"}
    return {"apiVersion": "acme.example.com/v1", "kind": "Queue", "metadata": metadata, "spec": {"most": most}}


VIEW = MemoryView([queue("small", 1), queue("tiny", 1), queue("large", 9)])


def widget(spec: Json) -> Json:
    metadata = {"name": "a", "namespace": "n"}
    return {"apiVersion": "acme.example.com/v1", "kind": "Widget", "metadata": metadata, "spec": spec}


def asked(obj: Json, old: Json | None) -> Request:
    return Request(KIND, "widgets", "UPDATE" if old else "CREATE", obj, old, name="a", namespace="n")


Codes = tuple[set[str], set[str]]


def judged(loaded: Catalog, stored: Json, change: Callable[[Json], object]) -> Codes:
    """The codes that refuse a change of a stored object, and those that it is spared."""
    obj = copy.deepcopy(stored)
    change(obj)
    made = engine.mutate(asked(obj, stored), loaded, VIEW, Options()).object
    assert made is not None
    decision = engine.validate(asked(made, stored), loaded, VIEW, Options())
    spared = {warning.code for warning in decision.warnings if warning.message.endswith(SPARED)}
    return {cause.code for cause in decision.causes}, spared


def put(**spec: Any) -> Callable[[Json], object]:
    """A change of some fields of the specification; None removes one."""

    def change(obj: Json) -> None:
        obj["spec"] = {key: value for key, value in {**obj["spec"], **spec}.items() if value is not None}

    return change


GOOD, BIG = {"name": "g", "size": 1}, {"name": "b", "size": 10}
LONG = "0123456789"
# the specification that is stored, with what the gate fills in; the change; what refuses it, and what it is spared
CASES = [
    ({"text": "bad"}, put(note="x"), {"AC202", "AC210"}, {"AC201"}),
    ({"text": "bad"}, put(text="bad "), set(), set()),
    ({"text": "good"}, put(text="bad"), {"AC201"}, set()),
    ({"text": "a", "note": "x"}, put(text="b"), set(), {"AC202", "AC210"}),  # only whether they are there counts
    ({"text": "a", "note": "x"}, put(note="y"), set(), {"AC202", "AC210"}),
    ({"note": "x"}, put(text="a"), {"AC202"}, {"AC210"}),
    ({"text": "a"}, put(note="x"), {"AC202", "AC210"}, set()),
    ({"text": "a", "parts": [BIG]}, put(parts=[GOOD, BIG]), set(), {"AC203"}),
    ({"text": "a", "parts": [BIG]}, put(text="c"), set(), {"AC203"}),
    ({"text": "a", "parts": [BIG]}, put(parts=[{**BIG, "size": 11}]), {"AC203"}, set()),
    ({"text": "a", "parts": [BIG]}, put(parts=[{**BIG, "name": "c"}]), {"AC203"}, set()),
    ({"text": "mean", "parts": [GOOD]}, put(parts=[GOOD, GOOD]), set(), {"AC204"}),
    ({"text": "mean", "parts": [GOOD]}, put(parts=[GOOD, {**GOOD, "size": 2}]), {"AC204"}, {"AC204"}),
    ({"text": "kind", "parts": [GOOD]}, put(text="mean"), {"AC204"}, set()),
    ({"text": "a"}, put(text=LONG), set(), {"AC205", "AC206"}),  # what is derived of it does not count
    ({"text": "a"}, put(size=11), {"AC205"}, set()),
    ({"text": LONG, "size": 11}, put(size=10), {"AC205"}, {"AC206"}),
    ({"text": LONG, "size": 11}, put(size=None), {"AC205"}, {"AC206"}),
    ({"size": 11}, put(text=LONG, size=None), {"AC205"}, {"AC206"}),
    ({"limits": {"gpu": 10}}, put(text="a"), set(), {"AC206"}),
    ({"limits": {"gpu": 10}}, put(text="a", limits={"gpu": 11}), {"AC206"}, set()),
    ({"text": "a", "limits": {"gpu": 10}}, put(limits=None), set(), set()),
    ({"text": "a", "limits": {"gpu": 10}}, put(text=LONG, limits=None), {"AC206"}, {"AC205"}),
    ({"text": LONG}, put(limits={"gpu": 1}), {"AC206"}, {"AC205"}),
    ({"text": LONG, "limits": {"cpu": 11}}, put(limits={"cpu": 12}), {"AC206"}, {"AC205"}),
    ({"text": "a"}, put(limits={"cpu": 12}), {"AC206"}, set()),
    (
        {"text": "a", "colour": "red"},
        put(text="sea"),
        set(),
        {"AC207"},
    ),  # the default of the definition gives way to that of a rule
    ({"text": "sea", "colour": "red"}, put(text="a", colour=None), set(), {"AC207"}),
    ({"text": "a", "colour": "pink"}, put(text="sea", colour=None), {"AC207"}, set()),
    ({"text": "a", "colour": "green"}, put(colour="pink"), {"AC207"}, set()),
    ({}, put(options={}), {"AC211"}, set()),
    ({"options": {}}, put(options={"a": 1}), set(), {"AC211"}),
    ({"queue": "small", "text": "a"}, put(size=2), set(), {"AC401", "AC402"}),
    ({"queue": "small", "text": "a"}, put(text="b"), {"AC401"}, {"AC402"}),  # the field that it names has changed
    ({"queue": "small", "text": "a"}, put(queue="tiny"), {"AC401", "AC402"}, set()),  # the fact tells of another one
    ({"queue": "large", "text": "a"}, put(queue="small"), {"AC401", "AC402"}, set()),
]


def stored_by(loaded: Catalog, spec: Json) -> Json:
    """An object that passed the gate when it had other rules: with its defaults and its stamp."""
    obj = engine.mutate(asked(widget({"colour": "green", **spec}), None), loaded, VIEW, Options()).object
    assert obj is not None
    return obj


@pytest.mark.parametrize(("spec", "change", "refused", "spared"), CASES)
def test_an_update_is_spared_the_rules_of_which_it_changes_nothing(
    loaded: Catalog, spec: Json, change: Callable[[Json], object], refused: set[str], spared: set[str]
) -> None:
    assert judged(loaded, stored_by(loaded, spec), change) == (refused, spared)


def annotated(**annotations: str) -> Callable[[Json], object]:
    return lambda obj: obj["metadata"].setdefault("annotations", {}).update(annotations)


def test_each_annotation_but_the_stamp_counts_as_a_change(loaded: Catalog) -> None:
    bare = widget({"text": "a", "colour": "green"})
    bare["metadata"]["labels"] = {"a": "b"}
    assert judged(loaded, bare, put(size=2)) == (set(), {"AC208"})
    assert judged(loaded, bare, annotated(a="good")) == ({"AC208"}, set())
    annotated(a="good")(bare)
    assert judged(loaded, bare, annotated(b="x")) == (set(), {"AC208"})
    assert judged(loaded, bare, annotated(a="bad")) == ({"AC209"}, {"AC208"})
    annotated(a="bad")(bare)
    assert judged(loaded, bare, put(size=2)) == (set(), {"AC208", "AC209"})
