"""Clusters that are to be alike have one digest, which `/readyz` and a metric show."""

import re

import pytest
import yaml
from starlette.testclient import TestClient

from tests.enforcement.policies import degrees, enforcement, exception
from tests.serve.test_digest import RULES
from webhook import catalog
from webhook.enforcement import Degrees
from webhook.engine import Options
from webhook.policy import Profile
from webhook.serve.app import application
from webhook.serve.gate import Gate

LOADED = catalog.load()
LATER = enforcement("later", action="deny", namespaceSelector={"matchLabels": {"team": "a"}})


def gate(**parts: object) -> Gate:
    made = Gate(LOADED, fleet=("canary", "v1.4.0"), **parts)  # type: ignore[arg-type]
    made.use(LOADED)
    return made


def digest(of: Gate) -> str:
    """What both places show."""
    ready = TestClient(application(of)).get("/readyz").text
    metric = re.findall(
        r'^modelgate_fleet_info{artefact="v1.4.0",digest="(\w+)",stage="canary"} 1.0$',
        of.metrics.text().decode(),
        re.MULTILINE,
    )
    assert [each[1] for each in re.finditer(r"^fleet (\w+) canary v1.4.0$", ready, re.MULTILINE)] == metric
    (shown,) = metric
    return str(shown)


def test_what_differs_between_clusters_is_not_in_the_digest() -> None:
    here, there = gate(), gate()
    definition = yaml.safe_load((RULES / "crds" / "models.yaml").read_text())
    del definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["format"]
    there.use_definitions(lambda: [definition], None, frozenset())
    assert there.state.deviations
    here.enforce(degrees(LATER, namespaces={"one": {"team": "a"}}))
    there.enforce(degrees(LATER, namespaces={"two": {"team": "b"}, "three": {"modelgate.dev/profile": "strict"}}))
    assert digest(here) == digest(there)


@pytest.mark.parametrize(
    "other",
    [degrees(LATER), degrees(exception("legacy", codes=["LK223"], names=["m"]))],
)
def test_another_policy_is_another_digest(other: Degrees) -> None:
    here = gate()
    before = digest(here)
    here.enforce(other)
    assert digest(here) != before
    here.enforce(Degrees())
    assert digest(here) == before


def test_a_change_that_leaves_the_digest_leaves_the_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scrape between the end of the old series and the new one would see a cluster without a digest."""
    here, cleared = gate(), list[str]()
    before = digest(here)
    monkeypatch.setattr(here.metrics.fleet, "clear", lambda: cleared.append(before))
    here.replace(absent=frozenset({"gpuquotas.inference.llmkube.dev"}))
    assert (digest(here), cleared) == (before, [])
    here.enforce(degrees(LATER))
    assert cleared == [before]


def test_another_profile_is_another_digest() -> None:
    assert digest(gate()) != digest(gate(options=Options(Profile.STRICT)))
