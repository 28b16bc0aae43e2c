"""Who is told what: strict denies what follows from the object, and nodes, quotas and classes are warnings for all."""

import copy

import pytest

from tests.fit.test_silences import GPU, MODEL, SERVICE, an, node
from webhook import catalog
from webhook.admission import GroupVersionKind, Request, group_version
from webhook.cluster import MemoryView
from webhook.cluster.view import UNREADABLE, Kind
from webhook.engine import FIT_CODES, Options, validate
from webhook.facts.settings import Settings
from webhook.policy import Profile

RELEASES = (("llmkube", "0.9.19"),)
LOADED = catalog.load(settings=Settings(releases=RELEASES))
NAMED = {"nodeSelector": {"cloud.google.com/gke-accelerator": "nvidia-l4"}}


def decided(spec, objects, profile=Profile.STANDARD, old=None, view=MemoryView, **settings):
    obj = {**copy.deepcopy(SERVICE), "spec": {**SERVICE["spec"], **spec}}
    known = LOADED.find(GroupVersionKind(*group_version(obj["apiVersion"]), obj["kind"]))
    operation = "CREATE" if old is None else "UPDATE"
    request = Request(known.gvk, known.plural, operation, obj, old, name="s", namespace="default")
    options = Options(profile=profile, settings=Settings(releases=RELEASES, **settings))
    decision = validate(request, LOADED, view([MODEL, *objects]), options)
    causes = {cause.code for cause in decision.causes} & {*FIT_CODES}
    return causes, {warning.code for warning in decision.warnings} & {*FIT_CODES}


@pytest.mark.parametrize("profile", list(Profile))
def test_what_the_object_names_is_denied_by_strict_alone(profile):
    denied, warned = decided(NAMED, [], profile)
    assert denied == ({"KF001"} if profile is Profile.STRICT else set())
    assert warned == (set() if profile is Profile.STRICT else {"KF001"})


@pytest.mark.parametrize("profile", list(Profile))
def test_nodes_and_quotas_are_a_warning_under_every_profile(profile):
    quota = an("ResourceQuota", "q", spec={"hard": {f"requests.{GPU}": "0"}})
    quota["metadata"]["namespace"] = "default"
    assert decided({}, [node(), quota], profile) == (set(), {"KF001", "KF005"})


def test_an_update_that_changes_nothing_is_not_denied():
    stored = {**copy.deepcopy(SERVICE), "spec": {**SERVICE["spec"], **NAMED}}
    assert decided(NAMED, [], Profile.STRICT, stored) == (set(), {"KF001"})


def test_it_can_be_turned_off_and_nodes_alone():
    assert decided({}, [node()], fit=False) == (set(), set())
    assert decided({}, [node()], nodes="off") == (set(), set())
    assert decided({}, [node()], nodes="elastic") == (set(), set())
    pool = node(**{"eks.amazonaws.com/nodegroup": "x"})
    assert decided({}, [pool], nodes="auto") == (set(), set())
    assert decided({}, [pool], nodes="fixed") == (set(), {"KF001"})


class Forbidden(MemoryView):
    """A view without the rights to what is around pods: nodes are listed, and definitions are read."""

    readable = ("inference.llmkube.dev", "apiextensions.k8s.io")

    def get(self, kind, namespace, name):
        return super().get(kind, namespace, name) if kind.group in self.readable else UNREADABLE

    def list(self, kind, namespace=None):
        return super().list(kind, namespace) if kind == Kind("", "Node") else [UNREADABLE]


class Blind(Forbidden):
    """As it, without the right to the definition of Karpenter."""

    readable = ("inference.llmkube.dev",)


def test_without_a_right_its_rules_are_silent():
    classes = {"priorityClassName": "p", "modelCache": {"claimName": "c"}}
    assert decided(classes, [node()], view=Forbidden) == (set(), {"KF001"})
    pool = node(**{"eks.amazonaws.com/nodegroup": "x"})
    assert decided(classes, [pool], view=Forbidden) == (set(), set())
    assert decided({"runtimeClassName": "r"}, [node()], view=Forbidden) == (set(), set())
    assert decided({}, [node()], view=Blind) == (set(), set())
