"""The gate as a Python object: what it takes, what it answers, and what it refuses to take."""

import contextlib
import pickle
import threading
from copy import deepcopy
from enum import Enum, IntEnum
from pathlib import Path
from types import MappingProxyType

import pytest
import yaml
from hypothesis import given as examples_of
from hypothesis import settings
from hypothesis import strategies as st

from modelgate import (
    CatalogError,
    DocumentError,
    Gate,
    Malformed,
    ModelgateError,
    Settings,
    SettingsError,
    Severity,
    cel,
)
from tests.crds import crd, spec_schema
from tests.definitions import POLICIES, definition
from tests.laws import examples

MODEL = {
    "apiVersion": "inference.llmkube.dev/v1alpha1",
    "kind": "Model",
    "metadata": {"name": "llama"},
    "spec": {"source": "https://example.com/model.gguf", "quantization": "Q4_K_M"},
}
BAD = {**MODEL, "spec": {**MODEL["spec"], "format": "onnx"}}
WIDGET = {"apiVersion": "acme.example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": "big"}}


def widgets(minimum):
    return crd("acme.example.com", "Widget", spec_schema(size={"type": "integer", "minimum": minimum}))


@pytest.fixture(scope="module")
def gate():
    return Gate()


@pytest.mark.parametrize(
    "given",
    [
        MODEL,
        MappingProxyType(MODEL),
        yaml.safe_dump(MODEL),
        yaml.safe_dump(MODEL).encode(),
    ],
    ids=["object", "mapping", "text", "bytes"],
)
def test_one_object_in_every_form_has_one_verdict(gate, given):
    verdict = gate.check(given)
    assert (verdict.checked, verdict.allowed, verdict.findings) == (True, True, ())
    assert verdict.object["spec"]["format"] == "gguf"
    assert {each.path: each.value for each in verdict.filled}["spec.format"] == "gguf"
    assert str(verdict) == "Model llama: allowed"


def test_a_path_is_a_file_or_a_folder(gate, tmp_path):
    file = tmp_path / "model.yaml"
    file.write_text(f"{yaml.safe_dump(MODEL)}---\n{yaml.safe_dump(BAD)}")
    good, bad = gate.check_all(tmp_path)
    assert (good.allowed, bad.allowed) == (True, False)
    assert (bad.source, bad.line) == (str(file), 9)
    assert [each.place.line for each in bad.errors] == [14]
    with pytest.raises(DocumentError, match="2 objects: use check_all"):
        gate.check(file)


def test_what_is_given_stays_as_it_is(gate):
    given = deepcopy(BAD)
    verdict = gate.check(given)
    assert given == BAD
    verdict.object["spec"]["hardware"] = {}
    assert given == BAD


def test_many_threads_use_one_gate(gate):
    found = []

    def judged():
        found.extend(gate.check(each).allowed for each in [MODEL, BAD] * 20)

    threads = [threading.Thread(target=judged) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found.count(True) == found.count(False) == 80


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (3, "expected an object (dict), a text (str or bytes) or a pathlib.Path, got int"),
        (None, "got NoneType"),
        ([MODEL], "got list"),
        ("", "no object"),
        ("just text", "expected an object, got str"),
        ("models/llama.yaml", "for a file or a folder, give pathlib.Path('models/llama.yaml')"),
        ("models/", "give pathlib.Path('models/')"),
        (b"\xff\xfe", "not UTF-8 text"),
        ("a: [", "text:"),
        ({}, "apiVersion: Required value"),
        ({"apiVersion": "v1"}, "kind: Required value"),
        ({**MODEL, "spec": {1: 2}}, "spec: the key 1 must be a text"),
        ({**MODEL, "spec": {"a": {1, 2}}}, "spec.a: set is not a type of JSON"),
        ({**MODEL, "spec": {"a": [float("inf")]}}, "spec.a[0]: inf is not a number of JSON"),
        ({**MODEL, "spec": {"a": 2**64}}, "spec.a: 18446744073709551616 does not fit into 64 bits"),
        ({**MODEL, "spec": {"a": 10**5000}}, "spec.a: an integer of 16610 bits does not fit into 64 bits"),
        ({**MODEL, "spec": {10**5000: 2}}, "spec: the key an integer of 16610 bits must be a text"),
        ({**MODEL, "spec": {(1,): 2}}, "spec: the key of the type tuple must be a text"),
        ({**MODEL, "spec": {"a": b"x"}}, "spec.a: bytes is not a type of JSON"),
        ({**MODEL, "spec": {"a": "\ud800"}}, "spec.a: half of a surrogate pair is not text"),
        ({**MODEL, "spec": {"\ud800": 1}}, "spec: half of a surrogate pair is not text"),
        ("a: b\nc: \ud800", "text:2: half of a surrogate pair is not text"),
        ({**MODEL, "spec": {"a": ["x" * 1_000_000] * 3_000}}, "spec.a[16]: more than 16 MiB: the API server takes 3"),
        (Path("a\0b"), "a\\x00b: cannot be read: a name has no NUL"),
        (Path("a" * 5_000), "cannot be read: File name too long"),
        (Path("\ud800"), "cannot be read: its name is not text"),
    ],
)
def test_what_is_not_an_object_is_an_error_that_says_why(gate, given, said):
    with pytest.raises(DocumentError) as error:
        gate.check(given)
    assert said in str(error.value)
    assert isinstance(error.value, ModelgateError)


