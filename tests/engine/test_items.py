"""Defaults of the items of lists, and values that always follow another one: what a user wrote stays, or is told of."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.test_packs import PACK
from tests.crds import crd, spec_schema
from tests.engine.test_ownership import client_side, merged
from tests.files import written
from tests.laws import examples
from webhook import catalog, engine
from webhook.admission.decision import Decision, GroupVersionKind, Request
from webhook.admission.errors import LoadError
from webhook.admission.stamp import ANNOTATION, Stamp
from webhook.catalog import Catalog
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.policy import Profile

WIDGET = GroupVersionKind("acme.example.com", "v1", "Widget")
STRICT = Options(profile=Profile.STRICT)
ITEM = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "port": {"type": "integer"}, "protocol": {"type": "string"}},
}
SCHEMA = spec_schema(
    dns={"type": "integer"},
    queue={"type": "string"},
    ports={"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": ITEM},
    plain={"type": "array", "items": ITEM},
    byName={"type": "object", "additionalProperties": {**ITEM, "required": []}},
)
PROTOCOL = "has(object.spec.dns) && self.?port.orValue(0) == object.spec.dns ? 'UDP' : 'TCP'"
POLICY = {
    "apiVersion": "modelgate.dev/v1alpha1",
    "kind": "Policy",
    "metadata": {"name": "acme-widget"},
    "spec": {
        "target": {"group": WIDGET.group, "versions": ["v1"], "kind": "Widget"},
        "defaults": [
            *(
                {"code": f"AC10{number}", "path": path, "value": PROTOCOL, "because": "the port says it"}
                for number, path in enumerate(
                    ("spec.ports[*].protocol", "spec.plain[*].protocol", "spec.byName[*].protocol"), 1
                )
            ),
            {
                "code": "AC104",
                "path": "metadata.labels['acme/queue']",
                "when": "has(object.spec) && has(object.spec.queue)",
                "value": "object.spec.queue",
                "always": True,
                "because": "it is spec.queue",
            },
        ],
    },
}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return catalog.load(packs=[a_pack(tmp_path_factory.mktemp("packs"), POLICY)])


def a_pack(folder: Any, policy: dict[str, Any]) -> Any:
    definition = yaml.safe_dump(crd(WIDGET.group, "Widget", SCHEMA))
    files = {"crds/all.yaml": definition, "widget.yaml": yaml.safe_dump(policy), "pack.yaml": PACK % ""}
    return written(folder / "acme", files)


def widget(labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "a", "namespace": "b", **({"labels": labels} if labels else {})}
    return {"apiVersion": "acme.example.com/v1", "kind": "Widget", "metadata": metadata, "spec": spec}


def sent(obj: dict[str, Any], old: dict[str, Any] | None = None) -> Request:
    return Request(WIDGET, "widgets", "UPDATE" if old else "CREATE", obj, old, uid="u", name="a", namespace="b")


def mutated(loaded: Catalog, obj: dict[str, Any], old: dict[str, Any] | None = None) -> Decision:
    """What the gate makes of it, which a second call leaves as it is, and which it accepts with its stamp."""
    decision = engine.mutate(sent(obj, old), loaded, MemoryView(), STRICT)
    stored = decision.object
    assert stored is not None
    assert engine.mutate(sent(stored, old), loaded, MemoryView(), STRICT).object == stored
    judged = engine.validate(sent(stored, old), loaded, MemoryView(), STRICT)
    assert (judged.causes, judged.warnings) == ((), ())
    return decision


def admitted(loaded: Catalog, obj: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, Any]:
    stored = mutated(loaded, obj, old).object
    assert stored is not None
    return stored


def protocols(obj: dict[str, Any], field: str = "ports") -> dict[str, str]:
    items = obj["spec"][field]
    return (
        {each["name"]: each["protocol"] for each in items}
        if isinstance(items, list)
        else {name: each["protocol"] for name, each in items.items()}
    )


HTTP, DNS, OWN = {"name": "http", "port": 80}, {"name": "dns", "port": 53}, {"name": "own", "protocol": "SCTP"}


def test_each_item_gets_its_own_value_and_that_of_a_user_stays(loaded: Catalog) -> None:
    found = mutated(loaded, widget(dns=53, ports=[HTTP, DNS, OWN], byName={"dns": {"port": 53}}))
    stored = found.object
    assert stored is not None
    assert protocols(stored) == {"http": "TCP", "dns": "UDP", "own": "SCTP"}
    assert protocols(stored, "byName") == {"dns": "UDP"}
    assert [(each.path, each.code) for each in found.defaults] == [
        ("spec.ports[0].protocol", "AC101"),
        ("spec.ports[1].protocol", "AC101"),
        ("spec.byName.dns.protocol", "AC103"),
    ]
    stamp = Stamp.matching(stored)
    assert stamp is not None
    assert set(stamp.defaulted) == {
        "spec.ports[name=http].protocol",
        "spec.ports[name=dns].protocol",
        "spec.byName.dns.protocol",
    }


def test_a_value_follows_its_item_wherever_that_goes(loaded: Catalog) -> None:
    old = admitted(loaded, widget(dns=53, ports=[HTTP, DNS, OWN]))
    moved = merged(old, {"spec": {"dns": 80, "ports": [*reversed(old["spec"]["ports"])]}})
    assert protocols(admitted(loaded, moved, old)) == {"http": "UDP", "dns": "TCP", "own": "SCTP"}
    gone = merged(old, {"spec": {"dns": None, "ports": old["spec"]["ports"][1:]}})
    assert protocols(admitted(loaded, gone, old)) == {"dns": "TCP", "own": "SCTP"}


def test_a_value_that_a_user_writes_is_the_users_also_if_it_is_the_same(loaded: Catalog) -> None:
    old = admitted(loaded, widget(dns=53, ports=[HTTP, DNS]))
    other = [{**HTTP, "protocol": "SCTP"}, old["spec"]["ports"][1]]
    stored = admitted(loaded, merged(old, {"spec": {"ports": other}}), old)
    again = admitted(loaded, merged(stored, {"spec": {"dns": 80}}), stored)
    assert protocols(again) == {"http": "SCTP", "dns": "TCP"}


def owned(obj: dict[str, Any], fields: Any) -> dict[str, Any]:
    entry = {"manager": "kubectl", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": fields}}
    return merged(obj, {"metadata": {"managedFields": [entry]}})


@pytest.mark.parametrize(
    ("fields", "follows"),
    [
        ({"f:ports": {'k:{"name":"http"}': {".": {}, "f:name": {}, "f:port": {}}}}, True),
        ({"f:ports": {'k:{"name":"http"}': {".": {}, "f:name": {}, "f:protocol": {}}}}, False),
        ({"f:ports": {'k:{"name":"dns"}': {"f:protocol": {}}}}, True),
        ({"f:ports": {}}, False),  # a list that the API server merges as a whole
        ({"f:ports": {"k:no": 1, "f:ports": []}}, True),
        ("odd", True),
    ],
)
def test_who_applies_the_field_of_an_item_owns_it(loaded: Catalog, fields: Any, follows: bool) -> None:
    old = admitted(loaded, widget(dns=53, ports=[HTTP]))
    new = owned(merged(old, {"spec": {"dns": 80}}), fields)
    assert protocols(admitted(loaded, new, old)) == {"http": "UDP" if follows else "TCP"}


def test_a_file_of_kubectl_apply_owns_what_it_has_of_an_item(loaded: Catalog) -> None:
    for item, protocol in ((HTTP, "UDP"), ({**HTTP, "protocol": "TCP"}, "TCP")):
        old = admitted(loaded, client_side(widget(dns=53, ports=[HTTP])))
        file = client_side(widget(dns=80, ports=[item]))
        live = merged(old, {**file, "spec": {"dns": 80, "ports": old["spec"]["ports"]}})
        assert protocols(admitted(loaded, live, old)) == {"http": protocol}


def test_in_a_list_without_keys_what_is_filled_in_stays(loaded: Catalog) -> None:
    old = admitted(loaded, widget(dns=53, plain=[HTTP, DNS]))
    assert protocols(old, "plain") == {"http": "TCP", "dns": "UDP"}
    new = merged(old, {"spec": {"dns": 80, "plain": [{"name": "new", "port": 80}, *old["spec"]["plain"]]}})
    assert protocols(admitted(loaded, new, old), "plain") == {"new": "UDP", "http": "TCP", "dns": "UDP"}


def test_a_value_that_always_follows_replaces_that_of_a_user_and_goes_and_both_are_told(loaded: Catalog) -> None:
    label = {"acme/queue": "mine", "own": "x"}
    replaced = mutated(loaded, widget(label, queue="fast"))
    assert replaced.object is not None
    assert replaced.object["metadata"]["labels"] == {"acme/queue": "fast", "own": "x"}
    ((field, text, code),) = ((each.field, each.message, each.code) for each in replaced.warnings)
    assert (field, code) == ("metadata.labels[acme/queue]", "AC104")
    assert text == '"mine" is replaced by "fast": it is spec.queue'
    removed = mutated(loaded, widget(label))
    assert removed.object is not None
    assert removed.object["metadata"]["labels"] == {"own": "x"}
    assert '"mine" is removed: ' in removed.warnings[0].message


def test_a_value_that_always_follows_vanishes_with_its_source_in_silence(loaded: Catalog) -> None:
    old = admitted(loaded, widget(queue="fast"))
    assert old["metadata"]["labels"] == {"acme/queue": "fast"}
    gone = mutated(loaded, merged(old, {"spec": {"queue": None}}), old)
    assert gone.object is not None
    assert "labels" not in gone.object["metadata"]
    assert gone.warnings == ()


VALUES = st.none() | st.booleans() | st.integers(0, 90) | st.sampled_from(["http", "TCP", "UDP", ""])
ITEMS = st.dictionaries(st.sampled_from(["name", "port", "protocol"]), VALUES) | VALUES
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "dns": VALUES,
        "queue": VALUES,
        "ports": st.lists(ITEMS, max_size=4) | VALUES,
        "plain": st.lists(ITEMS, max_size=4) | VALUES,
        "byName": st.dictionaries(st.sampled_from("ab"), ITEMS, max_size=2) | VALUES,
    },
)


def written_values(obj: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """The protocols of the items, with their places."""
    for field in ("ports", "plain", "byName"):
        items = obj["spec"].get(field)
        pairs = enumerate(items) if isinstance(items, list) else items.items() if isinstance(items, dict) else ()
        for place, item in pairs:
            if isinstance(item, dict) and item.get("protocol") is not None:
                yield field, place, json.dumps(item["protocol"])


@settings(max_examples=examples(60))
@given(spec=SPECS)
def test_whatever_the_object_is_what_a_user_wrote_stays(loaded: Catalog, spec: dict[str, Any]) -> None:
    decision = engine.mutate(sent(widget(**spec)), loaded, MemoryView(), Options(faults_told=True))
    assert decision.object is not None
    assert set(written_values(widget(**spec))) <= set(written_values(decision.object))
    again = engine.mutate(sent(decision.object), loaded, MemoryView(), Options(faults_told=True))
    assert again.object == decision.object


@settings(max_examples=examples(60))
@given(first=SPECS, second=SPECS, record=st.dictionaries(st.sampled_from(["spec.ports[name=http].protocol"]), VALUES))
def test_whatever_a_stamp_says_an_update_is_decided(
    loaded: Catalog, first: dict[str, Any], second: dict[str, Any], record: dict[str, Any]
) -> None:
    old = widget(**first)
    old["metadata"]["annotations"] = {ANNOTATION: Stamp.of(old, loaded.digest, record).encode()}
    decision = engine.mutate(sent(widget(**second), old), loaded, MemoryView(), Options(faults_told=True))
    assert decision.object is not None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"path": "spec.ports[*]"}, "a default sets a field of each item: end the path with its name"),
        ({"path": "spec.ports[*].nix"}, "no 'nix' in spec.ports[*] of the schema, which has name, port, protocol"),
        ({"value": "self.nix"}, "undefined field 'nix'"),
        ({"value": "self.port"}, "must evaluate to string"),
        ({"value": None, "valueFrom": "a.b"}, "of the items of a list, set value"),
        ({"overSchemaDefault": True}, "of the items of a list, set value"),
    ],
)
def test_a_mistake_is_an_error_with_its_line(tmp_path: Any, change: dict[str, Any], message: str) -> None:
    policy = json.loads(json.dumps(POLICY))
    policy["spec"]["defaults"][0] |= change
    with pytest.raises(LoadError) as caught:
        catalog.load(packs=[a_pack(tmp_path, policy)])
    assert message in str(caught.value)
