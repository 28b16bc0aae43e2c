"""The wire format: what is read, what is refused as malformed, what is answered."""

import base64
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws import examples
from webhook.admission import review, status
from webhook.admission.decision import Cause, Decision, Warn
from webhook.admission.errors import Malformed

MODEL = {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "Model", "metadata": {"name": "m", "namespace": "n"}}


def a_review(**changes: Any) -> dict[str, Any]:
    request = {
        "uid": "1",
        "kind": {"group": "inference.llmkube.dev", "version": "v1alpha1", "kind": "Model"},
        "resource": {"group": "inference.llmkube.dev", "version": "v1alpha1", "resource": "models"},
        "operation": "CREATE",
        "name": "m",
        "namespace": "n",
        "object": MODEL,
        "oldObject": None,
        **changes,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def decode(**changes: Any) -> Any:
    return review.decode(orjson.dumps(a_review(**changes)))[1]


def test_a_request_is_read() -> None:
    request = decode(dryRun=True, userInfo={"username": "u"})
    assert (str(request.kind), request.resource, request.name) == (
        "Model.v1alpha1.inference.llmkube.dev",
        "models",
        "m",
    )
    assert request.dry_run
    assert request.user == {"username": "u"}
    assert request.old_object is None


def test_v1beta1_is_understood_and_answered_in_kind() -> None:
    body = {**a_review(), "apiVersion": "admission.k8s.io/v1beta1"}
    version, request = review.decode(orjson.dumps(body))
    answer = orjson.loads(review.encode("validate", version, request, Decision(request.object)))
    assert answer == {
        "apiVersion": "admission.k8s.io/v1beta1",
        "kind": "AdmissionReview",
        "response": {"uid": "1", "allowed": True},
    }


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b'{"a":NaN}', "not JSON"),
        (b'"\\ud800"', "not JSON"),
        (b"[" * 10_000 + b"]" * 10_000, "not JSON"),
        (b"null", "must be an AdmissionReview object, not null"),
        (b"[]", "must be an AdmissionReview object, not an array"),
        (b"{}", "expected kind AdmissionReview"),
        (b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v2"}', 'of "admission.k8s.io/v2"'),
        (b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}', "has no request"),
        (b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":[]}', "has no request"),
    ],
)
def test_an_invalid_review_is_malformed(body: bytes, message: str) -> None:
    with pytest.raises(Malformed, match=message):
        review.decode(body)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"uid": ""}, "request.uid is missing"),
        ({"operation": "PATCH"}, "request.operation must be one of CREATE, UPDATE, DELETE, CONNECT"),
        ({"object": None}, "request.object is missing on CREATE"),
        ({"object": []}, "request.object must be an object, not an array"),
        ({"operation": "UPDATE"}, "request.oldObject is missing on UPDATE"),
        ({"name": 1}, "name must be a string, not a number"),
        ({"kind": "Model"}, "request.kind must be an object, not a string"),
        ({"object": {**MODEL, "kind": "Pod"}}, "request.object is"),
        ({"object": {**MODEL, "apiVersion": "v1"}}, "request.object is"),
        ({"object": {**MODEL, "metadata": None}}, "metadata must be an object, not null"),
        ({"object": {**MODEL, "metadata": {"name": "x"}}}, 'metadata.name is "x", but request.name is "m"'),
        ({"object": {**MODEL, "metadata": {"namespace": "x"}}}, "metadata.namespace"),
        ({"operation": "UPDATE", "oldObject": {**MODEL, "kind": "Pod"}}, "request.oldObject is"),
        ({"resource": {"group": "apps", "version": "v1", "resource": "models"}}, "belong to different APIs"),
        ({"subResource": "status", "resource": None}, "request.resource is missing; a subresource is part"),
    ],
)
def test_a_review_that_contradicts_itself_is_malformed(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(Malformed, match=message):
        decode(**changes)


ODD = [None, "", "x", "m", 0, [], {}, True, {"name": "m"}, "v1", "apps/v1", "DELETE", "UPDATE", MODEL]
PLACES = [*a_review()["request"], "subResource", "dryRun", "userInfo", "options"]
NESTED = [("kind", each) for each in ("group", "version", "kind")] + [
    ("resource", each) for each in ("group", "resource")
]
NESTED += [("object", each) for each in ("apiVersion", "kind", "metadata")] + [("oldObject", "metadata")]


@settings(max_examples=examples(3000), deadline=None)
@given(st.data())
def test_the_usual_request_is_read_as_every_other(data: st.DataObject) -> None:
    request = a_review(userInfo={"username": "u"}, options={"kind": "CreateOptions"})["request"]
    if data.draw(st.booleans()):
        request |= {"operation": "UPDATE", "oldObject": MODEL}
    for _ in range(data.draw(st.integers(0, 3))):
        place, value = data.draw(st.sampled_from([*PLACES, *NESTED])), data.draw(st.sampled_from(ODD))
        if isinstance(place, str):
            request[place] = value
        elif isinstance(request[place[0]], dict):
            request[place[0]] = {**request[place[0]], place[1]: value}
    found = review._usual_request(request, 1)
    try:
        expected = review._request(request, 1)
    except Malformed:
        assert found is None
    else:
        assert found in (None, expected)


def test_what_an_api_server_sends_is_usual() -> None:
    sent = {"userInfo": {"username": "u"}, "requestKind": {}, "dryRun": False}
    for changes in ({}, {"operation": "UPDATE", "oldObject": MODEL}, {"options": {"kind": "CreateOptions"}}):
        assert review._usual_request(a_review(**sent, **changes)["request"], 1) is not None


def test_the_object_of_a_subresource_may_be_of_another_kind() -> None:
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {}}
    assert decode(operation="CREATE", subResource="scale", object=scale).subresource == "scale"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("2.0", 2), ("2.50", 2.5), ("1e3", 1000), ("1E3", 1000), ("-0.0", 0), ("20.000", 20), ("1.05", 1.05)),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", float(2**63)),  # no int64, and Go has no other integer for it
        ("18446744073709551615", float(2**64)),
        ("-9223372036854775809", float(-(2**63) - 1)),
    ],
)
def test_a_whole_number_is_an_integer_however_it_is_written(text: str, value: float) -> None:
    body = orjson.dumps(a_review(object={**MODEL, "spec": {"count": "N"}})).replace(b'"N"', text.encode())
    count = review.decode(body)[1].object["spec"]["count"]
    assert (count, type(count)) == (value, type(value))


