"""The Model CRD says what the API document says, field by field, and nothing else."""

import json
from typing import Any

import yaml

from tests.policies.statements import descriptions_of, schema_of, statements_of
from tests.shared import ROOT, shared

CRD = ROOT / "policies" / "llmkube" / "crds" / "models.yaml"


def ours() -> dict[str, Any]:
    return yaml.safe_load(CRD.read_text())


def upstream() -> dict[str, Any]:
    return yaml.safe_load((shared("upstream-crds", "llmkube") / "inference.llmkube.dev_models.yaml").read_text())


def without_export_artefacts(schema: Any) -> Any:
    """The document's schema as a CRD has it: its export turned optional fields nullable and closed every object."""
    if isinstance(schema, list):
        return [without_export_artefacts(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {key: without_export_artefacts(value) for key, value in schema.items()}
    if isinstance(plain.get("type"), list):
        (plain["type"],) = (kind for kind in plain["type"] if kind != "null")
    if plain.get("additionalProperties") is False:
        del plain["additionalProperties"]
    return plain


def test_the_schema_is_the_document_s() -> None:
    (document,) = shared("seeds").glob("002_*.txt")
    seed = without_export_artefacts(json.loads(document.read_text()))
    assert dict(statements_of(schema_of(ours()))) == dict(statements_of(seed))


def test_upstream_s_schema_differs_only_where_it_is_newer() -> None:
    mine, theirs = dict(statements_of(schema_of(ours()))), dict(statements_of(schema_of(upstream())))
    added = {path.split()[0] for path in theirs.keys() - mine.keys()}
    changed = {path for path in mine.keys() & theirs.keys() if mine[path] != theirs[path]}
    assert mine.keys() <= theirs.keys()
    assert {".".join(path.split(".")[:3]).removesuffix("[*]") for path in added} == {
        ".spec.sourceSecretRef",
        ".spec.prefetch",
        ".spec.prefetchTolerations",
    }
    assert changed == {".spec.source pattern"}
    assert theirs[".spec.source pattern"].replace("|s3", "") == mine[".spec.source pattern"]


def test_upstream_s_names_columns_and_subresources_are_ours() -> None:
    mine, theirs = ours()["spec"], upstream()["spec"]
    columns = [
        {column["name"]: column for column in it["versions"][0]["additionalPrinterColumns"]} for it in (mine, theirs)
    ]
    assert columns[0] == columns[1]
    for part in (mine, theirs):
        (version,) = part["versions"]
        del version["schema"], version["additionalPrinterColumns"]
    assert mine == theirs


def test_every_node_is_structural() -> None:
    """Each node has one type, and a keyword of ``statements_of`` never hides below an unknown one."""

    def check(schema: dict[str, Any], path: str) -> None:
        assert isinstance(schema.get("type"), str), path
        assert not schema.keys() & {"additionalProperties", "nullable", "$ref", "allOf", "anyOf", "oneOf", "not"}, path
        assert ("items" in schema) == (schema["type"] == "array"), path
        for name, child in schema.get("properties", {}).items():
            check(child, f"{path}.{name}")
        if "items" in schema:
            check(schema["items"], f"{path}[*]")

    check(schema_of(ours()), "")


def test_descriptions_are_ours() -> None:
    mine, theirs = set(descriptions_of(schema_of(ours()))), set(descriptions_of(schema_of(upstream())))
    assert not mine & theirs
    assert len(mine) > 60
