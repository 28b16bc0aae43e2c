"""OME's definitions say what its API document says, field by field, with upstream's real constraints."""

import re
from typing import Any

import pytest
import yaml

from tests.definitions import POLICIES, definition
from tests.policies.statements import node_at, schema_of, statements_of
from tests.shared import shared
from tools.coverage.seeds import seed_fields

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

JSON_TYPES = {"string": "string", "bool": "boolean", "int": "integer", "int32": "integer", "int64": "integer"}
FORMATS = {"int32", "int64"}


def ours(kind: str) -> dict[str, Any]:
    return definition(POLICIES / "ome" / "crds" / f"{PLURALS[kind]}.json")


def upstream(kind: str) -> dict[str, Any]:
    path = shared("upstream-crds", "ome") / f"ome.io_{PLURALS[kind]}.yaml"
    return yaml.load(path.read_text(), Loader=yaml.CSafeLoader)


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_the_document_is_there_with_its_type(kind):
    schema, fields = schema_of(ours(kind)), seed_fields(shared("seeds"), "ome", kind)
    assert [path for path in fields if node_at(schema, path) is None] == []
    assert len(fields) > 20
    for path, field in fields.items():
        if field.type in JSON_TYPES and not field.many:
            node = node_at(schema, path)
            assert node["type"] == JSON_TYPES[field.type], path
            assert node.get("format") == (field.type if field.type in FORMATS else None), path


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
