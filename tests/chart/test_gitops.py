"""The chart as Argo CD and Flux use it: rendered without a cluster, again and again."""

import re
from copy import deepcopy

import pytest
import yaml

from tests.chart.helm import CHART, DEFINITIONS, NAMESPACE, ROOT, configurations, documents, rendered, run
from tests.chart.test_snapshots import SETS

PAGE = (ROOT / "docs" / "operations.md").read_text()
MANAGED = re.compile(r"\.webhooks\[\]\.clientConfig\.(\w+)")
OWN = [name for name in SETS if name != "files"]


def stream(chart, *flags):
    done = run("template", "modelgate", str(chart), f"--namespace={NAMESPACE}", *flags)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", SETS)
def test_the_same_values_are_the_same_bytes(name):
    flags = [f"--set-json={each}" for each in SETS[name]]
    assert stream(CHART, *flags) == stream(CHART, *flags)


def test_the_definitions_are_the_same_bytes_too():
    assert stream(DEFINITIONS, "--set=apis.aim=true") == stream(DEFINITIONS, "--set=apis.aim=true")


def test_no_hook_but_the_test_which_neither_of_them_runs():
    hooks = [each["metadata"]["annotations"]["helm.sh/hook"] for each in documents(stream(CHART)) if hooked(each)]
    assert set(hooks) == {"test"}
    assert not any(map(hooked, rendered()))


def hooked(obj):
    return "helm.sh/hook" in obj["metadata"].get("annotations", {})


@pytest.mark.parametrize("name", SETS)
def test_no_object_is_in_a_stream_twice_and_none_has_what_only_a_cluster_knows(name):
    found = [
        (each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]) for each in rendered(*SETS[name])
    ]
    assert len(found) == len(set(found))
    for each in rendered(*SETS[name]):
        assert "status" not in each
        assert not {"uid", "resourceVersion", "creationTimestamp", "managedFields"} & each["metadata"].keys()


def argo():
    """The settings of the page."""
    block = PAGE.partition("**Argo CD**")[2].partition("\n\n")[2].partition("\n\nWith ")[0]
    return yaml.safe_load(block)["spec"]


@pytest.mark.parametrize("name", OWN)
def test_with_the_settings_of_the_page_a_published_bundle_is_not_seen(name):
    """The bundle is in no stream, and the paths that Argo CD ignores are all that `modelgate certs` writes."""
    ignored = {each["kind"]: each for each in argo()["ignoreDifferences"]}
    for wanted in configurations(*SETS[name]):
        live = deepcopy(wanted)
        for webhook in live["webhooks"]:
            assert "caBundle" not in webhook["clientConfig"]
            webhook["clientConfig"]["caBundle"] = "bmV3"
        assert live != wanted
        setting = ignored[wanted["kind"]]
        assert setting["group"] == wanted["apiVersion"].partition("/")[0]
        for path in setting["jqPathExpressions"]:
            (field,) = MANAGED.fullmatch(path).groups()
            for webhook in live["webhooks"]:
                del webhook["clientConfig"][field]
        assert live == wanted


def test_in_mode_files_the_bundle_is_in_the_stream_and_the_page_says_not_to_ignore_it():
    bundles = [
        webhook["clientConfig"].get("caBundle")
        for each in configurations(*SETS["files"])
        for webhook in each["webhooks"]
    ]
    assert all(bundles)
    assert "With `certs.mode=files`, leave out both settings" in PAGE
