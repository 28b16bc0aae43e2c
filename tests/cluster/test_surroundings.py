"""What is around pods is read on demand; what may not be read is unknown, and no error."""

import pytest

from webhook.admission.errors import Unavailable
from webhook.cluster import LISTED, ApiError, Kind, LabelSelection, Reference, RequestView, is_optional
from webhook.cluster.live import LiveView
from webhook.cluster.store import KEEP, RecentAnswers
from webhook.cluster.view import UNREADABLE, is_unreadable
from webhook.engine.placement.surroundings import PodSurroundings

QUOTA = Kind("", "ResourceQuota")
PRIORITY = Kind("scheduling.k8s.io", "PriorityClass")
CONFIG = Kind("", "ConfigMap")


class Answers:
    """An API server that answers every read alike; without a path of discovery it serves every kind."""

    def __init__(self, error=None):
        self.error = error

    def document(self, path, _=None):
        if path.endswith("/v1") or path == "/api/v1":
            names = {"ResourceQuota": "resourcequotas", "PriorityClass": "priorityclasses", "ConfigMap": "configmaps"}
            return {"resources": [{"kind": kind, "name": name} for kind, name in names.items()]}
        if path.count("/") == 2:
            return {"versions": [{"version": "v1"}]}
        return self._given({"items": [{"metadata": {"name": "q"}}]})

    def get(self, *_):
        return self._given({"kind": "x", "metadata": {"name": "p"}})

    def _given(self, answer):
        if self.error is not None:
            raise self.error
        return answer


def read(question, error=None):
    return LiveView(Answers(error), []).read(question, 1.0)


DENIED = ApiError(403, "Forbidden", "no")


def test_a_quota_is_listed_on_demand_in_one_namespace():
    view = LiveView(Answers(), [])
    first = RequestView(view, {})
    assert first.list(QUOTA, "a") == []
    (question,) = first.unread
    assert question == LabelSelection(QUOTA, "v1", "a", "")
    again = RequestView(view, {question: view.read(question, 1.0)})
    assert [each["metadata"]["name"] for each in again.list(QUOTA, "a")] == ["q"]
    assert not again.unread


@pytest.mark.parametrize(
    "question",
    [
        LabelSelection(QUOTA, "v1", "a", ""),
        Reference(PRIORITY, "", "p"),
        Reference(CONFIG, "kube-system", "cluster-autoscaler-status"),
    ],
    ids=str,
)
def test_without_the_right_it_is_unknown(question):
    assert is_unreadable(read(question, DENIED))
    with pytest.raises(Unavailable):
        read(question, ApiError(500, "InternalError", "broken"))


def test_what_rules_need_is_not_optional():
    for question in (Reference(CONFIG, "ome", "inferenceservice-config"), Reference(PRIORITY, "", "p", "v1")):
        assert not is_optional(question)
    with pytest.raises(Unavailable):
        read(Reference(CONFIG, "ome", "inferenceservice-config"), DENIED)


def test_an_unreadable_list_has_one_item_that_says_so():
    question = LabelSelection(QUOTA, "v1", "a", "")
    assert RequestView(LiveView(Answers(), []), {question: UNREADABLE}).list(QUOTA, "a") == [UNREADABLE]


def test_answers_about_surroundings_are_kept_longer():
    now = [0.0]
    recent = RecentAnswers(lambda: now[0])
    questions = [LabelSelection(kind, version, "a", "") for kind, version in LISTED.items()]
    for question in (*questions, Reference(PRIORITY, "", "p")):
        recent.put(question, {})
    now[0] = KEEP + 1
    assert [recent.get(question)[0] for question in questions] == [True] * len(questions)
    assert not recent.get(Reference(PRIORITY, "", "p"))[0]


def test_a_live_view_reads_runtime_classes_by_name():
    assert PodSurroundings(RequestView(LiveView(Answers(), []), {}), "a", "auto").shows_runtime_classes
