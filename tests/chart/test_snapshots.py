"""What the chart renders for nine sets of values, object by object: a change of a template shows what it changes.

``MODELGATE_SNAPSHOTS=write`` with pytest writes the files again.
"""

import os
import re
from pathlib import Path

import pytest
import yaml

from tests.chart.helm import rendered
from tests.chart.test_certificates import FILES, MANAGED

FOLDER = Path(__file__).parent / "snapshots"
ONE_API = tuple(f"apis.{api}.enabled=false" for api in ("aim", "llmaz", "llmd", "ome"))
MONITORED = tuple(f"monitoring.{each}=true" for each in ("serviceMonitor", "podMonitor"))
SETS = {
    "default": (),
    "smallest": ("reconciler.enabled=false", 'gate.view="none"', "networkPolicy.enabled=false", "gate.replicas=1"),
    "one-api": ONE_API,
    "cert-manager": (MANAGED, *ONE_API),
    "files": (FILES, *ONE_API, 'gate.caller="mtls"', 'gate.clientCA="callers"'),
    "policies": (
        *ONE_API,
        'policies.documents={"mine.yaml":"kind: ValidatingAdmissionPolicy"}',
        'policies.rules=[{"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments"]}]',
    ),
    "acting": (
        'reconciler.apis={"aim":true,"llmaz":true,"llmd":true,"llmkube":true,"ome":true}',
        'reconciler.namespaces=["*"]',
        "reconciler.replicas=2",
    ),
    "namespaces": (
        *(f"apis.{api}.enabled=false" for api in ("aim", "llmaz", "llmd")),
        "reconciler.apis.ome=true",
        'reconciler.namespaces=["team-a","team-b"]',
    ),
    "production": (
        *ONE_API,
        *MONITORED,
        "gate.autoscaling.enabled=true",
        'gate.priorityClassName="system-cluster-critical"',
        'gate.nodeSelector={"pool":"system"}',
        'commonLabels={"team":"platform"}',
        'networkPolicy.apiServers=[{"cidr":"10.0.0.1/32","port":6443}]',
        "rbac.aggregate=true",
        'image={"registry":"registry.example.com","repository":"modelgate"}',
    ),
}


_OF_VERSION = (
    r'(helm\.sh/chart"?: ?"?modelgate-|app\.kubernetes\.io/version"?: ?"?|modelgate:|dyn\("(?:modelgate-)?)'
    r"\d+\.\d+\.\d+"
)
"""A version in labels, in the image, and in the expressions of the guard, where a line may break before it."""


def text(name):
    """All objects without the version of the chart, by kind and name."""
    found = sorted(rendered(*SETS[name]), key=lambda each: (each["kind"], each["metadata"]["name"]))
    dumped = yaml.safe_dump_all(found, sort_keys=True, width=120)
    return re.sub(_OF_VERSION, r"\1X", dumped)


@pytest.mark.parametrize("name", SETS)
def test_the_objects_are_those_of_the_snapshot(name):
    path = FOLDER / f"{name}.yaml"
    if os.environ.get("MODELGATE_SNAPSHOTS") == "write":
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text(name))
    assert text(name) == path.read_text()


def test_every_snapshot_belongs_to_a_set_of_values():
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(SETS)
