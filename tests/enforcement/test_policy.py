"""Policies of every shape: what is read, what is refused and why, and what is only odd."""

import contextlib

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.enforcement.policies import CRDS, NOW, PAST, enforcement, exception
from tests.laws import examples
from webhook.enforcement import PolicyObject, Vocabulary, contradictions, remarks_on
from webhook.schema import load_crd

DEFINITIONS = {crd.kind: crd for crd in (load_crd(yaml.safe_load(each.read_text())) for each in CRDS.glob("*.yaml"))}
WORDS = Vocabulary({"LK305", "LK205", "LK101", "OM304"}, {"llmkube", "ome"}, {"Model", "InferenceService"})

GOOD = [
    enforcement(action="deny"),
    enforcement(action="audit", codes=["*"], reason="to begin with"),
    enforcement(action="off", codes=["LK305", "OM3*"]),
    enforcement(action="warn", namespaces=["a"], kinds=["Model"], apis=["llmkube"], from_="2027-01-31T00:00:00+02:00"),
    enforcement(action="deny", namespaceSelector={"matchLabels": {"team": ""}}),
    exception(codes=["LK205"], namespaces=["a"]),
    exception(codes=["LK2*"], names=["m"], kinds=["Model"]),
    exception(codes=["LK205"], namespaceSelector={"matchExpressions": [{"key": "team", "operator": "Exists"}]}),
]
BAD = [
    (enforcement(action="Deny"), "spec.action: must be deny, warn, audit, off"),
    (enforcement(), "spec.action"),
    (enforcement(action="off"), "needs codes other than *"),
    (enforcement(action="off", codes=["*"]), "needs codes other than *"),
    (enforcement(action="deny", codes=["lk305"]), "'lk305' is neither a code (LK305) nor a group of codes (LK4*)"),
    (enforcement(action="deny", namespaces=["a"], namespaceSelector={"matchLabels": {"b": "c"}}), "exclude each other"),
    (
        enforcement(action="deny", namespaceSelector={"matchExpressions": [{"key": "t", "operator": "In"}]}),
        "need values",
    ),
    (exception(codes=["LK205"]), "needs names, namespaces or namespaceSelector"),
    (exception(namespaces=["a"]), "an exception needs codes"),
    (exception(codes=["*"], namespaces=["a"]), "needs codes other than *"),
    (exception(codes=["LK205"], namespaces=["a"], until=None), "spec.until: must be a text"),
    (exception(codes=["LK205"], namespaces=["a"], until="tomorrow"), "must be a time in RFC 3339"),
    (exception(codes=["LK205"], namespaces=["a"], reason=" "), "spec.reason"),
    (exception(codes=["LK205"], namespaces=["a"], from_="2028-01-01T00:00:00Z"), "spec.from: must be before until"),
]


@pytest.mark.parametrize("obj", GOOD)
def test_a_good_policy_is_read_and_its_definition_accepts_it(obj):
    assert PolicyObject.read(obj).name == obj["metadata"]["name"]
    assert errors(obj) == []


@pytest.mark.parametrize(("obj", "text"), BAD, ids=[text for _, text in BAD])
def test_a_bad_policy_is_refused_with_the_field_and_by_its_definition_too(obj, text):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is compared
        PolicyObject.read(obj)
    assert text in str(caught.value)
    assert errors(obj) != []


def errors(obj):
    """What an API server says of the object, by our own engine."""
    return DEFINITIONS[obj["kind"]].versions["v1alpha1"].schema.check(obj).errors


odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3),
    max_leaves=10,
)
FIELDS = ["action", "codes", "apis", "kinds", "namespaces", "names", "namespaceSelector", "from", "until", "reason"]


@given(st.sampled_from(GOOD), st.dictionaries(st.sampled_from(FIELDS), odd, max_size=3), odd)
@settings(max_examples=examples(2000), deadline=None)
def test_no_value_of_any_type_raises_anything_else(obj, changes, metadata):
    for each in ({**obj, "spec": {**obj["spec"], **changes}}, {**obj, "spec": metadata}, {**obj, "metadata": metadata}):
        with contextlib.suppress(ValueError):
            PolicyObject.read(each)


ODD = [
    (enforcement(action="deny", codes=["LK350"]), 'spec.codes: "LK350" is not a code of a rule; did you mean LK305'),
    (enforcement(action="deny", codes=["ZZ4*"]), '"ZZ4*" is not a code of a rule'),
    (enforcement(action="deny", codes=["LK101"]), "is about defaults, which refuse nothing"),
    (
        enforcement(action="deny", apis=["llmcube"]),
        'spec.apis: "llmcube" is not an API with rules; did you mean llmkube?',
    ),
    (enforcement(action="deny", kinds=["Modell"]), "did you mean Model?"),
    (exception(codes=["LK205"], namespaces=["a"], until=PAST), "is in the past"),
]


@pytest.mark.parametrize(("obj", "text"), ODD, ids=[text for _, text in ODD])
def test_odd_words_are_remarked_on(obj, text):
    (remark,) = remarks_on(PolicyObject.read(obj), WORDS, NOW)
    assert text in str(remark)


@pytest.mark.parametrize("obj", GOOD)
def test_of_good_words_nothing_is_said(obj):
    assert [*remarks_on(PolicyObject.read(obj), WORDS, NOW)] == []


def test_policies_that_contradict_are_named_once():
    policies = [
        enforcement("a", action="audit", codes=["LK305"]),
        enforcement("b", action="deny", codes=["LK305", "LK205"]),
    ]
    policies += [enforcement("c", action="warn", codes=["LK205"], namespaces=["a"])]  # more specific: no contradiction
    (remark,) = contradictions(map(PolicyObject.read, policies))
    text = "Enforcement a says audit of LK305 for the same objects: the stricter of both counts"
    assert str(remark) == f"Enforcement b: spec.action: {text}"
