"""The stamp: what it covers, what it survives, and that nothing a user writes there can break its reader."""

import copy
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.admission.stamp import ANNOTATION, Stamp, canonical

MODEL = {
    "apiVersion": "inference.llmkube.dev/v1alpha1",
    "kind": "Model",
    "metadata": {"name": "m", "namespace": "default"},
    "spec": {"source": "hf://org/repo", "format": "gguf"},
}

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=20
)
specs = st.dictionaries(st.text(), values, max_size=5)


def with_annotation(text):
    return {**MODEL, "metadata": {**MODEL["metadata"], "annotations": {ANNOTATION: text}}}


def go_float(value: float) -> str:
    """Go's encoding/json: plain digits below 1e21, the shortest that read back equal."""
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        mantissa, _, exponent = repr(value).partition("e")
        whole, _, fraction = mantissa.partition(".")
        shift = int(exponent or 0)
        if shift > 0:
            digits = fraction.ljust(shift, "0")
            whole, fraction = whole + digits[:shift], digits[shift:]
        if shift < 0:
            return f"{value:.{len(fraction) - shift}f}"
        return whole if fraction.strip("0") == "" else f"{whole}.{fraction}"
    return repr(value)


def through_the_api_server(value):
    """Reads numbers as k8s.io/apimachinery/pkg/util/json (int64, else float64) and writes them as Go does."""
    if isinstance(value, dict):
        return {key: through_the_api_server(item) for key, item in value.items()}
    if isinstance(value, list):
        return [through_the_api_server(item) for item in value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    text = go_float(float(value))
    fits = text.lstrip("-").isdigit() and -(2**63) <= int(text) < 2**63
    return int(text) if fits else float(text)


@pytest.mark.parametrize(
    ("written", "returned"),
    [
        (1.0, 1),
        (1e3, 1000),
        (-0.0, 0),
        (0.5, 0.5),
        (2.0**62, 4611686018427388000),
        (1e20, 100000000000000000000),
        (1e21, 1e21),
        (12345678901234567890, 12345678901234567000),
        (2**63, 9223372036854775808.0),
    ],
)
def test_a_number_hashes_as_the_api_server_hands_it_back(written, returned):
    before, after = ({**MODEL, "spec": {"n": [written]}}, {**MODEL, "spec": {"n": [returned]}})
    assert Stamp.of(before, "c", {}) == Stamp.of(after, "c", {})


def test_integers_that_differ_hash_differently_where_floats_could_not_tell():
    assert not Stamp.of({"spec": 2**53}, "c", {}).matches({"spec": 2**53 + 1})


@pytest.mark.parametrize(("one", "other"), [(1, True), (0, False), (1, "1"), (None, False), ({}, []), (0, None)])
def test_values_of_different_types_are_different(one, other):
    assert not Stamp.of({"spec": {"v": one}}, "c", {}).matches({"spec": {"v": other}})


@given(specs)
def test_a_stamp_still_matches_after_any_number_of_ways_through_the_api_server(spec):
    stamp = Stamp.of({"spec": spec}, "c", {})
    once = through_the_api_server(spec)
    assert stamp.matches({"spec": once})
    assert stamp.matches({"spec": through_the_api_server(once)})


@given(specs, st.text(), st.dictionaries(st.text(), values, max_size=3))
def test_what_is_encoded_is_read_back_and_encodes_to_the_same_bytes(spec, catalog, defaulted):
    settled = through_the_api_server(defaulted)
    stamp = Stamp.of({"spec": spec}, catalog, settled)
    carried = with_annotation(stamp.encode())
    read = Stamp.read(carried)
    assert read == stamp
    assert read.encode() == stamp.encode()


@given(specs)
def test_the_order_of_keys_does_not_matter(spec):
    turned = dict(reversed(spec.items()))
    assert Stamp.of({"spec": spec}, "c", {}).encode() == Stamp.of({"spec": turned}, "c", {}).encode()


@given(specs, specs)
def test_a_stamp_matches_no_other_specification(one, other):
    if json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True):
        settled = through_the_api_server(one), through_the_api_server(other)
        same = json.dumps(settled[0], sort_keys=True) == json.dumps(settled[1], sort_keys=True)
        assert Stamp.of({"spec": one}, "c", {}).matches({"spec": other}) == same


