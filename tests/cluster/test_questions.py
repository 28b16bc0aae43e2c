"""What admission policies ask of a cluster: params of any kind in one version, scopes, selections, who may do what."""

import json

import pytest

from webhook.admission.errors import Fault, Unavailable
from webhook.cluster.api import Reader
from webhook.cluster.live import LiveView
from webhook.cluster.readthrough import MOST, AccessReview, LabelSelection, Reference, RequestView, ServedKind
from webhook.cluster.store import KEEP
from webhook.cluster.view import APIResource, Kind
from webhook.facts import Looked, referenced
from webhook.facts.settings import DEFAULT_SETTINGS

LIMITS = APIResource("limits.example", "v1", "limits", "Limit")
OLD_LIMITS = APIResource("limits.example", "v1alpha1", "limits", "Limit")
CEILINGS = APIResource("limits.example", "v1", "ceilings", "Ceiling", namespaced=False)
REVIEWS = APIResource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False)
LIMIT, CEILING = Kind("limits.example", "Limit"), Kind("limits.example", "Ceiling")


@pytest.fixture
def view(server, clock):
    server.serve(LIMITS, OLD_LIMITS, CEILINGS, REVIEWS)
    return LiveView(Reader(server.client()), [], clock=clock)


def put(server, name, resource=LIMITS, **labels):
    place = {"namespace": "ns"} if resource.namespaced else {}
    metadata = {"name": name, **place, "labels": labels, "managedFields": []}
    server.put(resource.plural, {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata})


def asked(view, question):
    """The answer: unknown before it is read, and known in later attempts."""
    before = RequestView(view, {})
    assert before.ask(question) is None
    assert list(before.unread) == [question]
    answer = view.read(question, 5)
    after = RequestView(view, {})
    assert after.ask(question) == answer
    assert after.unread == {}
    return answer


def test_a_param_is_read_in_the_version_that_is_wanted(server, view):
    put(server, "a", OLD_LIMITS)
    assert asked(view, Reference(LIMIT, "ns", "a", "v1alpha1"))["apiVersion"] == "limits.example/v1alpha1"
    assert asked(view, Reference(LIMIT, "ns", "a", "v1")) is None
    assert asked(view, Reference(LIMIT, "ns", "a", "v2")) is None


def test_the_scope_of_a_kind_is_that_of_its_version(view):
    assert asked(view, ServedKind(LIMIT, "v1")) == {"namespaced": True}
    assert asked(view, ServedKind(CEILING, "v1")) == {"namespaced": False}
    assert asked(view, ServedKind(CEILING, "v2")) is None


def test_params_are_selected_by_the_api_server_in_their_namespace_or_in_the_cluster(server, view):
    put(server, "a", use="pods")
    put(server, "b", use="pods", old="yes")
    put(server, "c")
    put(server, "d", CEILINGS, use="pods")
    selected = asked(view, LabelSelection(LIMIT, "v1", "ns", "use in (pods),!old"))
    assert [item["metadata"]["name"] for item in selected["items"]] == ["a"]
    assert len(asked(view, LabelSelection(LIMIT, "v1", "ns", ""))["items"]) == 3
    assert asked(view, LabelSelection(LIMIT, "v1", "elsewhere", ""))["items"] == []
    assert len(asked(view, LabelSelection(CEILING, "v1", "", "use in (pods)"))["items"]) == 1
    assert asked(view, LabelSelection(CEILING, "v2", "", "")) is None


@pytest.mark.parametrize("name", ["a/b", "..", "%2e", "x" * 254])
def test_an_invalid_name_never_becomes_a_path(server, view, name):
    assert asked(view, Reference(LIMIT, "ns", name, "v1")) is None
    assert asked(view, LabelSelection(LIMIT, "v1", name, "")) is None
    assert {path for _, path in server.requests} == {"/apis/limits.example/v1"}