class Text(str, Enum):  # noqa: UP042 - as users of Python 3.10 write it
    GGUF = "gguf"


class Count(IntEnum):
    TWO = 2


class Number(float):
    pass


def test_subclasses_of_the_types_of_json_are_their_values(gate):
    odd = {"format": Text.GGUF, "hardware": {"gpu": {"count": Count.TWO}, "memoryFraction": Number(0.5)}}
    plain = {"format": "gguf", "hardware": {"gpu": {"count": 2}, "memoryFraction": 0.5}}
    verdicts = [gate.check({**MODEL, "spec": {**MODEL["spec"], **spec}}) for spec in (odd, plain)]
    assert str(verdicts[0]) == str(verdicts[1])
    assert verdicts[0].object == verdicts[1].object


def looped(value):
    """A list and an object that contain themselves, beside a value."""
    items = [value]
    items += [items, {"items": items}]
    return items


TEXTS = st.text(st.characters(), max_size=20) | st.sampled_from(["\ud800", "a\0", "\u2028", Text.GGUF])
LEAVES = st.one_of(
    st.none() | st.booleans() | TEXTS | st.binary(max_size=5) | st.dates() | st.decimals() | st.complex_numbers(),
    st.integers() | st.floats() | st.sampled_from([-(2**63), 2**63, Count.TWO, Number(1), Number("nan")]),
    st.sampled_from(
        [object(), int, ..., NotImplemented, range(3), frozenset({1}), Path("a\0"), Text, ["x" * 10**6] * 50]
    ),
)
ODD = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4) | st.tuples(inner) | inner.map(looped),
        st.dictionaries(TEXTS, inner, max_size=4).map(MappingProxyType),
        st.dictionaries(TEXTS | st.integers() | st.tuples(st.integers()), inner, max_size=4),
    ),
)


@settings(max_examples=examples(2_000))
@examples_of(odd=ODD, where=st.sampled_from(["all", "metadata", "spec", "source", "labels", "apiVersion", "kind"]))
def test_an_odd_value_of_python_is_judged_or_is_a_documented_error(gate, odd, where):
    objects = {
        "all": odd,
        "metadata": {**MODEL, "metadata": odd},
        "labels": {**MODEL, "metadata": {"name": "m", "labels": odd}},
        "spec": {**MODEL, "spec": odd},
        "source": {**MODEL, "spec": {"source": odd}},
    }
    for call in (gate.check, gate.check_all, gate.explain):
        with contextlib.suppress(DocumentError):
            call(objects.get(where, {**MODEL, where: odd}))


@pytest.mark.parametrize(
    ("name", "namespace", "said"),
    [
        ("llma", "team", "Model llma is not among the files given; did you mean llama?"),
        ("llama", "other", "; there is one in namespace team, and it is looked for in other"),
        ("llama", None, "; there is one in namespace team, and it is looked for in default"),
        ("quite-another", "team", "is not among the files given; add it, or use Gate"),
        ("lama-base", "team", "is not among the files given; add it, or use Gate"),  # which is of another API
    ],
)
def test_what_a_reference_may_mean_is_said(gate, name, namespace, said):
    model = {**MODEL, "metadata": {"name": "llama", "namespace": "team"}}
    metadata = {"name": "chat", **({"namespace": namespace} if namespace else {})}
    service = {**MODEL, "kind": "InferenceService", "metadata": metadata, "spec": {"modelRef": name}}
    base = {"apiVersion": "ome.io/v1beta1", "kind": "ClusterBaseModel", "metadata": {"name": "llama-base"}, "spec": {}}
    (finding,) = (each for each in gate.check_all([base, model, service])[2].warnings if each.code == "LS401")
    assert said in finding.message


@pytest.mark.parametrize("given", ["{}", {}, None])
def test_what_is_not_the_bytes_of_a_review_is_malformed(gate, given):
    with pytest.raises(Malformed, match="the bytes of an AdmissionReview are expected, not"):
        gate.admit(given)


def test_errors_are_named_as_they_are_imported():
    assert {each.__module__ for each in (DocumentError, CatalogError, Malformed, SettingsError)} == {"modelgate"}
    assert {each.__module__ for each in (cel.CompileFailure, cel.CelError, cel.BudgetExceeded)} == {"modelgate.cel"}
    for error in (Malformed("x"), cel.CelError("y")):
        assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize(("expression", "schema"), [(5, {}), ("self", None), ("self", "object")])
def test_an_expression_or_a_schema_of_a_wrong_type_is_said(expression, schema):
    with pytest.raises(TypeError, match=r"the (expression|schema) must be a "):
        cel.compile(expression, schema)