def test_metadata_and_status_are_not_stamped():
    stamp = Stamp.of(MODEL, "c", {})
    later = {**MODEL, "metadata": {"name": "m", "labels": {"a": "b"}}, "status": {"phase": "Ready"}}
    assert stamp.matches(later)
    assert not stamp.matches({**MODEL, "spec": {**MODEL["spec"], "format": "mlx"}})


def test_the_hash_is_sha256_of_sorted_compact_json():
    assert Stamp.of(MODEL, "c", {}).spec == hashlib.sha256(b'{"format":"gguf","source":"hf://org/repo"}').hexdigest()


@pytest.mark.parametrize(
    "extra",
    [{"data": {"a": "1"}}, {"spec": {"a": 1}, "immutable": True}, {}],
    ids=["no spec at all", "a field beside spec", "nothing"],
)
def test_a_kind_whose_content_is_not_only_spec_is_stamped_whole(extra):
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, **extra}
    stamp = Stamp.of(obj, "c", {})
    assert stamp.matches({**obj, "metadata": {"name": "c", "uid": "1"}, "status": {}})
    assert not stamp.matches({**obj, "data": {"a": "2"}})


def test_a_stamp_of_a_tolerated_object_keeps_its_record_and_matches_nothing():
    stamp = Stamp.of_tolerated("c", {"spec.format": "gguf"})
    assert Stamp.read(with_annotation(stamp.encode())) == stamp
    assert not stamp.matches(MODEL)
    assert not stamp.matches({})


def test_an_object_without_a_stamp_reads_as_none():
    assert Stamp.read(MODEL) is None


@pytest.mark.parametrize(
    "metadata", [None, "text", [], {"annotations": None}, {"annotations": "x"}, {"annotations": []}]
)
def test_odd_metadata_reads_as_none(metadata):
    assert Stamp.read({**MODEL, "metadata": metadata}) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "7",
        '"text"',
        "{}",
        '{"spec":null,"catalog":"c","defaulted":{}}',
        '{"spec":"zz","catalog":"c","defaulted":{}}',
        f'{{"spec":"{"a" * 64}\\n","catalog":"c","defaulted":{{}}}}',
        f'{{"spec":"{"a" * 64}","catalog":7,"defaulted":{{}}}}',
        f'{{"spec":"{"a" * 64}","catalog":"c","defaulted":[]}}',
        f'{{"spec":["{"a" * 64}"],"catalog":"c","defaulted":{{}}}}',
        f'{{"spec":"{"a" * 64}","catalog":"c"}}',
        "[" * 100_000,
        None,
        7,
        b"\xff",
    ],
)
def test_a_malformed_annotation_reads_as_none(text):
    assert Stamp.read(with_annotation(text)) is None


@given(st.text() | values)
def test_no_annotation_raises(text):
    Stamp.read(with_annotation(text))


def test_an_object_deeper_than_orjson_writes_is_stamped_all_the_same():
    deep = "leaf"
    for _ in range(300):
        deep = {"a": deep}
    stamp = Stamp.of({"spec": deep}, "c", {})
    assert stamp.matches({"spec": copy.deepcopy(deep)})
    assert not stamp.matches({"spec": deep["a"]})


def test_a_deep_object_is_written_as_a_flat_one_sorted_compact_and_in_utf_8():
    deep = {"b": "é", "a": [1, True]}
    for _ in range(300):
        deep = {"a": deep}
    assert canonical(deep) == b'{"a":' * 300 + '{"a":[1,true],"b":"é"}'.encode() + b"}" * 300


def test_an_object_nested_without_end_matches_nothing():
    deep = []
    deep.append(deep)
    assert not Stamp("a" * 64, "c", {}).matches({"spec": deep})


def test_a_lone_surrogate_hashes_as_the_replacement_character_the_api_server_stores():
    assert Stamp.of({"spec": "\ud800"}, "c", {}).matches({"spec": "\ufffd"})
