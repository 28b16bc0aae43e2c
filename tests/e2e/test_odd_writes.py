"""Odd ways to write: no JSON patch stores what is refused, and the gate judges the number that is stored."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.client import Client, Reply, connected
from tests.e2e.gate import STAMP
from tests.e2e.kinds import KINDS, Row
from tests.e2e.kubectl import Object
from tests.policies.test_bad_input import Keys, fields, placed
from webhook import engine
from webhook.admission import GroupVersionKind, Request, group_version
from webhook.admission.stamp import Stamp
from webhook.catalog import Catalog, KnownKind
from webhook.cluster import MemoryView
from webhook.engine import Options

pytestmark = pytest.mark.usefixtures("gate")

NAMESPACE = "odd-writes"
JSON_PATCH = {"Content-Type": "application/json-patch+json"}
IGNORE = "modelgate.dev/ignore"

kinds = pytest.mark.parametrize("row", KINDS, ids=lambda row: row.resource)


@pytest.fixture(scope="module")
def client(plane) -> Iterator[Client]:
    plane.kubectl("create", "namespace", NAMESPACE)
    with connected(plane.kubeconfig) as made:
        yield made
    plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def known_of(row: Row, loaded: Catalog) -> KnownKind:
    known = loaded.find(GroupVersionKind(*group_version(row.apiVersion), row.kind))
    assert known is not None
    return known


def step(name: str, path: str, **more: Any) -> Object:
    return {"op": name, "path": path, **more}


def patches(stored: Object, bad: Object) -> Iterator[tuple[str, list[Object]]]:
    """Ways to put a bad specification into a stored object."""
    replace = step("replace", "/spec", value=bad)
    annotations = "/metadata/annotations"
    stamp = f"{annotations}/{STAMP.replace('~', '~0').replace('/', '~1')}"
    ignored = f"{annotations}/{IGNORE.replace('/', '~1')}"
    aside = step("add", "/aside", value=bad)
    yield "replace", [replace]
    yield "add over it", [step("add", "/spec", value=bad)]
    yield "the whole object", [step("replace", "", value={**stored, "spec": bad})]
    yield "remove, then add", [step("remove", "/spec"), step("add", "/spec", value=bad)]
    yield "field by field", list(by_field(stored["spec"], bad))
    yield "move from a field that is pruned", [aside, step("move", "/spec", **{"from": "/aside"})]
    yield "copy from a field that is pruned", [aside, step("copy", "/spec", **{"from": "/aside"})]
    yield (
        "copy from the status",
        [step("add", "/status", value={"aside": bad}), step("copy", "/spec", **{"from": "/status/aside"})],
    )
    yield "after a test", [step("test", "/spec", value=stored["spec"]), replace]
    yield "there and back, and there", [replace, step("replace", "/spec", value=stored["spec"]), replace]
    yield "without its stamp", [step("remove", stamp), replace]
    yield "with an empty stamp", [step("replace", stamp, value="{}"), replace]
    yield "with a request to ignore it", [step("add", ignored, value="*"), replace]
    yield "with a finalizer", [step("add", "/metadata/finalizers", value=["a.b/c"]), replace]
    yield "as if it were deleted", [step("add", "/metadata/deletionTimestamp", value="2020-01-01T00:00:00Z"), replace]
    yield "as if it were older", [step("replace", "/metadata/generation", value=0), replace]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u", "controller": True}
    yield "with an owner", [step("add", "/metadata/ownerReferences", value=[owner]), replace]


def by_field(good: Object, bad: Object) -> Iterator[Object]:
    for key in good.keys() - bad.keys():
        yield step("remove", f"/spec/{key}")
    for key in bad:
        if bad[key] != good.get(key):
            yield step("add", f"/spec/{key}", value=bad[key])


@kinds
def test_no_json_patch_stores_what_is_refused(client: Client, row: Row, loaded: Catalog) -> None:
    known = known_of(row, loaded)
    made = client.create(known, row.object("odd", namespace=NAMESPACE), dry=False)
    assert made.accepted, made.body
    stored, path = made.body, path_of(known, "odd")
    try:
        for name, patch in patches(stored, row.object("odd", row.bad)["spec"]):
            answer = client.ask("PATCH", path, patch, JSON_PATCH)
            assert answer.code in {400, 403, 422}, (name, answer)
            assert client.ask("GET", path, None).body == stored, name
        spec = [step("add", "/status", value=row.status), step("replace", "/spec", value={})]
        client.ask("PATCH", f"{path}/status", spec, JSON_PATCH)
        assert client.ask("GET", path, None).body["spec"] == stored["spec"]
    finally:
        client.ask("DELETE", path, None)


def path_of(known: KnownKind, name: str = "") -> str:
    namespace = f"/namespaces/{NAMESPACE}" if known.namespaced else ""
    return f"/apis/{known.gvk.group}/{known.gvk.version}{namespace}/{known.plural}/{name}".rstrip("/")


EQUAL = (
    ("0", "-0", "0.0", "-0.0", "0e9"),
    ("1", "1.0", "1e0", "0.1e1", "10e-1", "1.0000000000000000000001"),
    ("100", "1e2", "1E+2", "100.00"),
    ("1000000000000000000", "1e18", "1.0e+18"),
)
"""Notations of one number: they are accepted or refused together."""
ALONE = (
    *("1.5", "1e-9", "1e-400", "9007199254740993", "9223372036854775807", "9223372036854775808"),
    *("-9223372036854775809", "18446744073709551616", "1e19", "1e21", "123456789012345678901234567890", "1e400"),
    *('"1e2"', '"0.1e1"', '"-0"', '"1e400"', '"1.0"'),
)
TRIED, PLACES = 80, 6
"""Fields of a kind in which a usual number is tried, and those that are used, of the ones that take it."""
USUAL = ("1", "100", "1.5")
NO_NUMBER = {"OpenModel", "FineTunedWeight", "AIMTemplateCache"}
"""Their only numbers are deep in objects that need more than the number."""
_HERE = "modelgate-number"


def numeric(known: KnownKind) -> list[Keys]:
    """The fields that take a number, in some order."""
    places = [
        tuple("memory" if key == "x" else key for key in keys)  # the key of resources
        for keys, schema in fields(known.schema.raw)
        if keys[0] == "spec"
        and (schema.get("type") in {"integer", "number"} or schema.get("x-kubernetes-int-or-string"))
    ]
    return random.Random(str(known.gvk)).sample(places, min(TRIED, len(places)))


def create(client: Client, known: KnownKind, obj: Object, keys: Keys, number: str) -> Reply:
    """A dry run of an object with this number, as it is written, in a field."""
    text = json.dumps(placed(obj, keys, _HERE)).replace(f'"{_HERE}"', number)
    return client.ask("POST", f"{path_of(known)}?dryRun=All&fieldValidation=Ignore", text)


def check_judged(known: KnownKind, reply: Reply, loaded: Catalog) -> None:
    """What would be stored is what the gate has judged, and what it accepts."""
    obj = reply.body
    assert Stamp.matching(obj) is not None
    request = Request(known.gvk, known.plural, "UPDATE", obj, obj)
    decision = engine.validate(request, loaded, MemoryView(), Options(references=False))
    assert decision.causes == ()


@kinds
def test_of_each_notation_of_a_number_the_gate_judges_what_is_stored(client: Client, row: Row, loaded: Catalog) -> None:
    known = known_of(row, loaded)
    base = row.object("numbers", row.change, **({"namespace": NAMESPACE} if known.namespaced else {}))
    assert client.create(known, base).accepted
    places = [keys for keys in numeric(known) if any(create(client, known, base, keys, n).accepted for n in USUAL)]
    for keys in places[:PLACES]:
        for notations in (*EQUAL, *((number,) for number in ALONE)):
            outcomes = set()
            for number in notations:
                reply = create(client, known, base, keys, number)
                assert reply.code < 500, (keys, number, reply)
                if reply.accepted:
                    check_judged(known, reply, loaded)
                outcomes.add(json.dumps(reply.body["spec"]) if reply.accepted else "refused")
            assert len(outcomes) == 1, (keys, notations, outcomes)
    assert places or row.kind in NO_NUMBER


@kinds
def test_no_message_of_a_refusal_has_a_control_character(client: Client, row: Row, loaded: Catalog) -> None:
    """The gate's and the API server's own: kubectl prints both as they are."""
    known, bad = known_of(row, loaded), row.object("evil", row.bad, namespace=NAMESPACE)
    spec, head = json.dumps(bad["spec"]), {**bad, "spec": "SPEC"}
    for text in filter(None, texts(bad["spec"])):
        written = json.dumps(head).replace('"SPEC"', spec.replace(json.dumps(text)[1:-1], HOSTILE))
        reply = client.ask("POST", f"{path_of(known)}?dryRun=All&fieldValidation=Ignore", written)
        said = [cause["message"] for cause in (reply.body.get("details") or {}).get("causes", ())]
        assert [
            each for each in (reply.body.get("message", ""), *said, *reply.warnings) if not each.isprintable()
        ] == []


HOSTILE = r"a\n::error::b\u001b[31m\u202e\u2028"


def texts(value: Any) -> Iterator[str]:
    """The texts of a JSON value."""
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts(item)
