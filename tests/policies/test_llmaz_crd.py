"""The OpenModel's definition has the document's fields and no other, with upstream's real constraints."""

from typing import Any

import yaml

from tests.definitions import POLICIES, definition
from tests.policies.statements import descriptions_of, fields_of, schema_of, statements_of
from tests.shared import shared
from tools.coverage.formats import seed_fields

CRD = POLICIES / "llmaz" / "crds" / "openmodels.yaml"


def upstream() -> dict[str, Any]:
    return yaml.safe_load((shared("upstream-crds", "llmaz") / "llmaz.io_openmodels.yaml").read_text())


def test_nothing_is_there_that_the_document_does_not_have() -> None:
    document = seed_fields(shared("seeds"), "llmaz", "OpenModel").keys()
    ours = {path for path in fields_of(schema_of(definition(CRD))) if not path.startswith(".status.conditions[*]")}
    assert ours - document == {".metadata"}


def test_the_constraints_are_upstream_s() -> None:
    assert dict(statements_of(schema_of(definition(CRD)))) == dict(statements_of(schema_of(upstream())))


def test_upstream_s_names_columns_and_subresources_are_ours() -> None:
    parts = [dict(definition(CRD)["spec"]), upstream()["spec"]]
    versions = [part.pop("versions")[0] for part in parts]
    mine, theirs = (
        [{**column, "description": ""} for column in version["additionalPrinterColumns"]] for version in versions
    )
    assert parts[0] == parts[1]
    assert mine == theirs
    assert versions[0]["subresources"] == versions[1]["subresources"]
    assert definition(CRD)["metadata"]["name"] == upstream()["metadata"]["name"]


def test_descriptions_are_ours() -> None:
    mine = set(descriptions_of(schema_of(definition(CRD))))
    assert not mine & set(descriptions_of(schema_of(upstream())))
    assert len(mine) > 25