def test_who_may_do_what_is_the_answer_to_a_review(server, view):
    specs = []

    def answer(spec):
        specs.append(spec)
        return {"allowed": spec["user"] == "jane", "reason": "because"}

    server.access = answer
    for user, allowed in (("jane", True), ("john", False)):
        spec = {"user": user, "resourceAttributes": {"verb": "get"}}
        assert asked(view, AccessReview(json.dumps(spec))) == {"allowed": allowed, "reason": "because"}
        assert specs[-1] == spec


def test_an_answer_is_remembered_for_a_moment(server, view, clock):
    question = ServedKind(LIMIT, "v1")
    asked(view, question)
    clock.seconds += KEEP
    server.unserve(LIMITS)
    assert asked(view, question) is None


@pytest.mark.parametrize(
    ("question", "method", "path"),
    [
        (Reference(LIMIT, "ns", "a", "v1"), "GET", "/limits/a"),
        (Reference(LIMIT, "ns", "a", "v1"), "GET", "/apis/limits.example/v1"),
        (ServedKind(LIMIT, "v1"), "GET", "/apis/limits.example/v1"),
        (LabelSelection(LIMIT, "v1", "ns", "a"), "GET", "/limits"),
        (AccessReview('{"user": "jane"}'), "POST", "/subjectaccessreviews"),
    ],
)
@pytest.mark.parametrize("code", [0, 403, 500])
def test_an_api_server_that_does_not_say_gives_no_answer(server, view, question, method, path, code):
    server.fail(method, path, code)
    with pytest.raises(Unavailable, match="cannot be read from the API server"):
        view.read(question, 5)
    assert RequestView(view, {}).ask(question) is None


def test_facts_list_only_what_is_watched(view):
    with pytest.raises(Fault, match="is not watched"):
        view.list(LIMIT)


def looked_for(view, **looked):
    """The value of a reference of an object, after what it asks for was read."""
    fact, obj = referenced(LIMIT, Looked(**looked), {}), {"metadata": {"namespace": "ns"}, "spec": {"a": "b"}}
    reading = RequestView(view, {})
    fact.value(obj, reading, DEFAULT_SETTINGS)
    known = {question: view.read(question, 5) for question in reading.unread}
    assert len(known) == 1
    again = RequestView(view, known)
    value = fact.value(obj, again, DEFAULT_SETTINGS)
    assert again.unread == {}
    return value


BY_LABELS = {"labels": (("use", "pods"),)}
BY_NAME = {"named_by": ("spec", "a")}


def test_a_reference_lists_a_kind_that_is_not_watched_on_demand_and_in_any_version(server, view):
    server.unserve(OLD_LIMITS)
    put(server, "a", use="pods")
    put(server, "b", use="jobs")
    found = looked_for(view, **BY_LABELS)
    assert (found["found"], found["names"], found["count"]) == (True, ["a"], 1)
    assert "unseen" not in found


def test_of_more_objects_than_are_listed_on_demand_nothing_is_said(server, view):
    server.unserve(OLD_LIMITS)
    for number in range(MOST + 1):
        put(server, f"a{number}", use="pods")
    found = looked_for(view, **BY_LABELS)
    assert (found["found"], found["unseen"]) == (False, "Limit objects are too many to list them for a review")


@pytest.mark.parametrize(("looked", "verb"), [(BY_NAME, "get"), (BY_LABELS, "list")])
def test_a_reference_without_the_right_to_see_others_says_so_and_does_not_fail(server, view, looked, verb):
    server.fail("GET", "/limits/b" if verb == "get" else "/limits", 403)
    assert looked_for(view, **looked)["unseen"].endswith(f"grant the right to {verb} them")


@pytest.mark.parametrize("looked", [BY_NAME, BY_LABELS])
def test_an_api_server_that_does_not_answer_is_a_failure_for_a_reference_too(server, view, looked):
    server.fail("GET", "/limits/b" if looked is BY_NAME else "/limits", 500)
    with pytest.raises(Unavailable, match="cannot be read from the API server"):
        looked_for(view, **looked)
