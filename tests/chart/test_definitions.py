"""The definitions have a chart of their own, from which each API is chosen."""

import pytest
import yaml

from tests.chart.helm import APIS, CHART, DEFINITIONS, NAMESPACE, documents, of_kind, rendered, run
from tests.definitions import definition, definition_files
from tests.enforcement.policies import CRDS

KEPT = {"helm.sh/resource-policy": "keep"}


def chosen(*apis):
    return rendered(*(f"apis.{api}=true" for api in apis), chart=DEFINITIONS)


def test_the_gates_own_chart_installs_no_definition():
    assert of_kind("CustomResourceDefinition") == []


@pytest.mark.parametrize("api", APIS)
def test_an_apis_definitions_are_those_of_the_gate_and_stay(api):
    sources = [definition(path) for path in definition_files() if path.parents[1].name == api]
    installed = {each["metadata"]["name"]: each for each in chosen(api)}
    assert installed == {
        each["metadata"]["name"]: each | {"metadata": {**each["metadata"], "annotations": KEPT}} for each in sources
    }


def test_the_kinds_of_modelgate_itself_are_chosen_like_an_api():
    installed = {each["metadata"]["name"] for each in chosen("modelgate")}
    assert installed == {"enforcements.modelgate.dev", "policyexceptions.modelgate.dev"}


def test_every_api_with_definitions_can_be_chosen():
    assert {path.parents[1].name for path in definition_files()} == set(APIS)
    apis = dict.fromkeys((*APIS, "modelgate"), False)
    assert yaml.safe_load((DEFINITIONS / "values.yaml").read_text()) == {"apis": apis}
    for folder in {path.parent for path in definition_files()} | {CRDS}:
        link = DEFINITIONS / "files" / "crds" / ("modelgate" if folder == CRDS else folder.parent.name)
        assert link.is_symlink()
        assert link.resolve() == folder.resolve()


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("apis.kserve=true", "kserve"),
        ("apis.ome=yes", "/apis/ome"),
        ("api.ome=true", "api"),
        ("apis.ome=false", "no API is enabled: choose"),
    ],
)
def test_a_wrong_choice_is_refused(value, complaint):
    done = run("template", "crds", str(DEFINITIONS), f"--set={value}")
    assert done.returncode != 0
    assert complaint in done.stderr


def test_the_versions_of_both_charts_are_the_same():
    assert _version(DEFINITIONS) == _version(CHART)


def _version(chart):
    described = yaml.safe_load((chart / "Chart.yaml").read_text())
    return described["version"], described["appVersion"]


def test_a_packaged_chart_holds_the_definitions_themselves(tmp_path):
    assert run("package", str(DEFINITIONS), f"--destination={tmp_path}").returncode == 0
    (package,) = tmp_path.iterdir()
    done = run("template", "modelgate", str(package), f"--namespace={NAMESPACE}", "--set=apis.llmkube=true")
    assert documents(done.stdout) == chosen("llmkube")