def test_generate_name_leaves_the_name_empty() -> None:
    assert decode(name="", object={**MODEL, "metadata": {"generateName": "m-"}}).name == ""


def test_a_denial_carries_the_whole_status() -> None:
    causes = (
        Cause("spec.source", "FieldValueRequired", "Required value"),
        Cause("spec.files[0]", "FieldValueInvalid", 'Invalid value: "": no', "LK201"),
    )
    request = decode()
    answer = orjson.loads(review.encode("validate", "admission.k8s.io/v1", request, Decision(request.object, causes)))
    assert answer["response"]["allowed"] is False
    found = answer["response"]["status"]
    assert (found["code"], found["reason"], found["status"]) == (422, "Invalid", "Failure")
    assert found["details"] == {
        "name": "m",
        "group": "inference.llmkube.dev",
        "kind": "Model",
        "causes": [
            {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.source"},
            {"reason": "FieldValueInvalid", "message": 'Invalid value: "": no (LK201)', "field": "spec.files[0]"},
        ],
    }
    assert found["message"] == (
        'Model.inference.llmkube.dev "m" is invalid: '
        '[spec.source: Required value, spec.files[0]: Invalid value: "": no (LK201)]'
    )


def test_a_mutation_is_a_patch_and_its_type_or_neither() -> None:
    request = decode()
    changed = {**MODEL, "spec": {"a": 1}}
    response = orjson.loads(review.encode("mutate", "v", request, Decision(changed)))["response"]
    assert response["patchType"] == "JSONPatch"
    assert orjson.loads(base64.b64decode(response["patch"])) == [{"op": "add", "path": "/spec", "value": {"a": 1}}]
    assert "patch" not in orjson.loads(review.encode("mutate", "v", request, Decision(request.object)))["response"]
    assert "patch" not in orjson.loads(review.encode("validate", "v", request, Decision(changed)))["response"]


def test_warnings_keep_within_the_api_servers_limits() -> None:
    lines = status.warnings(tuple(Warn("spec.x", f"{n} " + "é" * 300, "LK301") for n in range(40)))
    assert all(len(line) <= status.WARNING_LENGTH for line in lines)
    assert sum(len(line.encode()) for line in lines) <= status.WARNINGS_LENGTH
    assert lines[0].startswith("spec.x: 0 é")
    assert lines[0].endswith("é… (LK301)")
    shown = len(lines) - 1
    assert lines[-1] == f"and {40 - shown} more warnings: see `modelgate check` for all of them"


def test_a_warning_is_one_line() -> None:
    assert status.warnings((Warn("", "a\nb\r\n  c "),)) == [r"a\nb\r\n c"]
