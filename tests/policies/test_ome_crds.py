"""OME's definitions have upstream's real constraints."""

import re
from typing import Any

import pytest
import yaml

from tests.definitions import POLICIES, definition
from tests.policies.statements import schema_of, statements_of
from tests.shared import shared

PLURALS = {
    "BaseModel": "basemodels",
    "BenchmarkJob": "benchmarkjobs",
    "ClusterBaseModel": "clusterbasemodels",
    "ClusterServingRuntime": "clusterservingruntimes",
    "FineTunedWeight": "finetunedweights",
    "InferenceService": "inferenceservices",
    "ServingRuntime": "servingruntimes",
}
KINDS = sorted(PLURALS)


def ours(kind: str) -> dict[str, Any]:
    return definition(POLICIES / "ome" / "crds" / f"{PLURALS[kind]}.json")


def upstream(kind: str) -> dict[str, Any]:
    path = shared("upstream-crds", "ome") / f"ome.io_{PLURALS[kind]}.yaml"
    return yaml.load(path.read_text(), Loader=yaml.CSafeLoader)


NEWER = (
    r"\.env\[\*\]\.valueFrom\.fileKeyRef\b",
    r"\.restartPolicyRules\b",
    r"\.lifecycle\.stopSignal\b",
    r"\.securityContext\.seLinuxChangePolicy\b",
    r"\.projected\.sources\[\*\]\.podCertificate\b",
    r"\.azureDisk\.(cachingMode|kind) default$",
    r"\.volumeClaimTemplate\.metadata\.",  # upstream drops what its author wrote there
)
"""What Kubernetes has gained since upstream's definitions were made."""

OLDER = (
    # How Go embeds a structure; the API server does not publish it.
    r"\.(configMap|secret|configMapRef|secretRef) x-kubernetes-map-type$",
)

DELETED = (
    # Fields of the document that upstream deletes to save space.
    r"^\.spec\.(predictor|engine|decoder|router)\.ephemeralContainers\b",
)

RELAXED = (
    # Upstream deletes every `required` at a certain depth of InferenceService to relax that of a runner's name.
    r"^\.spec\.\w+\.os required$",
    r"^\.spec\.\w+\.(containers\[\*\]|runner|model)\.\w+Probe\.(httpGet|tcpSocket|grpc) required$",
)


def matches(statement: str, patterns: tuple[str, ...]) -> bool:
    return any(re.search(pattern, statement) for pattern in patterns)


@pytest.mark.parametrize("kind", KINDS)
def test_upstream_s_schema_differs_only_in_the_version_of_kubernetes(kind):
    mine, theirs = dict(statements_of(schema_of(ours(kind)))), dict(statements_of(schema_of(upstream(kind))))
    changed = {statement for statement in mine.keys() & theirs.keys() if mine[statement] != theirs[statement]}
    known = (*NEWER, *DELETED, *RELAXED)
    added = {statement for statement in mine.keys() - theirs.keys() if not matches(statement, known)}
    assert changed == set()
    assert added == set()
    assert {statement for statement in theirs.keys() - mine.keys() if not matches(statement, OLDER)} == set()


@pytest.mark.parametrize("kind", KINDS)
def test_upstream_s_names_columns_and_subresources_are_ours(kind):
    heads = []
    for crd in (ours(kind), upstream(kind)):
        (version,) = crd["spec"]["versions"]
        heads.append({**crd["spec"], "versions": {key: value for key, value in version.items() if key != "schema"}})
    assert heads[0] == heads[1]