def test_an_object_that_contains_itself_is_an_error(gate):
    given = deepcopy(MODEL)
    given["spec"]["again"] = given["spec"]
    with pytest.raises(DocumentError, match="contains itself"):
        gate.check(given)


def test_a_kind_that_nothing_defines_is_not_checked(gate):
    verdict = gate.check(WIDGET)
    assert (verdict.checked, verdict.allowed, verdict.findings) == (False, True, ())
    assert str(verdict).startswith("Widget w: not checked: ")


def test_a_definition_of_ones_own_is_judged_by():
    verdict = Gate(crds=[widgets(1)]).check(WIDGET)
    assert [(each.severity, each.field) for each in verdict.findings] == [(Severity.ERROR, "spec.size")]
    assert Gate(crds=widgets(1)).check({**WIDGET, "spec": {"size": 1}}).allowed


def test_a_definition_that_no_api_server_takes_is_an_error():
    broken = widgets(1)
    broken["spec"]["scope"] = "Everywhere"
    with pytest.raises(CatalogError, match=r"spec\.scope"):
        Gate(crds=broken)


def test_a_definition_of_another_release_is_told():
    theirs = deepcopy(definition(POLICIES / "llmkube" / "crds" / "models.yaml"))
    spec = theirs["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    del spec["properties"]["sha256"]
    *releases, remark = Gate(crds=theirs).remarks
    assert all("the release of LLMKube is not known" in each for each in releases)
    assert len(releases) == 2, "one for each kind"
    assert "without spec.sha256" in remark


def test_the_view_has_what_is_updated_and_referred_to():
    stored = {**MODEL, "metadata": {"name": "llama", "namespace": "default"}}
    assert Gate(view=[stored]).check(BAD).allowed is False
    service = {
        "apiVersion": "ome.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": "s", "namespace": "team"},
        "spec": {"model": {"name": "m", "kind": "ClusterBaseModel"}, "engine": {}},
    }
    assert Gate().check(service).allowed
    assert not Gate(complete=True).check(service).allowed


def test_profiles_differ_and_an_unknown_one_is_an_error():
    assert Gate(profile="audit").check({**MODEL, "spec": {**MODEL["spec"], "sha256": "x" * 64}}).findings
    with pytest.raises(SettingsError, match="profile: 'hard': use standard, strict, audit"):
        Gate(profile="hard")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Settings(releases=("llmkube=0.9.5",)), "releases: Input should be a valid tuple"),
        (Settings(releases=5), "releases: Input should be a valid tuple"),
        (Settings(releases=(("llmkube", "99.0.0"),)), '"99.0.0" is not a known release'),
        (Settings(ome="x"), "ome: Input should be 'recommended', 'upstream-head' or 'doc-era'"),
        (Settings(ome_migration=None), "ome_migration: Input should be a valid boolean"),
        ({"ome": "doc-era"}, "settings: is of type dict: give modelgate.Settings"),
    ],
)
def test_a_setting_that_does_not_exist_is_an_error_that_says_why(given, said):
    with pytest.raises(SettingsError) as error:
        Gate(settings=given)
    assert said in str(error.value)


def test_rules_of_ones_own_are_used_beside_the_built_in_ones(tmp_path):
    (tmp_path / "acme" / "crds").mkdir(parents=True)
    (tmp_path / "acme" / "crds" / "widgets.yaml").write_text(yaml.safe_dump(widgets(1)))
    (tmp_path / "acme" / "widget.yaml").write_text("""\
apiVersion: modelgate.dev/v1alpha1
kind: Policy
metadata: {name: acme-widget}
spec:
  target: {group: acme.example.com, versions: [v1], kind: Widget}
  validations:
  - {code: AC201, at: spec, rule: self.size < 9, message: too big, fieldPath: .size, docs: Widgets are small.}
""")
    gate = Gate(policies=tmp_path)
    assert gate.check({**WIDGET, "spec": {"size": 10}}).codes == {"AC201"}
    assert gate.check(MODEL).checked


def test_what_the_library_says_names_its_own_parameters_and_no_flag() -> None:
    service = {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "InferenceService", "metadata": {"name": "a"}}
    spec = {"modelRef": "m", "resources": {"ephemeralStorage": "40Gi"}}
    newer, reference = Gate().check({**service, "spec": spec}).findings
    wanted = "ephemeralStorage is a field of LLMKube 0.9.15 and later: set Settings(releases=(('llmkube', RELEASE),))"
    assert newer.message == f"unknown field; {wanted}, or give Gate(crds=…)"
    assert "add it, or use Gate(view=…) with the objects of the cluster" in reference.message
    with pytest.raises(SettingsError, match=r"^Settings\(releases=\(\('llmkube', '99.0.0'\),\)\): "):
        Gate(settings=Settings(releases=(("llmkube", "99.0.0"),)))
    own = Gate().check({**service, "metadata": {"name": "--crds use --crds"}, "spec": spec}).findings[0]
    assert '"--crds use --crds"' in own.message, "what a user writes stays"
